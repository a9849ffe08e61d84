//! The filter: a hook of several events becomes one object for each, in annotations that Helm knows.
//!
//! Operations of our own need none of this; it is for Helm and for others who read Helm's annotations.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId};
use pintle_tree::Node;

use crate::annotation::{Annotations, HOOK, WEIGHT, WEIGHTS, Words};
use crate::env::inject;
use crate::error::{Error, Result};
use crate::name::split_name;
use crate::reference::Renames;
use crate::weight::weigh;

/// One object that comes out of another.
struct Part {
    event: &'static str,
    weight: i64,
    /// The new name, if it gets one.
    name: Option<String>,
}

/// What is to be done to one object.
struct Plan {
    annotations: Annotations,
    /// Empty when the object is no hook.
    parts: Vec<Part>,
}

/// Kinds whose name says something else than who they are: the cluster derives it from what they define, or others are
/// found by it. Their parts all keep it.
const FIXED_NAMES: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];

/// Splits the hooks among `objects`. The result has one list for each object, in the same order: its parts in the
/// order of its events, or the object itself. References between objects of one event follow the new names.
///
/// # Errors
/// The first hook whose annotations are wrong, or whose part would get the name of another object.
pub fn split(objects: &[Object]) -> Result<Vec<Vec<Object>>> {
    let plans = objects.iter().map(plan).collect::<Result<Vec<Plan>>>()?;
    check_names(objects, &plans)?;
    let mut renames = Renames::default();
    for (object, plan) in objects.iter().zip(&plans) {
        for part in &plan.parts {
            if let Some(new) = &part.name {
                renames.add(object, part.event, new);
            }
        }
    }
    Ok(objects.iter().zip(&plans).map(|(object, plan)| carry_out(object, plan, &renames)).collect())
}

fn plan(object: &Object) -> Result<Plan> {
    let annotations = Annotations::of(object);
    if annotations.hook.is_none() && annotations.weights.is_none() {
        return Ok(Plan { annotations, parts: Vec::new() });
    }
    let events = weigh(&annotations, Words::Filter).map_err(|source| Error::Annotations {
        kind: object.kind().to_owned(),
        name: object.name().to_owned(),
        path: String::new(),
        source,
    })?;
    // What has no name yet, but `generateName`, gets one of its own from the cluster anyway.
    let named = !object.name().is_empty() && !FIXED_NAMES.contains(&object.kind());
    let renamed = events.len() > 1 && annotations.allows_suffix() && named;
    let parts = events
        .into_iter()
        .map(|(event, weight)| {
            let name = renamed.then(|| split_name(object.name(), event));
            Part { event, weight, name }
        })
        .collect();
    Ok(Plan { annotations, parts })
}

/// Refuses new names that another object has. Objects of one name from the start are the chart's own affair.
fn check_names(objects: &[Object], plans: &[Plan]) -> Result<()> {
    let mut owners: BTreeMap<ObjectId, &str> = BTreeMap::new();
    let kept =
        objects.iter().zip(plans).filter(|(_, plan)| plan.parts.iter().all(|part| part.name.is_none()));
    for (object, _) in kept {
        owners.insert(without_version(object.id()), object.name());
    }
    for (object, plan) in objects.iter().zip(plans) {
        for new in plan.parts.iter().filter_map(|part| part.name.as_ref()) {
            let id = without_version(ObjectId { name: new.clone(), ..object.id() });
            let owner = owners.entry(id).or_insert(object.name());
            if *owner != object.name() {
                let (kind, name) = (object.kind().to_owned(), object.name().to_owned());
                return Err(Error::Collision { kind, name, new: new.clone() });
            }
        }
    }
    Ok(())
}

fn without_version(id: ObjectId) -> ObjectId {
    ObjectId { version: String::new(), ..id }
}

fn carry_out(object: &Object, plan: &Plan, renames: &Renames) -> Vec<Object> {
    if plan.parts.is_empty() {
        return vec![object.clone()];
    }
    let mut objects: Vec<Object> = plan.parts.iter().map(|part| make(object, plan, part)).collect();
    for (object, part) in objects.iter_mut().zip(&plan.parts) {
        renames.rewrite(object, part.event);
    }
    objects
}

