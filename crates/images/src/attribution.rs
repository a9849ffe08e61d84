//! Which of the changed values are to blame when a proof fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::fields::{Field, FieldLocation};
use crate::proof::Violation;
use crate::provenance::Provenance;
use crate::solve::Solver;

/// Finds out which values are to blame for what must not be.
pub(crate) struct Attribution<'b> {
    /// The values that were changed, and what to.
    pub(crate) texts: &'b BTreeMap<usize, String>,
    pub(crate) provenance: &'b Provenance,
    pub(crate) image_fields: &'b [Field],
    pub(crate) solver: &'b Solver<'b>,
}

impl Attribution<'_> {
    /// The values that show in what went wrong.
    pub(crate) fn leaves(&self, violations: &[Violation]) -> BTreeSet<usize> {
        violations.iter().flat_map(|violation| self.for_violation(violation)).collect()
    }

    fn for_violation(&self, violation: &Violation) -> Vec<usize> {
        match violation {
            Violation::Unmoved(location) => self.for_field(location),
            Violation::Text(difference) => {
                let by_field = self.for_field(&difference.location);
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
    fn for_field(&self, location: &FieldLocation) -> Vec<usize> {
        let Some(number) = self.image_fields.iter().position(|field| field.location == *location) else {
            return Vec::new();
        };
        let leaves = self.provenance.fragments[number].iter().map(|fragment| fragment.leaf);
        let leaves = leaves.chain(self.provenance.unset_values[number].iter().map(|unset| unset.leaf));
        let reaching: Vec<usize> = leaves.filter(|leaf| self.texts.contains_key(leaf)).collect();
        let (own, foreign): (Vec<usize>, Vec<usize>) =
            reaching.into_iter().partition(|leaf| self.solver.changes(number, *leaf));
        if foreign.is_empty() { own } else { foreign }
    }
}
