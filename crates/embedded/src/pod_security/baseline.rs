//! The baseline standard: prevents known privilege escalations.

use pintle_tree::Node;
use pintle_tree::quote::quote;

use super::{Pod, Rule, Values, Violation, named, plural, quoted, violation};
use crate::fields::{at, int, is_true, list, text};

/// The checks, in the order of the server's messages.
pub(super) const RULES: &[Rule] = &[
    Rule { since: 0, replaced_since: None, check: app_armor },
    Rule { since: 0, replaced_since: Some(22), check: capabilities },
    Rule { since: 0, replaced_since: None, check: host_namespaces },
    Rule { since: 0, replaced_since: Some(0), check: host_paths },
    Rule { since: 0, replaced_since: None, check: host_ports },
    Rule { since: 34, replaced_since: None, check: probe_hosts },
    Rule { since: 0, replaced_since: None, check: privileged },
    Rule { since: 0, replaced_since: Some(35), check: proc_mount },
    Rule { since: 0, replaced_since: None, check: selinux },
    Rule { since: 0, replaced_since: Some(19), check: seccomp },
    Rule { since: 0, replaced_since: None, check: sysctls },
    Rule { since: 0, replaced_since: None, check: host_processes },
];

fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut values = Values::new();
    let setters = pod.setters(|context| is_forbidden_profile(context, "appArmorProfile", &mut values));
    let annotations = pod.annotations().filter(|(name, value)| {
        let is_good = matches!(*value, "" | "runtime/default") || value.starts_with("localhost/");
        name.starts_with(ANNOTATION) && !is_good
    });
    let mut annotations: Vec<String> =
        annotations.map(|(name, value)| format!("{name}={}", quote(value.as_bytes()))).collect();
    // By name, as the real plugin sorts what it lists: maps have no order in Go.
    annotations.sort();
    let mut who: Vec<String> = setters.into_iter().collect();
    if !annotations.is_empty() {
        who.push(plural("annotation", annotations.len()));
    }
    if who.is_empty() {
        return None;
    }
    let values: Vec<String> = values.into_iter().chain(annotations).collect();
    let detail = format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(&values));
    violation(&plural("forbidden AppArmor profile", values.len()), detail)
}

/// Whether a security context has a profile of a forbidden type, which is added to `values`.
pub(super) fn is_forbidden_profile(context: &Node, field: &str, values: &mut Values) -> bool {
    let Some(profile) = at(context, &[field]) else { return false };
    let kind = text(profile, &["type"]);
    let is_bad = !matches!(kind, "RuntimeDefault" | "Localhost");
    if is_bad {
        values.insert(kind.to_owned());
    }
    is_bad
}

/// The added capabilities that are not in `allowed`, and the containers that add them.
pub(super) fn added<'p>(pod: &Pod<'p>, allowed: &[&str]) -> (Vec<&'p str>, Values) {
    let mut values = Values::new();
    let containers = pod.containers_that(|it| {
        let added = list(it, &["securityContext", "capabilities", "add"]).iter().filter_map(Node::as_str);
        let bad: Vec<&str> = added.filter(|name| !allowed.contains(name)).collect();
        values.extend(bad.iter().map(|name| (*name).to_owned()));
        !bad.is_empty()
    });
    (containers, values)
}

fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    const ALLOWED: [&str; 13] = [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ];
    let (containers, values) = added(pod, &ALLOWED);
    if containers.is_empty() {
        return None;
    }
    violation("non-default capabilities", must_not_add(&containers, &values))
}

pub(super) fn must_not_add(containers: &[&str], values: &Values) -> String {
    let (who, what) = (named("container", containers), quoted(values));
    format!("{who} must not include {what} in securityContext.capabilities.add")
}

fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|it| is_true(pod.spec, &[it]));
    let shared: Vec<String> = shared.map(|it| format!("{it}=true")).collect();
    if shared.is_empty() { None } else { violation("host namespaces", shared.join(", ")) }
}

fn host_paths(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = list(pod.spec, &["volumes"]).iter().filter(|it| at(it, &["hostPath"]).is_some());
    let names: Vec<&str> = volumes.map(|it| text(it, &["name"])).collect();
    if names.is_empty() { None } else { violation("hostPath volumes", named("volume", &names)) }
}

fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let mut ports = Values::new();
    let containers = pod.containers_that(|it| {
        let used = list(it, &["ports"]).iter().filter_map(|port| int(port, &["hostPort"]));
        let used: Vec<String> = used.filter(|port| *port != 0).map(|port| port.to_string()).collect();
        ports.extend(used.iter().cloned());
        !used.is_empty()
    });
    if containers.is_empty() {
        return None;
    }
    let uses = if containers.len() == 1 { "uses" } else { "use" };
    let (who, what) = (named("container", &containers), plural("hostPort", ports.len()));
    let ports: Vec<String> = ports.into_iter().collect();
    violation("hostPort", format!("{who} {uses} {what} {}", ports.join(", ")))
}

