//! The kind of an error, for programs that react to errors instead of printing them.

#[cfg(feature = "cluster")]
use pintle_cluster::Error as ClusterError;

use super::Error;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Values, names or options are invalid.
    InvalidInput,
    /// The chart is invalid, or cannot be rendered or installed.
    InvalidChart,
    /// A release, version, chart or template does not exist.
    NotFound,
    /// The release or an object already exists and belongs to someone else.
    Conflict,
    /// Another client is working on the release, or took it over.
    Locked,
    /// The user lacks rights in the cluster, or did not grant permissions to scripts.
    Forbidden,
    /// The cluster is unreachable.
    Unreachable,
    /// The operation was cancelled.
    Cancelled,
    /// Anything else, such as an object that does not become ready or a failed write.
    Other,
}

impl Error {
    /// Returns the kind of the error. An error that wraps another one has the kind of its cause.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Values(_)
            | Error::Input(_)
            | Error::BadReleaseName { .. }
            | Error::InvalidName { .. }
            | Error::BadVersion { .. }
            | Error::ReservedLabel { .. }
            | Error::OldValues { .. }
            | Error::BadPlan { .. }
            | Error::SealedPlan
            | Error::HideSecretsNeedsDryRun => ErrorKind::InvalidInput,
            Error::Chart(_)
            | Error::Dependencies(_)
            | Error::MissingDependencies(_)
            | Error::Render(_)
            | Error::Objects { .. }
            | Error::Object(_)
            | Error::Hook(_)
            | Error::IncompatibleKubernetes { .. }
            | Error::NotInstallable { .. }
            | Error::ExperimentalChart
            | Error::RecordObject { .. } => ErrorKind::InvalidChart,
            #[cfg(feature = "upgrade-check")]
            Error::UpgradeCheck(_) => ErrorKind::InvalidChart,
            #[cfg(feature = "cluster")]
            Error::DescriptionTooLong { .. } => ErrorKind::InvalidInput,
            #[cfg(feature = "cluster")]
            Error::DependencyCycle(_) | Error::ReadinessExpression { .. } => ErrorKind::InvalidChart,
            #[cfg(feature = "lua")]
            Error::Scripts(_) => ErrorKind::InvalidChart,
            Error::ChartNotFound { .. }
            | Error::RemoteChart { .. }
            | Error::NoSuchTemplate { .. }
            | Error::NoSuchRelease { .. }
            | Error::UninstallNotFound { .. }
            | Error::NoDeployedReleases { .. }
            | Error::NoSuchVersion { .. }
            | Error::VersionNotFound { .. }
            | Error::AlreadyDeleted { .. } => ErrorKind::NotFound,
            Error::NameInUse { .. }
            | Error::InOtherStore { .. }
            | Error::DuplicateRelease { .. }
            | Error::MoveInterrupted { .. }
            | Error::PreconditionFailed { .. } => ErrorKind::Conflict,
            #[cfg(feature = "cluster")]
            Error::CannotContinue { .. } | Error::StalePlan { .. } | Error::UnsafeCrds { .. } => {
                ErrorKind::Conflict
            }
            Error::Pending { .. } | Error::LeaseLost { .. } | Error::EmbeddedInUse { .. } => {
                ErrorKind::Locked
            }
            #[cfg(feature = "lua")]
            Error::PermissionsRefused { .. } => ErrorKind::Forbidden,
            Error::Cancelled => ErrorKind::Cancelled,
            #[cfg(feature = "cluster")]
            Error::Cluster(error)
            | Error::ReachabilityCheck(error)
            | Error::Unrecognized(error)
            | Error::Create(error) => cluster_kind(error),
            #[cfg(feature = "cluster")]
            Error::GetFailed { cause, .. } | Error::Delete { cause, .. } => cluster_kind(cause),
            #[cfg(feature = "registry")]
            Error::Remote(error) => error.kind(),
            Error::Store(_) if self.is_forbidden_store() => ErrorKind::Forbidden,
            Error::Build { cause, .. }
            | Error::UninstallNotLoaded { cause, .. }
            | Error::HooksFailed { cause, .. }
            | Error::HookBuild { cause, .. }
            | Error::HookCreation { cause, .. }
            | Error::ReleaseFailed { cause, .. }
            | Error::RolledBack { cause, .. }
            | Error::NothingToRollBackTo { cause }
            | Error::PurgeFailed { cause }
            | Error::DeleteFailed { source: cause, .. }
            | Error::RollbackFailed { second: cause, .. }
            | Error::Followed { first: cause, .. }
            | Error::NoTestLog { cause, .. }
            | Error::CleanUpFailed { second: cause, .. } => cause.kind(),
            _ => ErrorKind::Other,
        }
    }

    /// Returns whether the templates of the chart needed more than the limits of [`crate::RenderOptions`] allow.
    pub fn exceeds_render_limits(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let boxed = || error.downcast_ref::<Box<Error>>().map(|error| &**error);
            if let Some(Error::Render(rendering)) = error.downcast_ref::<Error>().or_else(boxed) {
                return rendering.exceeds_limits();
            }
            cause = error.source();
        }
        false
    }

    /// Returns what is known about objects that did not become ready.
    #[cfg(feature = "cluster")]
    pub fn diagnoses(&self) -> &[pintle_cluster::wait::Diagnosis] {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let boxed = || error.downcast_ref::<Box<Error>>().map(|error| &**error);
            if let Some(Error::Wait(waited)) = error.downcast_ref::<Error>().or_else(boxed) {
                return waited.diagnoses();
            }
            cause = error.source();
        }
        &[]
    }

    /// Returns whether the user lacks rights on release records.
    pub fn is_forbidden_store(&self) -> bool {
        match self {
            Error::Store(pintle_release::StoreError::Backend { forbidden, .. }) => *forbidden,
            Error::UninstallNotLoaded { cause, .. } => cause.is_forbidden_store(),
            _ => false,
        }
    }
}

#[cfg(feature = "cluster")]
fn cluster_kind(error: &ClusterError) -> ErrorKind {
    match error {
        ClusterError::Unreachable(_) => ErrorKind::Unreachable,
        error if error.is_forbidden() => ErrorKind::Forbidden,
        error if error.is_already_exists() => ErrorKind::Conflict,
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn a_wrapped_error_has_the_kind_of_its_cause() {
        let cause = Box::new(Error::Cancelled);
        let error = Error::HooksFailed { doing: "pre-install".to_owned(), cause };
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(Error::NoSuchRelease { name: "web".to_owned() }.kind(), ErrorKind::NotFound);
        assert_eq!(Error::Pending { lease: None }.kind(), ErrorKind::Locked);
    }

    #[test]
    fn a_cause_that_the_text_contains_is_no_source() {
        let cause = Box::new(Error::Input("no such flag".to_owned()));
        let error = Error::ReleaseFailed { name: "web".to_owned(), cause };
        assert_eq!(error.to_string(), "release web failed: no such flag");
        assert!(error.source().is_none(), "a chain printer would print it twice");
    }
}
