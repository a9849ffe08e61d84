//! Decodes suites as go-yaml does, and collects what is wrong.

use std::collections::BTreeMap;

use pintle_tree::{Map, Node, Str};
use pintle_yaml::outline::{NodeRef, Outline};

use super::{Capabilities, ChartSettings, Job, Release, TestSettings};
use crate::Error;
use crate::assertion::Assertion;
use crate::document::shortened;
use crate::job::PostRenderer;
use crate::lifecycle::{Expectations, ImageExpectations, RehearsalSettings};
use crate::lookup::{KindProperties, Provider};
use crate::path::Path;
use crate::raw::Raw;
use crate::selector::Selector;

/// Reads the fields of structures. What is wrong is collected.
pub(super) struct Decoder {
    strict: bool,
    /// Where decoding is.
    path: Vec<Step>,
    errors: Vec<Wrong>,
    /// The first assertion that is malformed, which ends decoding.
    assertion: Option<String>,
}

/// A step from the root of a suite to one of its nodes.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// What is wrong with a node, or with the key before it.
struct Wrong {
    path: Vec<Step>,
    is_key: bool,
    text: String,
}

impl Wrong {
    /// The text with the line, as go-yaml has it.
    fn describe(&self, outline: Option<&Outline<'_>>) -> String {
        match outline.and_then(|outline| outline.roots().next()).and_then(|root| self.line(root)) {
            Some(line) => format!("line {line}: {}", self.text),
            None => self.text.clone(),
        }
    }

    fn line(&self, root: NodeRef<'_>) -> Option<usize> {
        let (mut node, mut line) = (root, root.line());
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    // Of equal keys the last counts.
                    let entry = node.entries().filter(|entry| *entry.key.text() == *key.as_bytes()).last()?;
                    (node, line) = (entry.value, entry.key.line());
                }
                Step::Index(index) => {
                    node = node.items().nth(*index)?;
                    line = node.line();
                }
            }
        }
        Some(if self.is_key { line } else { node.line() })
    }
}

// The Go types of structures without a name, which errors show.
pub(super) const SUITE_SKIP: &str =
    r#"struct { Reason string "yaml:\"reason\""; MinimumVersion string "yaml:\"minimumVersion\"" }"#;
const JOB_SKIP: &str = r#"struct { Reason string "yaml:\"reason\"" }"#;
const RELEASE: &str =
    r#"struct { Name string; Namespace string; Revision int; IsUpgrade bool "yaml:\"upgrade\"" }"#;
const CHART: &str = r#"struct { Version string; AppVersion string "yaml:\"appVersion\"" }"#;
const CAPABILITIES: &str = r#"struct { MajorVersion string "yaml:\"majorVersion\""; MinorVersion string "yaml:\"minorVersion\""; APIVersions []string "yaml:\"apiVersions\"" }"#;

impl Decoder {
    pub(super) fn new(strict: bool) -> Self {
        Decoder { strict, path: Vec::new(), errors: Vec::new(), assertion: None }
    }

