//! Whose value wins: layers, scopes, globals, imports and schemas.
//!
//! The values a chart is rendered with come from its own defaults, from the charts above it and from the user. This
//! room puts them together exactly as Helm does, decides which subcharts are switched on, moves imported values up,
//! and checks the outcome against the schemas of the charts.
//!
//! It reads no files and knows no templates: texts come in already read, and warnings go out as [`LogLine`]s.
//!
//! Enter at [`layer`] with what the user gave, then [`process_dependencies`], then [`coalesce`] and
//! [`schema::check`]; [`render_values`] does the last two.

mod coalesce;
mod dependencies;
mod error;
mod go_format;
mod imports;
mod layer;
pub mod schema;
mod scope;
mod table;

pub use coalesce::{NullRules, SchemaCheck, coalesce, coalesce_tables, render_values};
pub use dependencies::{missing_dependencies, process_dependencies};
pub use error::{Error, Result};
pub use layer::{Overrides, ReadSource, layer};
pub use pintle_tree::LogLine;
