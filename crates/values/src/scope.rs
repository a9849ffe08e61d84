//! The chart tree as coalescing sees it: names, defaults, subcharts.

use pintle_chart::Chart;
use pintle_tree::{Map, Node, Str};

/// A chart under its name in the parent.
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

/// The path of a value, for messages. A linked list, so that nothing is allocated unless there is a message.
#[derive(Clone, Copy)]
pub(crate) enum FieldPath<'p> {
    Top,
    Inside(&'p FieldPath<'p>, &'p Str),
}

impl FieldPath<'_> {
    /// The keys joined with dots.
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
