//! The flags of commands that change a cluster; many of these commands share them.

use super::{Flag, FlagCompletion, Kind};
use crate::env::Setting;

const FORCE_REPLACE: Flag = Flag::switch("force-replace", "replace objects instead of patching them");
const FORCE: Flag = Flag::switch("force", "replace objects instead of patching them")
    .deprecated("use --force-replace instead");
const FORCE_CONFLICTS: Flag =
    Flag::switch("force-conflicts", "take over fields owned by other managers in server-side apply");
const NO_HOOKS: Flag = Flag::switch("no-hooks", "do not run hooks");
const TIMEOUT: Flag =
    Flag::of("timeout", Kind::Duration, "5m0s", "how long to wait for one operation in the cluster");
const WAIT_FOR_JOBS: Flag = Flag::switch("wait-for-jobs", "with --wait, also wait for Jobs to complete");
const DESCRIPTION: Flag = Flag::text("description", "a custom description of the release");
const CLEANUP_ON_FAIL: Flag =
    Flag::switch("cleanup-on-fail", "delete new objects created by an operation that fails");
const HISTORY_MAX: Flag = Flag::of(
    "history-max",
    Kind::Int,
    "10",
    "the maximum number of revisions to keep per release; 0 for no limit",
)
.or_setting(Setting::MaxHistory);
const WAIT: Flag = Flag::of(
    "wait",
    Kind::WaitStrategy,
    "hookOnly",
    "wait until resources are ready: watcher (the default without a value), hookOnly or legacy",
)
.bare("watcher")
.completes(FlagCompletion::Words(&["watcher", "hookOnly", "legacy"]));
const SERVER_SIDE_LIKE_BEFORE: Flag = Flag::text(
    "server-side",
    "use server-side apply: true, false, or auto for the method of the previous revision",
)
.or("auto")
.completes(FlagCompletion::Words(&["auto", "true", "false"]));

/// The mutually exclusive flags of commands that change objects.
pub(crate) const EXCLUSIVE: &[&[&str]] =
    &[&["force-replace", "force-conflicts"], &["force", "force-conflicts"]];

/// Flags that `install` and `upgrade` share.
const DEPENDENCY_UPDATE: Flag =
    Flag::switch("dependency-update", "update dependencies that are missing first");
const DISABLE_OPENAPI: Flag = Flag::switch(
    "disable-openapi-validation",
    "do not validate objects against the cluster's OpenAPI schema",
);
const ROLLBACK_ON_FAILURE: Flag =
    Flag::switch("rollback-on-failure", "roll back if the operation fails; implies --wait=watcher");
const ATOMIC: Flag = Flag::switch("atomic", "roll back if the operation fails")
    .deprecated("use --rollback-on-failure instead");
/// A flag of Helm 3 that scripts still use.
const RECREATE_PODS: Flag = Flag::switch("recreate-pods", "")
    .deprecated("it has no effect: change an annotation of the pod template to restart pods");
const SKIP_CRDS: Flag = Flag::switch("skip-crds", "do not install custom resource definitions");
const LABELS: Flag = Flag::of("labels", Kind::Pairs, "[]", "labels of the release: a=x,b=y").short('l');
const ENABLE_DNS: Flag = Flag::switch("enable-dns", "enable DNS lookups in templates");
const TAKE_OWNERSHIP: Flag = Flag::switch("take-ownership", "take ownership of objects that exist already");

/// Flags that `install` and `template` share.
pub(crate) static INSTALL: &[Flag] = &[
    Flag::switch("create-namespace", "create the namespace of the release if it is missing"),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    Flag::switch("server-side", "use server-side apply").or("true"),
    NO_HOOKS,
    Flag::switch(
        "replace",
        "reuse the name of a release that was deleted but is still in the history (unsafe)",
    ),
    TIMEOUT,
    WAIT_FOR_JOBS,
    Flag::switch("generate-name", "generate the release name").short('g'),
    Flag::text("name-template", "a template for the release name"),
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
    Flag::switch("create-namespace", "with --install, create the namespace of the release if it is missing"),
    Flag::switch("install", "install the release if there is none of that name").short('i'),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    SERVER_SIDE_LIKE_BEFORE,
    NO_HOOKS,
    DISABLE_OPENAPI,
    SKIP_CRDS,
    TIMEOUT,
    Flag::switch("reset-values", "reset to the chart's values"),
    Flag::switch("reuse-values", "reuse the values of the previous revision, including its defaults"),
    Flag::switch(
        "reset-then-reuse-values",
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
    Flag::switch("dry-run", "simulate the uninstall"),
    NO_HOOKS,
    Flag::switch("ignore-not-found", "succeed if the release does not exist"),
    Flag::switch("keep-history", "keep the record of the release, marked as uninstalled"),
    Flag::text("cascade", "the deletion propagation: background, foreground or orphan")
        .or("background")
        .completes(FlagCompletion::Words(&["background", "foreground", "orphan"])),
    TIMEOUT,
    DESCRIPTION,
    WAIT,
];

/// The flag of `test` that other commands have too.
pub(crate) static PATIENCE: &[Flag] = &[TIMEOUT];

/// Flags for notes and Secrets in the output.
pub(crate) static NOTES: &[Flag] = &[
    Flag::switch("render-subchart-notes", "render the notes of subcharts along with the parent"),
    Flag::switch("hide-notes", "do not print the notes"),
    Flag::switch("hide-secret", "with --dry-run, hide Secrets"),
];

/// The dry-run flag.
pub(crate) static DRY_RUN: &[Flag] = &[Flag::text(
    "dry-run",
    "simulate the operation: none, client (without the cluster) or server (against the cluster)",
)
.or("none")
.bare("unset")
.completes(FlagCompletion::Words(&["none", "client", "server"]))];

/// The output format.
pub(crate) static OUTPUT: &[Flag] =
    &[Flag::of("output", Kind::Format, "table", "the output format: table, json or yaml")
        .short('o')
        .completes(FlagCompletion::Described(&[
            ("json", "Output result in JSON format"),
            ("table", "Output result in human-readable format"),
            ("yaml", "Output result in YAML format"),
        ]))];

/// The version of a release.
pub(crate) static REVISION: &[Flag] =
    &[Flag::of("revision", Kind::Revision, "0", "the revision of the release; the latest by default")
        .completes(FlagCompletion::Revisions)];

/// Flags for hooks that Helm does not have.
pub(crate) static HOOKS: &[Flag] = &[
    Flag::of("hook-parallelism", Kind::Uint, "1", "the number of hooks of equal weight to run in parallel"),
    Flag::switch("hook-env", "set the hook's event and weight as environment variables in every hook"),
    Flag::text("logs", "show the logs of hooks: end, or stream for live output")
        .completes(FlagCompletion::Words(&["end", "stream"])),
    Flag::switch("no-log-output", "do not show the logs of hooks"),
    LEASE,
];

/// The duration of the lease: after this time without a renewal, others may take the release over. Hidden, for tests.
pub(crate) const LEASE: Flag = Flag::of("lease", Kind::Duration, "30s", "").hidden();
