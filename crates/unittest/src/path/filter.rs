//! Filters in paths, as in `[?(@.name == "web" && @.port > 80)]`.

use std::cmp::Ordering;

use pintle_regex::Regex;
use pintle_tree::Node;
use pintle_tree::number::{format_value, parse_float};

use super::{Found, Step, follow};

/// A condition on a node.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    /// Accepts nothing: a meaningless expression.
    Never,
    /// Whether a path leads anywhere.
    Exists(Operand),
    /// `true` or `false`.
    Fixed(bool),
    /// The comparison holds for all pairs of values of both sides, and there is at least one pair.
    Compare(Comparison, Operand, Operand),
    Not(Box<Filter>),
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Matches,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A path from the node that is filtered.
    At(Vec<Step>),
    /// A path from the document.
    Root(Vec<Step>),
    Literal(Value),
    /// Nothing, where the expression has a hole.
    Missing,
}

/// A scalar by its type and text.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Str(String),
    /// An integer or a fraction.
    Number(f64),
    Bool(bool),
    Nil,
    Regex(Regex),
    /// A list or a map.
    Other,
}

impl Filter {
    pub(super) fn accepts<'a>(&self, node: &Found<'a>, root: &'a Node) -> bool {
        match self {
            Filter::Never => false,
            Filter::Exists(path) => path.finds(node, root),
            Filter::Fixed(value) => *value,
            Filter::Compare(comparison, left, right) => {
                let right = right.values(node, root);
                let mut matched = false;
                for left in left.values(node, root) {
                    for right in &right {
                        if !comparison.holds(&left, right) {
                            return false;
                        }
                        matched = true;
                    }
                }
                matched
            }
            Filter::Not(filter) => !filter.accepts(node, root),
            Filter::And(left, right) => left.accepts(node, root) && right.accepts(node, root),
            Filter::Or(left, right) => left.accepts(node, root) || right.accepts(node, root),
        }
    }
}

impl Operand {
    fn finds<'a>(&self, node: &Found<'a>, root: &'a Node) -> bool {
        match self {
            Operand::At(steps) => !follow(steps, node.clone(), root).is_empty(),
            Operand::Root(steps) => !follow(steps, Found::Borrowed(root), root).is_empty(),
            Operand::Literal(_) | Operand::Missing => false,
        }
    }

    fn values<'a>(&self, node: &Found<'a>, root: &'a Node) -> Vec<Value> {
        let nodes = match self {
            Operand::At(steps) => follow(steps, node.clone(), root),
            Operand::Root(steps) => follow(steps, Found::Borrowed(root), root),
            Operand::Literal(value) => return vec![value.clone()],
            Operand::Missing => return Vec::new(),
        };
        nodes.iter().map(|node| Value::of(node)).collect()
    }
}

impl Value {
    fn of(node: &Node) -> Value {
        match node {
            Node::Nil => Value::Nil,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Number(*value as f64),
            // Numbers are compared after formatting and parsing them again.
            Node::Float(value) => Value::Number(parse_float(&format_value(*value)).unwrap_or(*value)),
            Node::Str(text) => Value::Str(text.to_string()),
            Node::List(_) | Node::Map(_) => Value::Other,
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Str(text), Value::Regex(pattern)) if self == Comparison::Matches => {
                return pattern.is_match(text.as_bytes());
            }
            (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
            (Value::Str(left), Value::Str(right)) => Some(left.cmp(right)),
            (Value::Bool(left), Value::Bool(right)) => (left == right).then_some(Ordering::Equal),
            (Value::Nil, Value::Nil) => Some(Ordering::Equal),
            _ => None,
        };
        match self {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order != Some(Ordering::Equal),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Comparison::Matches => false,
        }
    }
}
