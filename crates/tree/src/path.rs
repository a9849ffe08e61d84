//! Dotted paths into a tree.

use crate::{Map, Node, quote};

/// Why a path does not resolve. Prints as Helm's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path is empty.
    #[error("YAML path cannot be empty")]
    Empty,
    /// A segment is missing or is not a map.
    #[error("{} is not a table", quote::quote(.0.as_bytes()))]
    NoTable(String),
    /// The last segment is missing or is a map.
    #[error("{} is not a value", quote::quote(.0.as_bytes()))]
    NoValue(String),
}

/// Returns the map at a dotted `path`.
///
/// # Errors
/// Names the first segment that is not a map.
pub fn table<'m>(map: &'m Map<Node>, path: &str) -> Result<&'m Map<Node>, Error> {
    let mut table = map;
    for step in path.split('.') {
        match table.get(step) {
            Some(Node::Map(inner)) => table = inner,
            _ => return Err(Error::NoTable(step.to_owned())),
        }
    }
    Ok(table)
}

/// Returns the value at `path`, unless it is a map.
///
/// # Errors
/// Names the last segment if there is nothing, or a map, at the path.
pub fn value<'m>(map: &'m Map<Node>, path: &str) -> Result<&'m Node, Error> {
    if path.is_empty() {
        return Err(Error::Empty);
    }
    let (parent, key) = match path.rsplit_once('.') {
        Some((parent, key)) => (table(map, parent), key),
        None => (Ok(map), path),
    };
    match parent.ok().and_then(|parent| parent.get(key)) {
        Some(node) if node.as_map().is_none() => Ok(node),
        _ => Err(Error::NoValue(key.to_owned())),
    }
}

/// Returns the value at a path like `a.b[0].c`, or `None`.
pub fn get<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    if path.is_empty() {
        return Some(node);
    }
    path.split('.').try_fold(node, |node, step| {
        let (key, indexes) = step.split_at(step.find('[').unwrap_or(step.len()));
        let start = if key.is_empty() { node } else { node.get(key)? };
        indexes.split_terminator(']').try_fold(start, |node, index| {
            let index: usize = index.strip_prefix('[')?.parse().ok()?;
            node.as_list()?.get(index)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn tables_and_values_are_distinguished() {
        let map = json::read_map(br#"{"a":{"b":{"c":1}},"s":"x"}"#).unwrap();
        assert!(table(&map, "a.b").is_ok());
        assert_eq!(table(&map, "a.x").unwrap_err().to_string(), "\"x\" is not a table");
        assert_eq!(value(&map, "a.b.c"), Ok(&Node::Float(1.0)));
        assert_eq!(value(&map, "a.b").unwrap_err().to_string(), "\"b\" is not a value");
        assert_eq!(value(&map, "s.q").unwrap_err().to_string(), "\"q\" is not a value");
        assert_eq!(value(&map, "").unwrap_err(), Error::Empty);
    }

    #[test]
    fn indexes_lead_into_lists() {
        let node = json::read(br#"{"a":[[1,{"b":2}]]}"#).unwrap();
        assert_eq!(get(&node, "a[0][1].b"), Some(&Node::Float(2.0)));
        assert_eq!(get(&node, "a[1]"), None);
        assert_eq!(get(&node, "a[x]"), None);
    }
}
