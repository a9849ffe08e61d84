//! Which chart or release a command about images is about, and how much it says.

use std::path::Path;

use pintle::ops::ChartInput;
use pintle::ops::images::ImageOptions;
use pintle::release::VersionRef;

use super::files;
use crate::connect::Connection;
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{chart_reference, kubeconfig, request};

/// Flags that name the chart or the release, and how it is rendered.
pub(crate) static SUBJECT: &[Flag] = &[
    Flag::text("chart-path", "the directory or archive of the chart").short('c'),
    Flag::text("release-name", "use the chart and values of this release")
        .short('r')
        .completes(FlagCompletion::Nothing),
    Flag::text("repo", "the URL of the repository that has the chart"),
    Flag::text("version", "the version of a chart of a repository, or a range such as ^2.0.0")
        .completes(FlagCompletion::Nothing),
    Flag::switch("devel", "include pre-releases"),
    Flag::text("kube-version", "the Kubernetes version to render for").completes(FlagCompletion::Nothing),
    Flag::text("log-level", "the log level: error, warn, info or debug ($LOG_LEVEL)")
        .or_setting(Setting::LogLevel)
        .completes(FlagCompletion::Words(&["error", "warn", "info", "debug"])),
];

/// What was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A chart in a folder or an archive.
    Chart(String),
    /// A release.
    Release(String),
}

impl Named {
    /// The chart or release that flags and operand name; without any, the chart that the working folder is in.
    pub(crate) fn of(invocation: &Invocation<'_>) -> Result<Named, Failure> {
        let flags = &invocation.flags;
        let operand = Some(invocation.operand(0)).filter(|word| !word.is_empty());
        let chart = Some(flags.text("chart-path")).filter(|text| !text.is_empty());
        let release = Some(flags.text("release-name")).filter(|text| !text.is_empty());
        match (chart, release, operand) {
            (Some(path), None, None) => Ok(Named::Chart(path.to_owned())),
            (None, Some(name), None) => Ok(Named::Release(name.to_owned())),
            (None, None, Some(word)) if is_chart(invocation, word) => Ok(Named::Chart(word.to_owned())),
            (None, None, Some(word)) => Ok(Named::Release(word.to_owned())),
            (None, None, None) => around().map(Named::Chart),
            _ => Err(Failure::usage("more than one chart or release is named")
                .hint("give one of --chart-path, --release-name and an argument")),
        }
    }

    /// Reads what was named.
    pub(crate) fn load(&self, invocation: &mut Invocation<'_>) -> Result<ChartInput, Failure> {
        let values = request::overrides(invocation)?;
        match self {
            Named::Chart(path) => {
                let fetched;
                let path = if is_remote(invocation, path) {
                    fetched = chart_reference::locate(invocation, path)?;
                    &fetched
                } else {
                    files::check("--chart-path", path)?;
                    if !Path::new(path).exists() {
                        return Err(Failure::usage(format!("there is no chart at `{path}`")));
                    }
                    path
                };
                let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
                let reporter = &mut Reporting::new(invocation.ui);
                Ok(ChartInput::from_chart(Path::new(path), &values, "release-name", &namespace, reporter)?)
            }
            Named::Release(name) => {
                let connection = Connection::open(invocation)?;
                let (session, namespace) = (&connection.session, &connection.namespace);
                let version = pintle::ops::get(session, namespace, name, &VersionRef::Current);
                Ok(ChartInput::from_release(&connection.run(version)?, &values)?)
            }
        }
    }

    /// The words by which messages call it.
    pub(crate) fn text(&self) -> &str {
        match self {
            Named::Chart(text) | Named::Release(text) => text,
        }
    }
}

/// How a chart is looked at, but for what only some commands know.
pub(crate) fn options(invocation: &Invocation<'_>) -> Result<ImageOptions, Failure> {
    let kube_version = request::kube_version(invocation)?;
    Ok(ImageOptions { kube_version, ..ImageOptions::default() })
}

/// Whether a word means a chart. What could be the name of a release is one if Helm has called us as its plugin, or if
/// there is no such file.
fn is_chart(invocation: &Invocation<'_>, word: &str) -> bool {
    let is_path = has_repository(invocation)
        || word.contains(['/', '\\'])
        || word.starts_with('.')
        || word.ends_with(".tgz");
    let of_plugin = invocation.environment.variable("HELM_PLUGIN_DIR").is_some();
    is_path || (!of_plugin && Path::new(word).exists())
}

/// Whether the repository of the chart is given.
fn has_repository(invocation: &Invocation<'_>) -> bool {
    invocation.flags.declares("repo") && !invocation.flags.text("repo").is_empty()
}

/// Whether a chart has to be fetched.
fn is_remote(invocation: &Invocation<'_>, word: &str) -> bool {
    let is_name = word.contains('/') && !word.starts_with(['/', '.']) && !word.contains("..");
    has_repository(invocation) || (is_name && !Path::new(word).exists())
}

/// The chart that the working folder is in.
fn around() -> Result<String, Failure> {
    let folder = std::env::current_dir()?;
    let found = folder.ancestors().find(|folder| folder.join("Chart.yaml").is_file());
    found.map(|folder| folder.to_string_lossy().into_owned()).ok_or_else(|| {
        Failure::usage("no chart or release is named, and the working folder is in none")
            .hint("give the path of a chart or the name of a release")
    })
}

/// How much is said beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Only what makes the command fail.
    Error,
    /// Also what may be wrong.
    Warn,
    /// Also what was done.
    Info,
    /// Also how.
    Debug,
}

impl Level {
    /// What `--log-level`, `$LOG_LEVEL` and `--debug` ask for.
    pub(crate) fn of(invocation: &Invocation<'_>) -> Result<Level, Failure> {
        let word = invocation.flags.text_or_setting("log-level", invocation.environment);
        match word.to_ascii_lowercase().as_str() {
            "" if invocation.debug() => Ok(Level::Debug),
            "" | "info" => Ok(Level::Info),
            "error" => Ok(Level::Error),
            "warn" | "warning" => Ok(Level::Warn),
            "debug" => Ok(Level::Debug),
            // The variable may be meant for other programs.
            _ if !invocation.flags.given("log-level") => Ok(Level::Info),
            other => Err(Failure::usage(format!("unknown log level `{other}`"))
                .hint("it may be error, warn, info or debug")),
        }
    }
}
