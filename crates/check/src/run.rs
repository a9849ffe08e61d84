//! One check: all rules on everything that a chart renders.

use std::collections::{BTreeMap, BTreeSet};

use pintle_render::trace::Origin;

use crate::config::Config;
use crate::deprecation;
use crate::document::{Documents, Object};
use crate::finding::{Finding, Report, SourceLine};
use crate::fix::Replacement;
use crate::rule::{Severity, rule};
use crate::schema::{Catalog, Checker};
use crate::{ignore, locate, policy};

/// A rendered file.
#[derive(Clone, Debug, Default)]
pub struct RenderedText {
    /// The path of the template including its chart, or that of a manifest.
    pub path: String,
    /// The text.
    pub text: Vec<u8>,
    /// The origin of each line; empty if the file is no template.
    pub origins: Vec<Option<Origin>>,
}

/// What a chart renders with one set of values.
#[derive(Clone, Debug, Default)]
pub struct Rendering {
    /// The name of the set of values: `ci/a-values.yaml`; empty for the defaults.
    pub scenario: String,
    /// The Kubernetes version that it was rendered for; empty to check it for all.
    pub version: String,
    /// The rendered files.
    pub files: Vec<RenderedText>,
    /// Why the chart did not render: the place and the message.
    pub error: Option<(Option<SourceLine>, String)>,
}

/// A chart with what it renders.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The chart, as the user names it.
    pub name: String,
    /// What it renders.
    pub renderings: Vec<Rendering>,
    /// CRDs of the chart and its dependencies, by path.
    pub crds: Vec<RenderedText>,
    /// Findings that do not come from what is rendered.
    pub findings: Vec<Finding>,
}

/// Returns the text of a schema by its path or URL; `None` if there is none.
pub type ReadSchema<'s> = dyn Fn(&str) -> Result<Option<Vec<u8>>, String> + Sync + 's;

/// How to check.
pub struct Settings<'s> {
    /// The rules.
    pub config: &'s Config,
    /// The built-in kinds of the Kubernetes versions to check for.
    pub catalogs: &'s [&'s dyn Catalog],
    /// Whether unknown fields and duplicate keys are errors.
    pub strict: bool,
    /// Whether objects without a schema are skipped.
    pub ignore_missing_schemas: bool,
    /// Where to look for schemas of kinds that are neither built in nor defined by the chart.
    pub schema_locations: &'s [String],
    /// Reads schemas.
    pub read: &'s ReadSchema<'s>,
}

/// Checks a chart.
pub fn check(subject: &Subject, settings: &Settings<'_>) -> Report {
    let mut report = Report { chart: subject.name.clone(), ..Report::default() };
    let mut sink = Sink { settings, found: BTreeMap::new(), ignored: BTreeSet::new() };
    let all: Vec<(&Rendering, Documents<'_>)> =
        subject.renderings.iter().map(|rendering| (rendering, Documents::read(&rendering.files))).collect();
    let crds = Documents::read(&subject.crds);
    let defined = all.iter().flat_map(|(_, documents)| &documents.objects).chain(&crds.objects);
    let used: BTreeSet<_> =
        all.iter().flat_map(|(_, documents)| documents.objects.iter().map(Object::gvk)).collect();
    let checker = Checker::new(settings, &used, defined);
    for (rendering, documents) in &all {
        let mut scope =
            Scope { sink: &mut sink, documents, scenario: &rendering.scenario, version: &rendering.version };
        if let Some((place, message)) = &rendering.error {
            scope.add_at("render", place.clone(), message.clone());
        }
        scope.problems();
        deprecation::check(&mut scope);
        checker.check(&mut scope, &mut report.verdicts);
        policy::check(&mut scope);
    }
    let scenarios = subject.renderings.iter().map(|it| &it.scenario).collect::<BTreeSet<_>>().len();
    report.ignored = sink.ignored.len();
    report.findings = sink.found.into_values().collect();
    for finding in &subject.findings {
        match settings.config.severity(finding.rule) {
            None => {}
            Some(_) if settings.config.ignores(finding) => report.ignored += 1,
            Some(severity) => report.findings.push(Finding { severity, ..finding.clone() }),
        }
    }
    tidy(&mut report.findings, scenarios, settings.catalogs.len());
    report
}

/// Sorts findings by place, and leaves out what holds for everything.
fn tidy(findings: &mut [Finding], scenarios: usize, versions: usize) {
    for finding in findings.iter_mut() {
        // What happens with the default values needs no others to be seen.
        if finding.scenarios.len() >= scenarios || finding.scenarios.contains("") {
            finding.scenarios.clear();
        }
        if finding.versions.len() >= versions {
            finding.versions.clear();
        }
    }
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.place.clone(), finding.rule.name, finding.message.clone());
        key(a).cmp(&key(b))
    });
}

