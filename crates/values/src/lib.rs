//! Computes chart values: layers, scopes, globals, imports and schemas.
//!
//! The values of a chart come from its own defaults, from parent charts and from the user. This crate merges them
//! exactly as Helm does, enables and disables subcharts, processes `import-values`, and validates the result against
//! the charts' schemas.
//!
//! It reads no files and knows no templates: texts are passed in, and warnings are returned as [`LogLine`]s.
//!
//! Start with [`layer`] for the user's values, then [`process_dependencies`], then [`coalesce`] and [`schema::check`];
//! [`render_values`] does the last two.

mod coalesce;
mod dependencies;
mod error;
mod go_format;
mod imports;
mod layer;
mod origin;
pub mod schema;
mod scope;
mod table;

pub use coalesce::{NullRules, SchemaCheck, coalesce, coalesce_tables, render_values};
pub use dependencies::{DependencyCache, missing_dependencies, process_dependencies};
pub use error::{Error, Result};
pub use layer::{ReadFile, ReadSource, ValuesLayer, layer};
pub use origin::{Layer, Origin, Origins, Via};
pub use pintle_tree::LogLine;
