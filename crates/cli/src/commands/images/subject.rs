//! The chart or release of an image command, and its log level.

use std::path::{Path, PathBuf};

use pintle::ValuesLayer;
use pintle::ops::ChartInput;
use pintle::ops::images::ImageOptions;
use pintle::release::{ChartSource, ReleaseVersion, VersionRef};
use pintle_tree::redact::redacted;

use super::files;
use crate::connect::Connection;
use crate::env::Setting;
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{chart_reference, kubeconfig, request};

/// Flags for the chart or release, and for rendering.
pub(crate) static SUBJECT: &[Flag] = &[
    Flag::text(names::CHART_PATH, "the directory or archive of the chart").short('c'),
    Flag::text(names::RELEASE_NAME, "use the chart and values of this release")
        .short('r')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::REPO, "the URL of the repository that has the chart"),
    Flag::text(names::VERSION, "the version of a chart of a repository, or a range such as ^2.0.0")
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::DEVEL, "include pre-releases"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::LOG_LEVEL, "the log level: error, warn, info or debug ($LOG_LEVEL)")
        .or_setting(Setting::LogLevel)
        .completes(FlagCompletion::Words(&["error", "warn", "info", "debug"])),
];

/// The chart or release to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A chart in a directory or an archive.
    Chart(String),
    /// A release; with the path of its chart, if that is given.
    Release(String, Option<String>),
}

impl Subject {
    /// The chart or release of flags and operand; by default the chart that contains the working directory.
    pub(crate) fn from_flags(invocation: &Invocation<'_>) -> Result<Subject, Failure> {
        let flags = &invocation.flags;
        let operand = Some(invocation.operand(0)).filter(|word| !word.is_empty());
        let chart = Some(flags.text(names::CHART_PATH)).filter(|text| !text.is_empty());
        let release = Some(flags.text(names::RELEASE_NAME)).filter(|text| !text.is_empty());
        match (chart, release, operand) {
            (Some(path), None, None) => Ok(Subject::Chart(path.to_owned())),
            // The record of a release may lack the subcharts; the path says where they are.
            (chart, Some(name), None) => Ok(Subject::Release(name.to_owned(), chart.map(str::to_owned))),
            (None, None, Some(word)) if is_chart(invocation, word) => Ok(Subject::Chart(word.to_owned())),
            (None, None, Some(word)) => Ok(Subject::Release(word.to_owned(), None)),
            (None, None, None) => enclosing_chart().map(Subject::Chart),
            _ => Err(Failure::usage("more than one chart or release is given")
                .hint("give one of --chart-path, --release-name and an argument; or --release-name with the path of its chart")),
        }
    }

    /// Loads the chart or release.
    pub(crate) fn load(&self, invocation: &mut Invocation<'_>) -> Result<ChartInput, Failure> {
        let values = request::values(invocation)?;
        match self {
            Subject::Chart(path) => {
                let path = &located(invocation, path)?;
                let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
                let reporter = &mut Reporting::new(invocation.ui);
                Ok(ChartInput::from_chart(Path::new(path), &values, "release-name", &namespace, reporter)?)
            }
            Subject::Release(name, chart) => {
                let connection = Connection::open(invocation)?;
                let (session, namespace) = (&connection.session, &connection.namespace);
                let version = pintle::ops::get(session, namespace, name, &VersionRef::Current);
                release_input(invocation, &connection.run(version)?, chart.as_deref(), &values)
            }
        }
    }

    /// The name in messages.
    pub(crate) fn text(&self) -> &str {
        match self {
            Subject::Chart(text) | Subject::Release(text, _) => text,
        }
    }
}

/// The path of a chart that is given by a path or a reference.
fn located(invocation: &mut Invocation<'_>, path: &str) -> Result<PathBuf, Failure> {
    if is_remote(invocation, path) {
        return Ok(chart_reference::locate(invocation, path)?.path);
    }
    files::check("--chart-path", path)?;
    if !Path::new(path).exists() {
        return Err(Failure::usage(format!("there is no chart at `{path}`")));
    }
    if Path::new(path).is_dir() && !Path::new(path).join("Chart.yaml").is_file() {
        return Err(Failure::usage(format!("there is no chart at `{path}`: it has no Chart.yaml")));
    }
    Ok(path.into())
}

/// The chart and the values of a release. A record in Helm's format does not hold subcharts: then the chart is the given
/// one, or fetched from where it came from. In every case all images of the stored objects must be images of the chart.
pub(super) fn release_input(
    invocation: &mut Invocation<'_>,
    version: &ReleaseVersion,
    chart: Option<&str>,
    values: &[ValuesLayer],
) -> Result<ChartInput, Failure> {
    let mut input = ChartInput::from_release(version, values)?;
    let source = ChartSource::of(&version.chart).filter(|_| ChartInput::lacks_subcharts(version));
    let path = match (chart, source) {
        (Some(path), _) => Some(located(invocation, path)?),
        (None, Some(source)) => Some(fetched(invocation, version, &source)?),
        (None, None) if ChartInput::lacks_subcharts(version) => {
            let text = format!(
                "the record of release {} does not hold the subcharts of its chart, nor where it came from",
                version.name
            );
            return Err(Failure::usage(text).hint(give_chart(version)));
        }
        (None, None) => None,
    };
    if let Some(path) = path {
        let reporter = &mut Reporting::new(invocation.ui);
        let loaded = ChartInput::from_chart(&path, &[], "", "", reporter)?;
        let (recorded, found) = (&version.chart.metadata, &loaded.chart.metadata);
        if (&recorded.name, &recorded.version) != (&found.name, &found.version) {
            return Err(Failure::usage(format!(
                "`{}` is {} {}, but release {} was made from {} {}",
                path.display(),
                found.name,
                found.version,
                version.name,
                recorded.name,
                recorded.version
            )));
        }
        input.chart = loaded.chart;
    }
    ensure_accounted(invocation, version, &input)?;
    Ok(input)
}

