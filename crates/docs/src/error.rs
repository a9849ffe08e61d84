//! Why a chart cannot be documented.

/// Why a chart cannot be documented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is not YAML.
    #[error("{file}: {message}")]
    Yaml {
        /// The file.
        file: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A field of Chart.yaml has the wrong type.
    #[error("{file}: line {line}: cannot read {found} as {wanted}")]
    Field {
        /// The file.
        file: &'static str,
        /// The line.
        line: usize,
        /// The tag of the value.
        found: String,
        /// What is expected.
        wanted: &'static str,
    },
    /// A value cannot be shown.
    #[error("value {key}: {message}")]
    Value {
        /// The path of the value.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// Values have no comments although they must.
    #[error("values without documentation:\n{}", .0.join("\n"))]
    Undocumented(Vec<String>),
    /// The template does not parse.
    #[error("{0}")]
    Template(String),
}
