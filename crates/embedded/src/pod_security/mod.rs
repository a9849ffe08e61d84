//! The Pod Security Standards: what a pod may not do where the labels of its namespace forbid it.
//!
//! A standard has versions, because what is forbidden has changed with Kubernetes: [`violations`] takes the one to judge
//! by. Texts and their order are those of the real server.

mod baseline;
mod policy;
mod restricted;

use std::collections::BTreeSet;

use pintle_tree::Node;

use crate::fields::{at, list, text};
pub(crate) use policy::{Level, Policy, Standard};

/// The last version in which anything changed; later ones are the same.
const LAST_CHANGE: u32 = 35;

/// Something that a pod does and may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// What it is, in a few words.
    pub(crate) reason: String,
    /// Who does it, and what to do instead.
    pub(crate) detail: String,
}

/// What a rule answers that has found something.
fn violation(reason: &str, detail: String) -> Option<Violation> {
    Some(Violation { reason: reason.to_owned(), detail })
}

/// One rule of a standard.
struct Rule {
    /// The minor version that brought it.
    since: u32,
    /// For rules of the baseline: the minor version from which a restricted rule says more about the same.
    replaced_since: Option<u32>,
    check: fn(&Pod<'_>) -> Option<Violation>,
}

/// What a pod, or a template of one, violates of a standard. `newest` is the minor version of the server, which knows no
/// later standards.
pub(crate) fn violations(standard: Standard, newest: u32, pod: &Node) -> Vec<Violation> {
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

/// All of it in one line, as it is told of one pod.
pub(crate) fn detailed_message(violations: &[Violation]) -> String {
    let all: Vec<String> = violations.iter().map(|it| format!("{} ({})", it.reason, it.detail)).collect();
    all.join(", ")
}

/// All of it in a few words, as it is told of many pods.
pub(crate) fn short_message(violations: &[Violation]) -> String {
    violations.iter().map(|it| it.reason.as_str()).collect::<Vec<&str>>().join(", ")
}

/// A pod, as rules look at it.
struct Pod<'p> {
    whole: &'p Node,
    spec: &'p Node,
    /// The version of the standard.
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

    /// The names of containers of which something is true.
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

    /// Whether its users are none of the node's, so that its root is nobody there.
    fn has_user_namespace(&self) -> bool {
        at(self.spec, &["hostUsers"]) == Some(&Node::Bool(false))
    }

    /// Who has a security context of which something is true: the pod, containers, or both.
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

/// A word in the number that fits.
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

/// Values that were found, each once and in order.
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
    fn the_standards_grow_with_their_level_and_their_version() {
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
    fn a_restricted_rule_takes_the_place_of_one_of_the_baseline() {
        let pod = "spec: {volumes: [{name: v, hostPath: {path: /}}], containers: []}";
        assert_eq!(describe(Level::Baseline, None, pod), r#"hostPath volumes (volume "v")"#);
        assert_eq!(
            describe(Level::Restricted, None, pod),
            r#"restricted volume types (volume "v" uses restricted volume type "hostPath")"#
        );
    }

    #[test]
    fn users_of_its_own_let_a_pod_be_root_since_35() {
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
