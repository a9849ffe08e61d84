//! Attributes a failed proof to the overridden values that caused it, so that only those are given up.

use std::collections::{BTreeMap, BTreeSet};

use crate::fields::{Field, FieldLocation};
use crate::proof::Violation;
use crate::provenance::Provenance;
use crate::solve::Solver;

/// Maps violations of a proof to the values that caused them.
pub(crate) struct Attribution<'b> {
    /// The overridden values by leaf index, with their new texts.
    pub(crate) texts: &'b BTreeMap<usize, String>,
    pub(crate) provenance: &'b Provenance,
    pub(crate) image_fields: &'b [Field],
    pub(crate) solver: &'b Solver<'b>,
}

impl Attribution<'_> {
    /// Returns the leaves whose change caused any of `violations`; empty if none can be named.
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

    /// The changed leaves that reach a field. Leaves changed for the sake of other fields come first: if there are
    /// any, the field's own edits are not at fault.
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
