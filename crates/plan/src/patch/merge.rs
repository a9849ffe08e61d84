//! Merges two strategic patches: the changes over the deletions.
//!
//! Unlike the merge on the server, this one results in a patch again: nulls, `$deleteFromPrimitiveList` and
//! `$setElementOrder` are kept for the server to apply, and are not applied here.

use pintle_tree::{Map, Node, Str, with_stack};

use super::go_format::{format_list, format_map, format_value, go_type};
use super::lists::{by_order, element, holds_maps, key_of, position};
use super::strategic::{DELETE_FROM, DIRECTIVE, ELEMENT_ORDER, RETAIN_KEYS};
use super::{PatchError, Schema};

/// Merges the patch `overlay` into the patch `base`.
pub(super) fn merge_maps(
    mut base: Map<Node>,
    mut overlay: Map<Node>,
    schema: Schema<'_>,
) -> Result<Map<Node>, PatchError> {
    if let Some(directive) = overlay.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(overlay),
            Some("delete") => Ok(Map::new()),
            _ => Err(PatchError::UnknownDirective {
                directive: format_value(&directive),
                map: format_map(&overlay),
            }),
        };
    }
    merge_retained_keys(&mut base, &mut overlay)?;
    merge_ordered_lists(&mut base, &mut overlay, schema)?;
    for (key, new) in overlay {
        // `$deleteFromPrimitiveList` of the overlay replaces that of the base: it is a directive, not a list to
        // merge.
        let old = if key.starts_with(DELETE_FROM.as_bytes()) { None } else { base.remove(&key) };
        let merged = match (old, new) {
            (Some(Node::Map(old)), Node::Map(new)) => {
                let (inner, rule) = schema.field(&key)?;
                let replaces = rule.strategy()?.replace;
                if replaces { new } else { with_stack(|| merge_maps(old, new, inner))? }.into()
            }
            (Some(Node::List(old)), Node::List(new)) => {
                let (inner, rule) = schema.elements(&key)?;
                let merges = rule.strategy()?.merge;
                if merges { merge_lists(old, new, inner, &rule.merge_key)? } else { new }.into()
            }
            (_, new) => match without_directives(new) {
                Some(new) => new,
                None => continue,
            },
        };
        base.insert(key, merged);
    }
    Ok(base)
}

/// Both patches are for the same desired object, so both retain the same fields.
fn merge_retained_keys(base: &mut Map<Node>, overlay: &mut Map<Node>) -> Result<(), PatchError> {
    let Some(kept) = overlay.remove(RETAIN_KEYS) else { return Ok(()) };
    match base.get(RETAIN_KEYS) {
        Some(other) if *other != kept => {
            Err(PatchError::RetainKeys(format_value(other), format_value(&kept)))
        }
        _ => {
            base.insert(RETAIN_KEYS.into(), kept);
            Ok(())
        }
    }
}

/// Merges the lists with `$setElementOrder`, and sorts their elements accordingly.
fn merge_ordered_lists(
    base: &mut Map<Node>,
    overlay: &mut Map<Node>,
    schema: Schema<'_>,
) -> Result<(), PatchError> {
    let directives: Vec<Str> =
        overlay.keys().filter(|key| key.starts_with(ELEMENT_ORDER.as_bytes())).cloned().collect();
    for directive in directives {
        let Some(order) = overlay.remove(&directive) else { continue };
        // Both patches were computed for the same desired list.
        if base.get(&directive).is_some_and(|other| *other != order) {
            return Err(PatchError::ElementOrder);
        }
        let Some(key) = directive.strip_prefix(b"$setElementOrder/").map(Str::from) else {
            return Err(PatchError::ElementOrder);
        };
        let old = base.remove(&key).map(list).transpose()?;
        let new = overlay.remove(&key).map(list).transpose()?;
        if let Some(merged) = merge_ordered(old, new, order.as_list().unwrap_or_default(), &key, schema)? {
            base.insert(key, Node::List(merged));
        }
        base.insert(directive, order);
    }
    Ok(())
}

fn merge_ordered(
    old: Option<Vec<Node>>,
    new: Option<Vec<Node>>,
    order: &[Node],
    key: &Str,
    schema: Schema<'_>,
) -> Result<Option<Vec<Node>>, PatchError> {
    let (inner, rule) = schema.elements(key)?;
    let merge_key = Some(rule.merge_key.as_str()).filter(|key| !key.is_empty());
    check_order(new.as_deref().unwrap_or_default(), order, merge_key)?;
    let lists = [old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default()];
    let server_order = lists[0].to_vec();
    let keyed = match (&old, &new) {
        (None, None) => return Ok(None),
        _ => holds_maps(&lists)?,
    };
    let merged = match (old, new) {
        (None, None) => return Ok(None),
        (Some(old), None) => old,
        (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
        (Some(old), Some(new)) if rule.strategy()?.merge => merge_lists(old, new, inner, &rule.merge_key)?,
        (Some(_), Some(new)) => new,
    };
    in_order(merged, order, &server_order, merge_key.filter(|_| keyed)).map(Some)
}

/// The changed elements must be a subsequence of the order.
fn check_order(list: &[Node], order: &[Node], merge_key: Option<&str>) -> Result<(), PatchError> {
    if list.is_empty() || order.is_empty() {
        return Ok(());
    }
    let is_same = |a: &Node, b: &Node| match merge_key {
        Some(key) => Ok::<_, PatchError>(key_of(element(a)?, key)? == key_of(element(b)?, key)?),
        None => Ok(a == b),
    };
    let mut places = order.iter();
    'elements: for node in list {
        // Deleted elements are not part of the order.
        if node.get(DIRECTIVE).is_some() {
            continue;
        }
        for place in places.by_ref() {
            if is_same(node, place)? {
                continue 'elements;
            }
        }
        return Err(PatchError::OrderMismatch { list: format_list(list), order: format_list(order) });
    }
    Ok(())
}

