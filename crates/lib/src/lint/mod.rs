//! Lint rules: Helm's with Helm's messages, and some of our own.
//!
//! Each file checks one part of the chart and adds [`Message`]s. No rule stops at the first problem; a rule that
//! cannot continue only ends its own part.

mod address;
mod chartfile;
mod crds;
mod dependencies;
pub(crate) mod deprecation;
mod document;
mod hooks;
mod name;
#[cfg(feature = "cluster")]
mod readiness;
#[cfg(feature = "lua")]
mod scripts;
mod templates;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};

use pintle_render::KubeVersion;
use pintle_tree::{LogLine, Map, Node};

use crate::{Lifecycle, LookupObjects, SchemaLoader};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A recommendation.
    Info,
    /// Should be fixed.
    Warning,
    /// Must be fixed.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        })
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The severity.
    pub severity: Severity,
    /// The file or folder in the chart.
    pub path: String,
    /// The message.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}] {}: {}", self.severity, self.path, self.text)
    }
}

/// What a chart is linted with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The user's values.
    pub values: Map<Node>,
    /// The namespace to render for.
    pub namespace: String,
    /// The Kubernetes version to render and check for.
    pub kube_version: Option<KubeVersion>,
    /// Skips `values.schema.json`.
    pub skip_schema: bool,
    /// Loads the schemas that it refers to.
    pub schemas: SchemaLoader,
    /// Also applies rules that Helm does not have.
    pub extra_rules: bool,
    /// What `lookup` finds.
    pub lookup: LookupObjects,
}

/// All findings about one chart.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The findings in the order of the rules.
    pub messages: Vec<Message>,
    /// Log lines of loading and rendering.
    pub log: Vec<LogLine>,
}

impl Findings {
    /// Returns the highest severity, if there are findings.
    pub fn worst(&self) -> Option<Severity> {
        self.messages.iter().map(|message| message.severity).max()
    }

    /// Adds a finding for an error. Returns whether there was none.
    fn check(&mut self, severity: Severity, path: &str, outcome: Result<(), String>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(text) => {
                self.messages.push(Message { severity, path: path.to_owned(), text });
                false
            }
        }
    }
}

/// Applies all rules to the chart in the folder `chart`. Errors of handlers become findings.
pub fn lint(chart: &Path, options: &Options, events: &Lifecycle) -> Findings {
    // Findings have absolute paths, as in Helm. A missing folder keeps the path as given.
    let folder: PathBuf = std::path::absolute(chart).unwrap_or_else(|_| chart.to_owned());
    let mut findings = Findings::default();
    chartfile::check(&folder, &mut findings);
    values::check(&folder, options, &mut findings);
    templates::check(&folder, options, events, &mut findings);
    dependencies::check(&folder, &mut findings);
    crds::check(&folder, &mut findings);
    #[cfg(feature = "lua")]
    scripts::check(&folder, &mut findings);
    findings
}
