//! Charts from HTTP repositories, and to those that take uploads.
//!
//! [`Repositories`] is the file of repositories that have a name, [`repository`] fetches and caches their indexes,
//! [`Cached`] answers questions about an index without reading all of it, and [`Resolver`] is the one place that turns
//! a reference into an archive, checked against its digest and kept in the [`ContentCache`]. Files are laid out as Helm
//! lays them out, so that both programs can work in one home.
//!
//! This crate knows no cluster, prints nothing and reads no environment: files, proxies and credentials are given to it.
//!
//! ```no_run
//! use std::time::Duration;
//! use pintle_repo::{RepositoryPaths, Getter, Proxies, Resolver, ChartQuery};
//!
//! let getter = Getter::new(Proxies::default(), Duration::from_secs(120), "example/1.0");
//! let folders = RepositoryPaths {
//!     repository_config: "repositories.yaml".into(),
//!     repository_cache: "cache".into(),
//!     content_cache: "content".into(),
//! };
//! let resolver = Resolver { folders, getter: &getter, skip_digest: false, needs_all_indexes: false };
//! let wanted = ChartQuery { reference: "bitnami/nginx".into(), version: "^18".into(), ..ChartQuery::default() };
//! let chart = resolver.fetch(&resolver.resolve(&wanted)?)?;
//! println!("{} {}", chart.path.display(), chart.digest);
//! # Ok::<(), pintle_repo::Error>(())
//! ```

pub mod address;
mod archive;
mod atomic;
mod chartmuseum;
mod config;
mod content;
mod dependency;
mod error;
mod fetch;
mod get;
pub mod hub;
pub mod index;
mod index_table;
mod listed;
mod oci;
mod oci_search;
pub mod pull;
pub mod repository;
mod resolve;
pub mod search;

pub use archive::metadata_files;
pub use chartmuseum::{AccessToken, Upload, UploadAnswer, UploadBody};
pub use config::{Entry, Locked, Repositories};
pub use content::{CacheEntry, ContentCache, Kind};
pub use dependency::{DependencySource, Verification, Verifier};
pub use error::{Error, Result};
pub use fetch::{MAX_ARCHIVE, provenance_url};
pub use get::{
    Access, DownloadProgress, Getter, Meter, Request, Response, SchemeGetter, StaleDigest, key_pair_problem,
};
pub use index::{Cached, Skipped};
pub use index_table::IndexTable;
pub use oci::{Credentials, Registries};
pub use pintle_registry::Proxies;
pub use resolve::{
    ChartQuery, Fetched, RepositoryPaths, Resolved, Resolver, Source, unreachable_repository, warnings,
};
