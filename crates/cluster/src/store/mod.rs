//! Where releases are kept in a cluster: as Helm keeps them, and as objects of their own kind.

mod application;
mod chance;
mod helm;
mod native;
mod payload;
mod record;
mod wire;

pub use helm::{ConfigMaps, HelmConfigMaps, HelmSecrets, HelmStore, Secrets};
pub use native::Native;