/// Merges a list of elements into another one.
fn merge_lists(
    mut old: Vec<Node>,
    new: Vec<Node>,
    schema: Schema<'_>,
    merge_key: &str,
) -> Result<Vec<Node>, PatchError> {
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    if !holds_maps(&[&old, &new])? {
        let before = old.clone();
        old.extend(new.iter().filter(|node| !before.contains(node)).cloned());
        return in_order(old, &new, &before, None);
    }
    if merge_key.is_empty() {
        return Err(PatchError::NoKeyDeclared);
    }
    let new = take_directives(&mut old, new, merge_key)?;
    let before = old.clone();
    for node in &new {
        key_of(element(node)?, merge_key)?;
        match position(&old, node, Some(merge_key)) {
            Some(index) => {
                let (Node::Map(base), Node::Map(overlay)) = (std::mem::take(&mut old[index]), node.clone())
                else {
                    return Err(PatchError::NoKeyDeclared);
                };
                old[index] = Node::Map(with_stack(|| merge_maps(base, overlay, schema))?);
            }
            None => old.push(node.clone()),
        }
    }
    in_order(old, &new, &before, Some(merge_key))
}

/// Applies the directives that a manifest contains, and returns the elements without them.
fn take_directives(old: &mut Vec<Node>, new: Vec<Node>, merge_key: &str) -> Result<Vec<Node>, PatchError> {
    let mut rest = Vec::with_capacity(new.len());
    let mut replaces = false;
    for node in new {
        match node.get(DIRECTIVE).map(|directive| (directive.as_str(), directive)) {
            None => rest.push(node),
            Some((Some("delete"), _)) => {
                let key = key_of(element(&node)?, merge_key)?;
                old.retain(|other| other.get(merge_key) != Some(key));
            }
            Some((Some("replace"), _)) => replaces = true,
            Some((_, directive)) => {
                let map = format_map(element(&node)?);
                return Err(PatchError::UnknownDirective { directive: format_value(directive), map });
            }
        }
    }
    if replaces {
        *old = std::mem::take(&mut rest);
    }
    Ok(rest)
}

/// Sorts the elements that are in `order` accordingly, and puts the others between them as in `server_order`.
fn in_order(
    list: Vec<Node>,
    order: &[Node],
    server_order: &[Node],
    merge_key: Option<&str>,
) -> Result<Vec<Node>, PatchError> {
    let (ours, theirs): (Vec<Node>, Vec<Node>) =
        list.into_iter().partition(|node| position(order, node, merge_key).is_some());
    let ours = by_order(ours, order, merge_key)?;
    let theirs = by_order(theirs, server_order, merge_key)?;
    let place = |node: &Node| position(server_order, node, merge_key);
    let mut merged = Vec::with_capacity(ours.len() + theirs.len());
    let mut theirs = theirs.into_iter().peekable();
    for node in ours {
        while let Some(other) =
            theirs.next_if(|other| matches!((place(other), place(&node)), (Some(a), Some(b)) if a < b))
        {
            merged.push(other);
        }
        merged.push(node);
    }
    merged.extend(theirs);
    Ok(merged)
}

/// Removes maps that are directives; `None` if the node is one itself.
fn without_directives(node: Node) -> Option<Node> {
    match node {
        Node::Map(map) if map.contains_key(DIRECTIVE) => None,
        Node::Map(map) => with_stack(|| {
            let kept = map.into_iter().filter_map(|(key, node)| Some((key, without_directives(node)?)));
            Some(Node::Map(kept.collect()))
        }),
        Node::List(list) => {
            with_stack(|| Some(Node::List(list.into_iter().filter_map(without_directives).collect())))
        }
        other => Some(other),
    }
}

fn list(node: Node) -> Result<Vec<Node>, PatchError> {
    match node {
        Node::List(list) => Ok(list),
        other => Err(PatchError::WrongType { expected: "[]interface {}", actual: go_type(&other) }),
    }
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;

    #[test]
    fn elements_of_others_stay_where_the_server_has_them() {
        let read = |text: &str| match json::read_exact(text.as_bytes()) {
            Ok(Node::List(list)) => list,
            _ => panic!("the test has bad JSON"),
        };
        let merged = in_order(read("[1,2,3,4,5]"), &read("[4,2]"), &read("[1,2,3,4,5]"), None);
        assert_eq!(merged, Ok(read("[1,3,4,2,5]")));
    }
}
