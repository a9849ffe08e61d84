//! What the analysis knows about a value.

use std::collections::BTreeMap;

use pintle_tree::Str;

use super::Segment;

/// Longer paths come from recursion, for example over a tree of values; they are cut off here, so that the set of
/// contexts of a template is finite and the analysis ends.
const MAX_PATH: usize = 24;

/// What a value may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// Made by a function, or absent: nothing of the context.
    Unknown,
    /// A string literal.
    Text(Str),
    /// What is found under a path of the context.
    Path(Vec<Segment>),
    /// A map of a `dict`; entries with computed keys are under `None`.
    Dict(BTreeMap<Option<Str>, Shape>),
    /// A list with elements of this shape.
    List(Box<Shape>),
    /// One of several, sorted.
    OneOf(Vec<Shape>),
}

impl Shape {
    /// Combines the alternatives.
    pub(super) fn one_of(shapes: impl IntoIterator<Item = Shape>) -> Shape {
        let mut all = Vec::new();
        for shape in shapes {
            match shape {
                Shape::OneOf(more) => all.extend(more),
                // Nothing of the context can be read through it, so it adds nothing.
                Shape::Unknown => {}
                one => all.push(one),
            }
        }
        all.sort();
        all.dedup();
        match all.len() {
            0 => Shape::Unknown,
            1 => all.remove(0),
            _ => Shape::OneOf(all),
        }
    }

    /// The entry under a key.
    pub(super) fn field(&self, key: &Str) -> Shape {
        match self {
            Shape::Path(path) => extended(path, Segment::Key(key.clone())),
            Shape::Dict(entries) => {
                let known = entries.get(&Some(key.clone()));
                Shape::one_of(known.into_iter().chain(entries.get(&None)).cloned())
            }
            Shape::OneOf(shapes) => Shape::one_of(shapes.iter().map(|shape| shape.field(key))),
            Shape::Unknown | Shape::Text(_) | Shape::List(_) => Shape::Unknown,
        }
    }

    /// Any item of a list or entry of a map.
    pub(super) fn element(&self) -> Shape {
        match self {
            Shape::Path(path) => extended(path, Segment::Any),
            Shape::Dict(entries) => Shape::one_of(entries.values().cloned()),
            Shape::List(element) => element.as_ref().clone(),
            Shape::OneOf(shapes) => Shape::one_of(shapes.iter().map(Shape::element)),
            Shape::Unknown | Shape::Text(_) => Shape::Unknown,
        }
    }

    /// What `key` selects: entries where it is known, else any element.
    pub(super) fn index(&self, key: &Shape) -> Shape {
        match key {
            Shape::Text(key) => self.field(key),
            Shape::OneOf(keys) if keys.iter().all(|key| matches!(key, Shape::Text(_))) => {
                Shape::one_of(keys.iter().map(|key| self.index(key)))
            }
            _ => self.element(),
        }
    }

    /// Whether it may be a part of the context itself, rather than something that has parts of it.
    pub(super) fn is_context(&self) -> bool {
        match self {
            Shape::Path(_) => true,
            Shape::OneOf(shapes) => shapes.iter().any(Shape::is_context),
            _ => false,
        }
    }

    /// The number of its parts.
    pub(super) fn size(&self) -> usize {
        match self {
            Shape::Unknown | Shape::Text(_) => 1,
            Shape::Path(path) => 1 + path.len(),
            Shape::Dict(entries) => 1 + entries.values().map(Shape::size).sum::<usize>(),
            Shape::List(element) => 1 + element.size(),
            Shape::OneOf(shapes) => 1 + shapes.iter().map(Shape::size).sum::<usize>(),
        }
    }

    /// Calls `visit` with every path in it.
    pub(super) fn for_each_path(&self, visit: &mut dyn FnMut(&[Segment])) {
        match self {
            Shape::Path(path) => visit(path),
            Shape::Dict(entries) => entries.values().for_each(|shape| shape.for_each_path(visit)),
            Shape::List(element) => element.for_each_path(visit),
            Shape::OneOf(shapes) => shapes.iter().for_each(|shape| shape.for_each_path(visit)),
            Shape::Unknown | Shape::Text(_) => {}
        }
    }
}

fn extended(path: &[Segment], segment: Segment) -> Shape {
    let mut path = path.to_vec();
    if path.len() < MAX_PATH {
        path.push(segment);
    }
    Shape::Path(path)
}
