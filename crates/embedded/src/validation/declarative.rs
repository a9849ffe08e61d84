//! Declarative validation: since 1.37 the server enforces rules that are generated from markers of the API types
//! (`zz_generated.validations.go`). They replace what the written validation says about the same field, and come after
//! everything else. What the written validation says several times, it says once since then.

use std::collections::BTreeSet;

use pintle_tree::Node;

use super::{ErrorList, FieldPath};
use crate::fields::int;
use crate::schema::Kind;
use crate::status::StatusCause;

/// What a field must fulfil. Checks of a field stop at the first that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// `+k8s:required`: neither absent nor the zero value of its type.
    Required,
    /// `+k8s:minimum`; an absent field passes.
    Minimum(i64),
    /// `+k8s:maxItems`
    MaxItems(usize),
    /// `+k8s:immutable`
    Immutable,
}

/// The checks of a field. In paths, `[]` stands for every element of a list.
type Rule = (&'static str, &'static [Check]);

use Check::{Immutable, MaxItems, Minimum, Required};

const ROLE: [Rule; 1] = [("rules[].verbs", &[Required])];
const ROLE_BINDING: [Rule; 2] = [("subjects[].name", &[Required]), ("roleRef.name", &[Required])];
const REPLICATION_CONTROLLER: [Rule; 2] =
    [("spec.replicas", &[Minimum(0)]), ("spec.minReadySeconds", &[Minimum(0)])];
const AUTOSCALER: [Rule; 2] =
    [("spec.minReplicas", &[Minimum(0)]), ("spec.maxReplicas", &[Required, Minimum(1)])];
const CRON_JOB: [Rule; 1] = [("spec.schedule", &[Required])];
const ENDPOINT_SLICE: [Rule; 2] =
    [("addressType", &[Immutable, Required]), ("endpoints[].addresses", &[Required, MaxItems(100)])];
const NETWORK_POLICY: [Rule; 2] =
    [("spec.ingress[].from[].ipBlock.cidr", &[Required]), ("spec.egress[].to[].ipBlock.cidr", &[Required])];
const STORAGE_CLASS: [Rule; 4] = [
    ("provisioner", &[Immutable, Required]),
    ("parameters", &[Immutable]),
    ("reclaimPolicy", &[Immutable]),
    ("volumeBindingMode", &[Immutable]),
];

/// The rules of a kind, in the order of the fields of its Go type.
fn rules(group: &str, kind: &str) -> &'static [Rule] {
    match (group, kind) {
        ("", "ReplicationController") => &REPLICATION_CONTROLLER,
        ("autoscaling", "HorizontalPodAutoscaler") => &AUTOSCALER,
        ("batch", "CronJob") => &CRON_JOB,
        ("discovery.k8s.io", "EndpointSlice") => &ENDPOINT_SLICE,
        ("networking.k8s.io", "NetworkPolicy") => &NETWORK_POLICY,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => &ROLE,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => &ROLE_BINDING,
        ("storage.k8s.io", "StorageClass") => &STORAGE_CLASS,
        _ => &[],
    }
}

/// Applies the rules of a kind to a new object, or to a new state of `old`.
pub(super) fn validate(kind: Kind<'_>, old: Option<&Node>, object: &Node, errors: &mut ErrorList) {
    if !kind.is_validated_declaratively() {
        return;
    }
    let (group, kind) = super::group_and_kind(kind);
    let mut found = Vec::new();
    for (path, checks) in rules(group, kind) {
        let mut walk = Walk { checks, is_update: old.is_some(), found: &mut found };
        walk.field(path, &FieldPath::root(""), Some(object), old);
    }
    // The server merges both lists through an aggregate of errors, which has no error twice.
    let mut known = BTreeSet::new();
    errors.causes.retain(|cause| known.insert(cause.to_message()));
    for (check, cause) in &found {
        errors.causes.retain(|written| !check.covers(written, &cause.field));
    }
    errors.causes.extend(found.into_iter().map(|(_, cause)| cause));
}

impl Check {
    /// Whether the check replaces a cause of the written validation.
    fn covers(self, written: &StatusCause, field: &str) -> bool {
        written.field == field
            && match self {
                Required => written.reason == "FieldValueRequired",
                MaxItems(_) => written.reason == "FieldValueTooMany",
                Minimum(least) => written.message.ends_with(&at_least(least)),
                Immutable => written.message.ends_with(IMMUTABLE),
            }
    }

