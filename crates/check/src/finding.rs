//! What a check finds.

use std::collections::BTreeSet;
use std::fmt;

use crate::fix::Replacement;
use crate::rule::{Rule, Severity};

/// A line in a file of the chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file, relative to the chart: `templates/deployment.yaml`.
    pub file: String,
    /// The line, from 1; 0 if only the file is known.
    pub line: usize,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => formatter.write_str(&self.file),
            line => write!(formatter, "{}:{line}", self.file),
        }
    }
}

/// Which object a finding is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// `apps/v1` …
    pub api_version: String,
    /// `Deployment` …
    pub kind: String,
    /// The namespace, if the object has one.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The severity, by the rule or the configuration.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where it is.
    pub location: Option<SourceLine>,
    /// The object.
    pub object: Option<ObjectName>,
    /// The JSON pointer of the field in the object.
    pub pointer: String,
    /// The sets of values with which it happens; empty if with all.
    pub scenarios: BTreeSet<String>,
    /// The Kubernetes versions for which it holds; empty if for all.
    pub versions: BTreeSet<String>,
    /// The text of the template to replace, if that fixes it.
    pub fix: Option<Replacement>,
}

/// What kubeconform would say about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictStatus {
    /// It fits its schema.
    Valid,
    /// It does not.
    Invalid,
    /// It could not be checked: it is not an object, or there is no schema.
    Error,
    /// There is no schema, and missing schemas are ignored.
    Skipped,
    /// The document is empty.
    Empty,
}

impl VerdictStatus {
    /// The name that kubeconform has for it.
    pub fn name(self) -> &'static str {
        match self {
            VerdictStatus::Valid => "statusValid",
            VerdictStatus::Invalid => "statusInvalid",
            VerdictStatus::Error => "statusError",
            VerdictStatus::Skipped => "statusSkipped",
            VerdictStatus::Empty => "statusEmpty",
        }
    }
}

/// The verdict about one object for one Kubernetes version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The rendered file.
    pub file: String,
    /// The set of values.
    pub scenario: String,
    /// The Kubernetes version.
    pub version: String,
    /// The object.
    pub object: ObjectName,
    /// The verdict.
    pub status: VerdictStatus,
}

/// Everything about one chart.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The chart, as the user names it.
    pub chart: String,
    /// The findings, by file and line.
    pub findings: Vec<Finding>,
    /// Findings that annotations or the configuration ignore.
    pub ignored: usize,
    /// The verdicts about schemas.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// The highest severity.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// How many findings have a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}
