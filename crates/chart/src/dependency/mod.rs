//! Dependencies: what a chart declares, what is locked, and what is in `charts/`.
//!
//! Charts come from folders (`file://`), from `charts/` itself, and from repositories and registries through a
//! [`Remote`]. Without one, a dependency of a repository or registry is an error.

mod edit;
mod libraries;
mod list;
mod lock;
mod remote;
mod requirement;
mod resolve;
mod update;

pub use edit::{DependencyFile, build_order};
pub use list::{Listing, Row, Status, list};
pub use lock::write_lock;
pub use remote::{Download, Output, Remote, is_remote};
pub(crate) use requirement::write_list;
pub use requirement::{digest, legacy_digest};
pub use resolve::local_path;
pub use update::{UpdateContext, build, build_instead, update};
