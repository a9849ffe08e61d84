//! The web view, `pintle ui`: an HTTP interface of the operations of the library, and the page that uses it.
//!
//! A front end like `cli`: [`Server`] binds a port and serves [`Settings`]; clusters come in as [`Clusters`], so that this
//! crate reads no kubeconfig and no environment. Everything that changes a cluster is an operation of the library.
//!
//! Every request passes `guard` before anything of it is read: it must come from the page itself or from a program, have
//! a session, and, for a change, find a server with `--write`. The routes are one table, `routes`, which the documentation
//! `openapi.json` is compared with.

mod access;
mod answer;
mod app;
mod assets;
mod charts;
mod clusters;
mod command_line;
mod compare;
mod error;
mod explain;
mod guard;
mod json;
mod lines;
mod logs;
mod objects;
mod operations;
mod plans;
mod query;
mod records;
mod releases;
mod requests;
mod routes;
mod server;
mod sign_in;

pub use app::{Authentication, Hints, Limits, Settings, Tls};
pub use clusters::{Clusters, Context, Contexts, Viewer};
pub use routes::described as routes;
pub use server::Server;

/// The description of the interface: OpenAPI 3.1.
pub const OPENAPI: &str = include_str!("../openapi.json");
