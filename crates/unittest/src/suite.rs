//! Suites and tests as read from YAML.

mod decode;

use std::collections::BTreeSet;

use pintle_semver::Version;
use pintle_tree::{Node, Str};

use crate::assertion::Assertion;
use crate::job::PostRenderer;
use crate::lifecycle::Expectations;
use crate::lookup::Provider;
use crate::raw::Raw;
use crate::selector::Selector;
use crate::templates::Selection;
use crate::{Error, splitter};
use decode::{Decoder, SUITE_SKIP};

/// The version of helm-unittest whose suites are run; suites can ask for a minimum.
const VERSION: &str = "1.1.2";

/// Where a suite comes from.
#[derive(Clone, Debug, Default)]
pub struct SuiteOrigin<'o> {
    /// The file, as the report names it. Paths of values files are relative to its folder.
    pub file: &'o str,
    /// The path of the tested chart in its tree, as in `parent/charts/child`.
    pub route: &'o str,
    /// Whether unknown keys are errors.
    pub strict: bool,
    /// Values files of the command line.
    pub values: &'o [String],
    /// Whether the text was rendered from a template.
    pub rendered: bool,
}

/// A suite.
#[derive(Debug, Default)]
pub struct Suite {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) route: String,
    pub(crate) settings: TestSettings,
    pub(crate) exclude_templates: Vec<String>,
    pub(crate) include_crds: bool,
    capabilities: Capabilities,
    pub(crate) tests: Vec<Job>,
    snapshot_id: String,
    skip_reason: String,
    minimum_version: String,
}

/// A test.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) settings: TestSettings,
    pub(crate) template: String,
    /// Below zero, all documents, whatever assertions say.
    pub(crate) document_index: Option<i64>,
    pub(crate) selector: Option<Selector>,
    pub(crate) capabilities: Capabilities,
    pub(crate) assertions: Vec<Option<Assertion>>,
    pub(crate) skip_reason: String,
}

/// What suites and tests set in the same way.
#[derive(Debug, Default)]
pub(crate) struct TestSettings {
    pub(crate) values: Vec<String>,
    pub(crate) set: Vec<(Str, Node)>,
    pub(crate) templates: Vec<String>,
    pub(crate) release: Release,
    pub(crate) chart: ChartSettings,
    pub(crate) provider: Provider,
    pub(crate) post_renderer: PostRenderer,
    pub(crate) lifecycle: Option<Expectations>,
}

/// `.Release` as far as it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Release {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) revision: i64,
    pub(crate) upgrade: bool,
}

/// `.Chart` as far as it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChartSettings {
    pub(crate) version: String,
    pub(crate) app_version: String,
}

impl ChartSettings {
    /// Whether nothing is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.version.is_empty() && self.app_version.is_empty()
    }
}

/// `.Capabilities` as far as they are given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capabilities {
    pub(crate) major: String,
    pub(crate) minor: String,
    /// The API versions; none at all if a test sets them to null.
    pub(crate) api_versions: Option<Vec<String>>,
}

impl Suite {
    /// Reads all suites of a file.
    ///
    /// # Errors
    /// The first suite that is malformed.
    pub fn parse(text: &[u8], origin: &SuiteOrigin<'_>) -> Result<Vec<Suite>, Error> {
        let text = String::from_utf8_lossy(text);
        let mut suites = Vec::new();
        for part in splitter::parts(&text) {
            if !part.trim().is_empty() {
                suites.extend(Suite::parse_one(part, origin)?);
            }
        }
        Ok(suites)
    }

