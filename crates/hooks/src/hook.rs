//! The typed hook, read from a rendered document or from a stored release.

use std::time::Duration;

use pintle_objects::{Built, Head, HookEvent, Object, ObjectError, Validation, aggregate, build_document};
use pintle_tree::{LogLine, Node};

use crate::annotation::{Annotations, EventVocabulary};
use crate::env::{EnvRule, inject};
use crate::error::{Error, Problem, Result};
use crate::policy::{DeletePolicy, LogPolicy, UnknownPolicyValue, unknown_policy_values};
use crate::weight::event_weights;

/// The input for a hook: what sorting found, or what a release record contains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source<'a> {
    /// The name of the object.
    pub name: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The rendered file it comes from.
    pub path: &'a str,
    /// The document.
    pub manifest: &'a [u8],
    /// Its events, as Helm parses them. Empty for an object whose events only `helm.sh/hook-weights` lists.
    pub events: &'a [HookEvent],
    /// Its weight, as Helm parses it.
    pub weight: i64,
    /// The values of its delete policy, in lower case.
    pub delete_policies: &'a [String],
    /// The values of its log policy, in lower case.
    pub log_policies: &'a [String],
}

impl<'a> Source<'a> {
    /// From a hook that sorting found.
    pub fn from_sorted(hook: &'a pintle_objects::Hook<'a>) -> Self {
        Source {
            name: hook.name.as_str().unwrap_or_default(),
            kind: hook.kind.as_str().unwrap_or_default(),
            path: hook.path,
            manifest: hook.manifest,
            events: &hook.events,
            weight: hook.weight,
            delete_policies: &hook.delete_policies,
            log_policies: &hook.output_log_policies,
        }
    }
}

/// An event of a hook with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWeight {
    /// The event.
    pub event: HookEvent,
    /// The weight; lower weights run first.
    pub weight: i64,
}

/// An object that runs at certain events instead of being installed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// The name of the object.
    pub name: String,
    /// The kind of the object.
    pub kind: String,
    /// The rendered file it comes from.
    pub path: String,
    /// The whole document. Use [`objects_for`] for the objects to create.
    pub object: Object,
    /// When it runs.
    pub events: Vec<EventWeight>,
    /// When its object is deleted. Use [`Hook::is_deleted`], which handles exceptions.
    pub delete_policies: Vec<DeletePolicy>,
    /// When its log is shown. Use [`Hook::shows_log`], which checks the kind.
    pub log_policies: Vec<LogPolicy>,
    /// How long it may take, if it has a limit of its own.
    pub timeout: Option<Duration>,
    /// Whether its object outlives the release and is not owned by it.
    pub unmanaged: bool,
    /// Whether its containers may get environment variables.
    pub env: bool,
    /// Whether it uses an annotation, or a form of one, that Helm does not know.
    pub extended: bool,
    /// Unknown values in its policies.
    pub unknown_policy_values: Vec<UnknownPolicyValue>,
    /// Warnings for the user.
    pub warnings: Vec<LogLine>,
}

impl Hook {
    /// The weight at an event, if the hook runs at it.
    pub fn weight(&self, event: HookEvent) -> Option<i64> {
        self.events.iter().find(|weighted| weighted.event == event).map(|weighted| weighted.weight)
    }

    /// Whether the object is deleted according to `policy`. CustomResourceDefinitions never are, since that would
    /// delete all their objects.
    pub fn is_deleted(&self, policy: DeletePolicy) -> bool {
        self.kind != "CustomResourceDefinition" && self.delete_policies.contains(&policy)
    }

    /// Whether the log is shown according to `policy`. Only Jobs and Pods have one.
    pub fn shows_log(&self, policy: LogPolicy) -> bool {
        matches!(self.kind.as_str(), "Job" | "Pod") && self.log_policies.contains(&policy)
    }
}

/// Whether a document without `helm.sh/hook` is a hook because `helm.sh/hook-weights` names events. Helm would
/// install it as an ordinary object.
pub fn is_hook_by_weights(head: &Head) -> bool {
    let annotations = Annotations::from_head(head);
    annotations.hook.is_none() && annotations.weights.is_some()
}

/// Reads a rendered hook.
///
/// # Errors
/// When the document is not a map, or its annotations beyond Helm's contradict each other.
pub fn read(source: &Source<'_>) -> Result<Hook> {
    let object = document(source)?;
    let annotations = Annotations::from_object(&object);
    let events = events(source, &annotations).map_err(|problem| Error::Annotations {
        kind: source.kind.to_owned(),
        name: source.name.to_owned(),
        path: source.path.to_owned(),
        problem,
    })?;
    Ok(hook(source, object, &annotations, events))
}

