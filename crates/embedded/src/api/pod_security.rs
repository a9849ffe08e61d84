//! The PodSecurity admission plugin: enforces the Pod Security Standard of the namespace.

use std::collections::BTreeMap;

use pintle_tree::Node;

use super::meta::{at, list_at, meta, text_at};
use super::{Api, Call, forbidden};
use crate::pod_security::{Level, Policy, Standard, Violation, detailed_message, short_message, violations};
use crate::status::Status;
use crate::store::{key, prefix};

/// Subresources that do not change what runs in a pod.
const EXEMPT_SUBRESOURCES: [&str; 8] =
    ["attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "status"];
/// How many pods are checked when the standard of a namespace changes, as in the real plugin.
const MAX_PODS_CHECKED: usize = 3_000;

impl Api {
    /// Rejects what the namespace's standard forbids, or warns. `before` is the live object of an update.
    pub(super) fn check_pod_security(
        &self,
        call: &Call<'_>,
        before: Option<&Node>,
        object: &Node,
    ) -> Result<(), Status> {
        let subresource = call.target.subresource.as_deref();
        if call.served.is("", "Namespace") {
            return self.check_namespace_labels(call, before, object);
        }
        if call.served.is("", "Pod") {
            let is_harmless = subresource
                .is_some_and(|subresource| EXEMPT_SUBRESOURCES.contains(&subresource))
                || before.is_some_and(|before| !changes_security(before, object));
            return if is_harmless { Ok(()) } else { self.check_pod(call, object) };
        }
        // Workloads are never rejected, only their pods are: the audit and warn modes are meant for them.
        match template(call, object) {
            Some(template) if subresource.is_none() => {
                let policy = self.policy(call.namespace());
                self.warn_of(call, policy.warn, template);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_pod(&self, call: &Call<'_>, pod: &Node) -> Result<(), Status> {
        let policy = self.policy(call.namespace());
        let found = self.violations(policy.enforce, pod);
        if !found.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, detailed_message(&found));
            return Err(forbidden(call.served.resource(), meta(pod, "name"), &why));
        }
        self.warn_of(call, policy.warn, pod);
        Ok(())
    }

    fn warn_of(&self, call: &Call<'_>, standard: Standard, pod: &Node) {
        let found = self.violations(standard, pod);
        if !found.is_empty() {
            call.warn(format!("would violate PodSecurity \"{standard}\": {}", detailed_message(&found)));
        }
    }

    fn violations(&self, standard: Standard, pod: &Node) -> Vec<Violation> {
        violations(standard, self.0.catalog.minor().into(), pod)
    }

    fn policy(&self, namespace: &str) -> Policy {
        let namespace = self.0.store.get(&key("namespaces", "", namespace));
        Policy::from_labels(&namespace.map_or(Node::Nil, |namespace| namespace.node())).0
    }

    /// Validates the labels of a namespace, and warns of existing pods that violate a stricter new standard.
    fn check_namespace_labels(
        &self,
        call: &Call<'_>,
        before: Option<&Node>,
        namespace: &Node,
    ) -> Result<(), Status> {
        let (policy, causes) = Policy::from_labels(namespace);
        let old = before.map(Policy::from_labels);
        // Labels that were invalid before do not block other changes of the namespace.
        let is_new = old.as_ref().is_none_or(|(_, old)| *old != causes);
        if !causes.is_empty() && is_new {
            return Err(Status::invalid("", "Namespace", meta(namespace, "name"), causes));
        }
        let Some((old, _)) = old else { return Ok(()) };
        let (old, new) = (old.enforce, policy.enforce);
        // A policy that became weaker cannot have new violations.
        let is_relaxed = new.version == old.version && new.level <= old.level;
        if new != old && new.level != Level::Privileged && !is_relaxed {
            self.warn_of_pods(call, new, meta(namespace, "name"));
        }
        Ok(())
    }

    fn warn_of_pods(&self, call: &Call<'_>, standard: Standard, namespace: &str) {
        let listing =
            self.0.store.list(&prefix("pods", Some(namespace)), None, MAX_PODS_CHECKED, None, &|_| true);
        let pods = listing.map(|listing| listing.objects).unwrap_or_default();
        // Pods with the same violations are reported together, under the first name.
        let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pod in &pods {
            let pod = pod.node();
            let found = self.violations(standard, &pod);
            if !found.is_empty() {
                alike.entry(short_message(&found)).or_default().push(meta(&pod, "name").to_owned());
            }
        }
        if alike.is_empty() {
            return;
        }
        call.warn(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{standard}\""
        ));
        let warnings = alike.into_iter().map(|(reasons, mut names)| {
            names.sort_unstable();
            let others = match names.len() - 1 {
                0 => String::new(),
                1 => " (and 1 other pod)".to_owned(),
                others => format!(" (and {others} other pods)"),
            };
            format!("{}{others}: {reasons}", names[0])
        });
        let mut warnings: Vec<String> = warnings.collect();
        warnings.sort_unstable();
        warnings.into_iter().for_each(|text| call.warn(text));
    }
}

/// The pod template of a workload, if the object is one.
fn template<'o>(call: &Call<'_>, object: &'o Node) -> Option<&'o Node> {
    let is = |group: &str, kinds: &[&str]| kinds.iter().any(|kind| call.served.is(group, kind));
    if is("apps", &["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
        || is("batch", &["Job"])
        || is("", &["ReplicationController"])
    {
        at(object, &["spec", "template"])
    } else if is("batch", &["CronJob"]) {
        at(object, &["spec", "jobTemplate", "spec", "template"])
    } else if is("", &["PodTemplate"]) {
        at(object, &["template"])
    } else {
        None
    }
}

/// Whether an update of a pod changes images: the only change that is allowed and relevant here.
fn changes_security(before: &Node, after: &Node) -> bool {
    let images = |pod: &Node, list: &str| -> Vec<String> {
        list_at(pod, &["spec", list]).iter().map(|it| text_at(it, &["image"]).to_owned()).collect()
    };
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .any(|list| images(before, list) != images(after, list))
}
