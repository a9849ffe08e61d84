//! The path of a chart in the tree of charts, which determines the order of handlers.

use std::cmp::Ordering;
use std::fmt;

/// The names of a chart and of its parents, top-level chart first.
///
/// Paths are ordered as handlers are called: siblings by name, subcharts before their parent, and the program, which
/// is above all charts, last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChartPath {
    names: Vec<String>,
}

impl ChartPath {
    /// The path of the program itself, above all charts.
    pub fn program() -> Self {
        ChartPath::default()
    }

    /// The path of a top-level chart.
    pub fn top(name: impl Into<String>) -> Self {
        ChartPath::program().child(name)
    }

    /// The path of a subchart. `name` is its alias, if it has one.
    #[must_use]
    pub fn child(&self, name: impl Into<String>) -> Self {
        let mut names = self.names.clone();
        names.push(name.into());
        ChartPath { names }
    }

    /// The names, top-level chart first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names below the top-level chart, which are the keys of the chart's values.
    pub fn below_top(&self) -> &[String] {
        self.names.get(1..).unwrap_or_default()
    }

    /// Whether `other` is below this chart, at any depth.
    pub fn is_above(&self, other: &ChartPath) -> bool {
        other.names.len() > self.names.len() && other.names.starts_with(&self.names)
    }
}

impl Ord for ChartPath {
    fn cmp(&self, other: &Self) -> Ordering {
        for (mine, theirs) in self.names.iter().zip(&other.names) {
            match mine.cmp(theirs) {
                Ordering::Equal => {}
                different => return different,
            }
        }
        // One is above the other, or they are equal: the deeper one comes first.
        other.names.len().cmp(&self.names.len())
    }
}

impl PartialOrd for ChartPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ChartPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names.is_empty() {
            true => formatter.write_str("the program"),
            false => write!(formatter, "chart {}", self.names.join("/")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ChartPath {
        text.split('/')
            .filter(|name| !name.is_empty())
            .fold(ChartPath::program(), |path, name| path.child(name))
    }

    #[test]
    fn children_go_before_parents_and_the_program_goes_last() {
        let mut paths: Vec<ChartPath> =
            ["", "web", "web/db", "web/cache", "web/db/log", "web/cache/x"].map(path).to_vec();
        paths.sort();
        let names: Vec<String> = paths.iter().map(|path| path.names().join("/")).collect();
        assert_eq!(names, ["web/cache/x", "web/cache", "web/db/log", "web/db", "web", ""]);
    }

    #[test]
    fn the_order_is_total() {
        // All paths with up to three of two names.
        let mut paths = vec![ChartPath::program()];
        for depth in 0..3 {
            let longer: Vec<ChartPath> = paths
                .iter()
                .filter(|path| path.names().len() == depth)
                .flat_map(|path| ["a", "b"].map(|name| path.child(name)))
                .collect();
            paths.extend(longer);
        }
        for one in &paths {
            for two in &paths {
                assert_eq!(one.cmp(two), two.cmp(one).reverse());
                assert_eq!(one == two, one.cmp(two) == Ordering::Equal);
                assert!(!one.is_above(two) || two < one);
                for three in &paths {
                    assert!(!(one < two && two < three) || one < three);
                }
            }
        }
    }
}
