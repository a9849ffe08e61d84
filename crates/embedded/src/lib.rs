//! An embedded Kubernetes API server with workload controllers, for trying, rehearsing and testing without a cluster.
//!
//! [`Api`] answers requests as the real API server does. A write passes through [`decoding`], [`defaulting`],
//! [`admission`] and [`validation`], or through [`patch`] and [`apply`] (server-side apply) before these, and ends in
//! [`store`], which keeps objects with resource versions and a watch history, in memory or in one file. [`schema`] has
//! the built-in kinds, from tables taken from real servers. One contract (`tests/contract`) is run against this API and
//! against the real server, case by case.
//!
//! The crate knows no chart, no release and no client. Namespace lifecycle, garbage collection and
//! CustomResourceDefinitions are reconciled before the response is sent, so that the same requests always lead to the
//! same state. No container runs; [`Api::start_with_controllers`] adds the controllers, the scheduler and a simulated
//! kubelet, which take workloads through the states that they would go through on a node.
//!
//! Start at [`Api::start`] and [`Api::call`]; [`serve`] puts the API on a port.
//!
//! ```
//! use std::sync::Arc;
//! use pintle_embedded::{Api, Options, SystemClock, schema::ApiCatalog, store::{HistoryWindow, Store}};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let store = Store::in_memory(HistoryWindow::default());
//! let options = Options { catalog: ApiCatalog::for_version("1.37")?, store, clock: Arc::new(SystemClock), seed: 1 };
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

pub use api::{Api, Body, Clock, FieldValidation, Options, SystemClock, validate_new_object};
pub use controllers::Pace;
pub use status::{Status, StatusCause, StatusDetails};
