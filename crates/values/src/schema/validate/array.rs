//! Rules for lists.

use pintle_tree::Node;

use super::{At, Step};
use crate::schema::decimal::Decimal;
use crate::schema::message::count;
use crate::schema::rules::{Additional, ArrayRules, SchemaId};

impl Step<'_, '_, '_> {
    pub(super) fn check_array(&mut self, list: &[Node], rules: &ArrayRules) {
        self.check_bounds("Items", list.len() as i64, rules.minimum, rules.maximum);
        if rules.unique
            && let Some((one, two)) = duplicates(list)
        {
            self.fail(|| format!("items at {} and {} are equal", count(one as i64), count(two as i64)));
        }
        for (index, (id, node)) in rules.first.iter().zip(list).enumerate() {
            self.check_inside(*id, node, At::Index(self.at, index));
        }
        let rest = &list[rules.first.len().min(list.len())..];
        match rules.rest {
            Some(Additional::Allowed(false)) if !rest.is_empty() => {
                self.fail(|| format!("last {} additionalItem(s) not allowed", count(rest.len() as i64)));
            }
            Some(Additional::Schema(id)) => {
                // Helm's library counts these from zero again, and so the messages do.
                for (index, node) in rest.iter().enumerate() {
                    self.check_inside(id, node, At::Index(self.at, index));
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
            match self.inside(id, node, &At::Index(self.at, index)) {
                Err(failure) => causes.push(failure),
                Ok(_) => {
                    matched.push(index);
                    if self.schema.draft >= 2020
                        && let Some(flags) = &mut self.unevaluated.items
                    {
                        flags[index] = false;
                    }
                }
            }
        }
        let places = || matched.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let found = matched.len() as i64;
        match rules.minimum_contained {
            Some(wanted) if found < wanted => self.fail_with(causes, || {
                let wanted = count(wanted);
                if matched.is_empty() {
                    return format!("min {wanted} items required to match contains schema, but none matched");
                }
                let (found, places) = (count(found), places());
                format!("min {wanted} items required to match contains schema, but matched {found} items at {places}")
            }),
            None if matched.is_empty() => self.fail_with(causes, || "no items match contains schema".to_owned()),
            _ => {}
        }
        if let Some(wanted) = rules.maximum_contained.filter(|&wanted| found > wanted) {
            self.fail(|| {
                let (wanted, found, places) = (count(wanted), count(found), places());
                format!("max {wanted} items required to match contains schema, but matched {found} items at {places}")
            });
        }
    }
}

/// The first two equal items of a list. Integers and floats of the same value are equal.
fn duplicates(list: &[Node]) -> Option<(usize, usize)> {
    (1..list.len()).find_map(|two| (0..two).find(|&one| same(&list[two], &list[one])).map(|one| (one, two)))
}

fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Int(_) | Node::Float(_), Node::Int(_) | Node::Float(_)) => {
            let number = Decimal::of(a);
            number.is_some() && number == Decimal::of(b)
        }
        (Node::Int(_) | Node::Float(_), Node::Str(text)) => {
            let spelled = text.as_str().and_then(Decimal::parse);
            spelled.is_some() && Decimal::of(a) == spelled
        }
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}
