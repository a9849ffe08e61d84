//! The PostgreSQL store, with the tables that Helm uses.
//!
//! [`SqlStore`] implements `HELM_DRIVER=sql`. Its tables are Helm's, so that both programs share the same releases;
//! one more table of our own holds the leases of running operations.
//!
//! This crate knows PostgreSQL and nothing of Kubernetes. It reads the files that a connection string names, and no
//! environment variables.
//!
//! Start at [`SqlStore::connect`].

mod connection_string;
mod error;
mod schema;
mod store;
mod tls;

pub use error::Error;
pub use store::SqlStore;
