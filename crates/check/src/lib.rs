//! Checks what charts render, without a cluster: objects against the schemas of chosen Kubernetes versions, deprecated and
//! removed APIs, and policy rules.
//!
//! A [`Subject`] is a chart with everything that it renders: one [`Rendering`] for each set of values and Kubernetes
//! version. [`check`] returns a [`Report`] of [`Finding`]s, each with a stable rule name, a severity and the line of the
//! template that wrote what is wrong; [`report`] writes it for people and for programs. [`fixes`] finds the findings that
//! can be fixed without a decision.
//!
//! Verdicts about schemas are those of kubeconform: the validator is the one that checks values, and schemas have the form of
//! `kubernetes-json-schema`. The crate reads no files; built-in schemas come through [`Catalog`], all others through
//! [`Settings::read`], and texts that are too many to be in memory at once through [`Settings::load`].

mod config;
mod deprecation;
mod document;
mod finding;
mod fix;
mod ignore;
mod locate;
mod policy;
pub mod report;
mod rule;
mod run;
mod schema;
mod scope;
mod threads;
mod values;

pub use config::{Config, ConfigError};
pub use deprecation::{Deprecation, deprecation, known as known_deprecation};
pub use finding::{Finding, ObjectName, Report, SourceLine, Verdict, VerdictStatus};
pub use fix::{Fix, Replacement, apply, fixes};
pub use rule::{RULES, Rule, Severity};
pub use run::{LoadText, ReadSchema, RenderedText, Rendering, Settings, Subject, check};
pub use schema::{Catalog, Gvk, json_schema};
pub use values::check_values;
