//! Strategic merge patch: maps are merged, lists by the patch strategy and merge key of their type; directives in the
//! patch delete, replace, retain and reorder.

use pintle_tree::{Map, Node, Str, with_stack};

use super::Patched;
use crate::decoding::raw_json::RawJson;
use crate::go_format::{go_type, go_value};
use crate::schema::{PatchStrategy, Schema};
use crate::status::Status;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &[u8] = b"$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &[u8] = b"$setElementOrder/";

/// Applies a strategic merge patch to an object of a built-in kind.
///
/// # Errors
///
/// When the patch is not a JSON object, or its directives or elements are invalid.
pub fn strategic_patch(schema: Schema<'_>, document: &Node, patch: &[u8]) -> Result<Patched, Status> {
    let raw = RawJson::parse(patch).map_err(|error| Status::bad_request(error.kubernetes_text()))?;
    let patch = match raw.node() {
        Node::Map(patch) => patch,
        Node::Nil => Map::new(),
        _ => {
            let kind = raw.json_type();
            let text =
                format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}");
            return Err(Status::bad_request(text));
        }
    };
    let original = document.as_map().cloned().unwrap_or_default();
    let object = Node::Map(merge_maps(original, patch, Some(schema))?);
    Ok(Patched { object, strict: raw.duplicates() })
}

/// The server answers 500 to invalid directives.
fn unexpected(message: String) -> Status {
    Status::new(500, "", message)
}

/// The schema of a value in a patch; `None` below unknown fields.
type PatchSchema<'t> = Option<Schema<'t>>;

fn merge_maps(
    mut original: Map<Node>,
    mut patch: Map<Node>,
    schema: PatchSchema<'_>,
) -> Result<Map<Node>, Status> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            // The caller inserts the result, so a deleted map becomes an empty one, as in the Go implementation.
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    // Before the fields are merged: `$retainKeys` decides what is there to merge with, and ordered lists consume
    // their entries of the patch.
    retain_keys(&mut original, &mut patch)?;
    merge_ordered(&mut original, &mut patch, schema)?;
    for (key, value) in patch {
        merge_field(&mut original, key, value, schema)?;
    }
    Ok(original)
}

fn unknown_directive(directive: &Node, map: &Map<Node>) -> Status {
    let shown = match directive {
        Node::Str(text) => text.to_string(),
        // `%s` of a value that is not a string, as Go's fmt prints it.
        other => format!("%!s({}={})", go_type(other), go_value(other)),
    };
    unexpected(format!("unknown patch type: {shown} in map: {}", go_value(&Node::Map(map.clone()))))
}

