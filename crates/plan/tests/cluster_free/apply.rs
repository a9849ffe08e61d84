//! A small patch applier: strategic merge patches, and the JSON patches that we generate.
//!
//! It is written from the meaning of the directives, not from the code under test, and resolves merge keys by itself.

use pintle_objects::Object;
use pintle_tree::{Map, Node, Str};

/// Applies a strategic merge patch to a live object of the kind of `like`.
pub(crate) fn apply_strategic(
    live: Map<Node>,
    patch: Map<Node>,
    like: &Object,
    types: &Map<Node>,
) -> Map<Node> {
    let kind = types.values().find(|schema| is_of_kind(schema, like)).expect("the kind has a type");
    merge_maps(live, patch, Some(kind), types)
}

fn is_of_kind(schema: &Node, like: &Object) -> bool {
    let id = like.id();
    let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Node::as_list).unwrap_or_default();
    let is = |kind: &Node, key: &str, word: &str| kind.get(key).and_then(Node::as_str) == Some(word);
    kinds.iter().any(|kind| {
        is(kind, "group", &id.group) && is(kind, "version", &id.version) && is(kind, "kind", &id.kind)
    })
}

/// Follows references to the type itself.
fn resolve<'t>(schema: &'t Node, types: &'t Map<Node>) -> &'t Node {
    if let Some([first, ..]) = schema.get("allOf").and_then(Node::as_list) {
        return resolve(first, types);
    }
    let reference = schema.get("$ref").and_then(Node::as_str);
    match reference.and_then(|reference| types.get(reference.rsplit('/').next()?)) {
        Some(named) => named,
        None => schema,
    }
}

fn merge_maps(
    mut live: Map<Node>,
    mut patch: Map<Node>,
    schema: Option<&Node>,
    types: &Map<Node>,
) -> Map<Node> {
    if let Some(Node::List(kept)) = patch.remove("$retainKeys") {
        live.retain(|key, _| kept.contains(&Node::Str(key.clone())));
    }
    let orders = take_prefixed(&mut patch, "$setElementOrder/");
    let deletions = take_prefixed(&mut patch, "$deleteFromPrimitiveList/");
    let list =
        |live: &Map<Node>, key: &Str| live.get(key).and_then(Node::as_list).unwrap_or_default().to_vec();
    let lists: Vec<Vec<Node>> = orders.iter().map(|(key, _)| list(&live, key)).collect();
    for (key, gone) in deletions {
        if let Some(Node::List(list)) = live.remove(&key) {
            live.insert(key, list.into_iter().filter(|node| !gone.contains(node)).collect::<Vec<_>>().into());
        }
    }
    for (key, new) in patch {
        let field = schema.and_then(|schema| schema.get("properties")).and_then(|fields| fields.get(&key));
        let merged = match (live.remove(&key), new) {
            (_, Node::Nil) => continue,
            (Some(Node::Map(old)), Node::Map(new)) => {
                Node::Map(merge_maps(old, new, field.map(|field| resolve(field, types)), types))
            }
            (Some(Node::List(old)), Node::List(new)) => Node::List(merge_lists(old, new, field, types)),
            (_, new) => cleaned(new).unwrap_or_default(),
        };
        live.insert(key, merged);
    }
    for ((key, order), before) in orders.into_iter().zip(lists) {
        let field = schema.and_then(|schema| schema.get("properties")).and_then(|fields| fields.get(&key));
        let merge_key =
            field.and_then(|field| field.get("x-kubernetes-patch-merge-key")).and_then(Node::as_str);
        if let Some(Node::List(list)) = live.remove(&key) {
            // The server deletes and adds maps in place, and then iterates over the previous length of the list.
            let in_place = &list[..before.len().min(list.len())];
            let server_order = if merge_key.is_some() { in_place.to_vec() } else { before };
            live.insert(key, Node::List(reorder(list, &order, &server_order, merge_key)));
        }
    }
    live
}

/// What is added to the live object: without nulls and deletions.
fn cleaned(node: Node) -> Option<Node> {
    match node {
        Node::Nil => None,
        Node::Map(map) if map.contains_key("$patch") => None,
        Node::Map(map) => {
            let orders = |key: &Str| key.starts_with(b"$setElementOrder/") || key == "$retainKeys";
            let kept = map.into_iter().filter(|(key, _)| !orders(key));
            Some(Node::Map(kept.filter_map(|(key, node)| Some((key, cleaned(node)?))).collect()))
        }
        Node::List(list) => Some(Node::List(list.into_iter().filter_map(cleaned).collect())),
        other => Some(other),
    }
}

