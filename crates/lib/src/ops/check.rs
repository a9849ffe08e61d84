//! `check`: rendered objects against schemas, deprecated APIs and policy rules.

mod catalog;
mod manifests;
mod values_files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pintle_chart::{Chart, write_below};
use pintle_check::{
    Catalog, Config, RenderedText, Rendering, Report, Settings, SourceLine, Subject, check_values,
};
use pintle_embedded::schema::ApiCatalog;
use pintle_objects::parallel_map;
use pintle_render::{Capabilities, KubeVersion, Release, Target};
use pintle_tree::{Map, Node};
use pintle_values::ValuesLayer;

use super::{lint, locate};
use crate::input::{self, go_error_text};
use crate::options::RenderOptions;
use crate::prepare::{PrepareOptions, prepare};
use crate::report::BufferedReporter;
use crate::{Error, LookupObjects, OfflineSession, RecordObjects, Reporter, Result, SchemaLoader};
use catalog::Kinds;
use values_files::ValuesFile;

/// What to check, and how.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// What to check.
    pub subjects: Vec<CheckSubject>,
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// The namespace to render for.
    pub namespace: String,
    /// The Kubernetes versions to check for; the newest supported one if empty.
    pub kubernetes_versions: Vec<String>,
    /// API versions in addition to the built-in ones, for rendering.
    pub api_versions: Vec<String>,
    /// The rules. A configuration file of a chart is used instead if this is `None`.
    pub config: Option<Config>,
    /// Severities of rules that differ from the configuration: `rule=severity`.
    pub severities: Vec<String>,
    /// Whether unknown fields and duplicate keys are errors.
    pub strict: bool,
    /// Whether objects without a schema are skipped.
    pub ignore_missing_schemas: bool,
    /// Where to look for other schemas.
    pub schema_locations: Vec<String>,
    /// Skips `values.schema.json`.
    pub skip_schema: bool,
    /// Applies the fixes that need no decision, and checks again.
    pub fix: bool,
    /// What `lookup` finds.
    pub lookup: LookupObjects,
}

/// A chart, or objects that are rendered already.
#[derive(Clone, Debug)]
pub enum CheckSubject {
    /// A chart, or a file or folder of rendered objects.
    Path(PathBuf),
    /// Rendered objects.
    Objects {
        /// What the report calls them.
        name: String,
        /// The text.
        text: Vec<u8>,
    },
}

/// The result for one chart.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The findings.
    pub report: Report,
    /// The number of fixes, by file.
    pub fixed: BTreeMap<String, usize>,
    /// What has a fix that could not be applied.
    pub unfixed: Vec<Unfixed>,
}

/// A place that was not changed although a fix is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfixed {
    /// The file in the chart.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What would be written there.
    pub wanted: String,
    /// Why it was not.
    pub why: &'static str,
}

/// The name of the configuration file of a chart.
const CONFIG_FILE: &str = ".pintle-check.yaml";

/// Checks charts. A chart that does not render has a finding that says so.
///
/// # Errors
/// When a chart, a configuration or the values cannot be read, or a version is not supported.
pub fn check(
    session: &OfflineSession,
    request: &CheckRequest,
    reporter: &mut dyn Reporter,
) -> Result<Vec<Checked>> {
    let outcomes = parallel_map(
        &request.subjects,
        1,
        |_| 1,
        |subject| {
            let mut buffer = BufferedReporter::default();
            let outcome = check_one(session, subject, request, &mut buffer);
            (outcome, buffer.0)
        },
    );
    let mut all = Vec::new();
    for (outcome, log) in outcomes {
        log.into_iter().for_each(|line| reporter.log(line));
        all.push(outcome?);
    }
    Ok(all)
}

/// A chart that is loaded already, and what to check it with. Editors check texts that are not saved.
pub struct LoadedChart<'c> {
    /// What the report calls it.
    pub name: String,
    /// The chart.
    pub chart: &'c Chart,
    /// Its values files for CI: names and texts.
    pub values_files: Vec<(String, Vec<u8>)>,
    /// The text of its configuration, if there is one.
    pub config: Option<Vec<u8>>,
}

