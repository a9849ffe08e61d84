//! Chart loading, validation, packaging and creation.
//!
//! A chart is loaded from a folder or an archive into a [`Chart`]: metadata, templates, default values, files and
//! subcharts. Errors have Helm's texts. This crate also handles local dependencies and locks, library charts,
//! packaging and scaffolding.
//!
//! It reads only the files it is given: no environment, no clock, no network. It renders nothing and merges no
//! values.
//!
//! Start with [`load`] for a path, or [`load_files`] for files in memory.
//!
//! ```
//! use pintle_chart::{File, load_files};
//! let files = vec![File::new("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n".as_bytes())];
//! assert_eq!(load_files(files).expect("a good chart").name(), "web");
//! ```

mod chart;
mod content;
pub mod create;
mod decode;
pub mod dependency;
mod error;
pub mod ext;
pub mod library;
mod load;
pub mod metadata;
pub mod package;
pub mod path;
mod value_keys;
mod write;

/// The `CustomResourceDefinition` of `Chart`. It is not installed: it is for users who want charts in their cluster, and
/// a Chart.yaml of that kind is validated against it.
pub const CUSTOM_RESOURCE: &str = include_str!("../crds/chart.yaml");

pub use chart::{Chart, Crd, File};
pub use content::Content;
pub use error::{ArchiveError, Error, FileError, Result};
pub use load::{
    BadPattern, IgnoreRules, MAX_CHART_SIZE, MAX_TEXT, limited, load, load_any_version, load_archive,
    load_archive_within, load_dir, load_file, load_file_within, load_files, load_files_logged, matches,
    read_archive, read_folder, read_limited, read_regular,
};
pub use pintle_tree::LogLine;
pub use value_keys::ValueKey;
pub use write::{check_links, create_folders, write_atomic, write_below};
