//! Release stores in a cluster: Helm's Secrets and ConfigMaps, and custom resources.

mod api;
mod application;
mod changes;
mod clock;
mod content;
mod helm;
mod native;
mod payload;
mod record;

pub use helm::{ConfigMaps, HelmConfigMaps, HelmSecrets, HelmStore, Secrets};
pub use native::{HistoryCache, NativeStore};