/// Reads a hook of a stored release. Stored releases must keep working, so contradicting annotations are only a
/// warning, and the hook then behaves as in Helm.
///
/// # Errors
/// When the document is not a map.
pub fn read_stored(source: &Source<'_>) -> Result<Hook> {
    let object = document(source)?;
    let annotations = Annotations::from_object(&object);
    match events(source, &annotations) {
        Ok(events) => Ok(hook(source, object, &annotations, events)),
        Err(problem) => {
            let mut hook = hook(source, object, &annotations, plain_events(source));
            let attributes = vec![("path", source.path.to_owned()), ("problem", problem.to_string())];
            hook.warnings.push(LogLine::warn("ignoring hook annotations", attributes));
            Ok(hook)
        }
    }
}

fn document(source: &Source<'_>) -> Result<Object> {
    let failure = |error| Error::Document {
        name: source.name.to_owned(),
        path: source.path.to_owned(),
        problem: error,
    };
    let file = || source.path.to_owned();
    match pintle_yaml::read_exact(source.manifest) {
        Ok(Node::Map(body)) => Ok(Object::new(body)),
        Ok(other) => Err(failure(ObjectError::NoMap { file: file(), found: other.json_type() })),
        Err(error) => Err(failure(ObjectError::Parse { file: file(), reason: error.to_string() })),
    }
}

/// The events with their weights. Without additional annotations these are what Helm's sorting found.
fn events(source: &Source<'_>, annotations: &Annotations) -> Result<Vec<EventWeight>, Problem> {
    if !annotations.is_extended() {
        return Ok(plain_events(source));
    }
    // Sorting read only one weight, so the annotations are parsed again.
    let events = event_weights(annotations, EventVocabulary::Native)?;
    Ok(events
        .into_iter()
        .filter_map(|(word, weight)| HookEvent::parse(word).map(|event| EventWeight { event, weight }))
        .collect())
}

fn plain_events(source: &Source<'_>) -> Vec<EventWeight> {
    source.events.iter().map(|event| EventWeight { event: *event, weight: source.weight }).collect()
}

fn hook(source: &Source<'_>, object: Object, annotations: &Annotations, events: Vec<EventWeight>) -> Hook {
    let unknown_policy_values =
        unknown_policy_values(source.delete_policies, source.log_policies, annotations.policy.as_deref());
    let mut warnings: Vec<LogLine> =
        unknown_policy_values.iter().map(|word| word.warning(source.path)).collect();
    let timeout = annotations.timeout.as_deref().and_then(|text| {
        // A wrong timeout is only a warning: Helm does not know the annotation, so the chart works with Helm.
        let parsed = timeout(text);
        if parsed.is_none() {
            let attributes = vec![("path", source.path.to_owned()), ("value", text.to_owned())];
            warnings.push(LogLine::warn("ignoring helm.sh/hook-timeout, which is no duration", attributes));
        }
        parsed
    });
    Hook {
        name: source.name.to_owned(),
        kind: source.kind.to_owned(),
        path: source.path.to_owned(),
        object,
        events,
        delete_policies: DeletePolicy::parse_list(source.delete_policies),
        log_policies: source.log_policies.iter().filter_map(|word| LogPolicy::parse(word)).collect(),
        timeout,
        unmanaged: annotations.is_unmanaged(),
        env: annotations.allows_env(),
        extended: annotations.is_extended(),
        warnings,
        unknown_policy_values,
    }
}

/// A positive duration in Go's form, such as `10m` or `1h30m`.
fn timeout(text: &str) -> Option<Duration> {
    let parsed = pintle_time::Duration::parse(text.trim()).ok()?;
    u64::try_from(parsed.nanoseconds()).ok().filter(|nanoseconds| *nanoseconds > 0).map(Duration::from_nanos)
}

/// The document of a hook at an event, with the environment variables if the rule and its annotations ask for them.
/// It keeps its name, since only one event runs at a time.
pub fn object_for(hook: &Hook, event: HookEvent, rule: EnvRule) -> Object {
    let mut object = hook.object.clone();
    add_variables(&mut object, hook, event, rule);
    object
}

fn add_variables(object: &mut Object, hook: &Hook, event: HookEvent, rule: EnvRule) {
    if hook.env && (hook.extended || rule == EnvRule::Always) {
        inject(object, event.as_str(), hook.weight(event).unwrap_or(0));
    }
}

