//! Speaks to OCI registries, and reads and writes OCI layout folders.

mod digest;
mod error;
mod name;

pub use digest::Digest;
pub use error::{Error, Result};
pub use name::{ImageName, Repository};