/// Checks a chart that is loaded already. The subjects and `fix` of the request are not used, and no file is read but
/// schemas from locations that are configured.
///
/// # Errors
/// When the configuration or the values cannot be read, or a version is not supported.
pub fn check_loaded(
    session: &OfflineSession,
    loaded: LoadedChart<'_>,
    request: &CheckRequest,
    reporter: &mut dyn Reporter,
) -> Result<Report> {
    let mut request = request.clone();
    if let (None, Some(text)) = (&request.config, &loaded.config) {
        request.config = Some(Config::read(text).map_err(|error| Error::Input(error.to_string()))?);
    }
    let options = Options::new(session, &request, None)?;
    let files = loaded.values_files.into_iter().map(|(name, text)| ValuesFile { name, text }).collect();
    Ok(options.check(&options.subject_of(loaded.name, loaded.chart, files, reporter)?))
}

fn check_one(
    session: &OfflineSession,
    subject: &CheckSubject,
    request: &CheckRequest,
    reporter: &mut dyn Reporter,
) -> Result<Checked> {
    let is_chart = |path: &Path| path.join("Chart.yaml").exists() || lint::is_archive(path);
    let chart = match subject {
        CheckSubject::Path(path) => Some(path.as_path()).filter(|path| is_chart(path)),
        CheckSubject::Objects { .. } => None,
    };
    let options = Options::new(session, request, chart)?;
    let read = |reporter: &mut dyn Reporter| -> Result<Subject> {
        let mut subject = match (chart, subject) {
            (Some(chart), _) => options.subject(chart, reporter)?,
            (None, CheckSubject::Path(path)) => manifests::subject(path)?,
            (None, CheckSubject::Objects { name, text }) => manifests::of_text(name, text.clone()),
        };
        subject.crds.extend(manifests::located_crds(&options.schema_locations)?);
        Ok(subject)
    };
    let mut checked = Checked { report: options.check(&read(reporter)?), ..Checked::default() };
    if let Some(folder) = chart.filter(|chart| request.fix && chart.is_dir()) {
        fix(folder, &mut checked)?;
        if !checked.fixed.is_empty() {
            checked.report = options.check(&read(reporter)?);
        }
    }
    Ok(checked)
}

/// Applies the fixes of a report to the files of a chart.
fn fix(chart: &Path, checked: &mut Checked) -> Result<()> {
    for (file, fixes) in pintle_check::fixes(&checked.report) {
        let path = chart.join(&file);
        let left = |fix: &pintle_check::Fix, why| Unfixed {
            file: file.clone(),
            line: fix.line,
            wanted: fix.replacement.to.clone(),
            why,
        };
        let Ok(text) = pintle_chart::read_limited(&path, pintle_chart::MAX_TEXT) else {
            let why = "the file is in a packaged dependency";
            checked.unfixed.extend(fixes.iter().map(|fix| left(fix, why)));
            continue;
        };
        let is_left = |fix: &&pintle_check::Fix| pintle_check::apply(&text, &[(**fix).clone()]).1 == 0;
        let why = "the template computes the line, or has the text more than once";
        checked.unfixed.extend(fixes.iter().filter(is_left).map(|fix| left(fix, why)));
        let (text, applied) = pintle_check::apply(&text, &fixes);
        if applied > 0 {
            write_below(chart, Path::new(&file), &text).map_err(|source| Error::File {
                action: "write",
                path,
                source,
            })?;
            checked.fixed.insert(file, applied);
        }
    }
    Ok(())
}

/// A request together with the configuration of the chart.
struct Options<'r> {
    session: &'r OfflineSession,
    request: &'r CheckRequest,
    config: Config,
    kinds: Vec<Kinds>,
    strict: bool,
    ignore_missing_schemas: bool,
    schema_locations: Vec<String>,
}