fn merge_field(
    original: &mut Map<Node>,
    key: Str,
    value: Node,
    schema: PatchSchema<'_>,
) -> Result<(), Status> {
    // `$deleteFromPrimitiveList/…` removes values of a list without a merge key.
    if let Some(key) = key.as_bytes().strip_prefix(DELETE_FROM) {
        if let (Node::List(gone), Some(Node::List(list))) = (&value, original.get_mut(key)) {
            list.retain(|item| !gone.contains(item));
        }
        return Ok(());
    }
    let old = match &value {
        Node::Nil => {
            original.remove(&key);
            return Ok(());
        }
        // Taken out to be merged without a copy. Maps are sorted, so the key does not lose its position.
        _ => original.remove(&key),
    };
    let child = schema.and_then(|schema| schema.child(&key));
    let strategy = child.and_then(|child| child.patch().cloned()).unwrap_or_default();
    let merged = match (old, value) {
        (Some(Node::Map(old)), Node::Map(new)) => {
            if strategy.replace {
                Some(Node::Map(new))
            } else {
                Some(Node::Map(with_stack(|| merge_maps(old, new, child))?))
            }
        }
        (Some(Node::List(old)), Node::List(new)) => {
            Some(Node::List(if strategy.merge { merge_lists(old, new, &strategy, child)? } else { new }))
        }
        (_, new) => without_directives(new),
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

/// A value that is new to the object, without nulls and directives; `None` if it is a directive itself.
fn without_directives(node: Node) -> Option<Node> {
    match node {
        Node::Map(map) if map.contains_key(DIRECTIVE) => None,
        Node::Map(map) => with_stack(|| {
            let fields = map.into_iter().filter(|(_, value)| !value.is_nil());
            Some(Node::Map(
                fields.filter_map(|(key, value)| Some((key, without_directives(value)?))).collect(),
            ))
        }),
        Node::List(list) => {
            with_stack(|| Some(Node::List(list.into_iter().filter_map(without_directives).collect())))
        }
        other => Some(other),
    }
}

/// Applies `$retainKeys`: removes all fields that it does not list.
fn retain_keys(original: &mut Map<Node>, patch: &mut Map<Node>) -> Result<(), Status> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let refuse = || Status::bad_request("invalid patch format of retainKeys");
    let retained = retained.as_list().ok_or_else(refuse)?;
    let is_retained = |key: &Str| retained.iter().any(|name| name.as_text() == Some(key));
    // The patch may set only what it retains; nulls and directives delete and are allowed.
    let may_be = |key: &Str, value: &Node| {
        value.is_nil() || key.starts_with(DELETE_FROM) || key.starts_with(ELEMENT_ORDER) || is_retained(key)
    };
    if !patch.iter().all(|(key, value)| may_be(key, value)) {
        return Err(refuse());
    }
    original.retain(|key, _| is_retained(key));
    Ok(())
}

/// Merges the lists that have a `$setElementOrder`.
fn merge_ordered(
    original: &mut Map<Node>,
    patch: &mut Map<Node>,
    schema: PatchSchema<'_>,
) -> Result<(), Status> {
    let directives: Vec<Str> = patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = list_of(patch.remove(&directive).unwrap_or_default())?;
        let key = Str::from(directive.as_bytes().strip_prefix(ELEMENT_ORDER).unwrap_or_default());
        let child = schema.and_then(|schema| schema.child(&key));
        let strategy = child.and_then(|child| child.patch().cloned()).unwrap_or_default();
        let old = original.get(&key).cloned().map(list_of).transpose()?;
        let new = patch.remove(&key).map(list_of).transpose()?;
        let merge_key = strategy.merge_key.as_ref();
        check_order(new.as_deref().unwrap_or_default(), &order, merge_key)?;
        let server_order = old.clone().unwrap_or_default();
        let merged = match (old, new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) if strategy.merge => merge_lists(old, new, &strategy, child)?,
            (Some(_), Some(new)) => new,
        };
        original.insert(key, Node::List(sort_by_order(merged, &order, &server_order, merge_key)));
    }
    Ok(())
}

fn list_of(node: Node) -> Result<Vec<Node>, Status> {
    match node {
        Node::List(list) => Ok(list),
        other => Err(unexpected(format!("expected a []interface {{}}, but received a {}", go_type(&other)))),
    }
}

/// The elements in the patch must be in the order of `$setElementOrder`.
fn check_order(list: &[Node], order: &[Node], merge_key: Option<&Str>) -> Result<(), Status> {
    // The server does not check an empty order.
    if list.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut remaining = order.iter();
    for item in list.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if !remaining.any(|other| is_same(item, other, merge_key)) {
            return Err(unexpected(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go_value(&Node::List(list.to_vec())),
                go_value(&Node::List(order.to_vec()))
            )));
        }
    }
    Ok(())
}

fn is_same(left: &Node, right: &Node, merge_key: Option<&Str>) -> bool {
    match merge_key {
        Some(key) => left.get(key).is_some() && left.get(key) == right.get(key),
        None => left == right,
    }
}