/// Fetches the chart of a release from where its record says that it came from. Whoever may write the record chose that, so it
/// must be the URL of a server, and the archive must be the one that was installed.
fn fetched(
    invocation: &mut Invocation<'_>,
    version: &ReleaseVersion,
    source: &ChartSource,
) -> Result<PathBuf, Failure> {
    let (name, url) = (&version.name, redacted(&source.url));
    let refuse = |text: String| Failure::usage(text).hint(give_chart(version));
    if !["https://", "http://", "oci://"].iter().any(|scheme| source.url.starts_with(scheme)) {
        return Err(refuse(format!(
            "the record of release {name} says that its chart came from `{url}`, which is no URL of a repository or \
             registry"
        )));
    }
    let located = chart_reference::locate(invocation, &source.url)?;
    let digest = located.source.as_ref().map(|fetched| fetched.digest.as_str()).unwrap_or_default();
    if !source.digest.is_empty() && source.digest != digest {
        return Err(refuse(format!(
            "`{url}` is not the chart that release {name} was made from any more: its digest is {digest}, and the record \
             has {}",
            source.digest
        )));
    }
    Ok(located.path)
}

/// The advice to give the chart of a release.
fn give_chart(version: &ReleaseVersion) -> String {
    let metadata = &version.chart.metadata;
    format!(
        "give the chart: --release-name {} --chart-path {}-{}.tgz",
        version.name, metadata.name, metadata.version
    )
}

/// Fails if the stored objects of a release have images that its chart does not render.
fn ensure_accounted(
    invocation: &mut Invocation<'_>,
    version: &ReleaseVersion,
    input: &ChartInput,
) -> Result<(), Failure> {
    let options = options(invocation)?;
    let missing = pintle::ops::images::unaccounted(version, &input.chart, &options, &mut pintle::Silent)?;
    if missing.is_empty() {
        return Ok(());
    }
    let mut images: Vec<String> =
        missing.iter().map(|field| format!("{} ({})", field.image, field.object)).collect();
    images.dedup();
    let text = format!(
        "release {} has images that its chart does not render with the values of the release: {}",
        version.name,
        images.join(", ")
    );
    Err(Failure::new(FailureKind::BadImage, text).hint(
        "a post-renderer, the cluster (--kube-version) or a subchart that the record lacks (--chart-path) may have \
         brought them",
    ))
}

/// The common part of the inspection options.
pub(crate) fn options(invocation: &Invocation<'_>) -> Result<ImageOptions, Failure> {
    let kube_version = request::kube_version(invocation)?;
    Ok(ImageOptions { kube_version, ..ImageOptions::default() })
}

/// Whether an operand is a chart. A word that could be either is a release if Helm runs us as a plugin, or if no such file
/// exists.
fn is_chart(invocation: &Invocation<'_>, word: &str) -> bool {
    let is_path = has_repository(invocation)
        || word.contains(['/', '\\'])
        || word.starts_with('.')
        || word.ends_with(".tgz");
    let of_plugin = invocation.environment.variable("HELM_PLUGIN_DIR").is_some();
    is_path || (!of_plugin && Path::new(word).exists())
}

/// Whether a repository is set.
fn has_repository(invocation: &Invocation<'_>) -> bool {
    invocation.flags.declares(names::REPO) && !invocation.flags.text(names::REPO).is_empty()
}

/// Whether the chart must be downloaded.
fn is_remote(invocation: &Invocation<'_>, word: &str) -> bool {
    let is_name = word.contains('/') && !word.starts_with(['/', '.']) && !word.contains("..");
    has_repository(invocation) || (is_name && !Path::new(word).exists())
}

/// The chart that contains the working directory.
fn enclosing_chart() -> Result<String, Failure> {
    let folder = std::env::current_dir()?;
    let found = folder.ancestors().find(|folder| folder.join("Chart.yaml").is_file());
    found.map(|folder| folder.to_string_lossy().into_owned()).ok_or_else(|| {
        Failure::usage("no chart or release is given, and the working directory is not in a chart")
            .hint("give the path of a chart or the name of a release")
    })
}

/// The log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    /// Errors only.
    Error,
    /// Also warnings.
    Warn,
    /// Also results.
    Info,
    /// Also details.
    Debug,
}

impl LogLevel {
    /// The level of `--log-level`, `$LOG_LEVEL` and `--debug`.
    pub(crate) fn from_flags(invocation: &Invocation<'_>) -> Result<LogLevel, Failure> {
        let word = invocation.flags.text_or_setting(names::LOG_LEVEL, invocation.environment);
        match word.to_ascii_lowercase().as_str() {
            "" if invocation.debug() => Ok(LogLevel::Debug),
            "" | "info" => Ok(LogLevel::Info),
            "error" => Ok(LogLevel::Error),
            "warn" | "warning" => Ok(LogLevel::Warn),
            "debug" => Ok(LogLevel::Debug),
            // An unknown level in the variable is ignored: it may be meant for other programs.
            _ if !invocation.flags.given(names::LOG_LEVEL) => Ok(LogLevel::Info),
            other => Err(Failure::usage(format!("unknown log level `{other}`"))
                .hint("it may be error, warn, info or debug")),
        }
    }
}
