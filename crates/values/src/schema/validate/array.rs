//! Rules for lists.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pintle_tree::{Node, Str};

use super::{InstancePath, Validation};
use crate::schema::decimal::Decimal;
use crate::schema::message::count;
use crate::schema::rules::{Additional, ArrayRules, SchemaId};

impl Validation<'_, '_, '_> {
    pub(super) fn check_array(&mut self, list: &[Node], rules: &ArrayRules) {
        self.check_bounds("Items", list.len() as i64, rules.minimum, rules.maximum);
        if rules.unique {
            let mut work = 0;
            let found = duplicates(list, self.validator.budget.work_left(), &mut work);
            if !self.spend(work) {
                return;
            }
            if let Some((one, two)) = found {
                self.fail(|| format!("items at {} and {} are equal", count(one as i64), count(two as i64)));
            }
        }
        for (index, (id, node)) in rules.first.iter().zip(list).enumerate() {
            self.check_inside(*id, node, InstancePath::Index(self.at, index));
        }
        let first = rules.first.len().min(list.len());
        let rest = &list[first..];
        match rules.rest {
            Some(Additional::Allowed(false)) if !rest.is_empty() => {
                self.fail(|| format!("last {} additionalItem(s) not allowed", count(rest.len() as i64)));
            }
            Some(Additional::Schema(id)) => {
                for (index, node) in rest.iter().enumerate() {
                    self.check_inside(id, node, InstancePath::Index(self.at, first + index));
                }
            }
            _ => {}
        }
        if let Some(id) = rules.contains {
            self.check_contained(list, id, rules);
        }
    }

    fn check_contained(&mut self, list: &[Node], id: SchemaId, rules: &ArrayRules) {
        let mut causes = Vec::new();
        let mut matched: Vec<usize> = Vec::new();
        for (index, node) in list.iter().enumerate() {
            match self.inside(id, node, &InstancePath::Index(self.at, index)) {
                Err(failure) => causes.push(failure),
                Ok(_) => {
                    matched.push(index);
                    // Since 2020-12, items that match `contains` count as evaluated.
                    if self.schema.draft >= 2020
                        && let Some(flags) = &mut self.unevaluated.items
                    {
                        flags[index] = false;
                    }
                }
            }
        }
        let indexes = || matched.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let found = matched.len() as i64;
        match rules.minimum_contained {
            Some(wanted) if found < wanted => self.fail_with(causes, || {
                let wanted = count(wanted);
                if matched.is_empty() {
                    return format!("min {wanted} items required to match contains schema, but none matched");
                }
                let (found, indexes) = (count(found), indexes());
                format!("min {wanted} items required to match contains schema, but matched {found} items at {indexes}")
            }),
            None if matched.is_empty() => self.fail_with(causes, || "no items match contains schema".to_owned()),
            _ => {}
        }
        if let Some(wanted) = rules.maximum_contained.filter(|&wanted| found > wanted) {
            self.fail(|| {
                let (wanted, found, indexes) = (count(wanted), count(found), indexes());
                format!("max {wanted} items required to match contains schema, but matched {found} items at {indexes}")
            });
        }
    }
}

/// The first two equal items of a list. Integers and floats of the same value are equal. Only items with the same
/// fingerprint are compared. The work is added to `work`; the search stops when it exceeds `most`.
fn duplicates(list: &[Node], most: u64, work: &mut u64) -> Option<(usize, usize)> {
    let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (two, node) in list.iter().enumerate() {
        let mut hasher = DefaultHasher::new();
        *work += fingerprint(node, &mut hasher);
        // Helm's library compares all pairs, which is quadratic; a hash finds the candidates.
        let alike = known.entry(hasher.finish()).or_default();
        for &one in &*alike {
            *work += weight(node);
            if *work > most {
                return None;
            }
            if same(node, &list[one]) {
                return Some((one, two));
            }
        }
        alike.push(two);
    }
    None
}

/// Hashes a value so that equal values (`same`) have equal hashes, and returns the work.
fn fingerprint(node: &Node, hasher: &mut DefaultHasher) -> u64 {
    match node {
        Node::Nil => 1,
        Node::Int(_) | Node::Float(_) => {
            Decimal::from_node(node).hash(hasher);
            4
        }
        Node::Bool(value) => {
            value.hash(hasher);
            1
        }
        Node::Str(text) => {
            text.as_bytes().hash(hasher);
            1 + text.len() as u64 / 64
        }
        Node::List(list) => {
            list.len().hash(hasher);
            1 + list.iter().map(|node| fingerprint(node, hasher)).sum::<u64>()
        }
        Node::Map(map) => {
            map.len().hash(hasher);
            let entry = |(key, node): (&Str, &Node)| {
                key.as_bytes().hash(hasher);
                fingerprint(node, hasher)
            };
            1 + map.iter().map(entry).sum::<u64>()
        }
    }
}

/// The work of comparing a value with a nearly equal one, which is the worst case.
fn weight(node: &Node) -> u64 {
    match node {
        Node::Str(text) => 4 + text.len() as u64 / 64,
        Node::List(list) => 1 + list.iter().map(weight).sum::<u64>(),
        Node::Map(map) => 1 + map.values().map(weight).sum::<u64>(),
        _ => 4,
    }
}

fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Int(_) | Node::Float(_), Node::Int(_) | Node::Float(_)) => {
            let number = Decimal::from_node(a);
            number.is_some() && number == Decimal::from_node(b)
        }
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Option<(usize, usize)> {
        let Node::List(list) = pintle_tree::json::read_exact(json.as_bytes()).expect("good JSON") else {
            panic!("a list is wanted")
        };
        duplicates(&list, u64::MAX, &mut 0)
    }

    #[test]
    fn the_first_item_that_was_there_before_is_found() {
        assert_eq!(found(r#"[1, "a", {"k": [2]}, "b", {"k": [2.0]}, "a"]"#), Some((2, 4)));
        assert_eq!(found(r#"[1, 2, "x", null, false, [], {}]"#), None);
        assert_eq!(found("[10, 1e1]"), Some((0, 1)));
    }

    #[test]
    fn a_text_that_spells_a_number_is_not_the_number() {
        for text in [r#"["1", 1]"#, r#"[1, "1"]"#, r#"[["1"], [1]]"#, r#"[[1], ["1"]]"#] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn the_work_of_a_long_list_is_that_of_its_items() {
        let list: Vec<Node> = (0..20_000).map(Node::Int).collect();
        let mut work = 0;
        assert_eq!(duplicates(&list, u64::MAX, &mut work), None);
        assert_eq!(work, 80_000);
    }

    #[test]
    fn comparing_long_items_ends_at_the_limit() {
        let item = Node::List((0..2_000).map(Node::Int).collect());
        let mut work = 0;
        assert_eq!(duplicates(&[item.clone(), item], 10_000, &mut work), None);
        assert!(work > 10_000);
    }
}
