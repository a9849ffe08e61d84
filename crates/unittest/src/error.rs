//! Errors in suites, with helm-unittest's texts.

/// Why a suite cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not YAML.
    #[error("{0}")]
    Yaml(#[from] pintle_yaml::Error),
    /// A key has a value of the wrong type, or is unknown to a strict reader.
    #[error("yaml: unmarshal errors:\n  {}", .0.join("\n  "))]
    Fields(Vec<String>),
    /// The suite does not make sense.
    #[error("{0}")]
    Suite(String),
}
