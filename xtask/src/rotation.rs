//! Long test sets are split into shards that rotate by commit: ten consecutive runs cover everything.

use anyhow::{Context as _, Result, bail};

use crate::shell::{output, print_line, root};

/// How many consecutive runs cover everything.
const RUNS: usize = 10;

/// One of `of` equal shards of a list, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    index: usize,
    of: usize,
}

/// The slot of a run in the rotation, from 0 to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(usize);

impl Slot {
    /// The slot of this commit: the number of commits, unless `PINTLE_CI_SLOT` is set.
    pub(crate) fn of_head() -> Result<Slot> {
        let slot: usize = match std::env::var("PINTLE_CI_SLOT") {
            Ok(slot) => slot.parse().context("PINTLE_CI_SLOT is not a number")?,
            Err(_) => commits()?,
        };
        Ok(Slot(slot % RUNS))
    }

    /// The shard of a set that every run has one shard of.
    pub(crate) fn shard(self, of: usize) -> Shard {
        Shard { index: self.0 % of, of }
    }

    /// The shard of a set that every second run has one shard of: the runs with an even slot, or the others.
    pub(crate) fn shard_of_every_second(self, of: usize) -> Shard {
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
            _ => bail!("`{text}` is not a shard: `0/5` is the first of five"),
        }
    }

    /// The form that [`Shard::parse`] reads.
    pub(crate) fn text(self) -> String {
        format!("{}/{}", self.index, self.of)
    }

    /// Whether the entry at `index` of a list belongs to this shard.
    pub(crate) fn has(self, index: usize) -> bool {
        index % self.of == self.index
    }
}

/// The number of commits up to HEAD; 0 outside a repository.
fn commits() -> Result<usize> {
    let mut git = std::process::Command::new("git");
    git.args(["rev-list", "--count", "HEAD"]).current_dir(root());
    match output(&mut git) {
        Ok(count) => String::from_utf8_lossy(&count).trim().parse().context("git counts no commits"),
        Err(error) => {
            print_line(&format!(
                "not a git repository, so the first shard of each long set is run: {error:#}"
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
    fn ten_runs_cover_every_shard_also_of_sets_of_every_second_run() {
        let slots: Vec<Slot> = (0..RUNS).map(Slot).collect();
        for is_even in [true, false] {
            let seen: BTreeSet<usize> = slots
                .iter()
                .filter(|slot| slot.is_even() == is_even)
                .map(|slot| slot.shard_of_every_second(5).index)
                .collect();
            assert_eq!(seen.len(), 5);
        }
        assert_eq!(slots.iter().map(|slot| slot.shard(5).index).collect::<BTreeSet<usize>>().len(), 5);
    }

    #[test]
    fn shards_are_disjoint_and_cover_everything() {
        let shards: Vec<Shard> = (0..5).map(|index| Shard { index, of: 5 }).collect();
        for entry in 0..23 {
            assert_eq!(shards.iter().filter(|shard| shard.has(entry)).count(), 1);
        }
        assert_eq!(Shard::parse("3/5").unwrap().text(), "3/5");
        assert!(Shard::parse("5/5").is_err() && Shard::parse("x").is_err());
    }
}
