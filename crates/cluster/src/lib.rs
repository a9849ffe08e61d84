//! The one room that speaks to Kubernetes: reading, applying, waiting, logs, stores.
//!
//! [`Cluster`] is a connection. It takes configuration, TLS, proxies and credentials from `kube` and sends its own
//! requests through it; objects stay [`Object`](pintle_objects::Object)s or bytes and are never squeezed into typed
//! structs, which lose fields and cost time.
//!
//! There is no trait over it: whoever wants another API server plugs it in under `kube::Client` and calls
//! [`Cluster::from_client`].

mod address;
pub mod apply;
mod cluster;
mod connect;
pub mod crds;
mod credentials;
mod discovery;
mod error;
mod kubeconfig;
mod limit;
pub mod logs;
mod lookup;
mod nowhere;
mod openapi;
mod proxy;
mod read;
mod request;
mod snapshot;
mod status;
pub mod store;
mod table;
mod transport;
pub mod wait;
mod warning;
mod watch;
mod write;

pub use cluster::Cluster;
pub use connect::{CLIENT_THREAD, Proxies, Settings};
pub use discovery::{Facts, Resource, ServerVersion};
pub use error::{ApiStatus, Cause, Error, Result};
pub use read::{Page, Selection};
pub use request::{Accept, Lines, Request, Response};
pub use snapshot::Depth;
pub use watch::{WatchEvent, Watching};
pub use write::{Guard, PatchKind, Propagation, Validation, Write, Written};
