//! The charts of a tree as coalescing sees them: names, default values, subcharts.

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str};

/// A chart under the name it has in its parent.
pub(crate) struct Scope<'a> {
    pub(crate) name: Str,
    pub(crate) values: &'a Map<Node>,
    pub(crate) subscopes: Vec<Scope<'a>>,
}

impl<'a> Scope<'a> {
    /// The chart under its own name.
    pub(crate) fn new(chart: &'a Chart) -> Self {
        Scope::named(chart, chart.name())
    }

    /// The chart under another name.
    pub(crate) fn named(chart: &'a Chart, name: &str) -> Self {
        let subscopes = chart.subcharts.iter().map(Scope::new).collect();
        Scope { name: name.into(), values: &chart.values, subscopes }
    }

    pub(crate) fn has_subscope(&self, name: &Str) -> bool {
        self.subscopes.iter().any(|scope| scope.name == *name)
    }
}

/// Where a value is, for messages: a chain, so that nothing is built unless something is said.
#[derive(Clone, Copy)]
pub(crate) enum FieldPath<'p> {
    Top,
    Inside(&'p FieldPath<'p>, &'p Str),
}

impl FieldPath<'_> {
    /// The names with dots between them.
    pub(crate) fn dotted(&self) -> String {
        match self {
            FieldPath::Top => String::new(),
            FieldPath::Inside(outer, name) => {
                let mut text = outer.dotted();
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&name.to_str_lossy());
                text
            }
        }
    }
}
