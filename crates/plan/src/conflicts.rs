//! Conflicts of server-side apply: whose field it is, and whether we yield it, take it over, or fail.

use pintle_objects::Object;
use pintle_tree::{Map, Node, Str, json};

use crate::diff::push_key;
use crate::managed_fields::is_our_manager;

/// Sets what happens to single fields: `take`, or `spec.replicas=yield, data=take`. A path also covers the fields below
/// it, and `[*]` stands for all elements of a list.
pub const CONFLICT_POLICY: &str = "helm.sh/conflict-policy";

/// What to do about fields that other managers own with other values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Fail, as Helm does.
    #[default]
    Fail,
    /// Leave fields that others are expected to set (scaled replicas, injected CA bundles) to their managers, and fail for
    /// all others.
    YieldInjected,
    /// Leave all fields to their managers.
    Yield,
    /// Take over all fields (`--force-conflicts`).
    Take,
}

/// A field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// The path as the server writes it, without the first dot: `spec.containers[name="web"].image`.
    pub field: String,
    /// The manager as the server describes it: `"kubectl" with subresource "scale" using apps/v1`.
    pub manager: String,
}

/// What is done about one conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The manager is an earlier one of ours, so the field is ours already.
    Ours,
    /// The field is left out of what we apply.
    Yield,
    /// The field is taken over.
    Take,
    /// The operation fails.
    Fail,
}

impl FieldConflict {
    /// Parses a cause of a rejected apply: its field and message.
    pub fn from_cause(field: &str, message: &str) -> Self {
        FieldConflict {
            field: field.trim_start_matches('.').to_owned(),
            manager: message.trim_start_matches("conflict with ").to_owned(),
        }
    }

    /// The name of the manager.
    pub fn manager_name(&self) -> &str {
        quoted(&self.manager)
    }

    /// The subresource through which the manager wrote the field; empty for the object itself.
    fn subresource(&self) -> &str {
        self.manager.split_once(" with subresource ").map_or("", |(_, rest)| quoted(rest))
    }

    /// Whether the field is one that others are expected to set: replicas set through `scale` (an autoscaler, `kubectl
    /// scale`), and CA bundles, which controllers inject.
    fn is_injected(&self) -> bool {
        let is_scaled = self.field.ends_with(".replicas") && self.subresource() == "scale";
        is_scaled || self.field == "caBundle" || self.field.ends_with(".caBundle")
    }

    /// Decides what to do, by the annotation of the object and then by the policy.
    pub fn decide(&self, object: &Object, policy: ConflictPolicy) -> Decision {
        if is_our_manager(self.manager_name()) {
            return Decision::Ours;
        }
        if let Some(decision) =
            object.annotation(CONFLICT_POLICY).and_then(|text| by_rules(text, &self.field))
        {
            return decision;
        }
        match policy {
            ConflictPolicy::Take => Decision::Take,
            ConflictPolicy::Yield => Decision::Yield,
            ConflictPolicy::YieldInjected if self.is_injected() => Decision::Yield,
            ConflictPolicy::YieldInjected | ConflictPolicy::Fail => Decision::Fail,
        }
    }
}

/// The text between the first pair of quotes.
fn quoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or(text)
}

/// Checks the value of [`CONFLICT_POLICY`].
///
/// # Errors
/// The first invalid rule.
pub fn check_rules(text: &str) -> Result<(), String> {
    for rule in text.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
        let word = rule.rsplit_once('=').map_or(rule, |(_, word)| word.trim());
        if decision(word).is_none() {
            return Err(format!(
                "`{rule}` in {CONFLICT_POLICY} is not `yield`, `take` or `fail`, or a path with one of them \
                 (`spec.replicas=yield`)"
            ));
        }
    }
    Ok(())
}

/// The decision of the most specific rule for a field.
fn by_rules(text: &str, field: &str) -> Option<Decision> {
    let field = without_keys(field);
    let rules = text.split(',').map(str::trim).filter_map(|rule| match rule.rsplit_once('=') {
        Some((path, word)) => {
            Some((without_keys(path.trim().trim_start_matches('.')), decision(word.trim())?))
        }
        None => Some((String::new(), decision(rule)?)),
    });
    let covers = |path: &str| match field.strip_prefix(path) {
        Some(rest) => path.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    };
    // The longest path that covers the field is the most specific, whatever the order of the rules.
    rules.filter(|(path, _)| covers(path)).max_by_key(|(path, _)| path.len()).map(|(_, decision)| decision)
}

fn decision(word: &str) -> Option<Decision> {
    match word {
        "yield" => Some(Decision::Yield),
        "take" => Some(Decision::Take),
        "fail" => Some(Decision::Fail),
        _ => None,
    }
}

