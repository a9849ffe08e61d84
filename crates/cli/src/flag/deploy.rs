//! Flags of what is done to a cluster, in tables; many commands share them.

use super::{Flag, Kind, Offer};
use crate::env::Setting;

const FORCE_REPLACE: Flag = Flag::switch("force-replace", "replace objects instead of patching them");
const FORCE: Flag = Flag::switch("force", "replace objects instead of patching them")
    .deprecated("use --force-replace instead");
const FORCE_CONFLICTS: Flag =
    Flag::switch("force-conflicts", "take over fields that others manage, when applying on the server");
const NO_HOOKS: Flag = Flag::switch("no-hooks", "leave hooks out");
const TIMEOUT: Flag =
    Flag::of("timeout", Kind::Duration, "5m0s", "how long to wait for one operation in the cluster");
const WAIT_FOR_JOBS: Flag = Flag::switch("wait-for-jobs", "with --wait, also wait for Jobs to complete");
const DESCRIPTION: Flag = Flag::text("description", "a description to keep with the release");
const CLEANUP_ON_FAIL: Flag =
    Flag::switch("cleanup-on-fail", "delete what a failing operation has created anew");
const HISTORY_MAX: Flag =
    Flag::of("history-max", Kind::Int, "10", "how many versions of a release to keep; 0 keeps all")
        .or_setting(Setting::MaxHistory);
const WAIT: Flag = Flag::of(
    "wait",
    Kind::WaitStrategy,
    "hookOnly",
    "how to wait for objects to become ready: watcher (also when given bare), hookOnly or legacy",
)
.bare("watcher")
.offer(Offer::Words(&["watcher", "hookOnly", "legacy"]));
const SERVER_SIDE_LIKE_BEFORE: Flag = Flag::text(
    "server-side",
    "whether the server merges changes: true, false, or auto to do as the earlier version did",
)
.or("auto")
.offer(Offer::Words(&["auto", "true", "false"]));

/// Flags that exclude each other wherever objects are changed.
pub(crate) const EXCLUSIVE: &[&[&str]] =
    &[&["force-replace", "force-conflicts"], &["force", "force-conflicts"]];

/// Flags of installing and upgrading that are about the chart and about the release as a whole.
const DEPENDENCY_UPDATE: Flag = Flag::switch("dependency-update", "fetch missing dependencies first");
const DISABLE_OPENAPI: Flag =
    Flag::switch("disable-openapi-validation", "do not check objects against the cluster's OpenAPI schema");
const ROLLBACK_ON_FAILURE: Flag =
    Flag::switch("rollback-on-failure", "undo everything if the operation fails; implies --wait=watcher");
const ATOMIC: Flag = Flag::switch("atomic", "undo everything if the operation fails")
    .deprecated("use --rollback-on-failure instead");
const SKIP_CRDS: Flag = Flag::switch("skip-crds", "leave custom resource definitions out");
const LABELS: Flag =
    Flag::of("labels", Kind::Pairs, "[]", "labels to keep with the release: a=x,b=y").short('l');
const ENABLE_DNS: Flag = Flag::switch("enable-dns", "let templates look up host names");
const TAKE_OWNERSHIP: Flag =
    Flag::switch("take-ownership", "adopt objects that exist already, whoever made them");

/// Flags of installing that rendering shares with it.
pub(crate) static INSTALL: &[Flag] = &[
    Flag::switch("create-namespace", "create the namespace of the release if it is missing"),
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    Flag::switch("server-side", "let the server merge changes instead of doing it here").or("true"),
    NO_HOOKS,
    Flag::switch(
        "replace",
        "reuse the name of a release that was deleted but is still in the history (unsafe)",
    ),
    TIMEOUT,
    WAIT_FOR_JOBS,
    Flag::switch("generate-name", "make up a name, so that only the chart need be given").short('g'),
    Flag::text("name-template", "a template that gives the name of the release"),
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

/// Flags of upgrading.
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
    Flag::switch("reset-values", "start from the values of the chart"),
    Flag::switch("reuse-values", "keep the values of the earlier version, the chart's defaults included"),
    Flag::switch(
        "reset-then-reuse-values",
        "start from the values of the chart, then apply those given for the earlier version",
    ),
    WAIT_FOR_JOBS,
    ROLLBACK_ON_FAILURE,
    ATOMIC,
    HISTORY_MAX,
    CLEANUP_ON_FAIL,
    LABELS,
    DESCRIPTION,
    DEPENDENCY_UPDATE,
    ENABLE_DNS,
    TAKE_OWNERSHIP,
    WAIT,
];

/// Flags of rolling back.
pub(crate) static ROLLBACK: &[Flag] = &[
    FORCE_REPLACE,
    FORCE,
    FORCE_CONFLICTS,
    SERVER_SIDE_LIKE_BEFORE,
    NO_HOOKS,
    TIMEOUT,
    WAIT_FOR_JOBS,
    CLEANUP_ON_FAIL,
    HISTORY_MAX,
    WAIT,
];

/// Flags of uninstalling.
pub(crate) static UNINSTALL: &[Flag] = &[
    Flag::switch("dry-run", "only say what would be uninstalled"),
    NO_HOOKS,
    Flag::switch("ignore-not-found", "take a release that does not exist for uninstalled"),
    Flag::switch("keep-history", "keep the record of the release, marked as uninstalled"),
    Flag::text("cascade", "how to delete what objects own: background, foreground or orphan")
        .or("background")
        .offer(Offer::Words(&["background", "foreground", "orphan"])),
    TIMEOUT,
    DESCRIPTION,
    WAIT,
];

/// The one flag of testing that others have too.
pub(crate) static PATIENCE: &[Flag] = &[TIMEOUT];

/// Flags about notes and Secrets in what is shown of a release.
pub(crate) static NOTES: &[Flag] = &[
    Flag::switch("render-subchart-notes", "render the notes of subcharts too"),
    Flag::switch("hide-notes", "do not print the notes"),
    Flag::switch("hide-secret", "with --dry-run, do not show Secrets"),
];

/// The flag that turns an operation into a rehearsal.
pub(crate) static DRY_RUN: &[Flag] = &[Flag::text(
    "dry-run",
    "only show what would be done: none (do it), client (ask nobody) or server (ask the cluster)",
)
.or("none")
.bare("unset")
.offer(Offer::Words(&["none", "client", "server"]))];

/// The shape of the output.
pub(crate) static OUTPUT: &[Flag] =
    &[Flag::of("output", Kind::Format, "table", "the shape of the output: table, json or yaml")
        .short('o')
        .offer(Offer::Described(&[
            ("json", "Output result in JSON format"),
            ("table", "Output result in human-readable format"),
            ("yaml", "Output result in YAML format"),
        ]))];

/// Which version of a release is meant.
pub(crate) static REVISION: &[Flag] = &[Flag::of(
    "revision",
    Kind::Revision,
    "0",
    "the version of the release to look at; the last by default",
)
.offer(Offer::Revisions)];

/// Flags about hooks that Helm does not have.
pub(crate) static HOOKS: &[Flag] = &[
    Flag::of("hook-parallelism", Kind::Uint, "1", "how many hooks of equal weight run together"),
    Flag::switch("hook-env", "tell every hook its event and weight in its environment"),
    Flag::text("logs", "when to show the logs of hooks: end, or stream to see them live")
        .offer(Offer::Words(&["end", "stream"])),
    Flag::switch("no-log-output", "show no logs of hooks"),
    LEASE,
];

/// How long others wait before they take a silent operation for dead.
pub(crate) const LEASE: Flag = Flag::of("lease", Kind::Duration, "30s", "").hidden();
