//! One check: all rules on everything that a chart renders.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pintle_render::trace::Origin;
use pintle_yaml::outline::documents;

use crate::config::Config;
use crate::document::{Contents, Document, Object};
use crate::finding::{Finding, ObjectName, Report, SourceLine, Verdict, VerdictStatus};
use crate::policy::Relations;
use crate::schema::{Catalog, Checker, CustomKind, Gvk, OtherKinds, Validators, custom_kinds, defined};
use crate::scope::{ActiveRules, Found, Scope};
use crate::{deprecation, locate, policy, threads};

/// A rendered file.
#[derive(Clone, Debug, Default)]
pub struct RenderedText {
    /// The path of the template including its chart, or that of a manifest.
    pub path: String,
    /// The text; `None` if [`Settings::load`] reads it when it is checked, so that not all texts are in memory at once.
    pub text: Option<Vec<u8>>,
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

/// Returns a rendered text by its path.
pub type LoadText<'s> = dyn Fn(&str) -> Result<Vec<u8>, String> + Sync + 's;

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
    /// Reads rendered texts that the subject does not have.
    pub load: &'s LoadText<'s>,
}

/// The size in bytes from which texts are checked on several threads, and of the part of a text that one thread checks.
const PARALLEL: usize = 1 << 20;

/// Checks a chart. Files are read, checked and dropped one by one, on several threads if there is much to check; only what
/// depends on other files waits until all have been read.
pub fn check(subject: &Subject, settings: &Settings<'_>) -> Report {
    let crds: Vec<Object> = subject.crds.iter().flat_map(|file| objects(file, settings)).collect();
    let given = custom_kinds(crds.iter());
    drop(crds);
    let (rules, checker) = (ActiveRules::new(settings), Checker::new(settings, &given));
    let run = Run { subject, settings, rules: &rules, checker: &checker };
    let parts = run.parts();
    let parallel = parts.iter().map(|part| part.range.len()).sum::<usize>() >= PARALLEL;
    let mut checked = threads::run(parts.len(), parallel, Validators::default, |validators, job| {
        run.part(&parts[job], validators)
    });
    run.check_other_kinds(&parts, &mut checked, parallel);
    run.report(&parts, checked)
}

/// A part of a file that one thread checks at a time.
struct Part {
    rendering: usize,
    file: usize,
    range: Range<usize>,
    /// The line of the file on which it begins, from 1.
    line: usize,
}

/// The assumed size of a text that is not read yet: two of them are enough to use several threads.
const UNREAD: usize = PARALLEL / 2;

/// What is known about a part after it has been checked.
#[derive(Default)]
struct CheckedPart<'f> {
    found: Vec<Found>,
    verdicts: Vec<Verdict>,
    relations: Relations<'f>,
    waiting: Vec<Waiting<'f>>,
    defines: Vec<Definition>,
}

/// An object whose kind is not built in, and may be defined by any file.
struct Waiting<'f> {
    object: Object,
    document: Document<'f, 'static>,
    /// Each Kubernetes version without the kind, and the number of the verdict, which is not decided yet.
    versions: Vec<(String, Option<usize>)>,
}

/// Where a CRD is.
struct Definition {
    kinds: Vec<Gvk>,
    range: Range<usize>,
}

struct Run<'r> {
    subject: &'r Subject,
    settings: &'r Settings<'r>,
    rules: &'r ActiveRules,
    checker: &'r Checker<'r>,
}

