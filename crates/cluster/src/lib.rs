//! The Kubernetes client: reads, applies, waits, logs and the release stores in the cluster. No other crate sends
//! requests to a cluster.
//!
//! [`Cluster`] is a connection. Configuration, TLS, proxies and credentials come from `kube`; requests are built here
//! and sent through `kube::Client`. Objects stay [`Object`](pintle_objects::Object)s or bytes and are never converted
//! to typed structs, which would drop unknown fields and cost time.
//!
//! There is no trait over [`Cluster`]: to use another API server, such as the embedded one, plug a service in under
//! `kube::Client` and call [`Cluster::from_client`].

mod api_path;
pub mod apply;
mod cluster;
mod connect;
pub mod crds;
mod credentials;
mod discovery;
mod error;
mod in_flight;
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
mod untrusted;
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
pub use snapshot::{Detail, ReadableSnapshot};
pub use untrusted::AllowedAddress;
pub use watch::{WatchEvent, WatchStream};
pub use write::{FieldValidation, PatchType, Preconditions, PropagationPolicy, WriteParams, WrittenObject};
