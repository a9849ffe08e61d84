//! Errors of operations on repositories and registries.

use std::path::PathBuf;

use pintle_tree::quote::quote;

use super::{Error, ErrorKind};

/// Why an operation on repositories or registries failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// A repository, an index, an archive or a server.
    #[error(transparent)]
    Repo(#[from] pintle_repo::Error),
    /// The repository was shut down.
    #[error("repo {} is no longer available; try {} instead", quote(.url.as_bytes()), quote(.successor.as_bytes()))]
    RepositoryGone {
        /// Its URL.
        url: String,
        /// Where its charts are now.
        successor: &'static str,
    },
    /// The name of a repository contains a slash.
    #[error("repository name ({name}) contains '/', please specify a different name without '/'")]
    RepositoryName {
        /// The name.
        name: String,
    },
    /// There is a repository of the name, with other settings.
    #[error("repository name ({name}) already exists, please specify a different name")]
    RepositoryExists {
        /// The name.
        name: String,
    },
    /// The repository has a user and no password, and the request asks for one.
    #[error("the repository {name} needs a password")]
    PasswordNeeded {
        /// The name.
        name: String,
    },
    /// No repository was added.
    #[error("no repositories configured")]
    NoRepositories,
    /// No repository was added that could be updated.
    #[error("no repositories found. You must add one before updating")]
    NothingToUpdate,
    /// There is no repository of a name.
    #[error("no repo named {} found", quote(.name.as_bytes()))]
    NoSuchRepository {
        /// The name.
        name: String,
    },
    /// There is no repository of a name that is to be updated.
    #[error("no repositories found matching '{name}'.  Nothing will be updated")]
    NoMatchingRepository {
        /// The name.
        name: String,
    },
    /// Indexes could not be fetched.
    #[error("failed to update the following repositories: [{}]", .urls.join(" "))]
    UpdatesFailed {
        /// The URLs of the repositories.
        urls: Vec<String>,
    },
    /// The words to search for are no regular expression.
    #[error("{reason}")]
    SearchPattern {
        /// What is wrong with it.
        reason: String,
    },
    /// The text is not a range of versions.
    #[error("an invalid version/constraint format: {reason}")]
    VersionRange {
        /// The text.
        range: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A chart in a registry is looked for together with other words.
    #[error("a chart in a registry is looked for by its reference alone")]
    SearchWords,
    /// The chart does not exist at the path.
    #[error("path {} not found", quote(.reference.as_bytes()))]
    NoChartAtPath {
        /// The path, as it was given.
        reference: String,
        /// Why it cannot be looked at.
        source: std::io::Error,
    },
    /// The provenance file of a chart cannot be fetched. Helm does not print the cause.
    #[error("failed to fetch provenance {}", quote(.url.as_bytes()))]
    NoProvenance {
        /// Its URL.
        url: String,
        /// Why not.
        cause: Box<pintle_repo::Error>,
    },
    /// A signature or a key.
    #[error(transparent)]
    Signature(#[from] pintle_provenance::Error),
    /// A document cannot be put beside a chart.
    #[error("{}: {reason}", .path.display())]
    Attachment {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A folder was to be verified.
    #[error("unpacked charts cannot be verified")]
    UnpackedChart,
    /// A step failed.
    #[error("{doing}: {cause}")]
    During {
        /// Helm's words for the step.
        doing: String,
        /// Why it failed.
        cause: Box<Error>,
    },
    /// A file was to be verified that is no archive.
    #[error("chart must be a tgz file")]
    NotAnArchive,
    /// A file that a signature is verified with cannot be read.
    #[error("{0}")]
    Unreadable(pintle_chart::FileError),
    /// The provenance file of a local archive is missing.
    #[error("could not load provenance file {}: {cause}", .path.display())]
    NoProvenanceFile {
        /// The file.
        path: PathBuf,
        /// Why it cannot be loaded.
        cause: pintle_chart::FileError,
    },
    /// The dependency cannot be added to Chart.yaml.
    #[error("{cause}")]
    DependencyNotAdded {
        /// The name of the dependency, or its alias.
        name: String,
        /// Why not.
        cause: Box<pintle_chart::Error>,
    },
    /// A reference names no repository.
    #[error("{} does not say which repository has the chart", quote(.reference.as_bytes()))]
    NoRepositoryNamed {
        /// The reference.
        reference: String,
    },
    /// The chart has no such dependency.
    #[error("the chart does not depend on {}", quote(.name.as_bytes()))]
    NoSuchDependency {
        /// The name.
        name: String,
        /// The dependencies that it has.
        known: Vec<String>,
    },
    /// The dependency is kept in `charts/` and comes from no repository.
    #[error("{} has no repository", quote(.name.as_bytes()))]
    NoRepositoryOf {
        /// The name of the dependency.
        name: String,
    },
    /// The text is not the host of a registry.
    #[error("invalid reference: invalid registry {}", quote(.host.as_bytes()))]
    RegistryHost {
        /// The text.
        host: String,
    },
    /// There is no client for registries.
    #[error("there is no client for registries")]
    NoRegistry,
    /// The archive does not exist.
    #[error("{}: no such file", .path.display())]
    NoArchive {
        /// Its path.
        path: PathBuf,
    },
    /// A folder is to be pushed.
    #[error("cannot push directory, must provide chart archive (.tgz)")]
    ArchiveIsFolder,
    /// The signature of cosign is asked for a chart that is a file.
    #[error("cosign's signatures are for charts of registries, and {} is a file", .path.display())]
    CosignOfFile {
        /// The file.
        path: PathBuf,
    },
}

impl RemoteError {
    /// The same error in a step.
    pub(crate) fn during(self, doing: &str) -> RemoteError {
        RemoteError::During { doing: doing.to_owned(), cause: Box::new(self.into()) }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            RemoteError::RepositoryExists { .. } => ErrorKind::Conflict,
            RemoteError::NoRepositories
            | RemoteError::NothingToUpdate
            | RemoteError::NoSuchRepository { .. }
            | RemoteError::NoMatchingRepository { .. }
            | RemoteError::NoSuchDependency { .. }
            | RemoteError::NoArchive { .. }
            | RemoteError::NoChartAtPath { .. } => ErrorKind::NotFound,
            RemoteError::Repo(pintle_repo::Error::UnknownRepository { .. }) => ErrorKind::NotFound,
            RemoteError::Repo(pintle_repo::Error::Input(_) | pintle_repo::Error::NotAbsolute { .. })
            | RemoteError::RepositoryGone { .. }
            | RemoteError::RepositoryName { .. }
            | RemoteError::PasswordNeeded { .. }
            | RemoteError::SearchPattern { .. }
            | RemoteError::VersionRange { .. }
            | RemoteError::NoRepositoryNamed { .. }
            | RemoteError::RegistryHost { .. }
            | RemoteError::ArchiveIsFolder
            | RemoteError::SearchWords => ErrorKind::InvalidInput,
            RemoteError::During { cause, .. } => cause.kind(),
            RemoteError::Repo(pintle_repo::Error::Archive(_)) => ErrorKind::InvalidChart,
            _ => ErrorKind::Other,
        }
    }
}
