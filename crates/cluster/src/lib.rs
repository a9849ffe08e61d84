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
pub mod logs;
mod lookup;
mod offline;
mod openapi;
mod proxy;
mod rate_limit;
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
pub use discovery::{Resource, ServerCapabilities, ServerVersion};
pub use error::{ApiStatus, Error, Result, StatusCause};
pub use read::{ListParams, Page};
pub use request::{Accept, Lines, Request, Response};
pub use snapshot::Detail;
pub use watch::{WatchEvent, WatchStream};
pub use write::{FieldValidation, PatchType, Preconditions, PropagationPolicy, WriteParams, WrittenObject};