fn make(object: &Object, plan: &Plan, part: &Part) -> Object {
    let mut object = object.clone();
    // A hook of one event that Helm understands keeps its annotations as they are written.
    if plan.annotations.hook.as_deref().map(str::trim) != Some(part.event) {
        object.set_annotation(HOOK, part.event);
    }
    if plan.parts.len() > 1 || plan.annotations.weights.is_some() {
        object.set_annotation(WEIGHT, &part.weight.to_string());
    }
    if let Some(Node::Map(annotations)) = object.metadata_mut().get_mut("annotations") {
        annotations.remove(WEIGHTS);
    }
    if let Some(name) = &part.name {
        object.metadata_mut().insert("name".into(), name.as_str().into());
    }
    if plan.annotations.allows_env() {
        inject(&mut object, part.event, part.weight);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> Vec<Object> {
        Object::read_manifest(text.as_bytes(), "test").expect("good objects")
    }

    fn annotated(kind: &str, name: &str, annotations: &str, rest: &str) -> String {
        format!(
            "---\n{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}, annotations: {{{annotations}}}}}{rest}}}\n"
        )
    }

    fn lines(text: &str) -> Vec<String> {
        let parts = split(&objects(text)).expect("good hooks");
        parts.iter().flatten().map(|object| String::from_utf8_lossy(&object.to_json()).into_owned()).collect()
    }

    #[test]
    fn each_event_gets_an_object_with_its_weight() {
        let text = annotated(
            "Secret",
            "s",
            "helm.sh/hook: 'post-install,pre-install', helm.sh/hook-weights: 'pre-install=-3', helm.sh/hook-delete-policy: x",
            "",
        );
        assert_eq!(
            lines(&text),
            [("post-install", "0"), ("pre-install", "-3")].map(|(event, weight)| format!(
                r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"annotations":{{"helm.sh/hook":"{event}","helm.sh/hook-delete-policy":"x","helm.sh/hook-weight":"{weight}"}},"name":"s-{event}"}}}}"#
            ))
        );
    }

    #[test]
    fn hooks_of_one_event_keep_their_name() {
        for (annotations, expected) in [
            (
                "helm.sh/hook: test, helm.sh/hook-weight: '04'",
                r#""helm.sh/hook":"test","helm.sh/hook-weight":"04""#,
            ),
            ("helm.sh/hook: test", r#"{"helm.sh/hook":"test"}"#),
            ("helm.sh/hook: 'test,'", r#"{"helm.sh/hook":"test"}"#),
            (
                "helm.sh/hook: test, helm.sh/hook-weights: '5'",
                r#"{"helm.sh/hook":"test","helm.sh/hook-weight":"5"}"#,
            ),
            (
                "helm.sh/hook-weights: 'post-delete=4'",
                r#"{"helm.sh/hook":"post-delete","helm.sh/hook-weight":"4"}"#,
            ),
        ] {
            let line = lines(&annotated("Secret", "s", annotations, "")).remove(0);
            assert!(line.contains(expected) && line.ends_with(r#""name":"s"}}"#), "{line}");
        }
    }

    #[test]
    fn names_are_kept_on_request_and_variables_left_out_on_request() {
        let text = annotated(
            "Pod",
            "p",
            "helm.sh/hook: 'test,pre-delete', helm.sh/hook-name-suffix: 'False', helm.sh/hook-env: 'no'",
            ", spec: {containers: [{name: c}]}",
        );
        for line in lines(&text) {
            assert!(line.contains(r#""name":"p""#) && !line.contains("HELM_HOOK"), "{line}");
            assert!(line.contains("hook-env") && line.contains("hook-name-suffix"), "{line}");
        }
    }

    #[test]
    fn names_that_the_cluster_fixes_are_kept() {
        let text =
            annotated("CustomResourceDefinition", "a.b.c", "helm.sh/hook: 'pre-install,pre-upgrade'", "");
        for line in lines(&text) {
            assert!(line.contains(r#""name":"a.b.c""#), "{line}");
        }
    }

    #[test]
    fn references_follow_the_new_names_within_their_event() {
        let both = "helm.sh/hook: 'pre-install,pre-upgrade'";
        let spec = ", spec: {serviceAccountName: a, volumes: [{name: v, configMap: {name: c}}, {name: w, \
                    projected: {sources: [{secret: {name: s}}]}}, {name: x, secret: {secretName: other}}], \
                    containers: [{name: k, envFrom: [{configMapRef: {name: c}}], \
                    env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}";
        let text = annotated("ConfigMap", "c", both, "")
            + &annotated("Secret", "s", both, "")
            + &annotated("ServiceAccount", "a", both, "")
            + &annotated(
                "RoleBinding",
                "b",
                both,
                ", subjects: [{kind: ServiceAccount, name: a, namespace: ns}]",
            )
            + &annotated("Pod", "p", "helm.sh/hook: pre-upgrade", spec)
            + &annotated("Pod", "q", "", spec);
        let lines = lines(&text);
        assert!(
            lines[7].contains(
                r#""subjects":[{"kind":"ServiceAccount","name":"a-pre-upgrade","namespace":"ns"}]"#
            )
        );
        let pod = &lines[8];
        for expected in [
            r#""configMap":{"name":"c-pre-upgrade"}"#,
            r#""secret":{"name":"s-pre-upgrade"}"#,
            r#""secretName":"other""#,
            r#""configMapRef":{"name":"c-pre-upgrade"}"#,
            r#""secretKeyRef":{"key":"k","name":"s-pre-upgrade"}"#,
            r#""serviceAccountName":"a-pre-upgrade""#,
        ] {
            assert!(pod.contains(expected), "{expected} in {pod}");
        }
        assert!(!lines[9].contains("-pre-"), "an object of no event refers to none: {}", lines[9]);
    }

    #[test]
    fn a_part_that_takes_the_name_of_another_object_is_an_error() {
        let hook = annotated("Secret", "s", "helm.sh/hook: 'pre-install,test'", "");
        let error =
            split(&objects(&(annotated("Secret", "s-test", "", "") + &hook))).expect_err("two of a name");
        assert_eq!(error.to_string(), "splitting Secret s would make a second Secret named s-test");
        assert!(split(&objects(&(annotated("ConfigMap", "s-test", "", "") + &hook + &hook))).is_ok());
    }

    #[test]
    fn splitting_twice_changes_nothing_more() {
        let text = annotated("Job", "j", "helm.sh/hook: 'pre-install,test', helm.sh/hook-weight: '1,2'", "");
        let once: Vec<Object> = split(&objects(&text)).expect("good").into_iter().flatten().collect();
        let twice: Vec<Object> = split(&once).expect("good").into_iter().flatten().collect();
        assert_eq!(once, twice);
    }
}
