//! The report of a rehearsal: its stages and findings.

use std::collections::BTreeSet;

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Informational.
    Note,
    /// The chart works, but this should be reviewed.
    Warning,
    /// The chart does not work.
    Error,
}

impl Severity {
    /// Returns the severity as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The stage.
    pub stage: &'static str,
    /// The object as `Kind/name`; empty for the release as a whole.
    pub object: String,
    /// The template; empty if unknown.
    pub file: String,
    /// The line in the template; 0 if unknown.
    pub line: usize,
    /// The line in the rendered document; 0 if unknown.
    pub rendered_line: usize,
    /// The message.
    pub message: String,
}

impl Finding {
    /// Returns a finding about the release as a whole.
    pub(super) fn for_stage(stage: &'static str, severity: Severity, message: String) -> Finding {
        Finding {
            severity,
            stage,
            object: String::new(),
            file: String::new(),
            line: 0,
            rendered_line: 0,
            message,
        }
    }
}

/// The state of an object after a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// `Kind/name`, with the namespace before the name if it is not that of the release.
    pub object: String,
    /// The readiness in one word.
    pub state: String,
    /// Why it has that state.
    pub message: String,
    /// Whether it is ready.
    pub ready: bool,
}

/// A hook that ran in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookState {
    /// `Kind/name`.
    pub object: String,
    /// The hook events.
    pub events: Vec<String>,
    /// The phase of its last run.
    pub phase: String,
    /// The log of its containers.
    pub log: String,
}

/// A Kubernetes event about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventLine {
    /// `Kind/name`; generated suffixes are replaced by `*`.
    pub object: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// The reason in one word.
    pub reason: String,
    /// The message.
    pub message: String,
}

/// An operation of the rehearsal and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// `install`, `upgrade`, `test`, `rollback` or `uninstall`.
    pub name: &'static str,
    /// The chart and its version; empty if none is rendered.
    pub chart: String,
    /// The error; empty on success.
    pub error: String,
    /// The objects of the release.
    pub objects: Vec<ObjectState>,
    /// The hooks that ran.
    pub hooks: Vec<HookState>,
    /// The Kubernetes events.
    pub events: Vec<EventLine>,
    /// The warnings of the API server.
    pub warnings: Vec<String>,
}

/// The result of a rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// The Kubernetes version.
    pub kube_version: String,
    /// The name of the release.
    pub release: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The operations in order.
    pub stages: Vec<Stage>,
    /// All findings.
    pub findings: Vec<Finding>,
}

impl Rehearsal {
    /// Returns the highest severity, if there are findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Sorts by severity, then by position; a finding of several stages is kept for the first one only.
    pub(super) fn sort(&mut self) {
        let mut seen = BTreeSet::new();
        self.findings.retain(|it| {
            seen.insert((it.severity, it.object.clone(), it.file.clone(), it.line, it.message.clone()))
        });
        self.findings.sort_by(|a, b| {
            b.severity
                .cmp(&a.severity)
                .then_with(|| (&a.file, a.line, &a.object).cmp(&(&b.file, b.line, &b.object)))
        });
    }
}