impl<'r> Options<'r> {
    fn new(session: &'r OfflineSession, request: &'r CheckRequest, chart: Option<&Path>) -> Result<Self> {
        let mut config = match (&request.config, chart) {
            (Some(config), _) => config.clone(),
            (None, Some(chart)) => own_config(chart)?,
            (None, None) => Config::default(),
        };
        for severity in &request.severities {
            config.set(severity).map_err(|error| Error::Input(error.to_string()))?;
        }
        let versions = match request.kubernetes_versions.as_slice() {
            [] => config.kubernetes_versions.as_slice(),
            versions => versions,
        };
        let mut kinds = Vec::new();
        for version in versions {
            let catalog =
                ApiCatalog::for_version(version).map_err(|error| Error::Input(error.to_string()))?;
            kinds.push(Kinds(catalog));
        }
        if kinds.is_empty() {
            kinds.push(Kinds(ApiCatalog::newest()));
        }
        let mut schema_locations = request.schema_locations.clone();
        schema_locations.extend(config.schema_locations.iter().cloned());
        Ok(Options {
            session,
            request,
            strict: request.strict || config.strict.unwrap_or(false),
            ignore_missing_schemas: request.ignore_missing_schemas
                || config.ignore_missing_schemas.unwrap_or(false),
            schema_locations,
            config,
            kinds,
        })
    }

    fn check(&self, subject: &Subject) -> Report {
        let catalogs: Vec<&dyn Catalog> = self.kinds.iter().map(|kinds| kinds as &dyn Catalog).collect();
        let settings = Settings {
            config: &self.config,
            catalogs: &catalogs,
            strict: self.strict,
            ignore_missing_schemas: self.ignore_missing_schemas,
            schema_locations: &self.schema_locations,
            read: &|location| read_schema(&self.session.schemas, location),
            load: &|name| input::read_values(Path::new(name)),
        };
        pintle_check::check(subject, &settings)
    }

    /// Renders a chart with its own values and with each of its values files for CI, for each Kubernetes version.
    fn subject(&self, path: &Path, reporter: &mut dyn Reporter) -> Result<Subject> {
        let chart = locate::load(path, reporter)?;
        let files = values_files::find(path, &chart)?;
        self.subject_of(path.to_string_lossy().into_owned(), &chart, files, reporter)
    }

    fn subject_of(
        &self,
        name: String,
        chart: &Chart,
        files: Vec<ValuesFile>,
        reporter: &mut dyn Reporter,
    ) -> Result<Subject> {
        let mut subject = Subject { name, ..Subject::default() };
        subject.crds = crds(chart);
        subject.findings = self.value_findings(chart, reporter)?;
        if chart.is_library() {
            return Ok(subject);
        }
        for kinds in &self.kinds {
            let defaults = self.rendering(chart, None, kinds, reporter)?;
            // If the defaults alone do not render, the values files for CI have the values that the chart requires.
            if defaults.error.is_none() || files.is_empty() {
                subject.renderings.push(defaults);
            }
            for file in &files {
                subject.renderings.push(self.rendering(chart, Some(file), kinds, reporter)?);
            }
        }
        Ok(subject)
    }

