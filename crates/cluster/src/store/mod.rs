//! Where releases are kept in a cluster: as Helm keeps them, and as objects of their own kind.

mod api;
mod application;
mod clock;
mod helm;
mod native;
mod payload;
mod record;

pub use helm::{ConfigMaps, HelmConfigMaps, HelmSecrets, HelmStore, Secrets};
pub use native::NativeStore;