impl<'r> Run<'r> {
    fn rendering(&self, part: &Part) -> &'r Rendering {
        &self.subject.renderings[part.rendering]
    }

    fn file(&self, part: &Part) -> &'r RenderedText {
        &self.rendering(part).files[part.file]
    }

    fn scope(&self, rendering: &Rendering) -> Scope<'r> {
        Scope::new(self.settings, self.rules, &rendering.version)
    }

    /// Divides all files. A text that is not read yet is one part.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (rendering, it) in self.subject.renderings.iter().enumerate() {
            for (file, it) in it.files.iter().enumerate() {
                let Some(text) = &it.text else {
                    parts.push(Part { rendering, file, range: 0..UNREAD, line: 1 });
                    continue;
                };
                let mut part = Part { rendering, file, range: 0..0, line: 1 };
                for written in documents(text) {
                    if part.range.len() >= PARALLEL {
                        let next =
                            Part { rendering, file, range: written.range.start..0, line: written.line };
                        parts.push(std::mem::replace(&mut part, next));
                    }
                    part.range.end = written.range.end;
                }
                parts.push(part);
            }
        }
        parts
    }

    fn part(&self, part: &Part, validators: &mut Validators<'r>) -> CheckedPart<'r> {
        let file = self.file(part);
        let mut scope = self.scope(self.rendering(part));
        let mut checked = CheckedPart::default();
        let text = match file.read(self.settings) {
            Ok(text) => text,
            Err(error) => {
                checked.found.extend(scope.at("invalid-yaml", Some(file.location(0)), error));
                return checked;
            }
        };
        let (text, line) = match &file.text {
            Some(_) => (&text[part.range.clone()], part.line),
            None => (&*text, 1),
        };
        for written in documents(text) {
            let document = Document {
                file,
                text: Cow::Borrowed(&text[written.range.clone()]),
                line: line + written.line - 1,
            };
            let start = if file.text.is_some() { part.range.start } else { 0 };
            let range = start + written.range.start..start + written.range.end;
            self.document(&document, range, &mut scope, validators, &mut checked);
            checked.found.extend(scope.take(&document));
        }
        checked
    }

    fn document(
        &self,
        document: &Document<'r, '_>,
        range: Range<usize>,
        scope: &mut Scope<'_>,
        validators: &mut Validators<'r>,
        checked: &mut CheckedPart<'r>,
    ) {
        let Contents { objects, problems } = document.contents();
        // With duplicate keys, a document is one error in strict mode, whatever else is wrong with it.
        let is_broken = self.settings.strict && problems.iter().any(|it| it.rule == "duplicate-key");
        for problem in &problems {
            let location = locate::line_of(document, problem.line);
            checked.found.extend(scope.at(problem.rule, Some(location), problem.message.clone()));
            let is_duplicate = problem.rule == "duplicate-key";
            if is_duplicate == is_broken {
                // An object with duplicate keys still has a name.
                let named = objects.first().filter(|_| is_duplicate);
                let name = named.map(|object| object.name.clone()).unwrap_or_default();
                for version in scope.versions() {
                    checked.verdict(document, &name, version, VerdictStatus::Error);
                }
            }
        }
        for object in objects {
            deprecation::check(scope, &object);
            policy::check(scope, &object);
            let kinds = defined(&object);
            if !kinds.is_empty() {
                checked.defines.push(Definition { kinds, range: range.clone() });
            }
            let mut waiting = Vec::new();
            for version in scope.versions().to_vec() {
                let outcome = self.checker.check(&version, &object, validators);
                let status = outcome.as_ref().map_or(VerdictStatus::Error, |outcome| outcome.status);
                let status = object.verdict(status);
                let number = (!is_broken).then(|| checked.verdict(document, &object.name, &version, status));
                match outcome {
                    Some(outcome) => outcome.report(scope, &object, &version),
                    None => waiting.push((version, number)),
                }
            }
            checked.relations.add(&object, document);
            if !waiting.is_empty() {
                checked.waiting.push(Waiting { object, document: document.keep(), versions: waiting });
            }
        }
    }

    /// Validates the objects whose kinds are not built in, after all CRDs have been seen.
    fn check_other_kinds(&self, parts: &[Part], checked: &mut [CheckedPart<'r>], parallel: bool) {
        let jobs: Vec<(usize, Waiting<'r>)> = checked
            .iter_mut()
            .enumerate()
            .flat_map(|(at, part)| std::mem::take(&mut part.waiting).into_iter().map(move |it| (at, it)))
            .collect();
        let of_job = |(_, waiting): &(usize, Waiting<'r>)| {
            let kind = waiting.object.gvk();
            waiting.versions.iter().map(|(version, _)| (version.clone(), kind.clone())).collect::<Vec<_>>()
        };
        let wanted: BTreeSet<(String, Gvk)> = jobs.iter().flat_map(of_job).collect();
        let custom = self.custom_kinds(parts, checked, &wanted);
        let kinds = OtherKinds::find(self.checker, &custom, wanted);
        let results = threads::run(jobs.len(), parallel, Validators::default, |validators, job| {
            let (at, waiting) = &jobs[job];
            let mut scope = self.scope(self.rendering(&parts[*at]));
            let check = |(version, _): &(String, Option<usize>)| {
                let outcome = kinds.check(version, &waiting.object, validators);
                let status = waiting.object.verdict(outcome.status);
                outcome.report(&mut scope, &waiting.object, version);
                status
            };
            let statuses: Vec<VerdictStatus> = waiting.versions.iter().map(check).collect();
            (statuses, scope.take(&waiting.document))
        });
        for ((at, waiting), (statuses, found)) in jobs.iter().zip(results) {
            let part = &mut checked[*at];
            part.found.extend(found);
            for ((_, number), status) in waiting.versions.iter().zip(statuses) {
                if let Some(verdict) = number.and_then(|number| part.verdicts.get_mut(number)) {
                    verdict.status = status;
                }
            }
        }
    }

    /// The kinds that rendered CRDs define, as far as they are wanted, and those that are given. CRDs are large, and most of
    /// them have no objects, so the few that are needed are read again.
    fn custom_kinds(
        &self,
        parts: &[Part],
        checked: &[CheckedPart<'_>],
        wanted: &BTreeSet<(String, Gvk)>,
    ) -> BTreeMap<Gvk, CustomKind> {
        let mut missing: BTreeSet<&Gvk> = wanted.iter().map(|(_, kind)| kind).collect();
        let mut found: BTreeMap<Gvk, CustomKind> = BTreeMap::new();
        for (part, checked) in parts.iter().zip(checked) {
            for definition in &checked.defines {
                if !definition.kinds.iter().any(|kind| missing.contains(kind)) {
                    continue;
                }
                let file = self.file(part);
                let Ok(text) = file.read(self.settings) else { continue };
                let Some(text) = text.get(definition.range.clone()) else { continue };
                let document = Document { file, text: Cow::Borrowed(text), line: 1 };
                for (kind, schema) in custom_kinds(document.contents().objects.iter()) {
                    if missing.remove(&kind) {
                        found.insert(kind, schema);
                    }
                }
            }
        }
        let given = self.checker.given().iter().filter(|(kind, _)| missing.contains(kind));
        found.extend(given.map(|(kind, schema)| (kind.clone(), schema.clone())));
        found
    }

    fn report(&self, parts: &[Part], checked: Vec<CheckedPart<'r>>) -> Report {
        let mut sink = Sink::default();
        let mut report = Report { chart: self.subject.name.clone(), ..Report::default() };
        let mut all = parts.iter().zip(checked).peekable();
        for (number, rendering) in self.subject.renderings.iter().enumerate() {
            let mut scope = self.scope(rendering);
            if let Some((location, message)) = &rendering.error {
                sink.add(scope.at("render", location.clone(), message.clone()), &rendering.scenario);
            }
            let (mut relations, mut found, mut verdicts) = (Relations::default(), Vec::new(), Vec::new());
            while let Some((_, part)) = all.next_if(|(part, _)| part.rendering == number) {
                relations.append(part.relations);
                found.extend(part.found);
                verdicts.extend(part.verdicts);
            }
            found.extend(relations.check(&mut scope));
            found.retain(|found: &Found| !found.unless.as_ref().is_some_and(|name| relations.has(name)));
            sink.add(found, &rendering.scenario);
            for verdict in &mut verdicts {
                verdict.scenario.clone_from(&rendering.scenario);
            }
            // Grouped by Kubernetes version.
            verdicts.sort_by_key(|it| scope.versions().iter().position(|version| *version == it.version));
            report.verdicts.extend(verdicts);
        }
        report.ignored = sink.ignored.len();
        report.findings = sink.found.into_values().collect();
        for finding in &self.subject.findings {
            match self.settings.config.severity(finding.rule) {
                None => {}
                Some(_) if self.settings.config.ignores(finding) => report.ignored += 1,
                Some(severity) => report.findings.push(Finding { severity, ..finding.clone() }),
            }
        }
        let scenarios = self.subject.renderings.iter().map(|it| &it.scenario).collect::<BTreeSet<_>>().len();
        tidy(&mut report.findings, scenarios, self.settings.catalogs.len());
        report
    }
}

impl CheckedPart<'_> {
    /// Adds a verdict, and returns its number. The set of values is added later.
    fn verdict(
        &mut self,
        document: &Document<'_, '_>,
        object: &ObjectName,
        version: &str,
        status: VerdictStatus,
    ) -> usize {
        self.verdicts.push(Verdict {
            file: document.file.path.clone(),
            scenario: String::new(),
            version: version.to_owned(),
            object: object.clone(),
            status,
        });
        self.verdicts.len() - 1
    }
}

/// The objects of a whole file; none if it cannot be read.
fn objects(file: &RenderedText, settings: &Settings<'_>) -> Vec<Object> {
    let Ok(text) = file.read(settings) else { return Vec::new() };
    let document = |range: Range<usize>| Document { file, text: Cow::Borrowed(&text[range]), line: 1 };
    documents(&text).flat_map(|written| document(written.range).contents().objects).collect()
}

impl RenderedText {
    fn read(&self, settings: &Settings<'_>) -> Result<Cow<'_, [u8]>, String> {
        match &self.text {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => (settings.load)(&self.path).map(Cow::Owned),
        }
    }
}

/// Sorts findings by location, and clears the values and versions of those that hold for all.
fn tidy(findings: &mut [Finding], scenarios: usize, versions: usize) {
    for finding in findings.iter_mut() {
        // A finding that occurs with the default values does not depend on other values.
        if finding.scenarios.len() >= scenarios || finding.scenarios.contains("") {
            finding.scenarios.clear();
        }
        if finding.versions.len() >= versions {
            finding.versions.clear();
        }
    }
    findings.sort_by(|a, b| {
        let by_location = a.location.cmp(&b.location);
        by_location.then_with(|| (a.rule.name, &a.message).cmp(&(b.rule.name, &b.message)))
    });
}

/// Findings are the same if they differ only in values and versions.
type Key = (&'static str, Option<SourceLine>, String, String);

/// Collects findings.
#[derive(Default)]
struct Sink {
    found: BTreeMap<Key, Finding>,
    ignored: BTreeSet<Key>,
}

impl Sink {
    fn add(&mut self, found: impl IntoIterator<Item = Found>, scenario: &str) {
        for Found { mut finding, ignored, .. } in found {
            let shown = finding.object.as_ref().map(ToString::to_string).unwrap_or_default();
            let key = (finding.rule.name, finding.location.clone(), shown, finding.message.clone());
            if ignored {
                self.ignored.insert(key);
                continue;
            }
            let versions = std::mem::take(&mut finding.versions);
            let known = self.found.entry(key).or_insert(finding);
            known.scenarios.insert(scenario.to_owned());
            known.versions.extend(versions);
        }
    }
}

#[cfg(test)]
mod tests;
