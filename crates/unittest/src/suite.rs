//! Suites and tests as read from YAML.

use std::collections::BTreeMap;

use pintle_semver::Version;
use pintle_tree::{Map, Node, Str};

use crate::assertion::Assertion;
use crate::job::PostRenderer;
use crate::lookup::{KindProperties, Provider};
use crate::path::Path;
use crate::raw::Raw;
use crate::selector::Selector;
use crate::{Error, splitter};

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
    pub(crate) values: Vec<String>,
    pub(crate) set: Vec<(Str, Node)>,
    pub(crate) templates: Vec<String>,
    pub(crate) exclude_templates: Vec<String>,
    pub(crate) include_crds: bool,
    pub(crate) release: Release,
    pub(crate) chart: ChartSettings,
    capabilities: Capabilities,
    pub(crate) provider: Provider,
    pub(crate) post_renderer: PostRenderer,
    pub(crate) tests: Vec<Job>,
    snapshot_id: String,
    skip_reason: String,
    minimum_version: String,
}

/// A test.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    pub(crate) set: Vec<(Str, Node)>,
    pub(crate) template: String,
    pub(crate) templates: Vec<String>,
    pub(crate) document_index: Option<usize>,
    pub(crate) selector: Option<Selector>,
    pub(crate) release: Release,
    pub(crate) chart: ChartSettings,
    pub(crate) capabilities: Capabilities,
    pub(crate) assertions: Vec<Option<Assertion>>,
    pub(crate) skip_reason: String,
    pub(crate) provider: Provider,
    pub(crate) post_renderer: PostRenderer,
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
                let mut suite = Suite::read(&raw, origin)?;
                suite.check(origin)?;
                suite.values.extend_from_slice(origin.values);
                suite.inherit();
                Ok(Some(suite))
            }
            // helm-unittest accepts backslashes in double quotes that YAML does not, and then checks nothing else.
            Err(error) if error.to_string().contains("unknown escape character") => {
                let raw = Raw::read(doubled_backslashes(text).as_bytes())?;
                let mut suite = Suite::read(&raw, &SuiteOrigin { strict: false, ..origin.clone() })?;
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

    fn read(raw: &Raw, origin: &SuiteOrigin<'_>) -> Result<Suite, Error> {
        let mut decoder = Decoder { strict: origin.strict, errors: Vec::new(), assertion: None };
        let mut suite =
            Suite { file: origin.file.to_owned(), route: origin.route.to_owned(), ..Suite::default() };
        let mut capabilities = Capabilities { api_versions: Some(Vec::new()), ..Capabilities::default() };
        decoder.fields(raw, "unittest.TestSuite", |decoder, key, raw| {
            match key {
                "suite" => suite.name = decoder.str(raw),
                "values" => suite.values = decoder.strings(raw),
                "set" => suite.set = decoder.set(raw),
                "templates" => suite.templates = decoder.strings(raw),
                "excludeTemplates" => suite.exclude_templates = decoder.strings(raw),
                "includeCrds" => suite.include_crds = decoder.bool(raw),
                "release" => suite.release = decoder.release(raw),
                "chart" => suite.chart = decoder.chart(raw),
                "capabilities" => capabilities = decoder.capabilities(raw),
                "kubernetesProvider" => suite.provider = decoder.provider(raw),
                "postRenderer" => suite.post_renderer = decoder.post_renderer(raw),
                "tests" => suite.tests = decoder.list(raw, Decoder::job),
                "snapshotId" => suite.snapshot_id = decoder.str(raw),
                "skip" => {
                    decoder.fields(raw, "unittest.skip", |decoder, key, raw| {
                        match key {
                            "reason" => suite.skip_reason = decoder.str(raw),
                            "minimumVersion" => suite.minimum_version = decoder.str(raw),
                            _ => return false,
                        }
                        true
                    });
                }
                _ => return false,
            }
            true
        });
        suite.capabilities = capabilities;
        decoder.finish()?;
        Ok(suite)
    }

    fn check(&mut self, origin: &SuiteOrigin<'_>) -> Result<(), Error> {
        if self.tests.is_empty() {
            return Err(Error::Suite("no tests found".to_owned()));
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
        if self.tests.iter().any(|test| test.assertions.is_empty()) {
            return Err(Error::Suite("no asserts found".to_owned()));
        }
        Ok(())
    }

    /// Gives the tests what the suite sets for all of them.
    fn inherit(&mut self) {
        for test in &mut self.tests {
            if !self.skip_reason.is_empty() {
                test.skip_reason.clone_from(&self.skip_reason);
            }
            for (own, suite) in [
                (&mut test.release.name, &self.release.name),
                (&mut test.release.namespace, &self.release.namespace),
                (&mut test.chart.version, &self.chart.version),
                (&mut test.chart.app_version, &self.chart.app_version),
                (&mut test.capabilities.major, &self.capabilities.major),
                (&mut test.capabilities.minor, &self.capabilities.minor),
            ] {
                if own.is_empty() {
                    own.clone_from(suite);
                }
            }
            if test.release.revision == 0 {
                test.release.revision = self.release.revision;
            }
            test.release.upgrade |= self.release.upgrade;
            if let Some(own) = &mut test.capabilities.api_versions {
                own.extend(self.capabilities.api_versions.iter().flatten().cloned());
            }
            test.provider.objects.extend(self.provider.objects.iter().cloned());
            test.provider.scheme.extend(self.provider.scheme.clone());
            let mut values = self.values.clone();
            values.append(&mut test.values);
            test.values = values;
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

/// Decodes suites as go-yaml does, and collects what is wrong.
struct Decoder {
    strict: bool,
    errors: Vec<String>,
    /// The first assertion that is malformed, which ends decoding.
    assertion: Option<String>,
}

impl Decoder {
    fn finish(self) -> Result<(), Error> {
        if let Some(error) = self.assertion {
            return Err(Error::Suite(error));
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Error::Fields(self.errors)) }
    }

    fn wrong<T: Default>(&mut self, raw: &Raw, into: &str) -> T {
        let found = match raw {
            Raw::List(_) => "!!seq".to_owned(),
            Raw::Map(_) => "!!map".to_owned(),
            Raw::Scalar(node, text) => {
                let tag = match node {
                    Node::Bool(_) => "!!bool",
                    Node::Int(_) => "!!int",
                    Node::Float(_) => "!!float",
                    _ => "!!str",
                };
                format!("{tag} `{text}`")
            }
        };
        self.errors.push(format!("cannot unmarshal {found} into {into}"));
        T::default()
    }

    /// Passes the fields of a structure on. `field` returns whether it knows the key.
    fn fields(&mut self, raw: &Raw, into: &str, mut field: impl FnMut(&mut Self, &str, &Raw) -> bool) {
        match raw {
            Raw::Map(entries) => {
                for (key, value) in entries {
                    let key = key.to_str_lossy();
                    if !field(self, &key, value) && self.strict {
                        self.errors.push(format!("field {key} not found in type {into}"));
                    }
                }
            }
            raw if raw.is_nil() => {}
            raw => self.wrong(raw, into),
        }
    }

    fn str(&mut self, raw: &Raw) -> String {
        match raw {
            Raw::Scalar(Node::Nil, _) => String::new(),
            Raw::Scalar(_, text) => text.to_string(),
            other => self.wrong(other, "string"),
        }
    }

    fn bool(&mut self, raw: &Raw) -> bool {
        match raw {
            Raw::Scalar(Node::Nil, _) => false,
            Raw::Scalar(Node::Bool(value), _) => *value,
            // The words of YAML 1.1 still work where a boolean is expected.
            Raw::Scalar(Node::Str(text), _) => match text.as_bytes() {
                b"y" | b"Y" | b"yes" | b"Yes" | b"YES" | b"on" | b"On" | b"ON" => true,
                b"n" | b"N" | b"no" | b"No" | b"NO" | b"off" | b"Off" | b"OFF" => false,
                _ => self.wrong(raw, "bool"),
            },
            other => self.wrong(other, "bool"),
        }
    }

    fn int(&mut self, raw: &Raw) -> Option<i64> {
        match raw {
            Raw::Scalar(Node::Nil, _) => None,
            Raw::Scalar(Node::Int(value), _) => Some(*value),
            Raw::Scalar(Node::Float(value), _) => Some(*value as i64),
            other => self.wrong(other, "int"),
        }
    }

    fn list<T>(&mut self, raw: &Raw, item: fn(&mut Self, &Raw) -> T) -> Vec<T> {
        match raw {
            Raw::List(items) => items.iter().map(|raw| item(self, raw)).collect(),
            raw if raw.is_nil() => Vec::new(),
            raw => self.wrong(raw, "a list"),
        }
    }

    fn strings(&mut self, raw: &Raw) -> Vec<String> {
        self.list(raw, Decoder::str)
    }

    fn set(&mut self, raw: &Raw) -> Vec<(Str, Node)> {
        match raw {
            Raw::Map(entries) => {
                // Later paths win where they overlap, and Go takes them in no order; ours is that of their text.
                let mut set: Vec<_> = entries.iter().map(|(key, raw)| (key.clone(), raw.to_node())).collect();
                set.sort_by(|a, b| a.0.cmp(&b.0));
                set
            }
            raw if raw.is_nil() => Vec::new(),
            raw => self.wrong(raw, "map[string]interface {}"),
        }
    }

    fn release(&mut self, raw: &Raw) -> Release {
        let mut release = Release::default();
        self.fields(raw, "unittest.release", |decoder, key, raw| {
            match key {
                "name" => release.name = decoder.str(raw),
                "namespace" => release.namespace = decoder.str(raw),
                "revision" => release.revision = decoder.int(raw).unwrap_or_default(),
                "upgrade" => release.upgrade = decoder.bool(raw),
                _ => return false,
            }
            true
        });
        release
    }

    fn chart(&mut self, raw: &Raw) -> ChartSettings {
        let mut chart = ChartSettings::default();
        self.fields(raw, "unittest.chart", |decoder, key, raw| {
            match key {
                "version" => chart.version = decoder.str(raw),
                "appVersion" => chart.app_version = decoder.str(raw),
                _ => return false,
            }
            true
        });
        chart
    }

    /// The capabilities of a suite.
    fn capabilities(&mut self, raw: &Raw) -> Capabilities {
        let mut capabilities = Capabilities { api_versions: Some(Vec::new()), ..Capabilities::default() };
        self.fields(raw, "unittest.capabilities", |decoder, key, raw| {
            match key {
                "majorVersion" => capabilities.major = decoder.str(raw),
                "minorVersion" => capabilities.minor = decoder.str(raw),
                "apiVersions" => capabilities.api_versions = Some(decoder.strings(raw)),
                _ => return false,
            }
            true
        });
        capabilities
    }

    /// The capabilities of a test, which are less strict: what is neither text nor a whole number does not count.
    fn job_capabilities(&mut self, raw: &Raw) -> Capabilities {
        let mut capabilities = Capabilities { api_versions: Some(Vec::new()), ..Capabilities::default() };
        let Raw::Map(entries) = raw else {
            if !raw.is_nil() {
                let () = self.wrong(raw, "unittest.CapabilitiesFields");
            }
            return capabilities;
        };
        let text = |raw: &Raw| match raw {
            Raw::Scalar(Node::Str(text), _) => text.to_string(),
            Raw::Scalar(Node::Int(value), _) => value.to_string(),
            _ => String::new(),
        };
        for (key, raw) in entries {
            match key.as_bytes() {
                b"majorVersion" => capabilities.major = text(raw),
                b"minorVersion" => capabilities.minor = text(raw),
                b"apiVersions" => {
                    capabilities.api_versions = match raw {
                        Raw::List(items) => Some(items.iter().filter_map(string).collect()),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        capabilities
    }

    fn provider(&mut self, raw: &Raw) -> Provider {
        let mut provider = Provider::default();
        self.fields(raw, "unittest.KubernetesFakeClientProvider", |decoder, key, raw| {
            match key {
                "scheme" => provider.scheme = decoder.scheme(raw),
                "objects" => {
                    provider.objects = decoder
                        .list(raw, |_, raw| match raw.to_node() {
                            Node::Map(object) => object,
                            _ => Map::new(),
                        })
                        .into_iter()
                        .collect();
                }
                _ => return false,
            }
            true
        });
        provider
    }

    fn scheme(&mut self, raw: &Raw) -> BTreeMap<String, KindProperties> {
        let mut scheme = BTreeMap::new();
        let Raw::Map(entries) = raw else { return scheme };
        for (name, raw) in entries {
            let mut properties = KindProperties::default();
            self.fields(raw, "unittest.KubernetesFakeKindProps", |decoder, key, raw| {
                match key {
                    "should_err" => {
                        properties.error = Some(decoder.str(raw)).filter(|error| !error.is_empty());
                    }
                    "namespaced" => properties.namespaced = decoder.bool(raw),
                    "gvr" => decoder.fields(raw, "schema.GroupVersionResource", |decoder, key, raw| {
                        match key {
                            "group" => properties.group = decoder.str(raw),
                            "version" => properties.version = decoder.str(raw),
                            "resource" => properties.resource = decoder.str(raw),
                            _ => return false,
                        }
                        true
                    }),
                    _ => return false,
                }
                true
            });
            scheme.insert(name.to_string(), properties);
        }
        scheme
    }

    fn post_renderer(&mut self, raw: &Raw) -> PostRenderer {
        let mut post_renderer = PostRenderer::default();
        self.fields(raw, "unittest.PostRendererConfig", |decoder, key, raw| {
            match key {
                "cmd" => post_renderer.command = decoder.str(raw),
                "args" => post_renderer.arguments = decoder.strings(raw),
                _ => return false,
            }
            true
        });
        post_renderer
    }

    fn selector(&mut self, raw: &Raw) -> Option<Selector> {
        if raw.is_nil() {
            return None;
        }
        let mut selector = Selector {
            path: Path::new(""),
            value: Node::Nil,
            match_many: false,
            skip_empty_templates: false,
        };
        self.fields(raw, "valueutils.DocumentSelector", |decoder, key, raw| {
            match key {
                "path" => selector.path = Path::new(&decoder.str(raw)),
                "value" => selector.value = raw.to_node(),
                "matchMany" => selector.match_many = decoder.bool(raw),
                "skipEmptyTemplates" => selector.skip_empty_templates = decoder.bool(raw),
                _ => return false,
            }
            true
        });
        Some(selector)
    }

    fn job(&mut self, raw: &Raw) -> Job {
        let mut job = Job::default();
        job.capabilities.api_versions = Some(Vec::new());
        self.fields(raw, "unittest.TestJob", |decoder, key, raw| {
            match key {
                "it" => job.name = decoder.str(raw),
                "values" => job.values = decoder.strings(raw),
                "set" => job.set = decoder.set(raw),
                "template" => job.template = decoder.str(raw),
                "templates" => job.templates = decoder.strings(raw),
                "documentIndex" => {
                    job.document_index = decoder.int(raw).and_then(|index| usize::try_from(index).ok());
                }
                "documentSelector" => job.selector = decoder.selector(raw),
                "release" => job.release = decoder.release(raw),
                "chart" => job.chart = decoder.chart(raw),
                "capabilities" => job.capabilities = decoder.job_capabilities(raw),
                "asserts" => job.assertions = decoder.list(raw, Decoder::assertion),
                "kubernetesProvider" => job.provider = decoder.provider(raw),
                "postRenderer" => job.post_renderer = decoder.post_renderer(raw),
                "skip" => decoder.fields(raw, "unittest.skip", |decoder, key, raw| {
                    let known = key == "reason";
                    if known {
                        job.skip_reason = decoder.str(raw);
                    }
                    known
                }),
                // These exist in helm-unittest's structure, but do nothing.
                "documentindices" => {}
                _ => return false,
            }
            true
        });
        job
    }

    fn assertion(&mut self, raw: &Raw) -> Option<Assertion> {
        let definition = match raw.to_node() {
            Node::Nil => return None,
            Node::Map(definition) => definition,
            _ => return self.wrong(raw, "map[string]interface {}"),
        };
        match Assertion::read(&definition) {
            Ok(assertion) => Some(assertion),
            Err(error) => {
                self.assertion.get_or_insert(error);
                None
            }
        }
    }
}

fn string(raw: &Raw) -> Option<String> {
    match raw {
        Raw::Scalar(Node::Str(text), _) => Some(text.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
