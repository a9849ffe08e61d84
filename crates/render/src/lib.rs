//! Renders charts: the template engine with Helm's functions and objects.
//!
//! [`render`] takes a chart whose dependencies have been processed, its coalesced values and a [`Target`], and
//! returns every rendered file. All templates of a chart tree share one namespace and one set of mutable contexts, as
//! in Helm, and are rendered in Helm's order.
//!
//! This crate knows no cluster: `lookup` goes through [`Lookup`], and assumptions about the cluster through
//! [`Capabilities`]. It does not know Kubernetes objects either; it produces text.

mod builtins;
mod capabilities;
mod context;
mod engine;
mod error;
mod explain;
mod files;
mod glob;
mod lookup;
mod notes;
pub mod uses;
mod values_methods;

pub use builtins::{LintMessage, LintMessageKind, function_names};
pub use capabilities::{Capabilities, HELM_VERSION, KubeVersion};
pub use engine::{ParsedTemplates, PartialFile, Rendered, RenderedFile, TemplateCache, Templates, render};
pub use error::{Error, Frame};
pub use explain::{LineExplanation, Reads, RenderTrace, TemplateLine, Written};
pub use glob::Glob;
pub use lookup::{Lookup, NoCluster};
pub use notes::notes;
pub use pintle_gotmpl::{Limits, trace};

use std::sync::Arc;

/// The release that a chart is rendered for, as `.Release` shows it.
#[derive(Clone, Debug)]
pub struct Release {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The revision number.
    pub revision: i64,
    /// Whether this is an upgrade rather than an installation.
    pub is_upgrade: bool,
}

/// Whether missing required values stop the render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// `required` and `fail` stop the render.
    #[default]
    Strict,
    /// `required` and `fail` record a message and continue, for `lint`.
    Lint,
}

/// What a chart is rendered for.
pub struct Target {
    /// The release.
    pub release: Release,
    /// The cluster's capabilities.
    pub capabilities: Capabilities,
    /// Answers `lookup`.
    pub lookup: Arc<dyn Lookup + Send + Sync>,
    /// Whether missing required values stop the render.
    pub mode: Mode,
    /// Whether `getHostByName` may use DNS.
    pub dns: bool,
    /// The work that templates may do.
    pub limits: Limits,
    /// Whether the result includes the values as modified by templates.
    pub keep_values: bool,
    /// Whether random and clock functions return fixed values, for comparing renders. Must never be used for an
    /// installation.
    pub repeatable: bool,
    /// Whether missing values print as `<no value>`, for finding them. Helm's output never has it.
    pub show_missing: bool,
    /// Whether the result says where each line comes from.
    pub trace_origins: bool,
}

impl Target {
    /// Returns a target without a cluster.
    pub fn offline(release: Release, capabilities: Capabilities) -> Self {
        Target {
            release,
            capabilities,
            lookup: Arc::new(NoCluster),
            mode: Mode::Strict,
            dns: false,
            limits: Limits::default(),
            keep_values: false,
            repeatable: false,
            show_missing: false,
            trace_origins: false,
        }
    }
}

/// The functions that templates can call, with their signatures, for tools that read templates without rendering them.
pub fn functions() -> pintle_gotmpl::Functions {
    let release = Release { name: String::new(), namespace: String::new(), revision: 1, is_upgrade: false };
    builtins::functions(&Target::offline(release, Capabilities::default()))
}
