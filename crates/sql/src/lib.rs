//! Releases in PostgreSQL, in the tables that Helm uses.
//!
//! [`SqlStore`] is the store of `HELM_DRIVER=sql`. Its tables are Helm's, so that both programs read and write the same
//! releases; beside them stands one table of our own, in which operations that are under way leave their lease.
//!
//! This room knows PostgreSQL and nothing of Kubernetes. It reads the files that a connection string names and no
//! environment.
//!
//! Enter at [`SqlStore::connect`].

mod address;
mod error;
mod schema;
mod store;
mod tls;

pub use error::Error;
pub use store::SqlStore;
