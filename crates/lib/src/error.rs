//! What can go wrong in an operation, and what to do about it.

use std::path::PathBuf;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation stopped. The text is Helm's wherever Helm has one, because tools match on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chart could not be read.
    #[error(transparent)]
    Chart(#[from] pintle_chart::Error),
    /// The values could not be read or merged, or the schema refuses them.
    #[error(transparent)]
    Values(#[from] pintle_values::Error),
    /// The dependencies of the chart could not be processed.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(pintle_values::Error),
    /// Dependencies that Chart.yaml lists are not in `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to \
         fetch missing dependencies: {0}"
    )]
    MissingDependencies(pintle_chart::Error),
    /// A template is wrong.
    #[error(transparent)]
    Render(#[from] Box<pintle_render::Error>),
    /// A rendered file is not an object.
    #[error("{source}")]
    Objects {
        /// What is wrong, and where.
        source: pintle_objects::Error,
        /// The rendered files, for a person to look at.
        rendered: Vec<u8>,
    },
    /// The chart is for other versions of Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version}")]
    IncompatibleKubernetes {
        /// The constraint of the chart.
        wanted: String,
        /// The version it is rendered for.
        version: String,
    },
    /// The chart is a library.
    #[error("{kind} charts are not installable")]
    NotInstallable {
        /// The type of the chart.
        kind: String,
    },
    /// The release name breaks a rule.
    #[error("release name check failed: release name {name:?}: {reason}")]
    BadReleaseName {
        /// The name.
        name: String,
        /// The rule.
        reason: String,
    },
    /// There is nothing at the path of the chart.
    #[error("path {path:?} not found")]
    ChartNotFound {
        /// The path as it was given.
        path: String,
    },
    /// The chart is somewhere that this version cannot reach.
    #[error("chart {reference:?} is not a local folder or archive, and charts cannot be fetched yet")]
    RemoteChart {
        /// The reference as it was given.
        reference: String,
    },
    /// A template that was asked for does not exist.
    #[error("could not find template {pattern} in chart")]
    NoSuchTemplate {
        /// What was asked for.
        pattern: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `write` or the like.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder for output cannot be made, because something on the way to it is no folder.
    #[error("stat {}: not a directory", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
    },
    /// Bad input of another kind.
    #[error("{0}")]
    Input(String),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::RemoteChart { .. } => {
                "pull the chart with another tool and give the path of the archive or folder".to_owned()
            }
            Error::MissingDependencies(_) => {
                "run `pintle dependency build CHART`, or put the missing charts into its `charts` folder"
                    .to_owned()
            }
            Error::IncompatibleKubernetes { .. } => {
                "choose the version to render for with `--kube-version`".to_owned()
            }
            Error::NotInstallable { .. } => {
                "list it under `dependencies` of an application chart and use its templates there".to_owned()
            }
            Error::ChartNotFound { .. } => "give the path of a chart folder or archive".to_owned(),
            Error::NoSuchTemplate { .. } => {
                "give a path inside the chart, as in `templates/service.yaml`; it must render to something"
                    .to_owned()
            }
            _ => return None,
        })
    }
}
