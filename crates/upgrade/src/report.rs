//! What was found.

use std::fmt;

use pintle_tree::ValuePath;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Something has to be decided before the upgrade.
    Warning,
    /// The upgrade fails, or data is lost.
    Error,
}

impl Severity {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The new chart does not render with the user's values.
    RenderError,
    /// A `fail` of the new chart.
    Fail,
    /// A value that the new chart requires and nobody sets.
    RequiredValue,
    /// The user's values violate the schema of the new chart.
    SchemaViolation,
    /// The new chart does not support the Kubernetes version.
    KubeVersion,
    /// A value of the user that the new chart does not read.
    UnreadValue,
    /// A value of the user that the new chart reads for something else.
    ChangedMeaning,
    /// A value of the user whose type the new chart does not expect.
    ChangedType,
    /// A default that differs.
    ChangedDefault,
    /// A field that Kubernetes does not change in place.
    ImmutableField,
    /// An object that the new chart does not have.
    RemovedObject,
    /// An object that has another name.
    RenamedObject,
    /// An object that only the new chart has.
    AddedObject,
    /// A CRD that the new chart does not have.
    RemovedCrd,
    /// A version of a CRD that the new chart does not have.
    RemovedCrdVersion,
    /// A field of a CRD that the new chart does not have.
    RemovedCrdField,
    /// A hook that was added, removed or changed.
    ChangedHook,
    /// An image with another major version.
    MajorImage,
    /// Something that could not be found out.
    Undecided,
}

impl FindingKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::RenderError => "render-error",
            FindingKind::Fail => "fail",
            FindingKind::RequiredValue => "required-value",
            FindingKind::SchemaViolation => "schema-violation",
            FindingKind::KubeVersion => "kube-version",
            FindingKind::UnreadValue => "unread-value",
            FindingKind::ChangedMeaning => "changed-meaning",
            FindingKind::ChangedType => "changed-type",
            FindingKind::ChangedDefault => "changed-default",
            FindingKind::ImmutableField => "immutable-field",
            FindingKind::RemovedObject => "removed-object",
            FindingKind::RenamedObject => "renamed-object",
            FindingKind::AddedObject => "added-object",
            FindingKind::RemovedCrd => "removed-crd",
            FindingKind::RemovedCrdVersion => "removed-crd-version",
            FindingKind::RemovedCrdField => "removed-crd-field",
            FindingKind::ChangedHook => "changed-hook",
            FindingKind::MajorImage => "major-image",
            FindingKind::Undecided => "undecided",
        }
    }
}

/// Something that the upgrade changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The path of the value, or the name of the object and the field.
    pub subject: String,
    /// The sentence.
    pub message: String,
    /// The objects that are affected.
    pub objects: Vec<String>,
    /// Where a value may have moved, most likely first.
    pub renames: Vec<Rename>,
    /// The values that it is about for which there is no new place.
    pub unmoved: Vec<ValuePath>,
}

impl Finding {
    pub(crate) fn new(
        kind: FindingKind,
        severity: Severity,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Finding {
            kind,
            severity,
            subject: subject.into(),
            message: message.into(),
            objects: Vec::new(),
            renames: Vec::new(),
            unmoved: Vec::new(),
        }
    }

    pub(crate) fn about(mut self, objects: impl IntoIterator<Item = String>) -> Self {
        self.objects = objects.into_iter().collect();
        self
    }
}

/// How a rename was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Both charts were rendered: the value reaches the same fields, and nothing else changes.
    Proven,
    /// The renders differ, or the value reaches nothing that could be compared. The user has to decide.
    Question,
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proven => "proven",
            Verdict::Question => "question",
        }
    }
}

/// A value that may have a new path.
#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    /// The path in the user's values.
    pub from: ValuePath,
    /// The path in the values of the new chart.
    pub to: ValuePath,
    /// Other values of the new chart that need the same value: one key became several.
    pub also: Vec<ValuePath>,
    /// How it was checked.
    pub verdict: Verdict,
    /// How sure it is, in percent.
    pub confidence: u8,
    /// Why.
    pub evidence: Vec<String>,
}

/// A chart, as reports name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartName {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

impl fmt::Display for ChartName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.name, self.version)
    }
}

/// What an upgrade changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The chart that is upgraded from.
    pub from: ChartName,
    /// The chart that is upgraded to.
    pub to: ChartName,
    /// The findings, the most important first.
    pub findings: Vec<Finding>,
    /// The renames that were proven together, which [`crate::migrate`] writes: from the shortest paths that moved as a whole.
    pub moves: Vec<Rename>,
    /// How often the charts were rendered.
    pub renders: usize,
}

impl Report {
    /// The highest severity, if there are findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Whether something has to be done or decided before the upgrade.
    pub fn needs_action(&self) -> bool {
        self.worst() >= Some(Severity::Warning)
    }

    /// Like [`Report::needs_action`], when the proven renames have been written.
    pub fn needs_action_after_moves(&self) -> bool {
        let mut open = self.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        open.any(|finding| !self.is_settled(finding))
    }

    /// Whether the proven renames settle a finding: all that it is about moves.
    fn is_settled(&self, finding: &Finding) -> bool {
        let is_moved = |from: &ValuePath| self.moves.iter().any(|rename| rename.from == *from);
        !finding.renames.is_empty()
            && finding.unmoved.is_empty()
            && finding.renames.iter().all(|rename| is_moved(&rename.from))
    }
}
