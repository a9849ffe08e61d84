//! Compares two versions of a chart for one user: which of the user's values nothing reads any more, where they moved, and what
//! the upgrade changes in the cluster.
//!
//! [`check()`] finds candidates for the new place of a value by what templates read, by names, defaults, comments and texts, and
//! proves them by rendering both charts: a value that is proven sets the same fields of the same objects as before, and
//! changes nothing else. What cannot be proven is a question for the user. [`migrate`] writes what was proven into the text of
//! a values file, and keeps everything else as it is.
//!
//! This crate reads no files and knows no cluster: charts, values and texts are passed in.

mod align;
mod candidates;
mod check;
mod comments;
mod defaults;
mod documents;
mod edit;
mod error;
mod facts;
mod guard;
mod immutable;
mod keys;
mod moves;
mod names;
mod objects;
mod proof;
mod report;
mod requirements;
mod side;
mod value_tree;
mod values;

pub use check::{Request, check};
pub use edit::migrate;
pub use error::Error;
pub use immutable::changes as immutable_changes;
pub use moves::migrated;
pub use report::{ChartName, Finding, FindingKind, Rename, Report, Severity, Verdict};