/// A path with `[*]` for every element of a list. A key in brackets, as plans print `metadata.labels["a.b/c"]`, is
/// written as the server does: after a dot.
fn without_keys(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, inner)) = rest.split_once('[') {
        plain.push_str(before);
        let (element, after) = split_element(inner).unwrap_or((inner, ""));
        match element.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
            Some(key) => {
                plain.push('.');
                plain.push_str(key);
            }
            None => plain.push_str("[*]"),
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Splits the text after an opening bracket at the closing one. Brackets in quotes are part of a value.
fn split_element(inner: &str) -> Option<(&str, &str)> {
    let end = outside_quotes(inner, b']').next()?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// The positions of a byte that is not part of a quoted text.
fn outside_quotes(text: &str, wanted: u8) -> impl Iterator<Item = usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.bytes().enumerate().filter_map(move |(at, byte)| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && !was_escaped && byte == b'\\';
        if byte == b'"' && !was_escaped {
            is_quoted = !is_quoted;
        }
        (byte == wanted && !is_quoted).then_some(at)
    })
}

/// How elements of lists are written in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// By their keys, as the server writes them: `containers[name="web"]`.
    ByKey,
    /// By their index in the object, as in a [`Difference`](crate::diff::Difference): `containers[0]`.
    ByIndex,
}

/// A path of the server with quotes around keys that could be misread: `metadata.labels["example.com/team"]`. The server does
/// not escape dots in keys, so the keys are looked up in the object; a part that it does not have is left as it is.
pub fn quoted_path(object: &Object, field: &str, elements: Elements) -> String {
    let mut path = String::with_capacity(field.len() + 4);
    quote_in_map(object.body(), field.trim_start_matches('.'), elements, &mut path);
    path
}

fn quote_in_map(map: &Map<Node>, field: &str, elements: Elements, path: &mut String) {
    let Some((key, node)) = longest_key(map, field) else {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(field);
        return;
    };
    push_key(path, key);
    quote_below(node, &field[key.len()..], elements, path);
}

fn quote_below(node: &Node, field: &str, elements: Elements, path: &mut String) {
    if let (Node::Map(map), Some(rest)) = (node, field.strip_prefix('.')) {
        return quote_in_map(map, rest, elements, path);
    }
    let element = field.strip_prefix('[').and_then(split_element);
    if let (Node::List(list), Some((element, rest))) = (node, element)
        && let Some(index) = list.iter().position(|item| is_element(item, element))
    {
        match elements {
            Elements::ByKey => path.push_str(&format!("[{element}]")),
            Elements::ByIndex => path.push_str(&format!("[{index}]")),
        }
        return quote_below(&list[index], rest, elements, path);
    }
    path.push_str(field);
}

