//! A client for OCI registries, and a reader and writer of OCI layout folders.
//!
//! Images are copied as they are: manifests are never re-serialised, so digests, multi-platform indexes and
//! signatures stay valid. Blobs are streamed, verified against their digest on the way, and resumed after failures.
//!
//! This crate knows fully qualified names only, and of charts just how registries store them ([`chart`]). It reads only
//! the files named in [`Settings`], reads no environment, and never prints: progress goes to a [`Progress`].
//!
//! Start with [`Client`] and [`Layout`], then [`copy::plan`] and [`copy::execute`]:
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

pub mod address;
mod artifact;
mod attach;
mod auth;
mod blob;
pub mod chart;
mod client;
pub mod copy;
mod digest;
mod error;
pub mod fetch;
mod go_words;
mod layout;
mod login;
mod manifest;
mod name;
mod plugin;
mod progress;
mod repository;
mod resolve;
mod settings;
mod tls;
mod transport;
mod upload;
mod verifier;

pub use auth::config::check_login_file;
pub use client::Client;
pub use digest::Digest;
pub use error::{Error, Result};
pub use layout::Layout;
pub use login::{forget_login, keep_login, login_key};
pub use manifest::{Descriptor, MANIFEST_LIMIT, Platform};
pub use name::{ImageName, Repository};
pub use plugin::{PLUGIN, PulledPlugin};
pub use progress::{Progress, Silent};
pub use resolve::Resolved;
pub use settings::{Login, Proxies, Settings, WaitNotice, is_loopback};
pub use transport::{Answer, BodyPart, Transport};
