//! Minimal overlays that set strings at paths of values.

use pintle_tree::{Map, Node, with_stack};
pub use pintle_tree::{Segment, ValuePath};

/// The maximum depth that is searched for images. No real object or values file is as deep, and each segment of each
/// path takes memory.
pub(crate) const MAX_DEPTH: usize = 256;

/// Returns the minimal values that, merged over `values`, set each path to its text. Helm replaces lists as a whole,
/// so a list on a path is copied from `values`. A path is skipped if `values` lacks the map that it ends in.
pub fn overlay<'p>(
    values: &Map<Node>,
    assignments: impl IntoIterator<Item = (&'p ValuePath, &'p str)>,
) -> Map<Node> {
    let mut over = Map::new();
    for (path, text) in assignments {
        let is_top = path.segments().len() == 1;
        if is_top || path.find(values).is_some() || path.parent().is_some_and(|map| is_map(map.find(values)))
        {
            set_in_map(&mut over, values, path.segments(), text);
        }
    }
    over
}

fn is_map(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::Map(_)))
}

fn set_in_map(over: &mut Map<Node>, values: &Map<Node>, segments: &[Segment], text: &str) {
    let Some((Segment::Key(key), rest)) = segments.split_first() else { return };
    let below = values.get(key).unwrap_or(&Node::Nil);
    let slot = over.entry_or_insert_with(key, || match below {
        // Lists are replaced as a whole, so start from the existing one.
        Node::List(_) => below.clone(),
        _ => Node::empty_map(),
    });
    match (rest, below) {
        ([], _) => *slot = Node::from(text),
        (_, Node::Map(below)) => {
            if let Some(over) = slot.as_map_mut() {
                with_stack(|| set_in_map(over, below, rest, text));
            }
        }
        _ => set_in_node(slot, rest, text),
    }
}

fn set_in_node(node: &mut Node, segments: &[Segment], text: &str) {
    let mut current = node;
    for segment in segments {
        let next = match (segment, current) {
            (Segment::Key(key), Node::Map(map)) => map.get_mut(key),
            (Segment::Index(index), Node::List(list)) => list.get_mut(*index),
            _ => None,
        };
        match next {
            Some(next) => current = next,
            None => return,
        }
    }
    *current = Node::from(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn path(segments: &[Segment]) -> ValuePath {
        ValuePath::from(segments.to_vec())
    }

    #[test]
    fn an_overlay_has_only_what_is_needed_and_lists_whole() {
        let values = json::read_map(br#"{"a":{"x":"1","y":"2"},"l":[{"i":"p","n":"q"},{"i":"r"}]}"#).unwrap();
        let key = |key: &str| Segment::Key(key.into());
        let a = path(&[key("a"), key("x")]);
        let first = path(&[key("l"), Segment::Index(0), key("i")]);
        let second = path(&[key("l"), Segment::Index(1), key("i")]);
        let absent = path(&[key("no"), key("i")]);
        let over = overlay(&values, [(&a, "A"), (&first, "P"), (&second, "R"), (&absent, "N")]);
        let wanted = json::read_map(br#"{"a":{"x":"A"},"l":[{"i":"P","n":"q"},{"i":"R"}]}"#).unwrap();
        assert_eq!(over, wanted);
    }
}
