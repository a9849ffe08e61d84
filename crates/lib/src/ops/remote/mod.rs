//! Operations on repositories and registries. They wait for servers on threads of their own, see `off_thread`.

mod dependency;
mod fetch;
mod login;
#[cfg(feature = "cluster")]
mod outdated;
mod repository;
mod search;
mod upload;
mod verify;

pub use dependency::{
    AddDependencyRequest, DependencyRequest, Signatures, UpgradeDependencyRequest, add_dependency,
    build_dependencies, update_dependencies, upgrade_dependency,
};
pub use fetch::{PullRequest, PulledArchive, absolute, locate_chart, pull_chart};
pub use login::{LoginRequest, LogoutRequest, login, logout};
#[cfg(feature = "cluster")]
pub use outdated::{ComparedRelease, OutdatedRequest, outdated};
pub use repository::{
    AddRepositoryRequest, IndexRequest, add_repository, index_directory, remove_repositories, repositories,
    update_repositories,
};
pub use search::{HubSearchRequest, SearchRequest, search, search_hub};
pub use upload::{
    UploadRequest, Uploaded, access_of, archive_metadata, archive_name, find_repository, upload_chart,
    with_entry,
};
pub use verify::{
    CosignVerified, keyring, read_signature_file, verify_archive, verify_bytes, verify_reference,
};
