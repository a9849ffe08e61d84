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

/// The turn of a run, from 0 to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn(usize);

impl Turn {
    /// The turn of this commit: `PINTLE_CI_SLOT` says which, or else the number of commits does.
    pub(crate) fn of_head() -> Result<Turn> {
        let slot: usize = match std::env::var("PINTLE_CI_SLOT") {
            Ok(slot) => slot.parse().context("PINTLE_CI_SLOT is not a number")?,
            Err(_) => commits()?,
        };
        Ok(Turn(slot % RUNS))
    }

    /// The part that each run has one of.
    pub(crate) fn part(self, of: usize) -> Shard {
        Shard { index: self.0 % of, of }
    }

    /// The part that every second run has one of: the runs with an even turn, or the others.
    pub(crate) fn part_of_every_second(self, of: usize) -> Shard {
        Shard { index: self.0 / 2 % of, of }
    }

    pub(crate) fn is_even(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

impl Shard {
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ten_turns_have_every_part_also_of_what_every_second_run_has() {
        let turns: Vec<Turn> = (0..RUNS).map(Turn).collect();
        for is_even in [true, false] {
            let seen: BTreeSet<usize> = turns
                .iter()
                .filter(|turn| turn.is_even() == is_even)
                .map(|turn| turn.part_of_every_second(5).index)
                .collect();
            assert_eq!(seen.len(), 5);
        }
        assert_eq!(turns.iter().map(|turn| turn.part(5).index).collect::<BTreeSet<usize>>().len(), 5);
    }

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
