//! The keys of values.yaml with their lines.

use std::collections::BTreeSet;

use pintle_tree::Str;
use pintle_yaml::outline::{Entry, NodeRef, Outline};

use crate::Chart;

/// A key of values.yaml.
#[derive(Clone, Copy, Debug)]
pub struct ValueKey<'k> {
    /// The keys from the root to this one.
    pub path: &'k [Str],
    /// The line in values.yaml, from 1.
    pub line: usize,
    /// Whether no keys are below it. Lists have none.
    pub is_leaf: bool,
}

impl ValueKey<'_> {
    /// The path as people write it: `image.tag`.
    pub fn dotted(&self) -> String {
        self.path.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
    }
}

impl Chart {
    /// Calls `visit` with the keys of values.yaml that are meant for the chart's own templates, in order. Nested keys are
    /// visited if `visit` returns true. The values of dependencies, globals and tags are left out, because subcharts
    /// or dependency processing read them.
    pub fn visit_value_keys(&self, visit: &mut dyn FnMut(ValueKey<'_>) -> bool) {
        let Some(outline) = self.values_text().and_then(|text| Outline::read_first(text).ok()) else {
            return;
        };
        let dependencies = self.metadata.dependencies.iter().flat_map(|it| [&it.name, &it.alias]);
        let subcharts = self.subcharts.iter().map(Chart::name);
        let others: BTreeSet<&str> =
            dependencies.map(String::as_str).chain(subcharts).chain(["global", "tags"]).collect();
        for entry in outline.roots().next().into_iter().flat_map(NodeRef::entries) {
            if !std::str::from_utf8(&entry.key.text()).is_ok_and(|key| others.contains(key)) {
                visit_below(entry, &mut Vec::new(), visit);
            }
        }
    }
}

fn visit_below(entry: Entry<'_>, path: &mut Vec<Str>, visit: &mut dyn FnMut(ValueKey<'_>) -> bool) {
    path.push(Str::new(&*entry.key.text()));
    let mut below = entry.value.entries().peekable();
    let key = ValueKey { path, line: entry.key.line(), is_leaf: below.peek().is_none() };
    if visit(key) {
        for entry in below {
            visit_below(entry, path, visit);
        }
    }
    path.pop();
}

#[cfg(test)]
mod tests {
    use crate::{File, load_files};

    #[test]
    fn keys_of_dependencies_are_left_out() {
        let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n\
                        dependencies: [{name: db, alias: store, version: 1.0.0, repository: ''}]\n";
        let values =
            "image:\n  tag: a\n  args: [x: 1]\nstore: {size: 1}\nglobal: {a: 1}\ntags: {b: true}\nlast: {}\n";
        let files =
            vec![File::new("Chart.yaml", metadata.as_bytes()), File::new("values.yaml", values.as_bytes())];
        let chart = load_files(files).expect("a good chart");
        let mut seen = Vec::new();
        chart.visit_value_keys(&mut |key| {
            seen.push(format!("{}:{}:{}", key.dotted(), key.line, key.is_leaf));
            true
        });
        assert_eq!(seen, ["image:1:false", "image.tag:2:true", "image.args:3:true", "last:7:true"]);
        let mut top = 0;
        chart.visit_value_keys(&mut |_| {
            top += 1;
            false
        });
        assert_eq!(top, 2);
    }
}
