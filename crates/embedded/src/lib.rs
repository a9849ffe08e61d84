//! A Kubernetes API in one process: for trying, rehearsing and testing without a cluster.
//!
//! [`Api`] answers requests as the real API server does: [`schema`] knows what objects of every built-in kind look
//! like, from tables taken from real servers; [`fit`], [`settle`], [`patch`] and [`apply`] do to objects what the
//! server does to them; `security` knows what pods may do where; [`store`] keeps them with revisions, in memory or in
//! one file. One contract (`tests/contract`) is asked of this API and of the real server, case by case.
//!
//! It knows no chart, no release and no client. What controllers do to objects themselves (furnishing and emptying
//! namespaces, collecting what nobody owns, serving new kinds) is done before the answer is sent, so that the same
//! requests always lead to the same state. Nothing runs in it; [`Api::start_with_controllers`] lets workloads go through the
//! states that they would go through if something did.
//!
//! Enter at [`Api::start`] and [`Api::call`]; [`serve`] puts the same on a port.
//!
//! ```
//! use std::sync::Arc;
//! use pintle_embedded::{Api, Options, SystemClock, schema::ApiCatalog, store::{HistoryWindow, Store}};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let store = Store::in_memory(HistoryWindow::default());
//! let options = Options { catalog: ApiCatalog::for_version("1.36")?, store, clock: Arc::new(SystemClock), seed: 1 };
//! let api = Api::start(options).await?;
//! let request = http::Request::get("/api/v1/namespaces/default").body(bytes::Bytes::new())?;
//! assert_eq!(api.call(request).await.status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod admission;
mod api;
pub mod apply;
mod controllers;
pub mod decoding;
pub mod defaulting;
mod fields;
mod go_format;
pub mod patch;
mod pod_security;
mod quantity;
pub mod schema;
pub mod serve;
mod status;
pub mod store;
pub mod validation;

pub use api::{Api, Body, Clock, FieldValidation, Options, SystemClock};
pub use controllers::Pace;
pub use status::{Status, StatusCause, StatusDetails};