    fn run(self, field: &str, value: Option<&Node>, is_update: bool) -> Option<StatusCause> {
        match self {
            Required if value.is_none_or(is_zero) => Some(StatusCause::required(field, "")),
            Minimum(least) => {
                let number = int(value?, &[]).filter(|number| *number < least)?;
                Some(StatusCause::invalid(field, &Node::Int(number), &at_least(least)))
            }
            MaxItems(most) => {
                let count = value?.as_list()?.len();
                let message = format!("Too many: {count}: must have at most {most} items");
                let cause = StatusCause { reason: "FieldValueTooMany", message, field: field.to_owned() };
                (count > most).then_some(cause)
            }
            // Unchanged fields are not checked at all.
            Immutable if is_update => Some(StatusCause::invalid(field, &Node::Nil, IMMUTABLE)),
            Required | Immutable => None,
        }
    }
}

const IMMUTABLE: &str = "field is immutable";

fn at_least(least: i64) -> String {
    format!("must be greater than or equal to {least}")
}

fn is_zero(value: &Node) -> bool {
    match value {
        Node::Nil => true,
        Node::Str(text) => text.is_empty(),
        Node::Int(number) => *number == 0,
        Node::Float(number) => *number == 0.0,
        Node::List(list) => list.is_empty(),
        _ => false,
    }
}

/// The walk along the path of a rule.
struct Walk<'w> {
    checks: &'static [Check],
    is_update: bool,
    found: &'w mut Vec<(Check, StatusCause)>,
}

impl Walk<'_> {
    fn field(&mut self, path: &str, at: &FieldPath, parent: Option<&Node>, old: Option<&Node>) {
        let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
        let name = step.trim_end_matches("[]");
        let child = |parent: Option<&'_ Node>| parent.and_then(|parent| parent.get(name)).cloned();
        let (value, before) = (child(parent), child(old));
        // What an update leaves as it was is not validated again.
        if old.is_some() && value == before {
            return;
        }
        let at = at.child(name);
        let Some(rest) = rest else { return self.check(&at, value.as_ref()) };
        if step.len() == name.len() {
            // A missing struct is one of zero values; a missing pointer has no fields. Only pointers are optional here.
            if value.is_some() {
                self.field(rest, &at, value.as_ref(), before.as_ref());
            }
            return;
        }
        for (index, item) in value.as_ref().and_then(Node::as_list).unwrap_or_default().iter().enumerate() {
            // Elements have no counterpart in the old list.
            self.field(rest, &at.index(index), Some(item), None);
        }
    }

    fn check(&mut self, at: &FieldPath, value: Option<&Node>) {
        let failed =
            self.checks.iter().find_map(|check| Some((*check, check.run(&at.0, value, self.is_update)?)));
        self.found.extend(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ApiCatalog;

    fn messages(minor: u16, group: &str, kind: &str, old: Option<&str>, new: &str) -> Vec<String> {
        let read = |text: &str| pintle_yaml::read_exact(text.as_bytes()).expect("a test object");
        let (old, new) = (old.map(read), read(new));
        let catalog = ApiCatalog::for_version(&format!("1.{minor}")).expect("a known version");
        let resource = catalog.resources().iter().find(|it| it.group == *group && it.kind == *kind);
        let resource = resource.expect("a built-in kind");
        let kind = Kind { resource, schema: None, custom: false, minor };
        let mut errors = ErrorList::new(minor);
        errors.required(&FieldPath::root("rules[1].verbs"), "written");
        errors.required(&FieldPath::root("rules[1].verbs"), "written");
        errors.forbidden(&FieldPath::root("rules[1]"), "stays");
        validate(kind, old.as_ref(), &new, &mut errors);
        errors.causes.iter().map(StatusCause::to_message).collect()
    }

    #[test]
    fn rules_replace_what_is_written_about_the_same_field_and_come_last() {
        let role = "rules: [{verbs: [get]}, {verbs: []}, {}]";
        let found = messages(37, "rbac.authorization.k8s.io", "Role", None, role);
        let wanted = [
            "rules[1]: Forbidden: stays",
            "rules[1].verbs: Required value",
            "rules[2].verbs: Required value",
        ];
        assert_eq!(found, wanted);
        assert_eq!(messages(36, "rbac.authorization.k8s.io", "Role", None, role).len(), 3);
    }

    #[test]
    fn updates_check_what_has_changed() {
        let class = |old, new| messages(37, "storage.k8s.io", "StorageClass", Some(old), new)[2..].to_vec();
        let found = class("{provisioner: a, parameters: {a: b}}", "{provisioner: '', parameters: {a: b}}");
        assert_eq!(found, ["provisioner: Invalid value: null: field is immutable"]);
        assert!(class("{provisioner: ''}", "{provisioner: '', allowVolumeExpansion: true}").is_empty());
    }

    #[test]
    fn checks_of_a_field_stop_at_the_first_that_fails() {
        let found =
            |spec: &str| messages(37, "autoscaling", "HorizontalPodAutoscaler", None, spec)[2..].to_vec();
        assert_eq!(found("spec: {maxReplicas: 0}"), ["spec.maxReplicas: Required value"]);
        let low = "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1";
        assert_eq!(found("spec: {minReplicas: 0, maxReplicas: -1}"), [low]);
    }
}
