//! The rules: their names, which are stable, and their severities, which a configuration can change.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Should be fixed.
    Warning,
    /// Must be fixed: the API server rejects it, or it cannot work.
    Error,
}

impl Severity {
    /// Finds a severity by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "info" => Some(Severity::Info),
            "warning" => Some(Severity::Warning),
            "error" => Some(Severity::Error),
            _ => None,
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name. Rules that kube-linter has too have its names.
    pub name: &'static str,
    /// The severity by default; `None` for rules that apply only when a configuration enables them.
    pub severity: Option<Severity>,
    /// What is wrong, in one sentence.
    pub about: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// Finds a rule by its name.
pub(crate) fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

const fn new(
    name: &'static str,
    severity: Option<Severity>,
    about: &'static str,
    advice: &'static str,
) -> Rule {
    Rule { name, severity, about, advice }
}

const ERROR: Option<Severity> = Some(Severity::Error);
const WARNING: Option<Severity> = Some(Severity::Warning);
const INFO: Option<Severity> = Some(Severity::Info);
const OFF: Option<Severity> = None;

/// All rules, by name within their group.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    // What is rendered.
    new("render", ERROR, "The chart does not render with these values.", "Fix the template, or the values."),
    new("invalid-yaml", ERROR, "A rendered document is not YAML, or not an object.", "Look at the indentation of what the template writes there."),
    new("duplicate-key", WARNING, "A map has a key twice; the last one counts.", "Remove one of them."),
    new("hook-annotations", ERROR, "A hook has an unknown event, an event twice, or weights that do not fit; Helm drops it, runs it twice, or ignores the weights.", "Correct the annotation."),
    // Schemas and versions.
    new("schema", ERROR, "An object does not fit the schema of its kind.", "Correct the field."),
    new("refused-object", ERROR, "An API server refuses an object: a quantity, name, port or combination of fields is not valid.", "Correct the field."),
    new("unknown-field", WARNING, "An object has a field that its kind does not have; the API server drops it.", "Correct the name of the field, or its place."),
    new("missing-schema", ERROR, "There is no schema for a kind.", "Add its CRD to the chart, or give a folder of schemas with --schema-location; --ignore-missing-schemas skips such objects."),
    new("removed-api", ERROR, "A Kubernetes version does not serve this API version any more.", "Use the API version that replaces it."),
    new("deprecated-api", WARNING, "An API version is deprecated.", "Use the API version that replaces it."),
    // Values.
    new("undefined-value", INFO, "Templates read a value that values.yaml does not have.", "Add it to values.yaml with its default, so that users can find it."),
    new("unused-value", WARNING, "values.yaml has a value that no template reads.", "Remove it, or use it."),
    // Containers.
    new("latest-tag", WARNING, "An image has no tag or the tag latest, so that what runs can change unnoticed.", "Pin a version or a digest."),
    new("no-liveness-probe", OFF, "A container has no liveness probe.", "Add a livenessProbe, unless the process ends when it fails."),
    new("no-readiness-probe", OFF, "A container has no readiness probe.", "Add a readinessProbe, so that traffic waits for it."),
    new("liveness-port", ERROR, "A liveness probe uses a port that the container does not have.", "Use a port of the container."),
    new("readiness-port", ERROR, "A readiness probe uses a port that the container does not have.", "Use a port of the container."),
    new("startup-port", ERROR, "A startup probe uses a port that the container does not have.", "Use a port of the container."),
    new("unset-cpu-requirements", WARNING, "A container has no CPU request.", "Set resources.requests.cpu."),
    new("unset-memory-requirements", WARNING, "A container has no memory request or limit.", "Set resources.requests.memory and resources.limits.memory."),
    new("run-as-non-root", WARNING, "A container may run as root.", "Set securityContext.runAsNonRoot to true, or runAsUser to another user than 0."),
    new("no-read-only-root-fs", WARNING, "The root file system of a container is writable.", "Set securityContext.readOnlyRootFilesystem to true."),
    new("privileged-container", ERROR, "A container is privileged.", "Remove securityContext.privileged, and add the capabilities that it needs."),
    new("privilege-escalation-container", WARNING, "A process may gain more privileges than its parent.", "Set securityContext.allowPrivilegeEscalation to false."),
    new("drop-net-raw-capability", OFF, "A container has the capability NET_RAW.", "Drop NET_RAW or ALL in securityContext.capabilities."),
    new("duplicate-env-var", WARNING, "A container has an environment variable twice; the last one counts.", "Remove one of them."),
    new("env-var-secret", WARNING, "An environment variable that looks like a secret has its value in the object.", "Take it from a Secret with valueFrom.secretKeyRef."),
    new("ssh-port", WARNING, "A container has port 22 open.", "Do not run SSH in containers."),
    // Pods.
    new("host-network", WARNING, "A pod uses the network of its node.", "Remove hostNetwork."),
    new("host-pid", WARNING, "A pod sees the processes of its node.", "Remove hostPID."),
    new("host-ipc", WARNING, "A pod shares memory with its node.", "Remove hostIPC."),
    new("docker-sock", WARNING, "A pod mounts the socket of the container runtime.", "Remove the volume."),
    new("sensitive-host-mounts", WARNING, "A pod mounts a system directory of its node.", "Remove the hostPath volume, or mount something below."),
    new("deprecated-service-account-field", WARNING, "serviceAccount is deprecated.", "Use serviceAccountName."),
    new("non-existent-service-account", WARNING, "A pod uses a service account that the chart does not create.", "Create it, or let users name one that exists."),
    // Workloads and what refers to them.
    new("mismatching-selector", ERROR, "The selector of a workload does not match the labels of its pods.", "Use the same labels in spec.selector and spec.template.metadata.labels."),
    new("minimum-replicas", OFF, "A Deployment has fewer than three replicas.", "Set replicas to 3 or more."),
    new("no-anti-affinity", OFF, "Replicas may all run on one node.", "Add a podAntiAffinity or topologySpreadConstraints."),
    new("no-rolling-update-strategy", OFF, "A Deployment is not updated step by step.", "Set strategy.type to RollingUpdate."),
    new("job-ttl-seconds-after-finished", OFF, "A finished Job stays.", "Set ttlSecondsAfterFinished."),
    new("dangling-service", WARNING, "The selector of a Service matches no pods of the chart.", "Use labels that the pods have."),
    new("dangling-ingress", WARNING, "An Ingress leads to a Service or port that the chart does not have.", "Use the name and a port of the Service."),
    new("dangling-horizontalpodautoscaler", WARNING, "An autoscaler scales a workload that the chart does not have.", "Use the name of the workload."),
    new("dangling-networkpolicy", INFO, "The pod selector of a NetworkPolicy matches no pods of the chart.", "Use labels that the pods have."),
    new("dangling-poddisruptionbudget", WARNING, "The selector of a PodDisruptionBudget matches no pods of the chart.", "Use labels that the pods have."),
    new("invalid-target-ports", ERROR, "A Service leads to a named port that its pods do not have.", "Use the name of a port of a container."),
    new("pdb-max-unavailable", WARNING, "A PodDisruptionBudget allows no pod to be evicted: maxUnavailable is 0.", "Allow at least one."),
    new("pdb-min-available", WARNING, "A PodDisruptionBudget allows no pod to be evicted: minAvailable is 100% or all replicas.", "Allow at least one."),
    // Access.
    new("cluster-admin-role-binding", WARNING, "A binding gives the role cluster-admin.", "Give only the rights that are needed."),
    new("wildcard-in-rules", WARNING, "A role has a wildcard in its verbs or resources.", "List what is needed."),
    new("access-to-secrets", OFF, "A role may read Secrets.", "Restrict it with resourceNames."),
    new("exposed-services", OFF, "A Service is reachable from outside the cluster.", "Use an Ingress or a Gateway."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
