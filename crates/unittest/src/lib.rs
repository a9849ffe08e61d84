//! Runs helm-unittest suites: each test renders a chart with its own values and checks the rendered documents.
//!
//! [`Suite::parse`] reads the suites of a file, [`Runner`] runs them on a chart, and [`report`] writes the results as
//! helm-unittest prints them or as JUnit, NUnit, XUnit and Sonar files. Rules, texts and snapshot files are those of
//! helm-unittest 1.1.2; the engine that renders is ours.
//!
//! This crate knows no cluster: `lookup` answers from the objects of a suite. It reads and writes no files and starts no
//! programs; what a suite needs from outside comes through [`Host`], and snapshots are given and returned as text.

mod assertion;
mod check;
pub mod coverage;
mod diff;
mod document;
mod error;
mod fail;
mod job;
mod lifecycle;
mod lookup;
mod mapstructure;
mod path;
mod raw;
pub mod report;
mod result;
mod runner;
mod selector;
mod set_path;
mod snapshot;
mod splitter;
mod suite;
mod templates;
mod user_values;

pub use error::Error;
pub use job::PostRenderer;
pub use lifecycle::{PrepareRequest, PreparedChart, RehearsalFinding, RehearsalRequest, RehearsalSettings};
pub use result::{AssertionResult, Counts, SnapshotCounts, SuiteResult, TestResult};
pub use runner::{Capabilities, Host, Options, Runner};
pub use splitter::parts as suite_parts;
pub use suite::{Suite, SuiteOrigin};