fn take_prefixed(patch: &mut Map<Node>, prefix: &str) -> Vec<(Str, Vec<Node>)> {
    let keys: Vec<Str> = patch.keys().filter(|key| key.starts_with(prefix.as_bytes())).cloned().collect();
    let take = |key: Str| match patch.remove(&key) {
        Some(Node::List(list)) => Some((Str::new(&key[prefix.len()..]), list)),
        _ => None,
    };
    keys.into_iter().filter_map(take).collect()
}

fn merge_lists(mut old: Vec<Node>, new: Vec<Node>, field: Option<&Node>, types: &Map<Node>) -> Vec<Node> {
    let word = |key| field.and_then(|field| field.get(key)).and_then(Node::as_str).unwrap_or_default();
    if !word("x-kubernetes-patch-strategy").split(',').any(|word| word == "merge") {
        return new;
    }
    let key = word("x-kubernetes-patch-merge-key");
    let element = field.and_then(|field| field.get("items")).map(|items| resolve(items, types));
    // Deletions come first, as they do in the server.
    for node in new.iter().filter(|node| node.get("$patch").is_some()) {
        old.retain(|other| other.get(key) != node.get(key));
    }
    for node in new.into_iter().filter(|node| node.get("$patch").is_none()) {
        let same =
            |other: &Node| if key.is_empty() { *other == node } else { other.get(key) == node.get(key) };
        match (old.iter().position(same), node) {
            (Some(index), Node::Map(patch)) => {
                let Node::Map(before) = std::mem::take(&mut old[index]) else { panic!("elements are maps") };
                old[index] = Node::Map(merge_maps(before, patch, element, types));
            }
            (Some(_), _) => {}
            (None, node) => old.push(node),
        }
    }
    old
}

/// Sorts elements of `order` by it; others come before the first of these that follows them in `server_order`.
fn reorder(list: Vec<Node>, order: &[Node], server_order: &[Node], merge_key: Option<&str>) -> Vec<Node> {
    let find = |list: &[Node], node: &Node| {
        list.iter().position(|other| match merge_key {
            Some(key) => other.get(key) == node.get(key),
            None => other == node,
        })
    };
    let (mut ours, mut theirs): (Vec<Node>, Vec<Node>) =
        list.into_iter().partition(|node| find(order, node).is_some());
    ours.sort_by_key(|node| find(order, node));
    theirs.sort_by_key(|node| find(server_order, node));
    let mut result = Vec::new();
    let mut theirs = theirs.into_iter().peekable();
    for node in ours {
        let here = find(server_order, &node);
        while let Some(other) = theirs.next_if(|other| here.is_some() && find(server_order, other) < here) {
            result.push(other);
        }
        result.push(node);
    }
    result.extend(theirs);
    result
}

/// Applies a JSON patch that consists of replacements.
pub(crate) fn apply_json_patch(object: &mut Object, patch: &Node) {
    for operation in patch.as_list().expect("a JSON patch is a list") {
        assert_eq!(operation.get("op").and_then(Node::as_str), Some("replace"));
        let path = operation.get("path").and_then(Node::as_str).expect("an operation has a path");
        let field = path.strip_prefix("/metadata/").expect("only metadata is changed");
        let value = operation.get("value").expect("a replacement has a value").clone();
        object.metadata_mut().insert(field.into(), value);
    }
}

/// Whether a live object has all desired fields, whatever else it has.
pub(crate) fn covers(live: &Node, wanted: &Node) -> bool {
    match (live, wanted) {
        (Node::Map(live), Node::Map(wanted)) => wanted.iter().all(|(key, wanted)| match live.get(key) {
            Some(live) => covers(live, wanted),
            None => wanted.is_nil() || wanted.as_list().is_some_and(<[Node]>::is_empty),
        }),
        (Node::List(live), Node::List(wanted)) => {
            wanted.iter().all(|wanted| live.iter().any(|live| covers(live, wanted)))
        }
        (live, wanted) => live == wanted,
    }
}
