//! The first half of the flow: chart → values → render → objects. Every operation that needs objects comes here.

use pintle_chart::Chart;
use pintle_objects::{Manifest, Order, Sorted};
use pintle_render::{Rendered, Target};
use pintle_semver::{Constraint, Version};
use pintle_tree::{Map, Node};
use pintle_values::{NullRules, SchemaCheck};

use crate::lint::{Findings, Severity};
use crate::report::with_log;
use crate::{Error, Reporter, Result, input, lint};

/// How values and schemas are treated.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Which generation's rules hold for nulls.
    pub nulls: NullRules,
    /// Whether schemas are looked at.
    pub schema: SchemaCheck,
    /// Whether the notes of subcharts count.
    pub subchart_notes: bool,
}

/// A chart on its way to the cluster: processed, with final values and rendered files.
pub struct Prepared {
    /// The chart after dependency processing.
    pub chart: Chart,
    /// The values that the user gave.
    pub user: Map<Node>,
    /// The final values.
    pub values: Map<Node>,
    /// The rendered files without notes, in order of their paths.
    pub files: Vec<(String, Vec<u8>)>,
    /// The text of NOTES.txt.
    pub notes: Vec<u8>,
}

impl Prepared {
    /// The objects and hooks of the rendered files.
    ///
    /// # Errors
    /// When a document is not YAML or no object; the error brings the rendered text along.
    pub fn objects(&self) -> Result<Sorted<'_>> {
        pintle_objects::sort(&self.files, Order::Install)
            .map_err(|source| Error::Objects { source, rendered: joined(&self.files) })
    }
}

/// The text in place of a Secret that must not be seen.
const HIDDEN: &[u8] = b"# HIDDEN: The Secret output has been suppressed";

/// What a document shows: itself, unless it is a Secret that must not be seen.
pub(crate) fn shown<'a>(manifest: &'a Manifest<'_>, hide_secrets: bool) -> &'a [u8] {
    let hidden = hide_secrets && manifest.head.kind == "Secret" && manifest.head.api_version == "v1";
    if hidden { HIDDEN } else { manifest.content }
}

/// Adds a document to a manifest, under the name of its source.
pub(crate) fn push_document(text: &mut Vec<u8>, path: &str, content: &[u8]) {
    text.extend_from_slice(b"---\n# Source: ");
    text.extend_from_slice(path.as_bytes());
    text.push(b'\n');
    text.extend_from_slice(content);
    text.push(b'\n');
}

/// Takes a loaded chart and the user's values all the way to rendered files.
///
/// # Errors
/// The first stage that fails.
pub fn prepare(
    chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: Rules,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let chart = process(chart, &user, rules, reporter)?;
    finish(chart, user, target, rules, reporter)
}

/// Settles which subcharts take part.
///
/// # Errors
/// When a dependency's description makes no sense.
pub(crate) fn process(
    chart: Chart,
    user: &Map<Node>,
    rules: Rules,
    reporter: &mut dyn Reporter,
) -> Result<Chart> {
    with_log(reporter, |log| {
        pintle_values::process_dependencies(chart, user, rules.nulls, log).map_err(Error::Dependencies)
    })
}

/// Takes a processed chart to rendered files. What the cluster can do may be found out in between, because a chart's
/// custom resource definitions come first.
///
/// # Errors
/// The first stage that fails.
pub(crate) fn finish(
    chart: Chart,
    user: Map<Node>,
    target: &Target,
    rules: Rules,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let values = with_log(reporter, |log| {
        let read = &mut input::read_referenced;
        Ok(pintle_values::render_values(&chart, &user, rules.nulls, rules.schema, read, log)?)
    })?;
    check_kubernetes(&chart, target)?;
    let mut rendered = pintle_render::render(&chart, &values, target).map_err(Box::new)?;
    let notes = pintle_render::notes(&mut rendered, chart.name(), rules.subchart_notes);
    let mut files: Vec<(String, Vec<u8>)> =
        rendered.files.into_iter().map(|file| (file.path, file.text)).collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Prepared { chart, user, values, files, notes })
}

fn check_kubernetes(chart: &Chart, target: &Target) -> Result<()> {
    let wanted = &chart.metadata.kube_version;
    let kubernetes = &target.capabilities.kube_version;
    if wanted.is_empty() || is_compatible(wanted, &kubernetes.normalized) {
        return Ok(());
    }
    Err(Error::IncompatibleKubernetes { wanted: wanted.clone(), version: kubernetes.version.clone() })
}

/// Whether a version is in a range; a range or version that cannot be read is never met.
fn is_compatible(range: &str, version: &str) -> bool {
    match (Constraint::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

/// All rendered files as one text, for looking at what is not YAML.
fn joined(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, content) in files {
        if !content.trim_ascii().is_empty() {
            text.extend_from_slice(format!("---\n# Source: {path}\n").as_bytes());
            text.extend_from_slice(content);
            text.push(b'\n');
        }
    }
    text
}

/// The same way for lint, which notes problems instead of stopping and keeps silent about dependencies.
pub(crate) fn render_for_lint(
    chart: Chart,
    options: &lint::Options,
    target: &Target,
    findings: &mut Findings,
) -> Option<Rendered> {
    let nulls = NullRules::Helm4;
    let chart = pintle_values::process_dependencies(chart, &options.values, nulls, &mut findings.log).ok()?;
    // Helm merges twice here; the second time changes nothing but repeats the warnings.
    let once = pintle_values::coalesce(&chart, &options.values, nulls, &mut findings.log).ok()?;
    let schema = if options.skip_schema { SchemaCheck::Skip } else { SchemaCheck::Check };
    let read = &mut input::read_referenced;
    let outcome = pintle_values::render_values(&chart, &once, nulls, schema, read, &mut findings.log)
        .map_err(|error| error.to_string())
        .and_then(|values| pintle_render::render(&chart, &values, target).map_err(|error| error.to_string()));
    match outcome {
        Ok(rendered) => Some(rendered),
        Err(text) => {
            let path = "templates/".to_owned();
            findings.messages.push(lint::Message { severity: Severity::Error, path, text });
            None
        }
    }
}