    fn value_findings(
        &self,
        chart: &Chart,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<pintle_check::Finding>> {
        let rules = PrepareOptions::default();
        let chart = crate::prepare::process(chart.clone(), &Map::new(), &rules, reporter)?;
        // Rendering reports a template that does not parse.
        Ok(pintle_render::uses::uses(&chart).map(|uses| check_values(&chart, &uses)).unwrap_or_default())
    }

    fn rendering(
        &self,
        chart: &Chart,
        file: Option<&ValuesFile>,
        kinds: &Kinds,
        reporter: &mut dyn Reporter,
    ) -> Result<Rendering> {
        let user = self.values(file)?;
        let render = RenderOptions {
            skip_schema: self.request.skip_schema,
            record_objects: RecordObjects::Allow,
            ..RenderOptions::default()
        };
        let (rules, events) = (render.rules(&self.session.schemas), &self.session.events);
        let target = self.target(kinds)?;
        let mut rendering = Rendering {
            scenario: file.map(|file| file.name.clone()).unwrap_or_default(),
            version: kinds.version(),
            ..Rendering::default()
        };
        match prepare(chart.clone(), user, &target, rules, events, reporter) {
            Ok(mut prepared) => {
                for (path, text) in std::mem::take(&mut prepared.files) {
                    let origins = prepared.origins.of(&path, &text);
                    rendering.files.push(RenderedText { path, text: Some(text), origins });
                }
            }
            Err(error) => rendering.error = Some((source_line(chart, &error), error.to_string())),
        }
        Ok(rendering)
    }

    fn values(&self, file: Option<&ValuesFile>) -> Result<Map<Node>> {
        let file = file.map(|ValuesFile { name, text }| ValuesLayer::Bytes {
            name: name.clone(),
            content: text.clone(),
        });
        let layers: Vec<ValuesLayer> = file.into_iter().chain(self.request.values.iter().cloned()).collect();
        input::user_values(&layers)
    }

    fn target(&self, kinds: &Kinds) -> Result<Target> {
        let mut capabilities = Capabilities::default().with_api_versions(&self.request.api_versions);
        capabilities.kube_version = KubeVersion::parse(&kinds.version()).map_err(Error::Input)?;
        let namespace = match self.request.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        };
        let release = Release {
            name: "release-name".to_owned(),
            namespace: namespace.to_owned(),
            revision: 1,
            is_upgrade: false,
        };
        let mut target = Target::offline(release, capabilities);
        // Keys and passwords need not be random to be checked.
        target.repeatable = true;
        target.trace_origins = true;
        if let Some(port) = self.request.lookup.port(&target.release, &self.session.events) {
            target.lookup = port;
        }
        Ok(target)
    }
}

/// The template line that failed.
fn source_line(chart: &Chart, error: &Error) -> Option<SourceLine> {
    let Error::Render(error) = error else { return None };
    let pintle_render::Error::Template { frames, .. } = &**error else { return None };
    let frame = frames.last()?;
    let file = frame.file.strip_prefix(chart.name()).unwrap_or(&frame.file).trim_start_matches('/');
    Some(SourceLine { file: file.to_owned(), line: frame.line })
}

fn crds(chart: &Chart) -> Vec<RenderedText> {
    let text = |crd: pintle_chart::Crd<'_>| RenderedText {
        text: Some(crd.file.data.to_vec()),
        path: crd.path,
        origins: Vec::new(),
    };
    chart.crds().into_iter().map(text).collect()
}

fn own_config(chart: &Path) -> Result<Config> {
    let path = chart.join(CONFIG_FILE);
    match pintle_chart::read_limited(&path, pintle_chart::MAX_TEXT) {
        Ok(text) => Config::read(&text).map_err(|error| Error::Input(format!("{}: {error}", path.display()))),
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            Ok(Config::default())
        }
        Err(error) => Err(Error::Input(go_error_text(&path, &error))),
    }
}

/// Reads a schema from a location that the user has configured. A missing one is not an error; a server that fails is one, or
/// objects would pass as unknown that it has a schema for.
fn read_schema(schemas: &SchemaLoader, path: &str) -> std::result::Result<Option<Vec<u8>>, String> {
    if path.starts_with("http://") || path.starts_with("https://") {
        return match schemas.load(path) {
            Ok(text) => Ok(Some(text)),
            // Stores of objects that must not be listed answer with 403 for one that does not exist.
            Err(reason)
                if ["404", "403", "410"].iter().any(|code| reason.contains(&format!(" status {code} "))) =>
            {
                Ok(None)
            }
            Err(reason) => Err(reason),
        };
    }
    let file = PathBuf::from(path.strip_prefix("file://").unwrap_or(path));
    match pintle_chart::read_limited(&file, pintle_chart::MAX_TEXT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(go_error_text(&file, &error)),
    }
}
