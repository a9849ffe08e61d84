//! The flags of commands that change a cluster; many of these commands share them.

use super::{Flag, FlagCompletion, Kind, names};
use crate::env::Setting;

const FORCE_REPLACE: Flag = Flag::switch(names::FORCE_REPLACE, "replace objects instead of patching them");
const FORCE: Flag = Flag::switch(names::FORCE, "replace objects instead of patching them")
    .deprecated("use --force-replace instead");
const FORCE_CONFLICTS: Flag =
    Flag::switch(names::FORCE_CONFLICTS, "take over fields owned by other managers in server-side apply");
const CONFLICTS: Flag = Flag::text(
    names::CONFLICTS,
    "what server-side apply does about fields that other managers own: yield, take or fail; by default, replicas that were scaled and injected CA bundles are yielded, and others fail",
)
.completes(FlagCompletion::Words(&["yield", "take", "fail"]));
const RECREATE: Flag = Flag::list(
    names::RECREATE,
    "objects, as Kind/name, that may be deleted and created again if an immutable field changes",
);
const CRDS: Flag = Flag::text(
    names::CRDS,
    "what to do about the CRDs in crds/: create missing ones, update (unless data would be lost), force, or skip",
)
.completes(FlagCompletion::Words(&["create", "update", "skip", "force"]));
const ORDERED: Flag = Flag::switch(
    names::ORDERED,
    "apply objects and subcharts in the order that the chart asks for (helm.sh/depends-on/...), waiting in between; as helm, only if given",
)
.or("true");
const READINESS_TIMEOUT: Flag = Flag::of(
    names::READINESS_TIMEOUT,
    Kind::Duration,
    "0s",
    "with an order, how long to wait for the objects that others depend on; 0s for --timeout",
);
const NO_HOOKS: Flag = Flag::switch(names::NO_HOOKS, "do not run hooks");
const TIMEOUT: Flag =
    Flag::of(names::TIMEOUT, Kind::Duration, "5m0s", "how long to wait for one operation in the cluster");
const WAIT_FOR_JOBS: Flag = Flag::switch(names::WAIT_FOR_JOBS, "with --wait, also wait for Jobs to complete");
const DESCRIPTION: Flag = Flag::text(names::DESCRIPTION, "a custom description of the release");
const CLEANUP_ON_FAIL: Flag =
    Flag::switch(names::CLEANUP_ON_FAIL, "delete new objects created by an operation that fails");
const HISTORY_MAX: Flag = Flag::of(
    names::HISTORY_MAX,
    Kind::Int,
    "10",
    "the maximum number of revisions to keep per release; 0 for no limit",
)
.or_setting(Setting::MaxHistory);
const WAIT: Flag = Flag::of(
    names::WAIT,
    Kind::WaitStrategy,
    "hookOnly",
    "wait until resources are ready: watcher (the default without a value), hookOnly or legacy",
)
.bare("watcher")
.completes(FlagCompletion::Words(&["watcher", "hookOnly", "legacy"]));
const SERVER_SIDE_LIKE_BEFORE: Flag = Flag::text(
    names::SERVER_SIDE,
    "use server-side apply: true, false, or auto for the method of the previous revision",
)
.or("auto")
.completes(FlagCompletion::Words(&["auto", "true", "false"]));

/// The mutually exclusive flags of commands that change objects.
pub(crate) const EXCLUSIVE: &[&[&str]] = &[
    &["force-replace", "force-conflicts"],
    &["force", "force-conflicts"],
    &["conflicts", "force-conflicts"],
    &["skip-crds", "crds"],
];

/// Flags that `install` and `upgrade` share.
const DEPENDENCY_UPDATE: Flag =
    Flag::switch(names::DEPENDENCY_UPDATE, "update dependencies that are missing first");
const DISABLE_OPENAPI: Flag = Flag::switch(
    names::DISABLE_OPENAPI_VALIDATION,
    "do not validate objects against the cluster's OpenAPI schema",
);
const ROLLBACK_ON_FAILURE: Flag =
    Flag::switch(names::ROLLBACK_ON_FAILURE, "roll back if the operation fails; implies --wait=watcher");
const ATOMIC: Flag = Flag::switch(names::ATOMIC, "roll back if the operation fails")
    .deprecated("use --rollback-on-failure instead");
/// A flag of Helm 3 that scripts still use.
const RECREATE_PODS: Flag = Flag::switch(names::RECREATE_PODS, "")
    .deprecated("it has no effect: change an annotation of the pod template to restart pods");
const SKIP_CRDS: Flag = Flag::switch(names::SKIP_CRDS, "do not install custom resource definitions");
const LABELS: Flag = Flag::of(names::LABELS, Kind::Pairs, "[]", "labels of the release: a=x,b=y").short('l');
const ENABLE_DNS: Flag = Flag::switch(names::ENABLE_DNS, "enable DNS lookups in templates");
const TAKE_OWNERSHIP: Flag =
    Flag::switch(names::TAKE_OWNERSHIP, "take ownership of objects that exist already");

/// Flags that `install` and `template` share.
pub(crate) static INSTALL: &[Flag] = &[
    Flag::switch(names::CREATE_NAMESPACE, "create the namespace of the release if it is missing"),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    Flag::switch(names::SERVER_SIDE_SWITCH, "use server-side apply").or("true"),
    NO_HOOKS,
    Flag::switch(
        names::REPLACE,
        "reuse the name of a release that was deleted but is still in the history (unsafe)",
    ),
    TIMEOUT,
    WAIT_FOR_JOBS,
    Flag::switch(names::GENERATE_NAME, "generate the release name").short('g'),
    Flag::text(names::NAME_TEMPLATE, "a template for the release name"),
    DESCRIPTION,
    DEPENDENCY_UPDATE,
    DISABLE_OPENAPI,
    ROLLBACK_ON_FAILURE,
    ATOMIC,
    SKIP_CRDS,
    LABELS,
    ENABLE_DNS,
    TAKE_OWNERSHIP,
    WAIT,
];