/// The objects to create when a hook runs at an event: its object, or the members of a list.
///
/// # Errors
/// When the hook is invalid, with the message of the step at which Helm notices: it first deletes the object of the
/// last run, for which the hook must be decodable, and then creates it, for which it must have a kind.
pub fn objects_for(hook: &Hook, event: HookEvent, rule: EnvRule) -> Result<Vec<Object>> {
    if hook.is_deleted(DeletePolicy::BeforeHookCreation) {
        objects_to_delete(hook)?;
    }
    let mut members = build(hook, event.as_str(), Validation::Strict)?;
    members.iter_mut().for_each(|member| add_variables(member, hook, event, rule));
    Ok(members)
}

/// The objects to delete after a hook.
///
/// # Errors
/// When the hook cannot be decoded or is an empty list, or an object has neither `name` nor `generateName`.
pub fn objects_to_delete(hook: &Hook) -> Result<Vec<Object>> {
    // Helm builds without validation for deleting, and with validation for creating.
    let members = build(hook, "deleting", Validation::Ignore)?;
    let is_nameless =
        |object: &Object| object.name().is_empty() && object.text(&["metadata", "generateName"]).is_empty();
    match members.iter().any(is_nameless) {
        true => Err(Error::NoName),
        false if members.is_empty() => Err(Error::NoObjects),
        false => Ok(members),
    }
}

