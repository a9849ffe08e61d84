//! The request of a plan as a tree and back: only what matters once the chart is rendered.

use std::time::Duration;

use pintle_cluster::PropagationPolicy;
use pintle_plan::ConflictPolicy;
use pintle_release::VersionRef;
use pintle_tree::Node;

use super::data::{map, number, operation, optional_number, read_pairs, read_strings, strings, text};
use crate::ops::plan::{Operation, PlanRequest, SensitivePath};
use crate::ops::{InstallRequest, RollbackRequest, UninstallRequest, UpgradeRequest};
use crate::options::{CrdPolicy, DeployOptions, HookLogs, Method, MethodChoice, RenderOptions, WaitStrategy};

/// The name by which each value of an enum is serialized.
type Words<T> = &'static [(T, &'static str)];

const METHODS: Words<Method> = &[(Method::ServerSide, "ssa"), (Method::ClientSide, "csa")];
const METHOD_CHOICES: Words<MethodChoice> = &[
    (MethodChoice::Auto, "auto"),
    (MethodChoice::Fixed(Method::ServerSide), "ssa"),
    (MethodChoice::Fixed(Method::ClientSide), "csa"),
];
const CONFLICTS: Words<ConflictPolicy> = &[
    (ConflictPolicy::Fail, "fail"),
    (ConflictPolicy::YieldInjected, "yieldInjected"),
    (ConflictPolicy::Yield, "yield"),
    (ConflictPolicy::Take, "take"),
];
const CRDS: Words<CrdPolicy> = &[
    (CrdPolicy::Helm, "helm"),
    (CrdPolicy::Skip, "skip"),
    (CrdPolicy::Create, "create"),
    (CrdPolicy::Update, "update"),
    (CrdPolicy::Force, "force"),
];
const WAITS: Words<WaitStrategy> = &[
    (WaitStrategy::Watcher, "watcher"),
    (WaitStrategy::HookOnly, "hookOnly"),
    (WaitStrategy::Legacy, "legacy"),
];
const LOGS: Words<HookLogs> =
    &[(HookLogs::AtEnd, "end"), (HookLogs::Stream, "stream"), (HookLogs::All, "all"), (HookLogs::Off, "off")];
const CASCADES: Words<PropagationPolicy> = &[
    (PropagationPolicy::Background, "background"),
    (PropagationPolicy::Foreground, "foreground"),
    (PropagationPolicy::Orphan, "orphan"),
];

fn word<T: PartialEq>(words: Words<T>, value: T) -> Node {
    words.iter().find(|(known, _)| *known == value).map_or(Node::Nil, |(_, word)| (*word).into())
}

fn read_word<T: Copy>(words: Words<T>, node: &Node, key: &str) -> Option<T> {
    words.iter().find(|(_, word)| *word == text(node, key)).map(|(value, _)| *value)
}

fn read_switch(node: &Node, key: &str) -> Option<bool> {
    node.get(key).and_then(Node::as_bool)
}

pub(super) fn write(request: &PlanRequest) -> Node {
    let (operation, entries) = match request {
        PlanRequest::Install(request) => (Operation::Install, install(request)),
        PlanRequest::Upgrade(request) => (Operation::Upgrade, upgrade(request)),
        PlanRequest::Rollback(request) => (Operation::Rollback, rollback(request)),
        PlanRequest::Uninstall(request) => (Operation::Uninstall, uninstall(request)),
    };
    let mut all = vec![("operation", operation.name().into())];
    all.extend(entries);
    map(all)
}

pub(super) fn read(node: &Node) -> Option<PlanRequest> {
    Some(match operation(text(node, "operation"))? {
        Operation::Install => PlanRequest::Install(Box::new(read_install(node)?)),
        Operation::Upgrade => PlanRequest::Upgrade(Box::new(read_upgrade(node)?)),
        Operation::Rollback => PlanRequest::Rollback(Box::new(read_rollback(node)?)),
        Operation::Uninstall => PlanRequest::Uninstall(Box::new(read_uninstall(node)?)),
    })
}

fn install(request: &InstallRequest) -> Vec<(&'static str, Node)> {
    vec![
        ("name", request.name.as_str().into()),
        ("namespace", request.namespace.as_str().into()),
        ("createNamespace", request.create_namespace.into()),
        ("replace", request.replace.into()),
        ("crds", word(CRDS, request.crds)),
        ("takeOwnership", request.take_ownership.into()),
        ("description", request.description.as_str().into()),
        ("labels", super::data::pairs(&request.labels)),
        ("rollbackOnFailure", request.rollback_on_failure.into()),
        ("method", word(METHODS, request.method)),
        ("disableOpenapiValidation", request.render.disable_openapi.into()),
        ("deploy", deploy(&request.deploy)),
    ]
}

fn read_install(node: &Node) -> Option<InstallRequest> {
    Some(InstallRequest {
        name: text(node, "name").to_owned(),
        namespace: text(node, "namespace").to_owned(),
        create_namespace: read_switch(node, "createNamespace")?,
        replace: read_switch(node, "replace")?,
        crds: read_word(CRDS, node, "crds")?,
        take_ownership: read_switch(node, "takeOwnership")?,
        description: text(node, "description").to_owned(),
        labels: read_pairs(node.get("labels")?),
        rollback_on_failure: read_switch(node, "rollbackOnFailure")?,
        method: read_word(METHODS, node, "method")?,
        render: RenderOptions {
            disable_openapi: read_switch(node, "disableOpenapiValidation")?,
            ..RenderOptions::default()
        },
        deploy: read_deploy(node.get("deploy")?)?,
        ..InstallRequest::default()
    })
}

