//! The values of a test: values files, then `set` of the suite, then `set` of the test.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};

use crate::raw::Raw;
use crate::runner::Host;
use crate::{document, set_path, templates};

/// Values files, each of which is read once by the tests of a thread.
pub(crate) struct ValuesFiles<'h> {
    host: &'h dyn Host,
    read: RefCell<BTreeMap<String, Map<Node>>>,
}

impl<'h> ValuesFiles<'h> {
    pub(crate) fn new(host: &'h dyn Host) -> Self {
        ValuesFiles { host, read: RefCell::default() }
    }

    /// The values of a file. `name` is how a suite names it.
    ///
    /// # Errors
    /// When it cannot be read, or has no map.
    fn get(&self, path: String, name: &str) -> Result<Map<Node>, String> {
        if let Some(values) = self.read.borrow().get(&path) {
            return Ok(values.clone());
        }
        let text = self.host.read(&path)?;
        let values = match Raw::read(&text).map(|raw| raw.to_node()) {
            Ok(Node::Map(values)) => values,
            Ok(Node::Nil) => Map::new(),
            Ok(_) => {
                return Err(format!(
                    "failed to parse {name}: yaml: unmarshal errors:\n  cannot unmarshal into map[string]interface {{}}"
                ));
            }
            Err(error) => return Err(format!("failed to parse {name}: {error}")),
        };
        self.read.borrow_mut().insert(path, values.clone());
        Ok(values)
    }
}

/// Returns the values of a test for the chart at `route`.
///
/// # Errors
/// When a file cannot be read, or a path of `set` is malformed.
pub(crate) fn user_values(
    route: &str,
    suite_file: &str,
    files: &[String],
    sets: &[&[(Str, Node)]],
    read: &ValuesFiles<'_>,
) -> Result<Map<Node>, String> {
    let routes = routes(route);
    let mut base = Map::new();
    for name in files {
        let values = read.get(file_path(suite_file, name), name)?;
        base = merge(scoped(&routes, values), base);
    }
    for (path, value) in sets.iter().copied().flatten() {
        let values = set_path::build(&path.to_str_lossy(), value)?;
        base = merge(scoped(&routes, values), base);
    }
    floats(&mut base);
    Ok(base)
}

/// The path of a values file, which a suite names relative to itself.
pub(crate) fn file_path(suite_file: &str, name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { templates::join(folder(suite_file), name) }
}

/// The folder of a file; the current one for a name without a folder.
pub(crate) fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// The names of the charts on the way to a subchart.
fn routes(route: &str) -> Vec<&str> {
    route.split('/').step_by(2).collect()
}

/// Puts values where the subchart at the end of the route reads them; globals are visible on every level.
fn scoped(routes: &[&str], mut values: Map<Node>) -> Map<Node> {
    for name in routes.iter().skip(1).rev() {
        let mut outer = Map::new();
        if let Some(global) = values.get("global") {
            outer.insert("global".into(), global.clone());
        }
        outer.insert((*name).into(), Node::Map(values));
        values = outer;
    }
    values
}

/// Lays `above` over `below`. Null is kept, and a map and another value do not merge (Helm's `MergeTables`).
pub(crate) fn merge(mut above: Map<Node>, below: Map<Node>) -> Map<Node> {
    for (key, value) in below {
        match above.get_mut(&key) {
            None => {
                above.insert(key, value);
            }
            Some(slot) => {
                if let (Node::Map(over), Node::Map(under)) = (&mut *slot, value) {
                    let merged = merge(std::mem::take(over), under);
                    *slot = Node::Map(merged);
                }
            }
        }
    }
    above
}

/// Makes all numbers floats, which is what values files have.
fn floats(map: &mut Map<Node>) {
    for (_, node) in map.iter_mut() {
        float(node);
    }
}

fn float(node: &mut Node) {
    match node {
        Node::Int(value) => *node = Node::Float(*value as f64),
        Node::List(items) => items.iter_mut().for_each(float),
        Node::Map(map) => pintle_tree::with_stack(|| floats(map)),
        _ => {}
    }
}

/// Reads the values files of the command line over the defaults of a chart, for the conditions of its subcharts.
///
/// # Errors
/// When a text is not YAML.
pub(crate) fn over_defaults(defaults: &Map<Node>, texts: &[Vec<u8>]) -> Result<Map<Node>, String> {
    let mut base = defaults.clone();
    for text in texts {
        if let Node::Map(values) = document::read(text).map_err(|error| error.to_string())? {
            base = merge(values, base);
        }
    }
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<Node> {
        match document::read(text.as_bytes()).unwrap() {
            Node::Map(map) => map,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_of_subcharts_are_nested_and_globals_are_on_every_level() {
        let routes = routes("parent/charts/child/charts/grandchild");
        assert_eq!(routes, ["parent", "child", "grandchild"]);
        assert_eq!(
            scoped(&routes, map("{a: 1, global: {g: 2}}")),
            map("{global: {g: 2}, child: {global: {g: 2}, grandchild: {a: 1, global: {g: 2}}}}")
        );
    }

    #[test]
    fn maps_merge_and_null_stays() {
        assert_eq!(
            merge(map("{a: {b: 1, c: null}, d: x}"), map("{a: {b: 2, c: 3, e: 4}, d: {f: 1}, g: 1}")),
            map("{a: {b: 1, c: null, e: 4}, d: x, g: 1}")
        );
    }
}