/// The entry that a path of the server begins with. Keys may contain dots, and the server does not escape them: the
/// longest matching key is taken.
fn longest_key<'m>(map: &'m Map<Node>, path: &str) -> Option<(&'m Str, &'m Node)> {
    let fits = |key: &str| {
        path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    map.iter().filter(|(key, _)| key.as_str().is_some_and(fits)).max_by_key(|(key, _)| key.len())
}

/// Removes the field that a path of the server names, and returns whether it was there.
pub fn remove_field(object: &mut Object, path: &str) -> bool {
    remove_from_map(object.body_mut(), path.trim_start_matches('.'))
}

fn remove_from_map(map: &mut Map<Node>, path: &str) -> bool {
    let Some(key) = longest_key(map, path).map(|(key, _)| key.clone()) else { return false };
    let rest = &path[key.len()..];
    if rest.is_empty() {
        return map.remove(&key).is_some();
    }
    map.get_mut(&key).is_some_and(|node| remove_below(node, rest))
}

fn remove_below(node: &mut Node, path: &str) -> bool {
    if let Some(rest) = path.strip_prefix('.') {
        return node.as_map_mut().is_some_and(|map| remove_from_map(map, rest));
    }
    let (Node::List(list), Some(inner)) = (node, path.strip_prefix('[')) else { return false };
    let Some((element, rest)) = split_element(inner) else { return false };
    let Some(index) = list.iter().position(|item| is_element(item, element)) else { return false };
    if rest.is_empty() {
        list.remove(index);
        return true;
    }
    remove_below(&mut list[index], rest)
}

/// Whether `name="web",port=80` or `="value"` names an element.
fn is_element(item: &Node, element: &str) -> bool {
    let mut start = 0;
    let ends: Vec<usize> = outside_quotes(element, b',').chain([element.len()]).collect();
    ends.into_iter().all(|end| {
        let part = &element[std::mem::replace(&mut start, end + 1)..end];
        let Some((key, value)) = part.split_once('=') else { return false };
        let Ok(value) = json::read_exact(value.as_bytes()) else { return false };
        if key.is_empty() { *item == value } else { item.get(key) == Some(&value) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Object::read_json(text.as_bytes()).expect("good JSON")
    }

    fn decide(policy: ConflictPolicy, annotation: &str, field: &str, manager: &str) -> Decision {
        let mut object = object(r#"{"kind":"Deployment"}"#);
        if !annotation.is_empty() {
            object.set_annotation(CONFLICT_POLICY, annotation);
        }
        FieldConflict::from_cause(field, &format!("conflict with {manager}")).decide(&object, policy)
    }

    #[test]
    fn scaled_replicas_and_injected_bundles_are_yielded_and_the_rest_fails() {
        use Decision::{Fail, Ours, Yield};
        let scaled = r#""kubectl" with subresource "scale" using apps/v1"#;
        for (field, manager, expected) in [
            (".spec.replicas", scaled, Yield),
            (".spec.replicas", r#""kubectl-edit" using apps/v1"#, Fail),
            (r#".webhooks[name="a.b.c"].clientConfig.caBundle"#, r#""cainjector" using v1"#, Yield),
            (".spec.paused", scaled, Fail),
            (".spec.paused", r#""helm" using apps/v1 at 2026-01-01T00:00:00Z"#, Ours),
            (".spec.paused", r#""helm-controller""#, Fail),
        ] {
            assert_eq!(
                decide(ConflictPolicy::YieldInjected, "", field, manager),
                expected,
                "{field} {manager}"
            );
        }
        assert_eq!(decide(ConflictPolicy::Fail, "", ".spec.replicas", scaled), Fail);
        assert_eq!(decide(ConflictPolicy::Take, "", ".spec.replicas", scaled), Decision::Take);
    }

    #[test]
    fn the_longest_path_of_the_annotation_decides() {
        let rules =
            "fail, spec.replicas=yield, spec.template=take, spec.template.spec.containers[*].image=yield";
        let other = r#""x" using v1"#;
        for (field, expected) in [
            (".spec.replicas", Decision::Yield),
            (".spec.replicasx", Decision::Fail),
            (r#".spec.template.spec.containers[name="web"].image"#, Decision::Yield),
            (r#".spec.template.spec.containers[name="web"].args"#, Decision::Take),
            (".data.a", Decision::Fail),
        ] {
            assert_eq!(decide(ConflictPolicy::Take, rules, field, other), expected, "{field}");
        }
        // A key with dots, as plans print it, and as the server does.
        for rule in [r#"metadata.labels["example.com/team"]=yield"#, "metadata.labels.example.com/team=yield"]
        {
            let decided = |field| decide(ConflictPolicy::Fail, rule, field, other);
            assert_eq!(decided(".metadata.labels.example.com/team"), Decision::Yield, "{rule}");
            assert_eq!(decided(".metadata.labels.example.com/teams"), Decision::Fail, "{rule}");
        }
        assert!(check_rules(rules).is_ok());
        assert!(check_rules("spec.replicas=ignore").is_err());
    }

    #[test]
    fn paths_of_the_server_are_quoted_by_what_the_object_has() {
        let object = object(
            r#"{"metadata":{"labels":{"app":"a","app.kubernetes.io/name":"b"}},"spec":{"c":[{"name":"x"},{"name":"a.b","image":"1"}]}}"#,
        );
        for (field, by_key, by_index) in [
            (".metadata.labels.app", "metadata.labels.app", "metadata.labels.app"),
            (
                ".metadata.labels.app.kubernetes.io/name",
                r#"metadata.labels["app.kubernetes.io/name"]"#,
                r#"metadata.labels["app.kubernetes.io/name"]"#,
            ),
            (r#".spec.c[name="a.b"].image"#, r#"spec.c[name="a.b"].image"#, "spec.c[1].image"),
            (r#".spec.c[name="none"].image"#, r#"spec.c[name="none"].image"#, r#"spec.c[name="none"].image"#),
            (".spec.new.field", "spec.new.field", "spec.new.field"),
        ] {
            assert_eq!(quoted_path(&object, field, Elements::ByKey), by_key);
            assert_eq!(quoted_path(&object, field, Elements::ByIndex), by_index);
        }
    }

    #[test]
    fn fields_are_removed_by_the_paths_of_the_server() {
        let mut object = object(
            r#"{"metadata":{"labels":{"app":"a","app.kubernetes.io/name":"b"}},
                "spec":{"c":[{"name":"a","image":"1"},{"name":"b","image":"2"}],"set":["x","y","p,q]\""]}}"#,
        );
        for path in [
            ".metadata.labels.app.kubernetes.io/name",
            r#".spec.c[name="b"].image"#,
            r#".spec.set[="x"]"#,
            r#".spec.set[="p,q]\""]"#,
        ] {
            assert!(remove_field(&mut object, path), "{path}");
        }
        assert!(
            !remove_field(&mut object, ".spec.missing")
                && !remove_field(&mut object, ".spec.c[name=\"z\"].image")
        );
        let left = Object::read_json(
            br#"{"metadata":{"labels":{"app":"a"}},"spec":{"c":[{"name":"a","image":"1"},{"name":"b"}],"set":["y"]}}"#,
        );
        assert_eq!(object, left.expect("good JSON"));
    }
}