fn upgrade(request: &UpgradeRequest) -> Vec<(&'static str, Node)> {
    vec![
        ("target", map(install(&request.target))),
        ("install", request.install.into()),
        ("method", word(METHOD_CHOICES, request.method)),
        ("cleanupOnFail", request.cleanup_on_fail.into()),
        ("maxHistory", optional_number(Some(request.max_history))),
    ]
}

fn read_upgrade(node: &Node) -> Option<UpgradeRequest> {
    Some(UpgradeRequest {
        target: read_install(node.get("target")?)?,
        install: read_switch(node, "install")?,
        method: read_word(METHOD_CHOICES, node, "method")?,
        cleanup_on_fail: read_switch(node, "cleanupOnFail")?,
        max_history: number(node, "maxHistory")?,
        ..UpgradeRequest::default()
    })
}

fn rollback(request: &RollbackRequest) -> Vec<(&'static str, Node)> {
    vec![
        ("name", request.name.as_str().into()),
        ("namespace", request.namespace.as_str().into()),
        ("to", request.to.to_string().as_str().into()),
        ("method", word(METHOD_CHOICES, request.method)),
        ("cleanupOnFail", request.cleanup_on_fail.into()),
        ("maxHistory", optional_number(Some(request.max_history))),
        ("description", request.description.as_str().into()),
        ("deploy", deploy(&request.deploy)),
    ]
}

fn read_rollback(node: &Node) -> Option<RollbackRequest> {
    Some(RollbackRequest {
        name: text(node, "name").to_owned(),
        namespace: text(node, "namespace").to_owned(),
        to: VersionRef::parse(text(node, "to")).ok()?,
        method: read_word(METHOD_CHOICES, node, "method")?,
        cleanup_on_fail: read_switch(node, "cleanupOnFail")?,
        max_history: number(node, "maxHistory")?,
        description: text(node, "description").to_owned(),
        deploy: read_deploy(node.get("deploy")?)?,
        ..RollbackRequest::default()
    })
}

fn uninstall(request: &UninstallRequest) -> Vec<(&'static str, Node)> {
    vec![
        ("name", request.name.as_str().into()),
        ("namespace", request.namespace.as_str().into()),
        ("keepHistory", request.keep_history.into()),
        ("cascade", word(CASCADES, request.cascade)),
        ("description", request.description.as_str().into()),
        ("deploy", deploy(&request.deploy)),
    ]
}

fn read_uninstall(node: &Node) -> Option<UninstallRequest> {
    Some(UninstallRequest {
        name: text(node, "name").to_owned(),
        namespace: text(node, "namespace").to_owned(),
        keep_history: read_switch(node, "keepHistory")?,
        cascade: read_word(CASCADES, node, "cascade")?,
        description: text(node, "description").to_owned(),
        deploy: read_deploy(node.get("deploy")?)?,
        ..UninstallRequest::default()
    })
}

fn deploy(options: &DeployOptions) -> Node {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    map(vec![
        ("conflicts", word(CONFLICTS, options.conflicts)),
        ("recreate", strings(options.recreate.iter().map(String::as_str))),
        ("forceReplace", options.force_replace.into()),
        ("wait", word(WAITS, options.wait)),
        ("waitForJobs", options.wait_for_jobs.into()),
        ("ordered", options.ordered.into()),
        ("timeoutMillis", optional_number(Some(millis(options.timeout)))),
        ("hookTimeoutMillis", optional_number(options.hook_timeout.map(millis))),
        ("readinessTimeoutMillis", optional_number(options.readiness_timeout.map(millis))),
        ("hooks", options.hooks.into()),
        ("hookParallelism", optional_number(u64::try_from(options.hook_parallelism).ok())),
        ("hookEnv", options.hook_env.into()),
        ("logs", word(LOGS, options.logs)),
        ("initLogs", options.init_logs.into()),
        ("failFast", options.fail_fast.into()),
        ("sensitivePaths", strings(options.sensitive_paths.iter().map(SensitivePath::as_str))),
    ])
}

fn read_deploy(node: &Node) -> Option<DeployOptions> {
    Some(DeployOptions {
        conflicts: read_word(CONFLICTS, node, "conflicts")?,
        recreate: read_strings(node, "recreate"),
        force_replace: read_switch(node, "forceReplace")?,
        wait: read_word(WAITS, node, "wait")?,
        wait_for_jobs: read_switch(node, "waitForJobs")?,
        // Plans of earlier versions do not have this field.
        ordered: read_switch(node, "ordered").unwrap_or(false),
        timeout: Duration::from_millis(number(node, "timeoutMillis")?),
        hook_timeout: number(node, "hookTimeoutMillis").map(Duration::from_millis),
        readiness_timeout: number(node, "readinessTimeoutMillis").map(Duration::from_millis),
        // Rules are code and cannot be saved; only callers of the library have any.
        readiness_rules: None,
        hooks: read_switch(node, "hooks")?,
        hook_parallelism: usize::try_from(number(node, "hookParallelism")?).ok()?,
        hook_env: read_switch(node, "hookEnv")?,
        logs: read_word(LOGS, node, "logs")?,
        init_logs: read_switch(node, "initLogs")?,
        fail_fast: read_switch(node, "failFast")?,
        sensitive_paths: read_strings(node, "sensitivePaths")
            .iter()
            .filter_map(|path| SensitivePath::parse(path))
            .collect(),
    })
}
