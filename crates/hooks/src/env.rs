//! Variables that tell the containers of a hook why they run.

use pintle_objects::Object;
use pintle_tree::{Map, Node};

/// The variable that holds the event.
const EVENT: &str = "HELM_HOOK_EVENT";
/// The variable that holds the weight.
const WEIGHT: &str = "HELM_HOOK_WEIGHT";

/// When containers get variables. `helm.sh/hook-env: "false"` always forbids it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvRule {
    /// Only for hooks that use an annotation Helm does not know, so that the objects of other charts stay as they are.
    #[default]
    WhenAsked,
    /// For all hooks.
    Always,
}

/// Sets both variables in all containers of the pods that the object is, or makes.
pub(crate) fn inject(object: &mut Object, event: &str, weight: i64) {
    let weight = weight.to_string();
    let Some(spec) = pod_spec(object) else { return };
    for field in ["containers", "initContainers"] {
        let Some(Node::List(containers)) = spec.get_mut(field) else { continue };
        for container in containers.iter_mut().filter_map(Node::as_map_mut) {
            let env = container.entry_or_insert_with(&"env".into(), || Node::List(Vec::new()));
            if env.is_nil() {
                *env = Node::List(Vec::new());
            }
            // Anything but a list is for the cluster to refuse.
            if let Node::List(env) = env {
                set(env, EVENT, event);
                set(env, WEIGHT, &weight);
            }
        }
    }
}

/// The spec of the pods that an object is or makes, for changing it.
pub(crate) fn pod_spec(object: &mut Object) -> Option<&mut Map<Node>> {
    let path: &[&str] = match object.kind() {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "PodTemplate" => &["template", "spec"],
        _ => &["spec", "template", "spec"],
    };
    path.iter().try_fold(object.body_mut(), |map, key| map.get_mut(key)?.as_map_mut())
}

/// Sets one variable where it stands, or at the end. What it was made from before gives way.
fn set(env: &mut Vec<Node>, name: &str, value: &str) {
    let is_same = |node: &Node| node.get("name").and_then(Node::as_str) == Some(name);
    let variable =
        Map::from_entries(vec![("name".into(), Node::from(name)), ("value".into(), Node::from(value))]);
    match env.iter().position(is_same) {
        None => env.push(Node::Map(variable)),
        Some(place) => {
            env[place] = Node::Map(variable);
            // A second one would win over the first, and the cluster refuses lists with two of a name.
            let mut index = 0;
            env.retain(|node| {
                index += 1;
                index <= place + 1 || !is_same(node)
            });
        }
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