fn probe_hosts(pod: &Pod<'_>) -> Option<Violation> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let mut hosts = Values::new();
    let mut containers = pod.containers_that(|it| {
        let handlers = HANDLERS.iter().filter_map(|path| at(it, path));
        let named = handlers.flat_map(|handler| {
            ["httpGet", "tcpSocket"].map(|action| text(handler, &[action, "host"]).to_owned())
        });
        let named: Vec<String> = named.filter(|host| !host.is_empty()).collect();
        hosts.extend(named.iter().cloned());
        !named.is_empty()
    });
    if containers.is_empty() {
        return None;
    }
    containers.sort_unstable();
    containers.dedup();
    let uses = if containers.len() == 1 { "uses" } else { "use" };
    let (who, what) = (named("container", &containers), plural("probe or lifecycle host", hosts.len()));
    violation("probe or lifecycle host", format!("{who} {uses} {what} {}", quoted(&hosts)))
}

fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.containers_that(|it| is_true(it, &["securityContext", "privileged"]));
    if containers.is_empty() {
        return None;
    }
    let who = named("container", &containers);
    violation("privileged", format!("{who} must not set securityContext.privileged=true"))
}

/// Since 1.35 pods with a user namespace may mount /proc unmasked.
fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    if pod.minor >= 35 && pod.has_user_namespace() { None } else { any_proc_mount(pod) }
}

pub(super) fn any_proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let mut values = Values::new();
    let containers = pod.containers_that(|it| match text(it, &["securityContext", "procMount"]) {
        "" | "Default" => false,
        other => {
            values.insert(other.to_owned());
            true
        }
    });
    if containers.is_empty() {
        return None;
    }
    let who = named("container", &containers);
    violation("procMount", format!("{who} must not set securityContext.procMount to {}", quoted(&values)))
}

fn selinux(pod: &Pod<'_>) -> Option<Violation> {
    let (mut types, mut has_user, mut has_role) = (Values::new(), false, false);
    let setters = pod.setters(|context| {
        let Some(options) = at(context, &["seLinuxOptions"]) else { return false };
        let kind = text(options, &["type"]);
        let is_good = matches!(kind, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || (kind == "container_engine_t" && pod.minor >= 31);
        if !is_good {
            types.insert(kind.to_owned());
        }
        let [user, role] = ["user", "role"].map(|field| !text(options, &[field]).is_empty());
        has_user |= user;
        has_role |= role;
        !is_good || user || role
    })?;
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!("{} {}", plural("type", types.len()), quoted(&types)));
    }
    what.extend(has_user.then(|| "user may not be set".to_owned()));
    what.extend(has_role.then(|| "role may not be set".to_owned()));
    let detail = format!("{setters} set forbidden securityContext.seLinuxOptions: {}", what.join("; "));
    violation("seLinuxOptions", detail)
}

/// Before 1.19 seccomp profiles were annotations only.
fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    if pod.minor < 19 {
        return seccomp_annotations(pod);
    }
    let mut values = Values::new();
    let setters = pod.setters(|context| is_forbidden_profile(context, "seccompProfile", &mut values))?;
    violation("seccompProfile", must_not_set_seccomp(&setters, &values))
}

pub(super) fn must_not_set_seccomp(setters: &str, values: &Values) -> String {
    format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(values))
}

fn seccomp_annotations(pod: &Pod<'_>) -> Option<Violation> {
    const OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let containers = pod.containers_that(|_| true);
    let bad = pod.annotations().filter(|(name, value)| {
        let is_one = name == OF_POD
            || name.strip_prefix(OF_CONTAINER).is_some_and(|container| containers.contains(&container));
        let is_good =
            matches!(*value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
        is_one && !is_good
    });
    let bad: Values = bad.map(|(name, value)| format!("{name}={}", quote(value.as_bytes()))).collect();
    if bad.is_empty() {
        return None;
    }
    let what = plural("annotation", bad.len());
    let bad: Vec<String> = bad.into_iter().collect();
    violation("seccompProfile", format!("forbidden {what} {}", bad.join(", ")))
}

/// The safe sysctls, with the minor version since which they are allowed.
const SAFE: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

fn sysctls(pod: &Pod<'_>) -> Option<Violation> {
    let set = list(pod.spec, &["securityContext", "sysctls"]).iter().map(|it| text(it, &["name"]));
    let is_safe = |name: &&str| SAFE.iter().any(|(safe, since)| safe == name && pod.minor >= *since);
    let bad: Vec<&str> = set.filter(|name| !is_safe(name)).collect();
    if bad.is_empty() { None } else { violation("forbidden sysctls", bad.join(", ")) }
}

fn host_processes(pod: &Pod<'_>) -> Option<Violation> {
    let setters = pod.setters(|context| is_true(context, &["windowsOptions", "hostProcess"]))?;
    violation(
        "hostProcess",
        format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}