fn merge_lists(
    mut old: Vec<Node>,
    new: Vec<Node>,
    strategy: &PatchStrategy,
    schema: PatchSchema<'_>,
) -> Result<Vec<Node>, Status> {
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    // The types of the elements decide, not the schema: a merge key is needed only for maps.
    if !holds_maps(&old, &new)? {
        let before = old.clone();
        for item in &new {
            if !old.contains(item) {
                old.push(item.clone());
            }
        }
        // Scalars are sorted like elements with a key: new ones go behind those on the server.
        return Ok(sort_by_order(old, &new, &before, None));
    }
    let Some(key) = &strategy.merge_key else {
        return Err(unexpected("cannot merge lists without merge key for struct".into()));
    };
    let new = apply_directives(&mut old, new, key)?;
    let before = old.clone();
    let items = schema.and_then(|schema| schema.items());
    for item in &new {
        let Node::Map(over) = item else { continue };
        let Some(name) = over.get(key) else { return Err(no_merge_key(over, key)) };
        match old.iter_mut().find(|other| other.get(key) == Some(name)) {
            Some(found) => {
                let Node::Map(under) = std::mem::take(found) else { continue };
                *found = Node::Map(with_stack(|| merge_maps(under, over.clone(), items))?);
            }
            None => old.push(item.clone()),
        }
    }
    Ok(sort_by_order(old, &new, &before, Some(key)))
}

fn no_merge_key(map: &Map<Node>, key: &Str) -> Status {
    let map = go_value(&Node::Map(map.clone()));
    unexpected(format!("map: {map} does not contain declared merge key: {key}"))
}

/// Applies the directives among the elements of a list and returns the other elements.
fn apply_directives(old: &mut Vec<Node>, new: Vec<Node>, key: &Str) -> Result<Vec<Node>, Status> {
    let mut rest = Vec::with_capacity(new.len());
    let mut replaces = false;
    for item in new {
        let Node::Map(map) = &item else { continue };
        match map.get(DIRECTIVE).map(|directive| (directive.as_str(), directive)) {
            None => rest.push(item),
            Some((Some("delete"), _)) => {
                let name = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                old.retain(|other| other.get(key) != Some(name));
            }
            Some((Some("replace"), _)) => replaces = true,
            Some((Some("merge"), _)) => {
                return Err(unexpected("merging lists cannot yet be specified in the patch".into()));
            }
            Some((_, directive)) => return Err(unknown_directive(directive, map)),
        }
    }
    // `$patch: replace` anywhere in the list replaces the whole list by the other elements.
    if replaces {
        *old = std::mem::take(&mut rest);
    }
    Ok(rest)
}

/// Whether the elements are maps rather than scalars; mixed lists are an error.
fn holds_maps(old: &[Node], new: &[Node]) -> Result<bool, Status> {
    let mut all = old.iter().chain(new);
    let Some(first) = all.next() else { return Ok(false) };
    if first.as_list().is_some() {
        return Err(unexpected("lists of lists are not supported".into()));
    }
    // Compares the types of elements only, as the server does before it merges.
    if !all.all(|item| std::mem::discriminant(item) == std::mem::discriminant(first)) {
        let lists = Node::List(vec![Node::List(old.to_vec()), Node::List(new.to_vec())]);
        return Err(unexpected(format!("list element types are not identical: {}", go_value(&lists))));
    }
    Ok(first.as_map().is_some())
}

/// Sorts the elements that are in `order`, and puts the others between them by their order on the server.
fn sort_by_order(list: Vec<Node>, order: &[Node], server: &[Node], key: Option<&Str>) -> Vec<Node> {
    let position = |list: &[Node], item: &Node| list.iter().position(|other| is_same(item, other, key));
    let (mut ours, mut theirs): (Vec<Node>, Vec<Node>) =
        list.into_iter().partition(|item| position(order, item).is_some());
    ours.sort_by_cached_key(|item| position(order, item));
    theirs.sort_by_cached_key(|item| position(server, item).unwrap_or(usize::MAX));
    let mut merged = Vec::with_capacity(ours.len() + theirs.len());
    let mut theirs = theirs.into_iter().peekable();
    for item in ours {
        let at = position(server, &item);
        // Elements that only the server has stay before those that they preceded there.
        let is_before = |other: &Node| matches!((position(server, other), at), (Some(a), Some(b)) if a < b);
        while let Some(other) = theirs.next_if(is_before) {
            merged.push(other);
        }
        merged.push(item);
    }
    merged.extend(theirs);
    merged
}

