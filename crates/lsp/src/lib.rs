//! The language server for charts.
//!
//! [`Server`] answers the requests of an editor about templates, values files, Chart.yaml and test suites of the charts in its
//! workspace. It reads the files of the workspace and the texts of open documents, and writes nothing: changes are edits that
//! the editor applies. It runs no scripts and no plugins and uses no network.
//!
//! [`analysis`] follows values through templates without rendering them; what needs a render runs on another thread.
//! [`run`] serves a connection, as `pintle lsp` does on standard input and output.

mod actions;
pub mod analysis;
pub mod calls;
pub mod completion;
pub mod diagnostics;
pub mod fields;
pub mod format;
pub mod functions;
pub mod hints;
mod hover;
pub mod infer;
pub mod lenses;
mod links;
pub mod outline;
pub mod position;
pub mod preview;
pub mod project;
mod rename;
pub mod scenario;
mod schema;
pub mod server;
pub mod shape;
pub mod structure;
pub mod suites;
pub mod thing;
pub mod uri;
pub mod values;

pub use server::{Server, Settings, run, run_stdio};
