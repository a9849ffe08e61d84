//! Which of the changed values are to blame when a proof fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::fields::{Field, Place};
use crate::proof::Violation;
use crate::provenance::Provenance;
use crate::solve::Solver;

/// Finds out which values are to blame for what must not be.
pub(crate) struct Blame<'b> {
    /// The values that were changed, and what to.
    pub(crate) texts: &'b BTreeMap<usize, String>,
    pub(crate) provenance: &'b Provenance,
    pub(crate) truth: &'b [Field],
    pub(crate) solver: &'b Solver<'b>,
}

impl Blame<'_> {
    /// The values that show in what went wrong.
    pub(crate) fn of(&self, violations: &[Violation]) -> BTreeSet<usize> {
        violations.iter().flat_map(|violation| self.of_one(violation)).collect()
    }

    fn of_one(&self, violation: &Violation) -> Vec<usize> {
        match violation {
            Violation::Unmoved(place) => self.of_field(place),
            Violation::Text(difference) => {
                let by_field = self.of_field(&difference.place);
                if !by_field.is_empty() {
                    return by_field;
                }
                let shows = |(leaf, text): &(&usize, &String)| {
                    let old = &self.provenance.leaves[**leaf].text;
                    difference.after.contains(text.as_str()) && difference.before.contains(old.as_str())
                };
                self.texts.iter().filter(shows).map(|(leaf, _)| *leaf).collect()
            }
            Violation::Structure { .. } | Violation::Broken(_) => Vec::new(),
        }
    }

    /// The values that reach a field: those that were changed for other fields, if there are any.
    fn of_field(&self, place: &Place) -> Vec<usize> {
        let Some(number) = self.truth.iter().position(|field| field.place == *place) else {
            return Vec::new();
        };
        let leaves = self.provenance.pieces[number].iter().map(|piece| piece.leaf);
        let leaves = leaves.chain(self.provenance.switches[number].iter().map(|switch| switch.leaf));
        let reaching: Vec<usize> = leaves.filter(|leaf| self.texts.contains_key(leaf)).collect();
        let (own, foreign): (Vec<usize>, Vec<usize>) =
            reaching.into_iter().partition(|leaf| self.solver.changes(number, *leaf));
        if foreign.is_empty() { own } else { foreign }
    }
}
