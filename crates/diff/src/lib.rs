//! Compares two manifests and reports the differences in the formats of helm-diff 3.15.
//!
//! Two texts go in and a report comes out: no chart, no cluster and no I/O. [`Index::parse`] splits a manifest into
//! objects, [`Report::new`] compares two of them, and the `write_*` functions of [`Report`] print it.
//!
//! helm-diff's results are reproduced to the byte, so the same lines are chosen where several diffs are equally short
//! ([`lines`]), and Secrets are re-encoded in the same way.
//!
//! ```
//! use pintle_diff::{Index, Options, ParseOptions, Report};
//! let parse = |text: &'static str| Index::parse(text.as_bytes(), &ParseOptions::default()).unwrap();
//! let old = parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: old\n");
//! let new = parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: new\n");
//! let report = Report::new(old, new, &Options { context: Some(0), ..Options::default() }).unwrap();
//! let mut out = Vec::new();
//! report.write_diff(&mut out, false).unwrap();
//! assert_eq!(out, b", a, ConfigMap (v1) has changed:\n...\n-   x: old\n+   x: new\n");
//! ```

mod dyff;
mod error;
mod head;
pub mod lines;
mod manifest;
mod output;
mod report;
mod secret;
mod structured;

pub use error::{Error, Result};
pub use manifest::{Index, Object, ParseOptions, TEST_HOOKS};
pub use output::Summary;
pub use report::{Change, Entry, Options, Ownership, Report, SecretDisplay};
pub use secret::redacted_pair;
pub use structured::{FieldChange, FieldChangeKind, field_changes};
