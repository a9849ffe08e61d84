//! Rules for single values: types, choices, strings and numbers.

use std::fmt::Write as _;

use pintle_tree::{Node, Str};

use super::Validation;
use crate::schema::decimal::Decimal;
use crate::schema::document::Doc;
use crate::schema::message::{Failure, amount, displayed, quoted};
use crate::schema::rules::{NumberRules, TextRules, Types};

/// The cost of checking a format, whatever the text.
const FORMAT: u64 = 10;

impl Validation<'_, '_, '_> {
    pub(super) fn check_value(&mut self) -> Result<(), Failure> {
        let types = self.schema.types;
        let found = Types::from_node(self.node);
        if !types.is_empty() && !types.contains(found) {
            // By value, so that `1.0` is an integer: the drafts since 6 say so, and values files have only
            // floats.
            let integer = types.contains(Types::INTEGER)
                && Decimal::from_node(self.node).is_some_and(|number| number.is_integer());
            if !integer {
                return Err(self.failure(|| {
                    format!("got {}, want {}", found.names().join(""), types.names().join(" or "))
                }));
            }
        }
        let Some(rules) = self.schema.value.as_deref() else { return Ok(()) };
        if let Some(constant) = &rules.constant
            && !equal(self.node, constant)
        {
            return Err(self.failure(|| match constant {
                Doc::List(_) | Doc::Map(_) => "'const' failed".to_owned(),
                _ => format!("value must be {}", displayed(constant)),
            }));
        }
        if let Some(choices) = &rules.choices {
            // Numbers are compared as decimals, which is slower than comparing bytes.
            let each = if matches!(self.node, Node::Int(_) | Node::Float(_)) { 4 } else { 1 };
            self.spend(choices.len() as u64 * each / 8);
        }
        if let Node::Str(text) = self.node {
            self.spend(text.len() as u64 / 64);
        }
        if let Some(choices) = &rules.choices
            // The library compares types for `enum` first, but not for `const`, where a number equals a
            // string that spells it.
            && !choices.iter().any(|choice| same_type(self.node, choice) && equal(self.node, choice))
        {
            return Err(self.failure(|| choice_message(choices)));
        }
        if let (Some(format), Node::Str(text)) = (rules.format, self.node)
            && self.spend(FORMAT + text.len() as u64)
            && let Err(reason) = (format.check)(&text.to_str_lossy())
        {
            let message = || format!("{} is not valid {}: {reason}", quoted(text.as_bytes()), format.name);
            return Err(self.failure(message));
        }
        Ok(())
    }

    pub(super) fn check_text(&mut self, text: &Str, rules: &TextRules) {
        if rules.minimum.is_some() || rules.maximum.is_some() {
            // Characters, not bytes.
            let length = text.to_str_lossy().chars().count() as i64;
            self.check_bounds("Length", length, rules.minimum, rules.maximum);
        }
        if let Some(pattern) = rules.pattern.as_ref()
            && self.spend(pattern.cost(text.len() as u64) + text.len() as u64 / 64)
            && !pattern.is_match(text.as_bytes())
        {
            self.fail(|| {
                format!("{} does not match pattern {}", quoted(text.as_bytes()), quoted(pattern.source()))
            });
        }
    }

    pub(super) fn check_number(&mut self, rules: &NumberRules) {
        let Some(number) = Decimal::from_node(self.node) else { return };
        if let Some(unit) = &rules.unit
            && !self.spend(number.distance(unit) / 8)
        {
            return;
        }
        let mut check = |name: &str, limit: &Option<Decimal>, fits: fn(&Decimal, &Decimal) -> bool| {
            if let Some(limit) = limit.as_ref().filter(|limit| !fits(&number, limit)) {
                self.fail(|| {
                    format!("{name}: got {}, want {}", amount(number.to_f64()), amount(limit.to_f64()))
                });
            }
        };
        check("minimum", &rules.minimum, |number, limit| number >= limit);
        check("maximum", &rules.maximum, |number, limit| number <= limit);
        check("exclusiveMinimum", &rules.above, |number, limit| number > limit);
        check("exclusiveMaximum", &rules.below, |number, limit| number < limit);
        check("multipleOf", &rules.unit, Decimal::is_multiple_of);
    }
}

fn choice_message(choices: &[Doc]) -> String {
    if choices.iter().any(|choice| matches!(choice, Doc::List(_) | Doc::Map(_))) {
        return "'enum' failed".to_owned();
    }
    let mut message =
        String::from(if choices.len() == 1 { "value must be " } else { "value must be one of " });
    for (index, choice) in choices.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(message, "{comma}{}", displayed(choice)).expect("writing to a String cannot fail");
    }
    message
}

fn same_type(node: &Node, doc: &Doc) -> bool {
    matches!(
        (node, doc),
        (Node::Nil, Doc::Nil)
            | (Node::Bool(_), Doc::Bool(_))
            | (Node::Int(_) | Node::Float(_), Doc::Number(_))
            | (Node::Str(_), Doc::Text(_))
            | (Node::List(_), Doc::List(_))
            | (Node::Map(_), Doc::Map(_))
    )
}

/// Whether a value equals a constant of a schema.
fn equal(node: &Node, doc: &Doc) -> bool {
    match (node, doc) {
        (Node::Nil, Doc::Nil) => true,
        (Node::Bool(a), Doc::Bool(b)) => a == b,
        (Node::Str(a), Doc::Text(b)) => a == b,
        (Node::Int(_) | Node::Float(_), Doc::Number(text)) => {
            let wanted = text.as_str().and_then(Decimal::parse);
            wanted.is_some() && Decimal::from_node(node) == wanted
        }
        (Node::List(a), Doc::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Node::Map(a), Doc::Map(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|((key, a), (other, b))| key == other && equal(a, b))
        }
        _ => false,
    }
}
