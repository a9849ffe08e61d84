//! Chart and values to text: the template engine with Helm's functions and objects.
//!
//! [`render`] takes a chart whose dependencies have been processed, its final values and a [`Target`], and gives back
//! every rendered file. All templates of a chart tree share one namespace and one set of mutable contexts, as they do
//! in Helm, and are rendered in Helm's order.
//!
//! This room knows no cluster: what templates may look up comes through [`Lookup`], and what they assume about the
//! cluster through [`Capabilities`]. It does not know Kubernetes objects either; it makes text.

mod builtins;
mod capabilities;
mod context;
mod engine;
mod error;
mod files;
mod glob;
mod lookup;
mod notes;
mod values_methods;

pub use builtins::{LintMessage, LintMessageKind};
pub use capabilities::{Capabilities, HELM_VERSION, KubeVersion};
pub use engine::{Rendered, RenderedFile, Templates, render};
pub use error::{Error, Frame};
pub use lookup::{Lookup, NoCluster};
pub use notes::notes;
pub use pintle_gotmpl::Limits;

use std::sync::Arc;

/// The release that a chart is rendered for, as `.Release` shows it.
#[derive(Clone, Debug)]
pub struct Release {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The number of this revision.
    pub revision: i64,
    /// Whether this is an upgrade rather than an installation.
    pub is_upgrade: bool,
}

/// Whether missing required values stop the render or are only noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// `required` and `fail` stop the render.
    #[default]
    Strict,
    /// `required` and `fail` leave a note and go on, as `lint` wants it.
    Lint,
}

/// What a chart is rendered for.
pub struct Target {
    /// The release.
    pub release: Release,
    /// What the cluster can do.
    pub capabilities: Capabilities,
    /// Where `lookup` finds objects.
    pub lookup: Arc<dyn Lookup + Send + Sync>,
    /// Whether missing values stop the render.
    pub mode: Mode,
    /// Whether `getHostByName` may ask the name service.
    pub dns: bool,
    /// How much work the templates may do.
    pub limits: Limits,
    /// Whether the result tells what the templates made of the values.
    pub keep_values: bool,
    /// Whether functions of chance and of the clock give the same every time, for comparing renders. What is installed
    /// must never be rendered so.
    pub repeatable: bool,
    /// Whether what has no value shows as Go prints it, for finding such places. Helm's output never has it.
    pub show_missing: bool,
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
        }
    }
}
