//! Environment variables with the event and weight, for the containers of a hook.

use pintle_objects::Object;
use pintle_tree::{Map, Node};
use pintle_yaml::outline::PathSegment;

use crate::change::{Change, Path, apply_to_tree, drop_nested, join};
use crate::view::{Tree, View};

/// The variable that holds the event.
const EVENT: &str = "HELM_HOOK_EVENT";
/// The variable that holds the weight.
const WEIGHT: &str = "HELM_HOOK_WEIGHT";

/// When containers get the variables. `helm.sh/hook-env: "false"` always disables them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvRule {
    /// Only for hooks with an annotation that Helm does not know, so that other charts are rendered unchanged.
    #[default]
    WhenAsked,
    /// For all hooks.
    Always,
}

/// The container lists of a pod.
pub(crate) const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Sets both variables in all containers of the object's pod template.
pub(crate) fn inject(object: &mut Object, event: &str, weight: i64) {
    let mut changes = Vec::new();
    add_variables(Tree::of(object), &[], event, weight, &mut changes);
    drop_nested(&mut changes);
    apply_to_tree(object.body_mut(), &changes);
}

/// Collects the changes of an object at `path` for both variables.
pub(crate) fn add_variables<'v>(
    object: impl View<'v>,
    path: &[PathSegment],
    event: &str,
    weight: i64,
    changes: &mut Vec<Change>,
) {
    let variables = [(EVENT, event.to_owned()), (WEIGHT, weight.to_string())];
    let spec_path = pod_spec(&object.text(&["kind"]));
    let Some(spec) = object.at(spec_path) else { return };
    for field in CONTAINERS {
        let containers = spec.get(field).and_then(View::items).unwrap_or_default();
        for (index, container) in
            containers.into_iter().enumerate().filter(|(_, container)| container.is_map())
        {
            let mut path = path.to_vec();
            path.extend(spec_path.iter().copied().map(PathSegment::from));
            path.extend([PathSegment::from(field), PathSegment::from(index), PathSegment::from("env")]);
            add_to_container(container, path, &variables, changes);
        }
    }
}

fn add_to_container<'v>(
    container: impl View<'v>,
    path: Path,
    variables: &[(&'static str, String); 2],
    changes: &mut Vec<Change>,
) {
    let env = container.get("env");
    // `env:` without a value counts as absent.
    if env.is_none_or(|env| env.scalar() == Some(Node::Nil)) {
        let variables = variables.iter().map(|(name, value)| variable(name, value)).collect();
        changes.push(Change::Set(path, Node::List(variables)));
        return;
    }
    // Anything but a list is left to the API server's validation.
    let Some(entries) = env.and_then(View::items) else { return };
    for (name, value) in variables {
        let mut matches = (0..entries.len()).filter(|&index| entries[index].text(&["name"]) == *name);
        match matches.next() {
            None => changes.push(Change::Push(path.clone(), variable(name, value))),
            Some(index) => replace(entries[index], &with(&path, index), value, changes),
        }
        // The last of two variables would win, and server-side apply rejects duplicate names.
        changes.extend(matches.map(|index| Change::Remove(with(&path, index))));
    }
}

/// Sets the value of an existing variable, and drops its `valueFrom`.
fn replace<'v>(entry: impl View<'v>, path: &[PathSegment], value: &str, changes: &mut Vec<Change>) {
    for key in entry.keys().unwrap_or_default() {
        // The API server rejects a variable with both `value` and `valueFrom`.
        if key != "name" && key != "value" {
            let mut path = path.to_vec();
            path.push(PathSegment::Key(key.into_owned().into()));
            changes.push(Change::Remove(path));
        }
    }
    // A value that is right already keeps its formatting.
    if entry.get("value").and_then(View::str).is_none_or(|old| old != value) {
        changes.push(Change::Set(join(path, ["value"]), value.into()));
    }
}

fn with(path: &[PathSegment], index: usize) -> Path {
    [path, &[PathSegment::Index(index)]].concat()
}

fn variable(name: &str, value: &str) -> Node {
    let entries = vec![("name".into(), Node::from(name)), ("value".into(), Node::from(value))];
    Node::Map(Map::from_entries(entries))
}

/// The path of the pod spec in an object of a kind.
pub(crate) fn pod_spec(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "PodTemplate" => &["template", "spec"],
        // Job, Deployment and all other workloads; for other kinds nothing is found there.
        _ => &["spec", "template", "spec"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injected(text: &str) -> String {
        let mut object = Object::read_manifest(text.as_bytes(), "test").expect("a good object").remove(0);
        inject(&mut object, "test", -3);
        String::from_utf8(object.to_json()).expect("JSON is text")
    }

    const BOTH: &str =
        r#"{"name":"HELM_HOOK_EVENT","value":"test"},{"name":"HELM_HOOK_WEIGHT","value":"-3"}"#;

    #[test]
    fn containers_of_every_pod_template_get_both_variables() {
        for (before, after) in [
            ("kind: Pod, spec: {", "}"),
            ("kind: Job, spec: {template: {spec: {", "}}}"),
            ("kind: Deployment, spec: {template: {spec: {", "}}}"),
            ("kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {", "}}}}}"),
        ] {
            let json = injected(&format!(
                "{{apiVersion: v1, {before} initContainers: [{{name: i, env: null}}], containers: [{{name: c}}] {after}}}"
            ));
            assert!(json.contains(&format!(r#"{{"env":[{BOTH}],"name":"c"}}"#)), "{json}");
            assert!(json.contains(&format!(r#"{{"env":[{BOTH}],"name":"i"}}"#)), "{json}");
        }
    }

    #[test]
    fn a_variable_of_the_same_name_is_replaced_in_its_place() {
        let json = injected(
            "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, env: [\
             {name: HELM_HOOK_EVENT, valueFrom: {fieldRef: {}}}, {name: B, value: b}, {name: HELM_HOOK_EVENT}]}]}}",
        );
        let expected = r#""env":[{"name":"HELM_HOOK_EVENT","value":"test"},{"name":"B","value":"b"},{"name":"HELM_HOOK_WEIGHT","value":"-3"}]"#;
        assert!(json.contains(expected), "{json}");
    }

    #[test]
    fn what_has_no_containers_stays_as_it_is() {
        for text in [
            "{apiVersion: v1, kind: ConfigMap, data: {a: b}}",
            "{apiVersion: v1, kind: Pod, spec: {containers: [1, {env: 7}, null], initContainers: {}}}",
            "{apiVersion: v1, kind: Job, spec: []}",
        ] {
            let object = Object::read_manifest(text.as_bytes(), "test").expect("a good object").remove(0);
            assert_eq!(injected(text).as_bytes(), object.to_json());
        }
    }
}
