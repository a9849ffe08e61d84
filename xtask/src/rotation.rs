//! What is too long for every run is run in parts that take turns by commit, so that ten runs see all of it.

use anyhow::{Context as _, Result, bail};

use crate::shell::{output, print_line, root};

/// How many runs see everything.
const RUNS: usize = 10;

/// One of `of` equal parts of a list, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// The part whose turn it is: `PINTLE_CI_SLOT` says which, or else the number of commits does.
    pub(crate) fn for_head(of: usize) -> Result<Shard> {
        let slot = match std::env::var("PINTLE_CI_SLOT") {
            Ok(slot) => slot.parse().context("PINTLE_CI_SLOT is not a number")?,
            Err(_) => commits()?,
        };
        Ok(Shard { index: slot % RUNS % of, of })
    }

    /// Reads `K/N`.
    pub(crate) fn parse(text: &str) -> Result<Shard> {
        let numbers =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((index, of)) if index < of => Ok(Shard { index, of }),
            _ => bail!("`{text}` is no part: `0/5` is the first of five"),
        }
    }

    /// The words that [`Shard::parse`] reads.
    pub(crate) fn text(self) -> String {
        format!("{}/{}", self.index, self.of)
    }

    /// Whether the entry at `index` of a list belongs to this part.
    pub(crate) fn has(self, index: usize) -> bool {
        index % self.of == self.index
    }
}

/// How many commits led here; 0 outside a repository.
fn commits() -> Result<usize> {
    let mut git = std::process::Command::new("git");
    git.args(["rev-list", "--count", "HEAD"]).current_dir(root());
    match output(&mut git) {
        Ok(count) => String::from_utf8_lossy(&count).trim().parse().context("git counts no commits"),
        Err(error) => {
            print_line(&format!(
                "this is no git repository, so the first part of what takes turns is run: {error:#}"
            ));
            Ok(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_together_are_everything() {
        let parts: Vec<Shard> = (0..5).map(|index| Shard { index, of: 5 }).collect();
        for entry in 0..23 {
            assert_eq!(parts.iter().filter(|part| part.has(entry)).count(), 1);
        }
        assert_eq!(Shard::parse("3/5").unwrap().text(), "3/5");
        assert!(Shard::parse("5/5").is_err() && Shard::parse("x").is_err());
    }
}
