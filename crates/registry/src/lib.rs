//! Speaks to OCI registries, and reads and writes OCI layout folders.
//!
//! Images are copied as they are: manifests are never written anew, so that digests, indexes of several platforms and
//! signatures stay what they were. Content streams from one side to the other, is checked against its digest on the
//! way, and goes on where it broke off.
//!
//! This room knows full names only and nothing of charts; it reads the files that [`Settings`] name and no environment,
//! and never prints: what happens is told to a [`Progress`].
//!
//! Enter at [`Client`] and [`Layout`], then [`copy::plan`] and [`copy::execute`]:
//!
//! ```no_run
//! # async fn example() -> pintle_registry::Result<()> {
//! use std::sync::Arc;
//! use pintle_registry::copy::{Job, Options, Endpoint, execute, plan};
//! use pintle_registry::{Client, Layout, Settings, Silent};
//!
//! let client = Arc::new(Client::new(Settings::default())?);
//! let layout = Arc::new(Layout::create("images".as_ref())?);
//! let name = "docker.io/library/busybox:1.37";
//! let job = Job {
//!     source: Endpoint::Registry { client, name: name.parse()? },
//!     destination: Endpoint::Layout { layout, name: name.to_owned() },
//! };
//! let options = Options::default();
//! let planned = plan(&[job], &options).await.into_iter().collect::<Result<_, _>>()?;
//! for outcome in execute(planned, &options, Arc::new(Silent)).await {
//!     outcome.result?;
//! }
//! # Ok(())
//! # }
//! ```

mod auth;
mod blob;
mod client;
pub mod copy;
mod digest;
mod error;
pub mod fetch;
mod layout;
mod manifest;
mod name;
mod progress;
mod repository;
mod resolve;
mod settings;
mod tls;
mod transport;
mod upload;

pub use client::Client;
pub use digest::Digest;
pub use error::{Error, Result};
pub use layout::Layout;
pub use manifest::{Descriptor, MANIFEST_LIMIT, Platform};
pub use name::{ImageName, Repository};
pub use progress::{Progress, Silent};
pub use resolve::Resolved;
pub use settings::{Login, Proxies, Settings};
