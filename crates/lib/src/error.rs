//! What can go wrong in an operation, and what to do about it.

use std::path::PathBuf;

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation stopped. The text is Helm's wherever Helm has one, because tools match on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chart could not be read.
    #[error(transparent)]
    Chart(#[from] pintle_chart::Error),
    /// The values could not be read or merged, or the schema refuses them.
    #[error(transparent)]
    Values(#[from] pintle_values::Error),
    /// The dependencies of the chart could not be processed.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(pintle_values::Error),
    /// Dependencies that Chart.yaml lists are not in `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
         fetch missing dependencies: {0}"
    )]
    MissingDependencies(pintle_chart::Error),
    /// A template is wrong.
    #[error(transparent)]
    Render(#[from] Box<pintle_render::Error>),
    /// A rendered file is not an object.
    #[error("{source}")]
    Objects {
        /// What is wrong, and where.
        source: Box<pintle_objects::Error>,
        /// The rendered files, for a person to look at.
        rendered: Vec<u8>,
    },
    /// The cluster in the box cannot be opened.
    #[error("the embedded cluster cannot be opened: {why}")]
    Embedded {
        /// Why not.
        why: String,
    },
    /// The file of the cluster in the box is damaged.
    #[error("the embedded cluster cannot be opened: {why}")]
    EmbeddedCorrupt {
        /// Which file, and what is wrong with it.
        why: String,
    },
    /// The file of the cluster in the box is open elsewhere.
    #[error("{} is in use by another process", .file.display())]
    EmbeddedInUse {
        /// The file.
        file: std::path::PathBuf,
    },
    /// Images cannot be moved as told.
    #[error(transparent)]
    Images(#[from] pintle_images::Error),
    /// The chart is for other versions of Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version}")]
    IncompatibleKubernetes {
        /// The constraint of the chart.
        wanted: String,
        /// The version it is rendered for.
        version: String,
    },
    /// The chart is a library.
    #[error("{kind} charts are not installable")]
    NotInstallable {
        /// The type of the chart.
        kind: String,
    },
    /// The chart is of a generation that can be created and looked at, and nothing else.
    #[error("invalid chart apiVersion")]
    ExperimentalChart,
    /// The release name breaks a rule.
    #[error("release name check failed: release name {name:?}: {reason}")]
    BadReleaseName {
        /// The name.
        name: String,
        /// The rule.
        reason: String,
    },
    /// There is nothing at the path of the chart.
    #[error("path {path:?} not found")]
    ChartNotFound {
        /// The path as it was given.
        path: String,
    },
    /// The chart is somewhere that this version cannot reach.
    #[error("chart {reference:?} is not a local folder or archive, and charts cannot be fetched yet")]
    RemoteChart {
        /// The reference as it was given.
        reference: String,
    },
    /// A template that was asked for does not exist.
    #[error("could not find template {pattern} in chart")]
    NoSuchTemplate {
        /// What was asked for.
        pattern: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `write` or the like.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder for output cannot be made, because something on the way to it is no folder.
    #[error("stat {}: not a directory", path.display())]
    NotADirectory {
        /// The folder.
        path: PathBuf,
    },
    /// Bad input of another kind.
    #[error("{0}")]
    Input(String),
    /// The cluster missing_permissions, or could not be asked.
    #[error(transparent)]
    Cluster(#[from] pintle_cluster::Error),
    /// The cluster does not answer, so that an installation cannot begin.
    #[error("cluster reachability check failed: {0}")]
    ReachabilityCheck(#[source] pintle_cluster::Error),
    /// A registry missing_permissions, or could not be asked.
    #[error(transparent)]
    Registry(Box<pintle_registry::Error>),
    /// The store of releases missing_permissions, or could not be asked.
    #[error(transparent)]
    Store(#[from] pintle_release::StoreError),
    /// A manifest holds something that is no object.
    #[error(transparent)]
    Object(#[from] pintle_objects::ObjectError),
    /// A hook's annotations make no sense.
    #[error(transparent)]
    Hook(Box<pintle_hooks::Error>),
    /// The way from a manifest to objects failed.
    #[error("unable to build kubernetes objects from {what}: {source}")]
    Build {
        /// Whose manifest it is.
        what: &'static str,
        /// Why.
        source: Box<Error>,
    },
    /// A handler of a lifecycle event failed.
    #[error("{}", with_causes(.0))]
    Event(Box<pintle_events::Error>),
    /// The scripts of a chart cannot be used.
    #[error("{}", with_causes(.0))]
    Scripts(Box<pintle_lua::Error>),
    /// A chart asks for permissions that it did not get.
    #[error("chart {chart} asks for permissions that were not granted: {}", missing_permissions(.asked, .missing))]
    PermissionsRefused {
        /// The topmost chart.
        chart: String,
        /// What it and the charts below it ask for.
        asked: Box<pintle_lua::PermissionRequests>,
        /// What it did not get.
        missing: pintle_lua::Permissions,
    },
    /// A chart brings an object that stores would take for the record of a release.
    #[error("{kind} {name:?} of {path} looks like a release record, which charts may not contain")]
    RecordObject {
        /// The kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// Where it comes from.
        path: String,
    },
    /// A member of a list is of a kind that the cluster does not know.
    #[error("unable to recognize {0}")]
    Unrecognized(#[source] pintle_cluster::Error),
    /// Several things are wrong.
    #[error("{}", pintle_objects::aggregate(.errors.iter().map(Error::to_string)))]
    Multiple {
        /// What is wrong.
        errors: Vec<Error>,
    },
    /// There is no such release.
    #[error("release: not found")]
    NoSuchRelease {
        /// The name.
        name: String,
    },
    /// There is no such release, so it cannot be uninstalled.
    #[error("uninstall: Release not loaded: {name}: release: not found")]
    UninstallNotFound {
        /// The name.
        name: String,
    },
    /// The records of a release that is to be uninstalled cannot be read.
    #[error("uninstall: Release not loaded: {name}: {source}")]
    UninstallNotLoaded {
        /// The name.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// Nothing of the release was ever deployed.
    #[error("{name:?} has no deployed releases")]
    NoDeployedReleases {
        /// The name.
        name: String,
    },
    /// There is no such version to go back to.
    #[error("release has no {number} version")]
    NoSuchVersion {
        /// The number.
        number: u64,
        /// The versions that there are.
        known: Vec<u64>,
    },
    /// There is no such version to look at.
    #[error("release: not found")]
    VersionNotFound {
        /// The release.
        name: String,
        /// The number.
        number: u64,
        /// The versions that there are.
        known: Vec<u64>,
    },
    /// The reference to a version means none, or more than one.
    #[error("release {name:?} has {} version {reference:?}", if .candidates.is_empty() { "no" } else { "more than one" })]
    BadVersion {
        /// The release.
        name: String,
        /// The reference.
        reference: String,
        /// The ids that it could mean.
        candidates: Vec<String>,
    },
    /// The name cannot be that of a release.
    #[error("{prefix}: {name}")]
    InvalidName {
        /// What Helm says before it.
        prefix: &'static str,
        /// The name.
        name: String,
    },
    /// The name is that of a release that exists.
    #[error("release name check failed: cannot reuse a name that is still in use{}", store_suffix(*.kept))]
    NameInUse {
        /// Whether that release is an installation that was interrupted.
        interrupted: bool,
        /// The store that has it, where that is not the one for new releases.
        kept: Option<&'static str>,
    },
    /// Another store has the release, which is not worked on here.
    #[error(
        "release {name:?} is kept {} and not {}, and one name has one owner; {} works on it there",
        store_description(.kept), store_description(.here), driver_setting(.kept)
    )]
    InOtherStore {
        /// The name.
        name: String,
        /// The store that has it.
        kept: &'static str,
        /// The store that is worked on.
        here: &'static str,
    },
    /// Two stores have releases of that name.
    #[error(
        "release {name:?} is kept both {} and {}, and only one can be its owner; delete the records of the other: {}",
        store_description(.stores[0]), store_description(.stores[1]), delete_commands(.stores, .name)
    )]
    DuplicateRelease {
        /// The name.
        name: String,
        /// The stores.
        stores: [&'static str; 2],
    },
    /// Someone is at work on the release.
    #[error("another operation (install/upgrade/rollback) is in progress")]
    Pending {
        /// Who, if that is known.
        lease: Option<Box<pintle_release::Lease>>,
    },
    /// Someone else took the release over while we were at work on it.
    #[error("another client has taken over the release")]
    LeaseLost {
        /// What the store said.
        source: Box<Error>,
    },
    /// The user has had enough.
    #[error("context canceled")]
    Cancelled,
    /// Secrets can only be hidden from what is shown.
    #[error("hiding Kubernetes secrets requires a dry-run mode")]
    HideSecretsNeedsDryRun,
    /// A label that every record has was given by the user.
    #[error("user supplied labels contains system reserved label name. System labels: [{reserved}]")]
    ReservedLabel {
        /// All such labels.
        reserved: String,
    },
    /// The values of an earlier version do not fit together.
    #[error("failed to rebuild old values: {source}")]
    OldValues {
        /// Why.
        source: pintle_values::Error,
    },
    /// Objects that are there already stand in the way.
    #[error("unable to continue with {operation}: {source}")]
    CannotContinue {
        /// `install` or `update`.
        operation: &'static str,
        /// Which, and why.
        source: Box<pintle_plan::Error>,
    },
    /// It cannot be seen whether an object is there.
    #[error("unable to continue with {operation}: {source}")]
    GetFailed {
        /// `install` or `update`.
        operation: &'static str,
        /// Which, and why.
        source: Box<pintle_cluster::Error>,
    },
    /// The record of the release cannot be read as objects.
    #[error(transparent)]
    Removal(#[from] pintle_plan::RemovalError),
    /// A definition of `crds/` could not be installed.
    #[error("failed to install CRD {path}: {reason}")]
    Crd {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The hooks of an event failed.
    #[error("{doing}: {source}")]
    HooksFailed {
        /// Which, in Helm's words.
        doing: String,
        /// Why.
        source: Box<Error>,
    },
    /// A hook is of a kind that the cluster does not know.
    #[error("unable to build kubernetes object for {event} hook {path}: {source}")]
    HookBuild {
        /// The event.
        event: &'static str,
        /// The template.
        path: String,
        /// Why.
        source: Box<Error>,
    },
    /// A hook could not be created.
    #[error("warning: Hook {event} {path} failed: {source}")]
    HookCreation {
        /// The event.
        event: &'static str,
        /// The template.
        path: String,
        /// Why.
        source: Box<Error>,
    },
    /// Waiting ended without success.
    #[error(transparent)]
    Wait(#[from] Box<pintle_cluster::wait::WaitError>),
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] Box<pintle_plan::Error>),
    /// Objects could not be applied.
    #[error("{}", join_errors(.errors, .separator))]
    Apply {
        /// Why each.
        errors: Vec<Error>,
        /// What Helm puts between them.
        separator: &'static str,
    },
    /// An object could not be made.
    #[error("failed to create resource: {0}")]
    Create(#[source] pintle_cluster::Error),
    /// An object that is no longer wanted could not be deleted.
    #[error("failed to delete resource {what}: {source}")]
    Delete {
        /// The object, in Helm's words.
        what: String,
        /// Why.
        source: Box<pintle_cluster::Error>,
    },
    /// The record of the release cannot be read as objects, so that nothing can be deleted.
    #[error("failed to delete release: {name}")]
    DeleteFailed {
        /// The release.
        name: String,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A release failed while its objects were waited for.
    #[error("release {name} failed: {source}")]
    ReleaseFailed {
        /// The release.
        name: String,
        /// Why.
        source: Box<Error>,
    },
    /// It failed, and was undone.
    #[error("release {name} failed, and has been {how} due to rollback-on-failure being set: {source}")]
    RolledBack {
        /// The release.
        name: String,
        /// What was done about it.
        how: &'static str,
        /// Why it failed.
        source: Box<Error>,
    },
    /// It failed, and could not be undone.
    #[error("an error occurred while {doing} the release. original {operation} error: {first}: {second}")]
    RollbackFailed {
        /// What was being done.
        doing: &'static str,
        /// The operation.
        operation: &'static str,
        /// Why it failed.
        first: Box<Error>,
        /// Why it could not be undone.
        second: Box<Error>,
    },
    /// It failed, and there is nothing to go back to.
    #[error(
        "unable to find a previously successful release when attempting to rollback. original upgrade error: {source}"
    )]
    NothingToRollBackTo {
        /// Why it failed.
        source: Box<Error>,
    },
    /// It failed, and what it had made could not be deleted.
    #[error(
        "an error occurred while cleaning up resources. original {operation} error: {first}: unable to cleanup resources: {second}"
    )]
    CleanUpFailed {
        /// The operation.
        operation: &'static str,
        /// Why it failed.
        first: Box<Error>,
        /// Why its objects could not be deleted.
        second: Box<Error>,
    },
    /// The release was uninstalled before, and its history is kept.
    #[error("the release named {name:?} is already deleted")]
    AlreadyDeleted {
        /// The release.
        name: String,
    },
    /// The objects are gone, but something else went wrong.
    #[error("uninstallation completed with {} error(s): {}", .problems.len(), .problems.join("; "))]
    UninstalledWithErrors {
        /// What went wrong.
        problems: Vec<String>,
    },
    /// The records could not be deleted.
    #[error("uninstall: Failed to purge the release: {source}")]
    PurgeFailed {
        /// Why.
        source: Box<Error>,
    },
    /// The pod of a test is not there.
    #[error("unable to get pod {pod}: pods {pod:?} not found")]
    NoTestPod {
        /// The pod.
        pod: String,
    },
}

fn store_suffix(kept: Option<&'static str>) -> String {
    kept.map(|kept| format!(": it is kept {}", store_description(kept))).unwrap_or_default()
}

/// Where a store keeps releases, in words.
fn store_description(driver: &str) -> &'static str {
    match driver {
        "native" => "as Release objects",
        "Secret" => "in Helm's Secrets",
        "ConfigMap" => "in Helm's ConfigMaps",
        "SQL" => "in a database",
        _ => "in memory",
    }
}

/// What chooses a store.
fn driver_setting(driver: &str) -> &'static str {
    match driver {
        "native" => "HELM_DRIVER=native",
        "Secret" => "HELM_DRIVER=secret",
        "ConfigMap" => "HELM_DRIVER=configmap",
        "SQL" => "HELM_DRIVER=sql",
        _ => "HELM_DRIVER=memory",
    }
}

/// How the records of each store are deleted without touching the objects of the release.
fn delete_commands(stores: &[&'static str; 2], name: &str) -> String {
    let way = |driver: &&str| match *driver {
        "native" => format!("`kubectl delete release.helm.sh {name} --cascade=orphan`"),
        "Secret" => format!("`kubectl delete secrets -l owner=helm,name={name}`"),
        "ConfigMap" => format!("`kubectl delete configmaps -l owner=helm,name={name}`"),
        other => format!("those of {}", driver_setting(other)),
    };
    stores.iter().map(way).collect::<Vec<_>>().join(" or ")
}

/// An error with everything that led to it, because records of releases keep one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

impl From<pintle_events::Error> for Error {
    fn from(error: pintle_events::Error) -> Self {
        Error::Event(Box::new(error))
    }
}

impl From<pintle_lua::Error> for Error {
    fn from(error: pintle_lua::Error) -> Self {
        Error::Scripts(Box::new(error))
    }
}

/// Permissions that were refused, each with the charts below the topmost that ask for it.
fn missing_permissions(asked: &pintle_lua::PermissionRequests, missing: &pintle_lua::Permissions) -> String {
    let one = |permission: pintle_lua::Permission| match asked.subcharts_requesting(permission).as_slice() {
        [] => permission.to_string(),
        charts => format!("{permission} ({})", charts.join(", ")),
    };
    missing.iter().map(one).collect::<Vec<String>>().join(", ")
}

/// Whether a handler failed that stands before uninstalling.
fn is_pre_delete_handler(error: &pintle_events::Error) -> bool {
    matches!(error, pintle_events::Error::Handler { event: pintle_events::Event::PreDelete, .. })
}

fn join_errors(errors: &[Error], separator: &str) -> String {
    errors.iter().map(Error::to_string).collect::<Vec<_>>().join(separator)
}

/// What is to be done about rights that the stores of releases need, told from the server's refusal.
fn rbac_hint(refusal: &str) -> &'static str {
    match refusal.contains("helm.sh") {
        true => {
            "releases are kept as `releases` and `releaseversions` of the API group helm.sh, and in Secrets; whoever \
             works on them needs rights to get, list, watch, create, update, patch and delete these. An administrator \
             installs the kinds with `pintle init`; HELM_DRIVER=secret keeps releases in Secrets alone, as Helm does"
        }
        false => {
            "whoever works on releases needs rights to get, list, create, update, patch and delete the Secrets or \
             ConfigMaps in which they are kept"
        }
    }
}

impl From<pintle_hooks::Error> for Error {
    fn from(error: pintle_hooks::Error) -> Error {
        Error::Hook(Box::new(error))
    }
}

impl From<pintle_registry::Error> for Error {
    fn from(error: pintle_registry::Error) -> Self {
        Error::Registry(Box::new(error))
    }
}

impl Error {
    /// Whether the user may not do with the records of releases what has to be done.
    pub(crate) fn is_forbidden_store(&self) -> bool {
        match self {
            Error::Store(pintle_release::StoreError::Backend { source, .. }) => source
                .downcast_ref::<pintle_cluster::Error>()
                .is_some_and(pintle_cluster::Error::is_forbidden),
            Error::UninstallNotLoaded { source, .. } => source.is_forbidden_store(),
            _ => false,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        if self.is_forbidden_store() {
            return Some(rbac_hint(&self.to_string()).to_owned());
        }
        Some(match self {
            Error::Registry(error) => return error.hint(),
            Error::Images(error) => return error.hint(),
            // The flag says all that there is to say, so that it needs what was granted otherwise, too.
            Error::PermissionsRefused { asked, .. } => format!(
                "review its scripts in `ext/lua`, then grant it with `--accept-perms {}` or `--yes`",
                asked.all()
            ),
            Error::EmbeddedCorrupt { .. } => {
                "restore the file from a backup, or delete it to start with an empty cluster".to_owned()
            }
            Error::RecordObject { .. } => "such an object can say that something was installed which never was; if that \
                 is what it is for, give `--allow-release-records`"
                .to_owned(),
            Error::EmbeddedInUse { .. } => {
                "while `pintle cluster serve` has it open, use the kubeconfig that it prints".to_owned()
            }
            Error::RemoteChart { .. } => {
                "pull the chart with another tool and give the path of the archive or folder".to_owned()
            }
            Error::MissingDependencies(_) => {
                "run `pintle dependency build CHART`, or put the missing charts into its `charts` folder"
                    .to_owned()
            }
            Error::IncompatibleKubernetes { .. } => {
                "set the version to render for with `--kube-version`".to_owned()
            }
            Error::NotInstallable { .. } => {
                "list it under `dependencies` of an application chart and use its templates there".to_owned()
            }
            Error::ExperimentalChart => {
                "`apiVersion: v3` is experimental in Helm and cannot be installed yet; `v2` has the same fields"
                    .to_owned()
            }
            Error::ChartNotFound { .. } => "pass the path of a chart folder or archive".to_owned(),
            Error::NoSuchTemplate { .. } => {
                "give a path inside the chart, as in `templates/service.yaml`; it must render to something"
                    .to_owned()
            }
            Error::NameInUse { kept: Some(_), .. } => {
                "choose another name; `pintle upgrade` goes on with that release and takes its records over, and \
                 `pintle adopt` does only that"
                    .to_owned()
            }
            Error::NameInUse { interrupted: true, .. } => {
                "an installation of that name was interrupted: `pintle upgrade --install` carries on, and \
                 `pintle uninstall` takes away what it left"
                    .to_owned()
            }
            Error::NameInUse { interrupted: false, .. } => {
                "choose another name, or use `pintle upgrade --install`".to_owned()
            }
            Error::Pending { lease: Some(lease) } => format!(
                "{} began at {} and last renewed its lease at {}; `pintle unlock` frees the release when \
                 nobody is at work on it",
                lease.holder, lease.since, lease.renewed
            ),
            Error::Pending { lease: None } => {
                "if nobody is working on the release, `pintle unlock NAME --free` unlocks it".to_owned()
            }
            Error::NoSuchRelease { .. } | Error::UninstallNotFound { .. } | Error::NoDeployedReleases { .. } => {
                "`pintle list --all-namespaces` shows all releases".to_owned()
            }
            Error::NoSuchVersion { known, .. } | Error::VersionNotFound { known, .. } => {
                let known: Vec<String> = known.iter().map(u64::to_string).collect();
                format!("existing versions: {}", known.join(", "))
            }
            Error::Event(error) if is_pre_delete_handler(error) => {
                "`--skip-scripts` uninstalls the release without its scripts".to_owned()
            }
            Error::BadVersion { candidates, .. } if !candidates.is_empty() => {
                format!("candidates: {}", candidates.join(", "))
            }
            Error::BadVersion { .. } => "`pintle history NAME` shows all versions".to_owned(),
            Error::CannotContinue { source, .. }
                if matches!(**source, pintle_plan::Error::NotOwned { .. }) =>
            {
                "`--take-ownership` makes existing objects part of the release".to_owned()
            }
            Error::Store(pintle_release::StoreError::TooLarge { size, kind, .. }) => format!(
                "the record of the release takes {size} bytes, and a {kind} holds 1048576: without HELM_DRIVER \
                 releases of any size can be kept, and `pintle adopt` moves one there; or keep large files out of the \
                 chart with .helmignore"
            ),
            Error::Cluster(error) if error.is_forbidden() && error.to_string().contains("helm.sh") => {
                "installing kinds takes the rights of an administrator; HELM_DRIVER=secret keeps releases in Secrets, \
                 as Helm does, and needs no kinds"
                    .to_owned()
            }
            Error::HooksFailed { source, .. }
            | Error::ReleaseFailed { source, .. }
            | Error::RolledBack { source, .. } => return source.hint(),
            _ => return None,
        })
    }
}
