//! The Pod Security Standards.
//!
//! Standards are versioned, as the checks have changed with Kubernetes; [`violations`] takes the version. Messages
//! and their order are those of the real admission plugin (`pod-security-admission/policy`).

mod baseline;
mod policy;
mod restricted;

use std::collections::BTreeSet;

use pintle_tree::Node;

use crate::fields::{at, list, text};
pub(crate) use policy::{Level, Policy, Standard};

/// The last minor version that changed a check.
const LAST_CHANGE: u32 = 35;

/// A violated check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// What is forbidden, in a few words.
    pub(crate) reason: String,
    /// Which containers violate it, and how to fix it.
    pub(crate) detail: String,
}

fn violation(reason: &str, detail: String) -> Option<Violation> {
    Some(Violation { reason: reason.to_owned(), detail })
}

/// One check of a standard.
struct Rule {
    /// The minor version that introduced it.
    since: u32,
    /// For baseline checks: the minor version since which a restricted check covers the same.
    replaced_since: Option<u32>,
    check: fn(&Pod<'_>) -> Option<Violation>,
}

/// Checks a pod or a pod template. `newest` is the minor version of the server; later versions of a standard are
/// treated as that one.
pub(crate) fn violations(standard: Standard, newest: u32, pod: &Node) -> Vec<Violation> {
    // Versions ahead of the server are treated as its own, and so are all since the last change.
    let minor = standard.version.unwrap_or(newest).min(newest).min(LAST_CHANGE);
    let Some(pod) = Pod::read(pod, minor) else { return Vec::new() };
    let restricted = standard.level == Level::Restricted;
    let is_replaced = |rule: &&Rule| restricted && rule.replaced_since.is_some_and(|since| minor >= since);
    let baseline = baseline::RULES.iter().filter(|rule| !is_replaced(rule));
    let others = restricted::RULES.iter().filter(|_| restricted);
    let rules = baseline.chain(others).filter(|rule| minor >= rule.since);
    match standard.level {
        Level::Privileged => Vec::new(),
        _ => rules.filter_map(|rule| (rule.check)(&pod)).collect(),
    }
}

/// The message about one pod.
pub(crate) fn detailed_message(violations: &[Violation]) -> String {
    let all: Vec<String> = violations.iter().map(|it| format!("{} ({})", it.reason, it.detail)).collect();
    all.join(", ")
}

/// The message about many pods, with the reasons only.
pub(crate) fn short_message(violations: &[Violation]) -> String {
    violations.iter().map(|it| it.reason.as_str()).collect::<Vec<&str>>().join(", ")
}

/// A pod under check.
struct Pod<'p> {
    whole: &'p Node,
    spec: &'p Node,
    minor: u32,
}

impl<'p> Pod<'p> {
    fn read(whole: &'p Node, minor: u32) -> Option<Pod<'p>> {
        Some(Pod { whole, spec: at(whole, &["spec"])?, minor })
    }

    fn containers(&self) -> impl Iterator<Item = &'p Node> {
        let kinds = ["initContainers", "containers", "ephemeralContainers"];
        let spec = self.spec;
        kinds.into_iter().flat_map(move |kind| list(spec, &[kind]))
    }

    /// The names of the containers that satisfy a predicate.
    fn containers_that(&self, mut is_so: impl FnMut(&'p Node) -> bool) -> Vec<&'p str> {
        self.containers().filter(|it| is_so(it)).map(|it| text(it, &["name"])).collect()
    }

    fn annotations(&self) -> impl Iterator<Item = (String, &'p str)> {
        let all = at(self.whole, &["metadata", "annotations"]).and_then(Node::as_map);
        all.into_iter()
            .flat_map(|all| all.iter())
            .map(|(key, value)| (key.to_string(), value.as_str().unwrap_or_default()))
    }

    fn is_for_windows(&self) -> bool {
        text(self.spec, &["os", "name"]) == "windows"
    }

    /// Whether it has a user namespace (`hostUsers: false`), so that root in the pod is not root on the node.
    fn has_user_namespace(&self) -> bool {
        at(self.spec, &["hostUsers"]) == Some(&Node::Bool(false))
    }

    /// Which security contexts satisfy a predicate: "pod", "containers …", or both.
    fn setters(&self, mut is_bad: impl FnMut(&'p Node) -> bool) -> Option<String> {
        let mut who = Vec::new();
        if at(self.spec, &["securityContext"]).is_some_and(&mut is_bad) {
            who.push("pod".to_owned());
        }
        let context = |it: &'p Node| at(it, &["securityContext"]);
        let containers = self.containers_that(|it| context(it).is_some_and(&mut is_bad));
        if !containers.is_empty() {
            who.push(named("container", &containers));
        }
        (!who.is_empty()).then(|| who.join(" and "))
    }
}

fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// `container "a"`, `containers "a", "b"`
fn named(word: &str, names: &[&str]) -> String {
    format!("{} {}", plural(word, names.len()), quoted(names))
}

fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = names.into_iter().map(|name| format!("\"{}\"", name.as_ref())).collect();
    all.join(", ")
}

/// Distinct values in order.
type Values = BTreeSet<String>;

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(level: Level, version: Option<u32>, pod: &str) -> String {
        let pod = pintle_yaml::read(pod.as_bytes()).unwrap();
        detailed_message(&violations(Standard { level, version }, 36, &pod))
    }

    const PLAIN: &str = "spec: {containers: [{name: a}, {name: b}]}";

    #[test]
    fn standards_get_stricter_with_level_and_version() {
        assert_eq!(describe(Level::Privileged, None, "spec: {hostPID: true, containers: [{name: a}]}"), "");
        assert_eq!(describe(Level::Baseline, None, PLAIN), "");
        assert_eq!(
            describe(Level::Restricted, Some(7), PLAIN),
            r#"runAsNonRoot != true (pod or containers "a", "b" must set securityContext.runAsNonRoot=true)"#
        );
        let newest = describe(Level::Restricted, None, PLAIN);
        assert!(newest.starts_with(
            r#"allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers"#
        ));
        assert_eq!(newest, describe(Level::Restricted, Some(99), PLAIN), "later ones are as the newest");
    }

    #[test]
    fn a_restricted_check_replaces_one_of_the_baseline() {
        let pod = "spec: {volumes: [{name: v, hostPath: {path: /}}], containers: []}";
        assert_eq!(describe(Level::Baseline, None, pod), r#"hostPath volumes (volume "v")"#);
        assert_eq!(
            describe(Level::Restricted, None, pod),
            r#"restricted volume types (volume "v" uses restricted volume type "hostPath")"#
        );
    }

    #[test]
    fn a_user_namespace_lets_a_pod_run_as_root_since_1_35() {
        let pod =
            "spec: {hostUsers: false, securityContext: {runAsUser: 0, runAsNonRoot: false}, containers: []}";
        assert_eq!(describe(Level::Restricted, None, pod), "");
        assert_eq!(
            describe(Level::Restricted, Some(34), pod),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), \
             runAsUser=0 (pod must not set runAsUser=0)"
        );
    }
}
