//! Splits hooks in trees: a hook with several events becomes one object per event, with Helm's annotations only.
//!
//! Our own operations do not need this; it is for Helm and other tools that read Helm's annotations. The filter does
//! the same on text, and a test compares both.

use pintle_objects::Object;
use pintle_tree::Node;

use crate::change::{Change, apply_to_tree, node_at};
use crate::error::{Error, Result};
use crate::plan::{Plan, renames};
use crate::reference::Renames;
use crate::view::Tree;

/// Splits the hooks in the objects of documents. The result has one list per document, in the same order: the parts
/// in the order of their events, or the object itself. Hooks in lists are moved out and follow the list. References
/// between objects of one event are updated.
///
/// # Errors
/// The first hook whose annotations are invalid, or whose part would get the name of another object.
pub fn split(objects: &[Object]) -> Result<Vec<Vec<Object>>> {
    let plans = objects.iter().map(plan).collect::<Result<Vec<Plan>>>()?;
    let renames = renames(&plans).map_err(|conflict| Error::Collision {
        kind: conflict.identity.kind().to_owned(),
        name: conflict.identity.name().to_owned(),
        new: conflict.new,
    })?;
    Ok(objects.iter().zip(&plans).map(|(object, plan)| execute(object, plan, &renames)).collect())
}

fn plan(object: &Object) -> Result<Plan> {
    Plan::from_view(Tree::of(object)).map_err(|error| Error::Annotations {
        kind: error.identity.kind().to_owned(),
        name: error.identity.name().to_owned(),
        path: String::new(),
        problem: error.problem,
    })
}

fn execute(object: &Object, plan: &Plan, renames: &Renames) -> Vec<Object> {
    let mut objects = Vec::new();
    if !plan.empties_list() && (plan.is_empty() || plan.leaves_list()) {
        let mut rest = object.clone();
        let leaving: Vec<Change> = plan.hooks.iter().map(|hook| Change::Remove(hook.path.clone())).collect();
        apply_to_tree(rest.body_mut(), &leaving);
        objects.push(rest);
    }
    for hook in &plan.hooks {
        for part in &hook.parts {
            let mut whole = object.clone();
            apply_to_tree(whole.body_mut(), &hook.changes(Tree::of(object), part, renames));
            // `node_at` finds the member of a list. For the document itself, whose path is empty, it returns `None`.
            match node_at(whole.body_mut(), &hook.path) {
                Some(Node::Map(member)) => objects.push(Object::new(std::mem::take(member))),
                _ => objects.push(whole),
            }
        }
    }
    objects
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
