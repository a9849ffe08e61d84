//! Errors of operations.

mod kind;
#[cfg(feature = "registry")]
mod remote;
mod text;

use std::path::PathBuf;

pub use kind::ErrorKind;
#[cfg(feature = "registry")]
pub use remote::RemoteError;
#[cfg(feature = "lua")]
use text::missing_permissions;
#[cfg(feature = "cluster")]
use text::stale_plan;
use text::{join_errors, store_description, store_suffix, unsafe_crds, with_causes};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed. The text is Helm's wherever Helm has one, because tools match on it; it often contains its
/// cause. `source` returns only causes that the text does not contain, so that printing the chain repeats nothing.
/// [`Error::kind`] classifies errors for programs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chart could not be read.
    #[error(transparent)]
    Chart(#[from] pintle_chart::Error),
    /// A post-renderer failed, or what it returned is not a stream of objects.
    #[error("{0}")]
    PostRender(String),
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
    /// A template failed.
    #[error(transparent)]
    Render(#[from] Box<pintle_render::Error>),
    /// A rendered document is not a Kubernetes object.
    #[error("{cause}")]
    Objects {
        /// The reason and the position.
        cause: Box<pintle_objects::Error>,
        /// The rendered files, for `--debug`.
        rendered: Vec<u8>,
    },
    /// The embedded cluster cannot be opened.
    #[error("the embedded cluster cannot be opened: {why}")]
    Embedded {
        /// The reason.
        why: String,
    },
    /// The file of the embedded cluster is corrupt.
    #[error("the embedded cluster cannot be opened: {why}")]
    EmbeddedCorrupt {
        /// The file and the reason.
        why: String,
    },
    /// The file of the embedded cluster is locked by another process.
    #[error("{} is in use by another process", .file.display())]
    EmbeddedInUse {
        /// The file.
        file: std::path::PathBuf,
    },
    /// Images cannot be moved to another registry.
    #[cfg(feature = "images")]
    #[error(transparent)]
    Images(#[from] pintle_images::Error),
    /// The chart does not support the Kubernetes version.
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
    /// The chart has `apiVersion: v3`, which cannot be installed.
    #[error("invalid chart apiVersion")]
    ExperimentalChart,
    /// The release name is invalid for an install.
    #[error("release name check failed: release name {name:?}: {reason}")]
    BadReleaseName {
        /// The name.
        name: String,
        /// The rule that it violates.
        reason: String,
    },
    /// The path of the chart does not exist.
    #[error("path {path:?} not found")]
    ChartNotFound {
        /// The path as it was given.
        path: String,
    },
    /// The reference names no folder or archive. Operations take local charts; remote ones are downloaded before.
    #[error("chart {reference:?} is not a local folder or archive")]
    RemoteChart {
        /// The reference as it was given.
        reference: String,
    },
    /// A requested template does not exist.
    #[error("could not find template {pattern} in chart")]
    NoSuchTemplate {
        /// The requested path or pattern.
        pattern: String,
    },
    /// Two versions of a chart cannot be compared.
    #[cfg(feature = "upgrade-check")]
    #[error(transparent)]
    UpgradeCheck(Box<pintle_upgrade::Error>),
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `write` or the like.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A folder of the output cannot be created.
    #[error(transparent)]
    Folder(pintle_chart::FileError),
    /// Other invalid input.
    #[error("{0}")]
    Input(String),
    /// The description of a rollback is too long.
    #[cfg(feature = "cluster")]
    #[error("description must be {} characters or less, got {length}", crate::ops::MAX_DESCRIPTION_LENGTH)]
    DescriptionTooLong {
        /// How many characters it has.
        length: usize,
    },
    /// The cluster rejected a request, or could not be reached.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] pintle_cluster::Error),
    /// The cluster is unreachable at the start of an install.
    #[cfg(feature = "cluster")]
    #[error("cluster reachability check failed: {0}")]
    ReachabilityCheck(pintle_cluster::Error),
    /// A registry rejected a request, or could not be reached.
    #[cfg(feature = "registry")]
    #[error(transparent)]
    Registry(Box<pintle_registry::Error>),
    /// An operation on repositories or registries failed.
    #[cfg(feature = "registry")]
    #[error(transparent)]
    Remote(Box<RemoteError>),
    /// The release store rejected a request, or could not be reached.
    #[error(transparent)]
    Store(#[from] pintle_release::StoreError),
    /// A manifest contains a document that is not an object.
    #[error(transparent)]
    Object(#[from] pintle_objects::ObjectError),
    /// The annotations of a hook are invalid.
    #[error(transparent)]
    Hook(Box<pintle_hooks::Error>),
    /// A manifest cannot be built into objects.
    #[error("unable to build kubernetes objects from {what}: {cause}")]
    Build {
        /// Helm's name for the manifest.
        what: &'static str,
        /// The cause.
        cause: Box<Error>,
    },
    /// A handler of a lifecycle event failed.
    #[error("{}", with_causes(.0))]
    Event(Box<pintle_events::Error>),
    /// The scripts of a chart cannot be used.
    #[cfg(feature = "lua")]
    #[error("{}", with_causes(.0))]
    Scripts(Box<pintle_lua::Error>),
    /// A chart requests permissions that were not granted.
    #[cfg(feature = "lua")]
    #[error("chart {chart} asks for permissions that were not granted: {}", missing_permissions(.asked, .missing))]
    PermissionsRefused {
        /// The topmost chart.
        chart: String,
        /// What it and its subcharts request.
        asked: Box<pintle_lua::PermissionRequests>,
        /// What was not granted.
        missing: pintle_lua::Permissions,
    },
    /// A chart contains an object that release stores would mistake for a record.
    #[error("{kind} {name:?} of {path} looks like a release record, which charts may not contain")]
    RecordObject {
        /// The kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// The template.
        path: String,
    },
    /// A member of a list is of a kind that the cluster does not know.
    #[cfg(feature = "cluster")]
    #[error("unable to recognize {0}")]
    Unrecognized(pintle_cluster::Error),
    /// Several errors.
    #[error("{}", pintle_objects::aggregate(.errors.iter().map(Error::to_string)))]
    Multiple {
        /// The errors.
        errors: Vec<Error>,
    },
    /// There is no such release.
    #[error("release: not found")]
    NoSuchRelease {
        /// The name.
        name: String,
    },
    /// There are records of the release, but none that can be read.
    #[error("no revision for release {name:?}")]
    NoReadableVersion {
        /// The name.
        name: String,
    },
    /// There are records of the release that is to be uninstalled, but none that can be read.
    #[error("no release provided")]
    NothingToUninstall {
        /// The name.
        name: String,
    },
    /// The release to uninstall does not exist.
    #[error("uninstall: Release not loaded: {name}: release: not found")]
    UninstallNotFound {
        /// The name.
        name: String,
    },
    /// The records of a release that is to be uninstalled cannot be read.
    #[error("uninstall: Release not loaded: {name}: {cause}")]
    UninstallNotLoaded {
        /// The name.
        name: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// The release was never deployed.
    #[error("{name:?} has no deployed releases")]
    NoDeployedReleases {
        /// The name.
        name: String,
    },
    /// The version to roll back to does not exist.
    #[error("release has no {number} version")]
    NoSuchVersion {
        /// The number.
        number: u64,
        /// The existing versions.
        known: Vec<u64>,
    },
    /// The version does not exist.
    #[error("release: not found")]
    VersionNotFound {
        /// The release.
        name: String,
        /// The number.
        number: u64,
        /// The existing versions.
        known: Vec<u64>,
    },
    /// A version reference matches none or several versions.
    #[error("release {name:?} has {} version {reference:?}", if .candidates.is_empty() { "no" } else { "more than one" })]
    BadVersion {
        /// The release.
        name: String,
        /// The reference.
        reference: String,
        /// The ids that match.
        candidates: Vec<String>,
    },
    /// The release name is invalid.
    #[error("{prefix}: {name}")]
    InvalidName {
        /// Helm's prefix.
        prefix: &'static str,
        /// The name.
        name: String,
    },
    /// The release already exists.
    #[error("release name check failed: cannot reuse a name that is still in use{}", store_suffix(*.kept))]
    NameInUse {
        /// Whether it is an interrupted install.
        interrupted: bool,
        /// The store that holds it, if it is not the one for new releases.
        kept: Option<&'static str>,
    },
    /// The release is in a store that this session excludes.
    #[error(
        "release {name:?} is stored {} and not {}",
        store_description(.kept), store_description(.here)
    )]
    InOtherStore {
        /// The name.
        name: String,
        /// The store that holds it.
        kept: &'static str,
        /// The store of the session.
        here: &'static str,
    },
    /// Two stores hold releases of that name.
    #[error(
        "release {name:?} is stored both {} and {}, and only one can own it",
        store_description(.stores[0]), store_description(.stores[1])
    )]
    DuplicateRelease {
        /// The name.
        name: String,
        /// The stores.
        stores: [&'static str; 2],
    },
    /// Two stores hold versions of the same release.
    #[error(
        "release {name:?} is stored both {} and {}, because moving it was interrupted",
        store_description(.stores[0]), store_description(.stores[1])
    )]
    MoveInterrupted {
        /// The name.
        name: String,
        /// The stores.
        stores: [&'static str; 2],
    },
    /// Another client is working on the release.
    #[error("another operation (install/upgrade/rollback) is in progress")]
    Pending {
        /// Its lease; `None` if it does not use leases, as Helm.
        lease: Option<Box<pintle_release::Lease>>,
    },
    /// Another client took over the release during the operation.
    #[error("another client has taken over the release")]
    LeaseLost {
        /// The error of the store.
        source: Box<Error>,
    },
    /// The operation was cancelled.
    #[error("context canceled")]
    Cancelled,
    /// `hide_secrets` is set for an operation that is not a dry run.
    #[error("hiding Kubernetes secrets requires a dry-run mode")]
    HideSecretsNeedsDryRun,
    /// The user supplied a label that stores set themselves.
    #[error("user supplied labels contains system reserved label name. System labels: [{reserved}]")]
    ReservedLabel {
        /// All such labels.
        reserved: String,
    },
    /// The values of an earlier version cannot be merged.
    #[error("failed to rebuild old values: {cause}")]
    OldValues {
        /// The cause.
        cause: pintle_values::Error,
    },
    /// Groups of objects or subcharts depend on each other, so that there is no order.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    DependencyCycle(Box<pintle_plan::sequence::DependencyCycle>),
    /// An object defines its readiness with an expression that cannot be understood.
    #[cfg(feature = "cluster")]
    #[error("{kind} {name}: {source}")]
    ReadinessExpression {
        /// The kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// The annotation, and what is wrong with it.
        source: pintle_cluster::wait::InvalidExpression,
    },
    /// Existing objects conflict with the release.
    #[cfg(feature = "cluster")]
    #[error("unable to continue with {operation}: {cause}")]
    CannotContinue {
        /// `install` or `update`.
        operation: &'static str,
        /// The object and the reason.
        cause: Box<pintle_plan::Error>,
    },
    /// An object cannot be read.
    #[cfg(feature = "cluster")]
    #[error("unable to continue with {operation}: {cause}")]
    GetFailed {
        /// `install` or `update`.
        operation: &'static str,
        /// The object and the reason.
        cause: Box<pintle_cluster::Error>,
    },
    /// The record of the release cannot be read as objects.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Removal(#[from] pintle_plan::RemovalError),
    /// A CRD of `crds/` could not be installed.
    #[error("failed to install CRD {path}: {reason}")]
    Crd {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// Updates of CRDs that would lose data.
    #[error("{}", unsafe_crds(.definitions))]
    UnsafeCrds {
        /// The name of each definition, and what its update would lose.
        definitions: Vec<(String, Vec<String>)>,
    },
    /// A plan file cannot be read.
    #[error("the plan cannot be read: {why}")]
    BadPlan {
        /// What is wrong with it.
        why: String,
    },
    /// A plan file was encrypted with another key, or changed afterwards.
    #[error("the plan cannot be decrypted: it was saved with another key, or was changed")]
    SealedPlan,
    /// Something that a plan depends on has changed since it was made. Nothing was applied.
    #[cfg(feature = "cluster")]
    #[error("the plan is stale, and nothing was applied:{}", stale_plan(.moved))]
    StalePlan {
        /// What has changed.
        moved: Vec<crate::ops::StaleReason>,
    },
    /// The hooks of an event failed.
    #[error("{doing}: {cause}")]
    HooksFailed {
        /// Helm's prefix for the event.
        doing: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// A hook is of a kind that the cluster does not know.
    #[error("unable to build kubernetes object for {event} hook {path}: {cause}")]
    HookBuild {
        /// The event.
        event: &'static str,
        /// The template.
        path: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// A hook could not be created.
    #[error("warning: Hook {event} {path} failed: {cause}")]
    HookCreation {
        /// The event.
        event: &'static str,
        /// The template.
        path: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// Waiting for objects failed.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Wait(#[from] Box<pintle_cluster::wait::WaitError>),
    /// The plan cannot be made.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Plan(#[from] Box<pintle_plan::Error>),
    /// Objects could not be applied.
    #[error("{}", join_errors(.errors, .separator))]
    Apply {
        /// The error of each object.
        errors: Vec<Error>,
        /// Helm's separator between them.
        separator: &'static str,
    },
    /// An object could not be created.
    #[cfg(feature = "cluster")]
    #[error("failed to create resource: {0}")]
    Create(pintle_cluster::Error),
    /// An object that is no longer part of the release could not be deleted.
    #[cfg(feature = "cluster")]
    #[error("failed to delete resource {what}: {cause}")]
    Delete {
        /// The object, as Helm describes it.
        what: String,
        /// The cause.
        cause: Box<pintle_cluster::Error>,
    },
    /// The objects of a release could not be deleted.
    #[error("failed to delete release: {name}")]
    DeleteFailed {
        /// The release.
        name: String,
        /// The cause.
        #[source]
        source: Box<Error>,
    },
    /// A release failed while waiting for its objects.
    #[error("release {name} failed: {cause}")]
    ReleaseFailed {
        /// The release.
        name: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// The operation failed and was rolled back.
    #[error("release {name} failed, and has been {how} due to rollback-on-failure being set: {cause}")]
    RolledBack {
        /// The release.
        name: String,
        /// `uninstalled` or `rolled back`.
        how: &'static str,
        /// Why the operation failed.
        cause: Box<Error>,
    },
    /// The operation failed, and so did its rollback.
    #[error("an error occurred while {doing} the release. original {operation} error: {first}: {second}")]
    RollbackFailed {
        /// What the rollback was doing.
        doing: &'static str,
        /// The operation.
        operation: &'static str,
        /// Why the operation failed.
        first: Box<Error>,
        /// Why the rollback failed.
        second: Box<Error>,
    },
    /// The operation failed, and there is no version to roll back to.
    #[error(
        "unable to find a previously successful release when attempting to rollback. original upgrade error: {cause}"
    )]
    NothingToRollBackTo {
        /// Why the operation failed.
        cause: Box<Error>,
    },
    /// The operation failed, and created objects could not be deleted.
    #[error(
        "an error occurred while cleaning up resources. original {operation} error: {first}: unable to cleanup resources: {second}"
    )]
    CleanUpFailed {
        /// The operation.
        operation: &'static str,
        /// Why the operation failed.
        first: Box<Error>,
        /// Why its objects could not be deleted.
        second: Box<Error>,
    },
    /// The versions of the release do not satisfy the precondition of the operation.
    #[error("release {name} is left as it is: {reason}")]
    PreconditionFailed {
        /// The release.
        name: String,
        /// Why they do not.
        reason: String,
    },
    /// The release was uninstalled before, and its history is kept.
    #[error("the release named {name:?} is already deleted")]
    AlreadyDeleted {
        /// The release.
        name: String,
    },
    /// The objects are deleted, but a later step failed.
    #[error("uninstallation completed with {} error(s): {}", .problems.len(), .problems.join("; "))]
    UninstalledWithErrors {
        /// The errors.
        problems: Vec<String>,
    },
    /// The records could not be deleted.
    #[error("uninstall: Failed to purge the release: {cause}")]
    PurgeFailed {
        /// The cause.
        cause: Box<Error>,
    },
    /// An operation failed, and then something else, too.
    #[error("{first}\n{}", .others.iter().map(Error::to_string).collect::<Vec<_>>().join("\n"))]
    Followed {
        /// Why the operation failed.
        #[source]
        first: Box<Error>,
        /// What failed then.
        others: Vec<Error>,
    },
    /// The log of a test cannot be read.
    #[error("unable to get logs for pod {pod}, container {container}: {cause}")]
    NoTestLog {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// The cause.
        cause: Box<Error>,
    },
    /// The pod of a test does not exist.
    #[error("unable to get pod {pod}: pods {pod:?} not found")]
    NoTestPod {
        /// The pod.
        pod: String,
    },
}

impl From<pintle_events::Error> for Error {
    fn from(error: pintle_events::Error) -> Self {
        Error::Event(Box::new(error))
    }
}

#[cfg(feature = "lua")]
impl From<pintle_lua::Error> for Error {
    fn from(error: pintle_lua::Error) -> Self {
        Error::Scripts(Box::new(error))
    }
}

impl From<pintle_hooks::Error> for Error {
    fn from(error: pintle_hooks::Error) -> Error {
        Error::Hook(Box::new(error))
    }
}

#[cfg(feature = "registry")]
impl From<pintle_registry::Error> for Error {
    fn from(error: pintle_registry::Error) -> Self {
        Error::Registry(Box::new(error))
    }
}

#[cfg(feature = "registry")]
impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        Error::Remote(Box::new(error))
    }
}

#[cfg(feature = "registry")]
impl From<pintle_repo::Error> for Error {
    fn from(error: pintle_repo::Error) -> Self {
        RemoteError::from(error).into()
    }
}

#[cfg(feature = "registry")]
impl From<pintle_provenance::Error> for Error {
    fn from(error: pintle_provenance::Error) -> Self {
        RemoteError::from(error).into()
    }
}