/// Findings are the same if they differ only in values and versions.
type Key = (&'static str, Option<SourceLine>, String, String);

/// Collects findings.
struct Sink<'s> {
    settings: &'s Settings<'s>,
    found: BTreeMap<Key, Finding>,
    ignored: BTreeSet<Key>,
}

/// One rendering, and where its findings go.
pub(crate) struct Scope<'s, 'd> {
    sink: &'s mut Sink<'d>,
    pub(crate) documents: &'s Documents<'s>,
    pub(crate) scenario: &'s str,
    version: &'s str,
}

impl<'s> Scope<'s, '_> {
    pub(crate) fn objects(&self) -> &'s [Object] {
        &self.documents.objects
    }

    /// The Kubernetes versions to check this rendering for.
    pub(crate) fn versions(&self) -> Vec<String> {
        let all = self.sink.settings.catalogs.iter().map(|catalog| catalog.version());
        all.filter(|version| self.is_for(version)).collect()
    }

    /// Whether this rendering is for a Kubernetes version.
    pub(crate) fn is_for(&self, version: &str) -> bool {
        self.version.is_empty() || self.version == version
    }

    /// Whether a rule applies at all.
    pub(crate) fn applies(&self, name: &'static str) -> bool {
        self.severity(name).is_some()
    }

    fn severity(&self, name: &'static str) -> Option<Severity> {
        let severity = self.sink.settings.config.severity(rule(name)?)?;
        let strict = self.sink.settings.strict && matches!(name, "unknown-field" | "duplicate-key");
        Some(if strict { Severity::Error } else { severity })
    }

    /// Adds a finding about a field of an object.
    pub(crate) fn add(&mut self, name: &'static str, object: &Object, pointer: &str, message: String) {
        self.add_for(name, object, pointer, message, None);
    }

    /// Adds a finding that replacing a text of the template fixes.
    pub(crate) fn add_fixable(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        (version, fix): (Option<&str>, Option<Replacement>),
    ) {
        self.add_with(name, object, pointer, message, version, fix);
    }

    /// Adds a finding that holds for one Kubernetes version.
    pub(crate) fn add_for(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        version: Option<&str>,
    ) {
        self.add_with(name, object, pointer, message, version, None);
    }

    fn add_with(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        version: Option<&str>,
        fix: Option<Replacement>,
    ) {
        if !self.applies(name) {
            return;
        }
        let document = &self.documents.documents[object.document];
        let place = locate::field(document, &format!("{}{pointer}", object.pointer));
        let ignored = ignore::is_ignored(object, name);
        self.push(name, Some(place), Some((object, pointer)), message, (version, ignored), fix);
    }

    /// Adds a finding that is not about an object.
    fn add_at(&mut self, name: &'static str, place: Option<SourceLine>, message: String) {
        self.push(name, place, None, message, (None, false), None);
    }

    fn push(
        &mut self,
        name: &'static str,
        place: Option<SourceLine>,
        field: Option<(&Object, &str)>,
        message: String,
        (version, ignored): (Option<&str>, bool),
        fix: Option<Replacement>,
    ) {
        let (Some(rule), Some(severity)) = (rule(name), self.severity(name)) else { return };
        let shown = field.map(|(object, _)| object.name.to_string()).unwrap_or_default();
        let key = (name, place.clone(), shown, message.clone());
        let mut finding = Finding {
            rule,
            severity,
            message,
            place,
            object: field.map(|(object, _)| object.name.clone()),
            pointer: field.map(|(_, pointer)| pointer.to_owned()).unwrap_or_default(),
            scenarios: BTreeSet::new(),
            versions: BTreeSet::new(),
            fix,
        };
        if ignored || self.sink.settings.config.ignores(&finding) {
            self.sink.ignored.insert(key);
            return;
        }
        finding = self.sink.found.remove(&key).unwrap_or(finding);
        finding.scenarios.insert(self.scenario.to_owned());
        finding.versions.extend(version.map(str::to_owned));
        self.sink.found.insert(key, finding);
    }

    fn problems(&mut self) {
        for problem in &self.documents.problems {
            let place = locate::line_of(&self.documents.documents[problem.document], problem.line);
            self.add_at(problem.rule, Some(place), problem.message.clone());
        }
    }
}