/// Flags of `upgrade`.
pub(crate) static UPGRADE: &[Flag] = &[
    Flag::switch(
        names::CREATE_NAMESPACE,
        "with --install, create the namespace of the release if it is missing",
    ),
    Flag::switch(names::INSTALL, "install the release if there is none of that name").short('i'),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    SERVER_SIDE_LIKE_BEFORE,
    NO_HOOKS,
    DISABLE_OPENAPI,
    SKIP_CRDS,
    TIMEOUT,
    Flag::switch(names::RESET_VALUES, "reset to the chart's values"),
    Flag::switch(names::REUSE_VALUES, "reuse the values of the previous revision, including its defaults"),
    Flag::switch(
        names::RESET_THEN_REUSE_VALUES,
        "reset to the chart's values, then apply the values of the previous revision",
    ),
    WAIT_FOR_JOBS,
    ROLLBACK_ON_FAILURE,
    ATOMIC,
    HISTORY_MAX,
    CLEANUP_ON_FAIL,
    RECREATE_PODS,
    LABELS,
    DESCRIPTION,
    DEPENDENCY_UPDATE,
    ENABLE_DNS,
    TAKE_OWNERSHIP,
    WAIT,
];

/// Flags of `rollback`.
pub(crate) static ROLLBACK: &[Flag] = &[
    Flag::text(names::DESCRIPTION, "a custom description of the rollback, of at most 256 characters"),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    SERVER_SIDE_LIKE_BEFORE,
    NO_HOOKS,
    TIMEOUT,
    WAIT_FOR_JOBS,
    CLEANUP_ON_FAIL,
    RECREATE_PODS,
    HISTORY_MAX,
    WAIT,
];

/// Flags of `uninstall`.
pub(crate) static UNINSTALL: &[Flag] = &[
    Flag::switch(names::DRY_RUN, "simulate the uninstall"),
    NO_HOOKS,
    Flag::switch(names::IGNORE_NOT_FOUND, "succeed if the release does not exist"),
    Flag::switch(names::KEEP_HISTORY, "keep the record of the release, marked as uninstalled"),
    Flag::text(names::CASCADE, "the deletion propagation: background, foreground or orphan")
        .or("background")
        .completes(FlagCompletion::Words(&["background", "foreground", "orphan"])),
    TIMEOUT,
    DESCRIPTION,
    WAIT,
];

/// The flag of `test` that other commands have too.
pub(crate) static TIMEOUT_FLAGS: &[Flag] = &[TIMEOUT];

/// Flags for notes and Secrets in the output.
pub(crate) static NOTES: &[Flag] = &[
    Flag::switch(names::RENDER_SUBCHART_NOTES, "render the notes of subcharts along with the parent"),
    Flag::switch(names::HIDE_NOTES, "do not print the notes"),
    Flag::switch(names::HIDE_SECRET, "with --dry-run, hide Secrets"),
];

/// The dry-run flag.
pub(crate) static DRY_RUN: &[Flag] = &[Flag::text(
    names::DRY_RUN_TEXT,
    "simulate the operation: none, client (without the cluster) or server (against the cluster)",
)
.or("none")
.bare("unset")
.completes(FlagCompletion::Words(&["none", "client", "server"]))];

/// The output format.
pub(crate) static OUTPUT: &[Flag] =
    &[Flag::of(names::OUTPUT, Kind::Format, "table", "the output format: table, json, yaml")
        .short('o')
        .completes(FlagCompletion::Described(&[
            ("json", "Output result in JSON format"),
            ("table", "Output result in human-readable format"),
            ("yaml", "Output result in YAML format"),
        ]))];

/// The version of a release.
pub(crate) static REVISION: &[Flag] =
    &[Flag::of(names::REVISION, Kind::Revision, "0", "the revision of the release; the latest by default")
        .completes(FlagCompletion::Revisions)];

/// Flags for hooks that Helm does not have.
pub(crate) static HOOKS: &[Flag] = &[
    Flag::of(
        names::HOOK_PARALLELISM,
        Kind::Uint,
        "1",
        "the number of hooks of equal weight to run in parallel",
    ),
    Flag::switch(names::HOOK_ENV, "set the hook's event and weight as environment variables in every hook"),
    Flag::text(names::LOGS, "show the logs of hooks: end, or stream for live output")
        .completes(FlagCompletion::Words(&["end", "stream"])),
    Flag::switch(
        names::NO_LOG_OUTPUT,
        "do not show the logs of hooks, whatever their helm.sh/hook-output-log-policy says",
    ),
    Flag::of(
        names::HOOK_TIMEOUT,
        Kind::Duration,
        "0s",
        "how long a hook may take that has no helm.sh/hook-timeout; 0s for --timeout",
    ),
    ORDERED,
    LEASE,
];

/// Flags for objects that others have changed or that cannot be changed in place, which Helm does not have.
pub(crate) static APPLY: &[Flag] = &[CONFLICTS, RECREATE, READINESS_TIMEOUT];

/// Flags for the CRDs of charts, which Helm does not have.
pub(crate) static CRD_POLICY: &[Flag] = &[CRDS];

/// The duration of the lease: after this time without a renewal, others may take the release over. Hidden, for tests.
pub(crate) const LEASE: Flag = Flag::of(names::LEASE, Kind::Duration, "30s", "").hidden();
