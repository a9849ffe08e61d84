//! The restricted standard: the current hardening best practices, in addition to the baseline.

use pintle_tree::Node;

use super::baseline::{added, any_proc_mount, is_forbidden_profile, must_not_add, must_not_set_seccomp};
use super::{Pod, Rule, Values, Violation, named, plural, quoted, violation};
use crate::fields::{at, int, list, text};

/// The checks, in the order of the server's messages.
pub(super) const RULES: &[Rule] = &[
    Rule { since: 8, replaced_since: None, check: escalation },
    Rule { since: 22, replaced_since: None, check: capabilities },
    Rule { since: 35, replaced_since: None, check: any_proc_mount },
    Rule { since: 0, replaced_since: None, check: volumes },
    Rule { since: 0, replaced_since: None, check: run_as_non_root },
    Rule { since: 23, replaced_since: None, check: run_as_user },
    Rule { since: 19, replaced_since: None, check: seccomp },
];

/// Since 1.25 some checks exempt Windows pods, which have no such settings.
fn exempts_windows(pod: &Pod<'_>) -> bool {
    pod.minor >= 25 && pod.is_for_windows()
}

fn escalation(pod: &Pod<'_>) -> Option<Violation> {
    let field = ["securityContext", "allowPrivilegeEscalation"];
    let containers = pod.containers_that(|it| at(it, &field) != Some(&Node::Bool(false)));
    if containers.is_empty() || exempts_windows(pod) {
        return None;
    }
    let who = named("container", &containers);
    let detail = format!("{who} must set securityContext.allowPrivilegeEscalation=false");
    violation("allowPrivilegeEscalation != false", detail)
}

fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    if exempts_windows(pod) {
        return None;
    }
    let keeping = pod.containers_that(|it| {
        let mut dropped = list(it, &["securityContext", "capabilities", "drop"]).iter();
        !dropped.any(|name| name.as_str() == Some("ALL"))
    });
    let (adding, values) = added(pod, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        let who = named("container", &keeping);
        details.push(format!("{who} must set securityContext.capabilities.drop=[\"ALL\"]"));
    }
    if !adding.is_empty() {
        details.push(must_not_add(&adding, &values));
    }
    if details.is_empty() { None } else { violation("unrestricted capabilities", details.join("; ")) }
}

fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let mut types = Values::new();
    let volumes = list(pod.spec, &["volumes"]).iter().filter(|volume| {
        let is_bad = !ALLOWED.iter().any(|kind| at(volume, &[kind]).is_some());
        if is_bad {
            // The type of a volume is its only field besides the name.
            let kind = volume.as_map().and_then(|map| map.keys().find(|key| ***key != *b"name"));
            types.insert(kind.map_or("unknown".to_owned(), ToString::to_string));
        }
        is_bad
    });
    let names: Vec<&str> = volumes.map(|it| text(it, &["name"])).collect();
    if names.is_empty() {
        return None;
    }
    let uses = if names.len() == 1 { "uses" } else { "use" };
    let (who, what) = (named("volume", &names), plural("restricted volume type", types.len()));
    violation("restricted volume types", format!("{who} {uses} {what} {}", quoted(&types)))
}

/// Since 1.35 pods with a user namespace may run as root.
fn may_be_root(pod: &Pod<'_>) -> bool {
    pod.minor >= 35 && pod.has_user_namespace()
}

fn run_as_non_root(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if may_be_root(pod) {
        return None;
    }
    let is_set = |context: &Node, to: bool| at(context, &["runAsNonRoot"]) == Some(&Node::Bool(to));
    if let Some(setters) = pod.setters(|context| is_set(context, false)) {
        return violation(REASON, format!("{setters} must not set securityContext.runAsNonRoot=false"));
    }
    if at(pod.spec, &["securityContext"]).is_some_and(|context| is_set(context, true)) {
        return None;
    }
    let unset = pod.containers_that(|it| at(it, &["securityContext", "runAsNonRoot"]).is_none());
    if unset.is_empty() {
        return None;
    }
    let who = named("container", &unset);
    violation(REASON, format!("pod or {who} must set securityContext.runAsNonRoot=true"))
}

fn run_as_user(pod: &Pod<'_>) -> Option<Violation> {
    if may_be_root(pod) {
        return None;
    }
    let setters = pod.setters(|context| int(context, &["runAsUser"]) == Some(0))?;
    violation("runAsUser=0", format!("{setters} must not set runAsUser=0"))
}

fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "seccompProfile";
    if exempts_windows(pod) {
        return None;
    }
    let mut values = Values::new();
    if let Some(setters) = pod.setters(|context| is_forbidden_profile(context, "seccompProfile", &mut values))
    {
        return violation(REASON, must_not_set_seccomp(&setters, &values));
    }
    if at(pod.spec, &["securityContext", "seccompProfile"]).is_some() {
        return None;
    }
    let unset = pod.containers_that(|it| at(it, &["securityContext", "seccompProfile"]).is_none());
    if unset.is_empty() {
        return None;
    }
    let who = named("container", &unset);
    let detail = "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
    violation(REASON, format!("pod or {who} {detail}"))
}