#[cfg(test)]
mod tests {
    use pintle_tree::json;

    use super::*;
    use crate::schema::ApiCatalog;

    const DEPLOYMENT: &str = r#"{"metadata":{"finalizers":["x/y"]},"spec":{"replicas":1,
        "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},
        "template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"k"}]}}}}"#;

    fn patched(patch: &str) -> Result<String, String> {
        let table = ApiCatalog::newest();
        let schema = table.schema(table.kind("apps", "v1", "Deployment").unwrap()).unwrap();
        let document = json::read_exact(DEPLOYMENT.as_bytes()).unwrap();
        let patched =
            strategic_patch(schema, &document, patch.as_bytes()).map_err(|status| status.message)?;
        Ok(String::from_utf8(json::write_raw(&patched.object).unwrap()).unwrap())
    }

    fn containers(patch: &str) -> String {
        format!(r#"{{"spec":{{"template":{{"spec":{{{patch}}}}}}}}}"#)
    }

    #[test]
    fn elements_are_merged_by_key_and_directives_are_applied() {
        let cases = [
            (
                r#""containers":[{"name":"d","image":"n"},{"name":"x"}]"#,
                r#"[{"image":"i","name":"c"},{"image":"n","name":"d"},{"name":"x"}]"#,
            ),
            (r#""containers":[{"name":"c","$patch":"delete"}]"#, r#"[{"image":"k","name":"d"}]"#),
            (r#""containers":[{"$patch":"replace"},{"name":"x"}]"#, r#"[{"name":"x"}]"#),
            (
                r#""$setElementOrder/containers":[{"name":"d"},{"name":"c"}]"#,
                r#"[{"image":"k","name":"d"},{"image":"i","name":"c"}]"#,
            ),
            (r#""containers":[{"name":"c","image":null}]"#, r#"[{"name":"c"},{"image":"k","name":"d"}]"#),
        ];
        for (patch, wanted) in cases {
            let whole = patched(&containers(patch)).unwrap();
            assert!(whole.contains(&format!(r#""containers":{wanted}"#)), "{patch}: {whole}");
        }
        let whole = patched(r#"{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}"#).unwrap();
        assert!(whole.contains(r#""strategy":{"type":"Recreate"}"#), "{whole}");
        let whole = patched(
            r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["x/y"]},"spec":{"replicas":null}}"#,
        )
        .unwrap();
        assert!(whole.contains(r#""finalizers":[]"#) && !whole.contains("replicas"), "{whole}");
    }

    #[test]
    fn invalid_patches_are_rejected_with_the_servers_messages() {
        let cases = [
            (
                r#""containers":[{"name":"c","$patch":"bogus"}]"#,
                "unknown patch type: bogus in map: map[$patch:bogus name:c]",
            ),
            (
                r#""containers":[{"name":"c","$patch":5}]"#,
                "unknown patch type: %!s(int64=5) in map: map[$patch:5 name:c]",
            ),
            (
                r#""containers":[{"image":"c"}]"#,
                "map: map[image:c] does not contain declared merge key: name",
            ),
            (
                r#""containers":["x"]"#,
                "list element types are not identical: [[map[image:i name:c] map[image:k name:d]] [x]]",
            ),
            (
                r#""$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"z"}]"#,
                "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:c]]\n",
            ),
        ];
        for (patch, text) in cases {
            assert_eq!(patched(&containers(patch)).unwrap_err(), text);
        }
        assert_eq!(
            patched(r#"{"spec":{"$retainKeys":"x"}}"#).unwrap_err(),
            "invalid patch format of retainKeys"
        );
    }
}
