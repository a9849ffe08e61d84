//! Documents charts: a README from Chart.yaml, values.yaml and the comments in it.
//!
//! Comments, tables and templates are those of helm-docs 1.14.2, to the byte. [`ChartInfo::parse`] reads the files of a
//! chart, [`dependency_values`] adds the values of its dependencies, and [`render`] executes the template.
//!
//! This crate knows no cluster, and reads no files but through [`ChartFiles`].
//!
//! ```
//! use pintle_docs::{ChartInfo, ChartText, NoFiles, Options, render};
//!
//! let text = ChartText {
//!     chart: b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
//!     requirements: None,
//!     values: b"# -- Number of pods\nreplicas: 2\n",
//! };
//! let info = ChartInfo::parse("web", &text, None)?;
//! let readme = render(&info, &[], &Options::default(), std::rc::Rc::new(NoFiles))?;
//! assert!(readme.text.contains("| replicas | int | `2` | Number of pods |\n"));
//! # Ok::<(), pintle_docs::Error>(())
//! ```

mod comment;
mod data;
mod error;
mod files;
mod functions;
mod info;
mod model;
mod rows;
mod strict;
mod template;

pub use error::Error;
pub use files::{ChartFiles, NoFiles};
pub use info::{ChartInfo, ChartText, Dependency, Maintainer, Metadata};
pub use model::{DependencyValues, SortOrder, dependency_values};
pub use pintle_regex::Regex;
pub use strict::Strictness;
pub use template::{Options, Readme, default_template, render};