    /// Reads one suite; a text of comments only has none.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse_one(text: &str, origin: &SuiteOrigin<'_>) -> Result<Option<Suite>, Error> {
        match Raw::read(text.as_bytes()) {
            Ok(raw) if raw.is_nil() && is_blank(text) => Ok(None),
            Ok(raw) => {
                let mut suite = Suite::read(&raw, text, origin)?;
                suite.check(origin)?;
                suite.settings.values.extend_from_slice(origin.values);
                suite.inherit();
                Ok(Some(suite))
            }
            // helm-unittest accepts backslashes in double quotes that YAML does not, and then checks nothing else.
            Err(error) if error.to_string().contains("unknown escape character") => {
                let text = doubled_backslashes(text);
                let raw = Raw::read(text.as_bytes())?;
                let mut suite = Suite::read(&raw, &text, &SuiteOrigin { strict: false, ..origin.clone() })?;
                suite.inherit();
                Ok(Some(suite))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that the suite was read from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Sets the number by which snapshots of suites from one template are kept apart, unless the suite has one.
    pub fn number(&mut self, number: usize) {
        if self.snapshot_id.is_empty() {
            self.snapshot_id = number.to_string();
        }
    }

    /// The file that the snapshots of the suite are stored in.
    pub fn snapshot_file(&self) -> String {
        let (folder, name) = self.file.rsplit_once('/').unwrap_or((".", &self.file));
        let id = if self.snapshot_id.is_empty() { String::new() } else { format!("_{}", self.snapshot_id) };
        crate::templates::join(folder, &format!("__snapshot__/{name}{id}.snap"))
    }

    /// The values files of the suite and its tests.
    pub fn values_files(&self) -> BTreeSet<String> {
        let names = self.tests.iter().flat_map(|test| &test.settings.values).chain(&self.settings.values);
        names.map(|name| crate::user_values::file_path(&self.file, name)).collect()
    }

    /// Whether the suite renders the template at a path of the chart tree, or can include definitions of it.
    pub fn renders(&self, path: &str) -> bool {
        // A release has all templates.
        let whole = self.tests.iter().any(|test| test.settings.lifecycle.is_some());
        whole || Selection::new(&self.route, &self.settings.templates, &self.exclude_templates).contains(path)
    }

    fn read(raw: &Raw, text: &str, origin: &SuiteOrigin<'_>) -> Result<Suite, Error> {
        let mut decoder = Decoder::new(origin.strict);
        let mut suite =
            Suite { file: origin.file.to_owned(), route: origin.route.to_owned(), ..Suite::default() };
        let mut capabilities = Capabilities { api_versions: Some(Vec::new()), ..Capabilities::default() };
        decoder.fields(raw, "unittest.TestSuite", |decoder, key, raw| {
            match key {
                "suite" => suite.name = decoder.str(raw),
                "excludeTemplates" => suite.exclude_templates = decoder.strings(raw),
                "includeCrds" => suite.include_crds = decoder.bool(raw),
                "capabilities" => capabilities = decoder.capabilities(raw),
                "tests" => suite.tests = decoder.list(raw, "[]*unittest.TestJob", Decoder::job),
                "snapshotId" => suite.snapshot_id = decoder.str(raw),
                "skip" => decoder.fields(raw, SUITE_SKIP, |decoder, key, raw| {
                    match key {
                        "reason" => suite.skip_reason = decoder.str(raw),
                        "minimumVersion" => suite.minimum_version = decoder.str(raw),
                        _ => return false,
                    }
                    true
                }),
                _ => return decoder.setting(&mut suite.settings, key, raw),
            }
            true
        });
        suite.capabilities = capabilities;
        decoder.finish(text)?;
        Ok(suite)
    }

    fn check(&mut self, origin: &SuiteOrigin<'_>) -> Result<(), Error> {
        if self.tests.is_empty() {
            return Err(Error::Suite("no tests found".to_owned()));
        }
        if self.snapshot_id.contains(['/', '\\', '\0']) {
            let text = format!("snapshotId {:?} is part of a file name and has no slashes", self.snapshot_id);
            return Err(Error::Suite(text));
        }
        if origin.rendered && self.name.is_empty() {
            let text = "helm chart based test suites must include `suite` field";
            return Err(Error::Suite(text.to_owned()));
        }
        if !self.minimum_version.is_empty() && !meets(&self.minimum_version) {
            self.skip_reason = format!(
                "Test suite requires minimum unittest plugin version {}, but current version is {VERSION}",
                self.minimum_version
            );
        }
        // Lifecycle expectations count as assertions too.
        let has_none = |test: &Job| test.assertions.is_empty() && test.settings.lifecycle.is_none();
        if self.tests.iter().any(has_none) {
            return Err(Error::Suite("no asserts found".to_owned()));
        }
        Ok(())
    }

    /// Gives the tests what the suite sets for all of them.
    fn inherit(&mut self) {
        let of_suite = &self.settings;
        for test in &mut self.tests {
            let settings = &mut test.settings;
            if !self.skip_reason.is_empty() {
                test.skip_reason.clone_from(&self.skip_reason);
            }
            for (own, suite) in [
                (&mut settings.release.name, &of_suite.release.name),
                (&mut settings.release.namespace, &of_suite.release.namespace),
                (&mut settings.chart.version, &of_suite.chart.version),
                (&mut settings.chart.app_version, &of_suite.chart.app_version),
                (&mut test.capabilities.major, &self.capabilities.major),
                (&mut test.capabilities.minor, &self.capabilities.minor),
            ] {
                if own.is_empty() {
                    own.clone_from(suite);
                }
            }
            if settings.release.revision == 0 {
                settings.release.revision = of_suite.release.revision;
            }
            settings.release.upgrade |= of_suite.release.upgrade;
            if let Some(own) = &mut test.capabilities.api_versions {
                own.extend(self.capabilities.api_versions.iter().flatten().cloned());
            }
            settings.provider.objects.extend(of_suite.provider.objects.iter().cloned());
            settings.provider.scheme.extend(of_suite.provider.scheme.clone());
            if let Some(suite) = &of_suite.lifecycle {
                settings.lifecycle.get_or_insert_default().inherit(suite);
            }
            let mut values = of_suite.values.clone();
            values.append(&mut settings.values);
            settings.values = values;
        }
    }
}

/// Whether our version is at least this one.
fn meets(minimum: &str) -> bool {
    match (Version::parse(VERSION), Version::parse(minimum)) {
        (Ok(version), Ok(minimum)) => version >= minimum,
        _ => false,
    }
}

/// Whether a text has nothing but comments.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

/// The text with every odd run of backslashes made even.
fn doubled_backslashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut run = 0;
    for next in text.chars().chain(['\0']) {
        if next == '\\' {
            run += 1;
        } else if run > 0 {
            out.extend(std::iter::repeat_n('\\', run + run % 2));
            run = 0;
        }
        if next != '\\' && next != '\0' {
            out.push(next);
        }
    }
    out
}

#[cfg(test)]
mod tests;
