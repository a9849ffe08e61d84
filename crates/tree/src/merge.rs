//! Merges maps, as Helm merges values files.

use crate::{Map, Node, with_stack};

/// Merges `over` onto `base`: maps merge, everything else of `over` wins, nil included.
pub fn merge(base: Map<Node>, over: Map<Node>) -> Map<Node> {
    if base.is_empty() {
        return over;
    }
    if over.is_empty() {
        return base;
    }
    // Both are sorted, so they are merged like two sorted lists, without searching.
    let mut merged = Vec::with_capacity(base.len() + over.len());
    let mut base = base.into_iter().peekable();
    for (key, value) in over {
        while let Some(entry) = base.next_if(|(candidate, _)| *candidate < key) {
            merged.push(entry);
        }
        let value = match (base.next_if(|(candidate, _)| *candidate == key), value) {
            (Some((_, Node::Map(below))), Node::Map(above)) => with_stack(|| Node::Map(merge(below, above))),
            (_, value) => value,
        };
        merged.push((key, value));
    }
    merged.extend(base);
    Map::from_entries(merged)
}

/// Removes nil entries of a map and of nested maps. Lists are not changed.
pub fn remove_nil(map: &mut Map<Node>) {
    map.retain(|_, node| match node {
        Node::Nil => false,
        Node::Map(inner) => {
            with_stack(|| remove_nil(inner));
            true
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn map(text: &str) -> Map<Node> {
        json::read_map(text.as_bytes()).unwrap()
    }

    #[test]
    fn maps_merge_and_all_else_is_replaced() {
        let merged = merge(
            map(r#"{"a":1,"m":{"x":1,"y":2},"l":[1,2],"t":{"q":1}}"#),
            map(r#"{"m":{"y":3,"z":null},"l":[9],"t":"s","b":{}}"#),
        );
        assert_eq!(merged, map(r#"{"a":1,"b":{},"l":[9],"m":{"x":1,"y":3,"z":null},"t":"s"}"#));
    }

    #[test]
    fn nil_is_removed_from_maps_only() {
        let mut cleaned = map(r#"{"a":null,"b":{"c":null,"d":[null]}}"#);
        remove_nil(&mut cleaned);
        assert_eq!(cleaned, map(r#"{"b":{"d":[null]}}"#));
    }
}
