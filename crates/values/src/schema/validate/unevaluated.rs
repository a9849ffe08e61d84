//! Tracks properties and items that no rule has evaluated.

use pintle_tree::Node;

use crate::schema::rules::Schema;

/// Flags for the properties or items that no rule has evaluated; `None` if all are evaluated, or if the flags are not needed.
#[derive(Default)]
pub(super) struct Unevaluated {
    pub(super) properties: Option<Vec<bool>>,
    pub(super) items: Option<Vec<bool>>,
}

impl Unevaluated {
    pub(super) fn new(node: &Node, schema: &Schema, wanted: bool) -> Self {
        let mut unevaluated = Unevaluated::default();
        match node {
            Node::Map(map) => {
                let rules = schema.object.as_deref();
                let complete = rules.is_some_and(|rules| rules.additional.is_some());
                if !complete && (wanted || rules.is_some_and(|rules| rules.unevaluated.is_some())) {
                    unevaluated.properties = Some(vec![true; map.len()]);
                }
            }
            Node::List(list) => {
                let rules = schema.array.as_deref();
                let complete = rules.is_some_and(|rules| rules.rest.is_some());
                let first = rules.map_or(0, |rules| rules.first.len());
                let wanted = wanted || rules.is_some_and(|rules| rules.unevaluated.is_some());
                if !complete && wanted && first < list.len() {
                    unevaluated.items = Some((0..list.len()).map(|index| index >= first).collect());
                }
            }
            _ => {}
        }
        unevaluated
    }

    pub(super) fn is_empty(&self) -> bool {
        let none = |flags: &Option<Vec<bool>>| flags.as_ref().is_none_or(|flags| !flags.contains(&true));
        none(&self.properties) && none(&self.items)
    }

    pub(super) fn merge(&mut self, other: &Unevaluated) {
        let both = |mine: &mut Option<Vec<bool>>, other: &Option<Vec<bool>>| match (mine.as_mut(), other) {
            (Some(mine), Some(other)) => mine.iter_mut().zip(other).for_each(|(mine, other)| *mine &= other),
            _ => *mine = None,
        };
        both(&mut self.properties, &other.properties);
        both(&mut self.items, &other.items);
    }
}
