//! Errors of values.

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why values cannot be computed. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A values file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A values file is not a YAML map.
    #[error("failed to parse {name}: {reason}")]
    BadFile {
        /// The file as named by the user.
        name: String,
        /// The parse error.
        reason: String,
    },
    /// A `--set-json` object is not valid JSON.
    #[error("failed parsing --set-json data JSON: {0}")]
    BadJsonObject(String),
    /// A `--set-json` assignment does not parse.
    #[error("failed parsing --set-json data {0}")]
    BadJson(String),
    /// Another flag of the `--set` family does not parse.
    #[error("failed parsing --{flag} data: {reason}")]
    BadFlag {
        /// The flag, without dashes.
        flag: &'static str,
        /// The parse error.
        reason: String,
    },
    /// The values of a subchart are not a map. Helm's text uses the wrong format verb (`%t`), and so does ours.
    #[error("type mismatch on {name}: {found}")]
    TypeMismatch {
        /// The subchart.
        name: String,
        /// What was found, as `%t` prints it.
        found: String,
    },
    /// Imported values contain themselves.
    #[error("import-values of chart {0} contain themselves")]
    CyclicImport(String),
    /// The target path of an import is unreasonably long.
    #[error("import-values of chart {chart} name a path of more than {limit} steps")]
    LongImport {
        /// The importing chart.
        chart: String,
        /// The maximum number of path segments.
        limit: usize,
    },
    /// A chart has unreasonably many subcharts, including nested ones.
    #[error("chart {chart} has more than {limit} subcharts")]
    TooManyCharts {
        /// The chart at which the limit was reached.
        chart: String,
        /// The maximum number.
        limit: usize,
    },
    /// Listed dependencies are missing from `charts/`.
    #[error("found in Chart.yaml, but missing in charts/ directory: {0}")]
    MissingDependencies(String),
    /// The values violate the schemas.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
}