    /// Ends decoding. `text` is what was decoded, for the lines of errors.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn finish(self, text: &str) -> Result<(), Error> {
        if let Some(error) = self.assertion {
            return Err(Error::Suite(error));
        }
        if self.errors.is_empty() {
            return Ok(());
        }
        let outline = Outline::read_first(text.as_bytes()).ok();
        Err(Error::Fields(self.errors.iter().map(|wrong| wrong.describe(outline.as_ref())).collect()))
    }

    fn push_error(&mut self, is_key: bool, text: String) {
        self.errors.push(Wrong { path: self.path.clone(), is_key, text });
    }

    /// Decodes a node below the current one.
    fn at<T>(&mut self, step: Step, decode: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let decoded = decode(self);
        self.path.pop();
        decoded
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
                format!("{tag} `{}`", shortened(&text.to_str_lossy()))
            }
        };
        self.push_error(false, format!("cannot unmarshal {found} into {into}"));
        T::default()
    }

    /// Passes the fields of a structure on. `field` returns whether it knows the key.
    pub(super) fn fields(
        &mut self,
        raw: &Raw,
        into: &str,
        mut field: impl FnMut(&mut Self, &str, &Raw) -> bool,
    ) {
        match raw {
            Raw::Map(entries) => {
                for (key, value) in entries {
                    let key = key.to_string();
                    self.at(Step::Key(key.clone()), |decoder| {
                        if !field(decoder, &key, value) && decoder.strict {
                            decoder.push_error(true, format!("field {key} not found in type {into}"));
                        }
                    });
                }
            }
            raw if raw.is_nil() => {}
            raw => self.wrong(raw, into),
        }
    }

    pub(super) fn str(&mut self, raw: &Raw) -> String {
        match raw {
            Raw::Scalar(Node::Nil, _) => String::new(),
            Raw::Scalar(_, text) => text.to_string(),
            other => self.wrong(other, "string"),
        }
    }

    pub(super) fn bool(&mut self, raw: &Raw) -> bool {
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

    pub(super) fn list<T>(&mut self, raw: &Raw, into: &str, item: fn(&mut Self, &Raw) -> T) -> Vec<T> {
        match raw {
            Raw::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, raw)| self.at(Step::Index(index), |decoder| item(decoder, raw))).collect()
            }
            raw if raw.is_nil() => Vec::new(),
            raw => self.wrong(raw, into),
        }
    }

    pub(super) fn strings(&mut self, raw: &Raw) -> Vec<String> {
        self.list(raw, "[]string", Decoder::str)
    }

    fn set(&mut self, raw: &Raw) -> Vec<(Str, Node)> {
        match raw {
            Raw::Map(entries) => {
                // Later paths win where they overlap. Go's map order is random; sorting by path makes the result deterministic.
                let mut set: Vec<_> = entries.iter().map(|(key, raw)| (key.clone(), raw.to_node())).collect();
                set.sort_by(|a, b| a.0.cmp(&b.0));
                set
            }
            raw if raw.is_nil() => Vec::new(),
            raw => self.wrong(raw, "map[string]interface {}"),
        }
    }

    /// A field that suites and tests both have; returns whether it is one.
    pub(super) fn setting(&mut self, settings: &mut TestSettings, key: &str, raw: &Raw) -> bool {
        match key {
            "values" => settings.values = self.strings(raw),
            "set" => settings.set = self.set(raw),
            "templates" => settings.templates = self.strings(raw),
            "release" => settings.release = self.release(raw),
            "chart" => settings.chart = self.chart(raw),
            "kubernetesProvider" => settings.provider = self.provider(raw),
            "postRenderer" => settings.post_renderer = self.post_renderer(raw),
            "pintle" => settings.lifecycle = self.lifecycle(raw),
            _ => return false,
        }
        true
    }

    fn release(&mut self, raw: &Raw) -> Release {
        let mut release = Release::default();
        self.fields(raw, RELEASE, |decoder, key, raw| {
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
        self.fields(raw, CHART, |decoder, key, raw| {
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
    pub(super) fn capabilities(&mut self, raw: &Raw) -> Capabilities {
        let mut capabilities = Capabilities { api_versions: Some(Vec::new()), ..Capabilities::default() };
        self.fields(raw, CAPABILITIES, |decoder, key, raw| {
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
                        .list(raw, "[]map[string]interface {}", |_, raw| match raw.to_node() {
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

    /// Expectations about the lifecycle. No other tool defines keys here, so unknown keys are errors even if not strict.
    fn lifecycle(&mut self, raw: &Raw) -> Option<Expectations> {
        if raw.is_nil() {
            return None;
        }
        let mut expected = Expectations::default();
        self.known_fields(raw, "pintle", |decoder, key, raw| {
            match key {
                "permissions" => expected.permissions = Some(decoder.strings(raw)),
                "events" => expected.events = Some(decoder.strings(raw)),
                "log" => expected.log = Some(decoder.strings(raw)),
                "hooks" => expected.hooks = Some(decoder.lists(raw)),
                "images" => expected.images = Some(decoder.images(raw)),
                "rehearsal" => expected.rehearsal = decoder.rehearsal(raw),
                _ => return false,
            }
            true
        });
        Some(expected)
    }

    fn known_fields(&mut self, raw: &Raw, into: &str, field: impl FnMut(&mut Self, &str, &Raw) -> bool) {
        let strict = std::mem::replace(&mut self.strict, true);
        self.fields(raw, into, field);
        self.strict = strict;
    }

    fn lists(&mut self, raw: &Raw) -> BTreeMap<String, Vec<String>> {
        match raw {
            Raw::Map(entries) => {
                entries.iter().map(|(key, raw)| (key.to_string(), self.strings(raw))).collect()
            }
            raw if raw.is_nil() => BTreeMap::new(),
            raw => self.wrong(raw, "a map of lists"),
        }
    }

    fn images(&mut self, raw: &Raw) -> ImageExpectations {
        let mut images = ImageExpectations::default();
        if let Raw::List(_) = raw {
            images.equal = Some(self.strings(raw));
            return images;
        }
        self.known_fields(raw, "pintle.images", |decoder, key, raw| {
            match key {
                "equal" => images.equal = Some(decoder.strings(raw)),
                "registries" => images.registries = Some(decoder.strings(raw)),
                _ => return false,
            }
            true
        });
        images
    }

    fn rehearsal(&mut self, raw: &Raw) -> Option<RehearsalSettings> {
        let mut rehearsal = RehearsalSettings::default();
        if let Raw::Scalar(..) = raw {
            return self.bool(raw).then_some(rehearsal);
        }
        self.known_fields(raw, "pintle.rehearsal", |decoder, key, raw| {
            match key {
                "from" => rehearsal.from = decoder.str(raw),
                "given" => rehearsal.given = decoder.strings(raw),
                "kubeVersion" => rehearsal.kube_version = decoder.str(raw),
                "strict" => rehearsal.strict = decoder.bool(raw),
                "fails" => rehearsal.fails = Some(decoder.str(raw)),
                _ => return false,
            }
            true
        });
        Some(rehearsal)
    }

    pub(super) fn job(&mut self, raw: &Raw) -> Job {
        let mut job = Job::default();
        job.capabilities.api_versions = Some(Vec::new());
        self.fields(raw, "unittest.TestJob", |decoder, key, raw| {
            match key {
                "it" => job.name = decoder.str(raw),
                "template" => job.template = decoder.str(raw),
                "documentIndex" => job.document_index = decoder.int(raw),
                "documentSelector" => job.selector = decoder.selector(raw),
                "capabilities" => job.capabilities = decoder.job_capabilities(raw),
                "asserts" => job.assertions = decoder.list(raw, "[]*unittest.Assertion", Decoder::assertion),
                "skip" => decoder.fields(raw, JOB_SKIP, |decoder, key, raw| {
                    let known = key == "reason";
                    if known {
                        job.skip_reason = decoder.str(raw);
                    }
                    known
                }),
                // These exist in helm-unittest's structure, but do nothing.
                "documentindices" => {}
                _ => return decoder.setting(&mut job.settings, key, raw),
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
