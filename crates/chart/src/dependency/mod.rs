//! Local dependencies: what a chart declares, what is locked, and what is in `charts/`.
//!
//! Charts come from folders (`file://`) and from `charts/` itself. Repositories on the network are refused with an
//! error that says so.

mod list;
mod lock;
mod requirement;
mod resolve;
mod update;

pub use list::{Listing, Row, Status, list};
pub use lock::write_lock;
pub(crate) use requirement::write_list;
pub use requirement::{digest, legacy_digest};
pub use resolve::{local_path, resolve};
pub use update::{UpdateContext, build, build_instead, update};
