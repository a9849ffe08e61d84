//! What can go wrong in a reconciliation, and what is reported about it.

use crate::request::{DELETION_POLICY_ANNOTATION, Dependency, ORPHAN};

/// The result of a part of a reconciliation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a reconciliation was not completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The spec of the request is invalid.
    #[error("{0}")]
    InvalidSpec(String),
    /// The chart cannot be found or read.
    #[error("{0}")]
    Chart(String),
    /// The cluster of the release cannot be reached.
    #[error("{0}")]
    KubeConfig(String),
    /// The values cannot be put together.
    #[error("{0}")]
    Values(String),
    /// The plan to approve cannot be computed, stored or read.
    #[error("{0}")]
    Plan(String),
    /// A dependency is not ready.
    #[error("dependency {} is not ready: {reason}", display(.dependency))]
    DependencyNotReady {
        /// Which.
        dependency: Box<Dependency>,
        /// Why.
        reason: String,
    },
    /// Requests depend on each other.
    #[error("these requests wait for each other: {0}")]
    DependencyCycle(String),
    /// A stage needs more memory than the reconciliation has reserved.
    #[error(
        "the {stage} would take more memory than one namespace may use at a time ({} MiB); make it smaller, or ask the \
         administrator for more (`memory` of the controller's chart)", .share >> 20
    )]
    Memory {
        /// Which.
        stage: &'static str,
        /// The most that a namespace may have, in bytes.
        share: u64,
    },
    /// Another request owns the release.
    #[error("release {release} belongs to HelmRequest {owner}; give one of them another releaseName")]
    OwnedByAnother {
        /// The release.
        release: String,
        /// The other request.
        owner: String,
    },
    /// The release that the request had before cannot be uninstalled.
    #[error(
        "release {release}, which the request had before, cannot be uninstalled: {source}; to leave it as it is, set the \
         annotation {DELETION_POLICY_ANNOTATION}: {ORPHAN}"
    )]
    FormerRelease {
        /// The release.
        release: String,
        /// Why.
        source: Box<Error>,
    },
    /// The kubeconfig of a release names another API server than it did, and the release is not there.
    #[error(
        "release {release} is in the cluster at {before}, and kubeConfig Secret {secret} leads to {now} now; let it lead to \
         {before} again, name another Secret for the other cluster, or leave the release as it is with the annotation \
         {DELETION_POLICY_ANNOTATION}: {ORPHAN}"
    )]
    ClusterChanged {
        /// The release.
        release: String,
        /// The Secret.
        secret: String,
        /// The API server of the release.
        before: String,
        /// The API server of the kubeconfig.
        now: String,
    },
    /// An operation of the library failed.
    #[error("{0}")]
    Operation(#[from] Box<pintle::Error>),
    /// The API server refused, or did not answer.
    #[error(transparent)]
    Cluster(#[from] pintle::cluster::Error),
}

impl From<pintle::Error> for Error {
    fn from(error: pintle::Error) -> Error {
        Error::Operation(Box::new(error))
    }
}

impl Error {
    /// The reason of the condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Error::InvalidSpec(_) => "InvalidSpec",
            Error::Chart(_) => "ChartFailed",
            Error::KubeConfig(_) => "KubeConfigFailed",
            Error::Values(_) => "ValuesFailed",
            Error::Plan(_) => "PlanFailed",
            Error::Memory { .. } => "MemoryLimitExceeded",
            Error::DependencyNotReady { .. } => "DependencyNotReady",
            Error::DependencyCycle(_) => "DependencyCycle",
            Error::OwnedByAnother { .. } => "OwnedByAnotherRequest",
            Error::FormerRelease { .. } => "UninstallFailed",
            Error::ClusterChanged { .. } => "ClusterChanged",
            Error::Operation(_) | Error::Cluster(_) => "ReconcileError",
        }
    }

    /// What was being done.
    pub fn step(&self) -> &'static str {
        match self {
            Error::InvalidSpec(_) => "spec",
            Error::Chart(_) => "chart",
            Error::KubeConfig(_) | Error::ClusterChanged { .. } => "kubeConfig",
            Error::Values(_) => "values",
            Error::Plan(_) => "plan",
            Error::Memory { stage, .. } => stage,
            Error::DependencyNotReady { .. } | Error::DependencyCycle(_) => "dependencies",
            Error::FormerRelease { .. } => "uninstall",
            Error::OwnedByAnother { .. } | Error::Operation(_) | Error::Cluster(_) => "reconcile",
        }
    }

    /// Whether only a change of the request can help.
    pub fn is_stalled(&self) -> bool {
        matches!(self, Error::InvalidSpec(_) | Error::DependencyCycle(_) | Error::OwnedByAnother { .. })
    }
}

fn display(dependency: &Dependency) -> String {
    let kind = dependency.kind.as_deref().unwrap_or("HelmRequest");
    match dependency.namespace.as_deref() {
        Some(namespace) => format!("{kind} {namespace}/{}", dependency.name),
        None => format!("{kind} {}", dependency.name),
    }
}
