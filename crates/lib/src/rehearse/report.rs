//! What comes of a rehearsal: its stages, and what there is to say about them.

use std::collections::BTreeSet;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// It works, and should be looked at.
    Warning,
    /// It does not work.
    Error,
}

impl Severity {
    /// One word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Something worth saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was being done.
    pub stage: &'static str,
    /// The object that it is about, as `Kind/name`; empty for the release as a whole.
    pub object: String,
    /// The template that it comes from; empty when none is known.
    pub file: String,
    /// The line in the template, when it can be told; 0 when not.
    pub line: usize,
    /// The line in the rendered document; 0 when none is known.
    pub rendered_line: usize,
    /// What there is to say.
    pub message: String,
}

impl Finding {
    /// Something about the release as a whole.
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

/// An object of the release after a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectState {
    /// `Kind/name`, with the namespace before the name where it is not the release's.
    pub object: String,
    /// One word for its state.
    pub state: String,
    /// Why it is in that state.
    pub message: String,
    /// Whether it is as it should be.
    pub ready: bool,
}

/// A hook that ran in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookState {
    /// `Kind/name`.
    pub object: String,
    /// When it runs.
    pub events: Vec<String>,
    /// How it ended.
    pub phase: String,
    /// What it printed.
    pub log: String,
}

/// Something that the cluster told about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventLine {
    /// `Kind/name`; names that are made up end in `*`.
    pub object: String,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// The reason in one word.
    pub reason: String,
    /// What happened.
    pub message: String,
}

/// One step of the release's life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// `install`, `upgrade`, `test`, `rollback` or `uninstall`.
    pub name: &'static str,
    /// The chart and its version; empty where none is rendered.
    pub chart: String,
    /// What went wrong; empty when nothing did.
    pub error: String,
    /// The objects of the release.
    pub objects: Vec<ObjectState>,
    /// The hooks that ran.
    pub hooks: Vec<HookState>,
    /// What the cluster told.
    pub events: Vec<EventLine>,
    /// What the API warned about.
    pub warnings: Vec<String>,
}

/// What came of a rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// The Kubernetes that it was on.
    pub kube_version: String,
    /// The name of the release.
    pub release: String,
    /// The namespace of the release.
    pub namespace: String,
    /// What was done.
    pub stages: Vec<Stage>,
    /// What there is to say.
    pub findings: Vec<Finding>,
}

impl Rehearsal {
    /// The worst of it.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The worst first, then by place; what was found in several stages is told of the first.
    pub(super) fn sort(&mut self) {
        let mut told = BTreeSet::new();
        self.findings.retain(|it| {
            told.insert((it.severity, it.object.clone(), it.file.clone(), it.line, it.message.clone()))
        });
        self.findings.sort_by(|a, b| {
            b.severity
                .cmp(&a.severity)
                .then_with(|| (&a.file, a.line, &a.object).cmp(&(&b.file, b.line, &b.object)))
        });
    }
}