/// The objects of a hook. `occasion` is what Helm's message says they are built for.
fn build(hook: &Hook, occasion: &'static str, validation: Validation) -> Result<Vec<Object>> {
    let failure = |reason| Error::Build { occasion, path: hook.path.clone(), reason };
    let body = Node::Map(hook.object.body().clone());
    let built = build_document(body, validation).map_err(|error| failure(error.to_string()))?;
    let members = match built {
        Built::Object(object) => return Ok(vec![object]),
        Built::List { members, .. } => members,
    };
    let (good, bad): (Vec<_>, Vec<_>) = members.into_iter().partition(std::result::Result::is_ok);
    let problems: Vec<String> =
        bad.into_iter().filter_map(|member| Some(member.err()?.to_string())).collect();
    match problems.is_empty() {
        true => Ok(good.into_iter().flatten().collect()),
        false => Err(failure(aggregate(problems))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_objects::{Order, sort};

    /// Reads the only hook of a Job with the given annotations, one per line.
    fn job(annotations: &str) -> Result<Hook> {
        let annotations =
            annotations.lines().fold(String::new(), |text, line| text + "    helm.sh/" + line.trim() + "\n");
        let text = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\n  annotations:\n{annotations}\
             spec: {{template: {{spec: {{containers: [{{name: c}}]}}}}}}\n"
        );
        let files = [("c/t.yaml", text)];
        let sorted = sort(&files, Order::Install).expect("good YAML");
        read(&Source::from_sorted(sorted.hooks.first().expect("a hook")))
    }

    fn weights(hook: &Hook) -> Vec<(&'static str, i64)> {
        hook.events.iter().map(|weighted| (weighted.event.as_str(), weighted.weight)).collect()
    }

    #[test]
    fn a_plain_hook_is_what_helm_takes_it_for() {
        let hook = job(
            "hook: Pre-Install, test-success,test\nhook-weight: 1.5\nhook-delete-policy: never,hook-failed",
        )
        .expect("Helm accepts it");
        assert_eq!(weights(&hook), [("pre-install", 0), ("test", 0), ("test", 0)]);
        assert!(hook.is_deleted(DeletePolicy::Failed) && !hook.is_deleted(DeletePolicy::BeforeHookCreation));
        assert!(!hook.extended && !hook.unmanaged && hook.env);
        assert_eq!(hook.unknown_policy_values.len(), 1);
        assert_eq!(object_for(&hook, HookEvent::Test, EnvRule::WhenAsked), hook.object);
    }

    #[test]
    fn an_extended_hook_has_a_weight_for_each_event() {
        let hook = job("hook: pre-install,post-install\nhook-weight: \"-9,30\"").expect("good annotations");
        assert_eq!(weights(&hook), [("pre-install", -9), ("post-install", 30)]);
        let object = object_for(&hook, HookEvent::PostInstall, EnvRule::WhenAsked);
        let json = String::from_utf8(object.to_json()).expect("JSON is text");
        assert!(json.contains(r#"{"name":"HELM_HOOK_WEIGHT","value":"30"}"#), "{json}");
    }

    #[test]
    fn variables_follow_the_rule_and_the_annotation() {
        let forbidden = job("hook: test\nhook-env: \"no\"").expect("good annotations");
        assert_eq!(object_for(&forbidden, HookEvent::Test, EnvRule::Always), forbidden.object);
        let plain = job("hook: test").expect("good annotations");
        assert_ne!(object_for(&plain, HookEvent::Test, EnvRule::Always), plain.object);
    }

    #[test]
    fn contradictions_are_errors_when_fresh_and_warnings_when_stored() {
        let error =
            job("hook: pre-install,test\nhook-weight: 1,2,3").expect_err("three weights for two events");
        assert_eq!(
            error.to_string(),
            "Job j in c/t.yaml has invalid hook annotations: `helm.sh/hook-weight` has 3 weights for 2 events"
        );
        let manifest =
            b"{kind: Job, metadata: {name: j, annotations: {helm.sh/hook: test, helm.sh/hook-weights: x}}}";
        let source = Source {
            name: "j",
            kind: "Job",
            manifest,
            events: &[HookEvent::Test],
            weight: 3,
            ..Source::default()
        };
        assert!(read(&source).is_err());
        let hook = read_stored(&source).expect("stored hooks go on working");
        assert_eq!(weights(&hook), [("test", 3)]);
        assert_eq!(hook.warnings.len(), 1);
    }

    #[test]
    fn weights_alone_make_a_hook() {
        let text = "kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook-weights: post-delete=4}}\n";
        let files = [("t", text)];
        let sorted = sort(&files, Order::Install).expect("good YAML");
        assert!(is_hook_by_weights(&sorted.manifests[0].head));
        let hook =
            read(&Source { manifest: text.as_bytes(), ..Source::default() }).expect("good annotations");
        assert_eq!(weights(&hook), [("post-delete", 4)]);
    }

    #[test]
    fn the_members_of_a_list_are_created_one_by_one() {
        let manifest =
            b"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}}, \
            {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c}]}}]}";
        let hook = read(&Source { kind: "List", manifest, events: &[HookEvent::Test], ..Source::default() })
            .expect("good");
        let objects = objects_for(&hook, HookEvent::Test, EnvRule::Always).expect("good members");
        assert_eq!(
            objects.iter().map(|object| object.id().to_string()).collect::<Vec<_>>(),
            ["Secret/a", "Pod/b"]
        );
        assert!(String::from_utf8_lossy(&objects[1].to_json()).contains("HELM_HOOK_EVENT"));
    }

    #[test]
    fn a_document_that_is_no_object_fails_only_when_it_is_to_run_and_as_under_helm() {
        let keep = [String::from("hook-failed")];
        let both = "error validating \"\": error validating data: [apiVersion not set, kind not set]";
        let rows: [(&[u8], &[String], &str, &str); 4] = [
            (
                b"{kind: Job, metadata: {name: a}}",
                &[],
                "test",
                "error validating \"\": error validating data: apiVersion not set",
            ),
            (
                b"kind: ''",
                &[],
                "deleting",
                "unable to decode \"\": Object 'Kind' is missing in '{\"kind\":\"\"}'",
            ),
            (b"apiVersion: v1", &keep, "test", "error validating \"\": error validating data: kind not set"),
            (b"{}", &keep, "test", both),
        ];
        for (manifest, delete_policies, occasion, reason) in rows {
            let events = &[HookEvent::Test];
            let source = Source { path: "c/t.yaml", manifest, events, delete_policies, ..Source::default() };
            let hook = read(&source).expect("it need not run");
            let error = objects_for(&hook, HookEvent::Test, EnvRule::WhenAsked).expect_err("no object");
            let expected =
                format!("unable to build kubernetes object for {occasion} hook c/t.yaml: {reason}");
            assert_eq!(error.to_string(), expected);
        }
        assert!(read(&Source { manifest: b"[]", ..Source::default() }).is_err());
    }

    #[test]
    fn definitions_of_custom_resources_are_never_deleted() {
        let source = Source { kind: "CustomResourceDefinition", manifest: b"{}", ..Source::default() };
        assert!(!read(&source).expect("good").is_deleted(DeletePolicy::BeforeHookCreation));
        assert!(
            read(&Source { kind: "Job", ..source })
                .expect("good")
                .is_deleted(DeletePolicy::BeforeHookCreation)
        );
    }
}
