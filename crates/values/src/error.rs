//! What can go wrong with values.

/// The result of this room.
pub type Result<T> = std::result::Result<T, Error>;

/// Why values cannot be put together. Prints as Helm's error does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A values file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A values file is no YAML map.
    #[error("failed to parse {name}: {reason}")]
    BadFile {
        /// The file as the user named it.
        name: String,
        /// What the reader says.
        reason: String,
    },
    /// A `--set-json` object is no JSON.
    #[error("failed parsing --set-json data JSON: {0}")]
    BadJsonObject(String),
    /// A `--set-json` assignment breaks its grammar.
    #[error("failed parsing --set-json data {0}")]
    BadJson(String),
    /// Another flag of the `--set` family breaks its grammar.
    #[error("failed parsing --{flag} data: {reason}")]
    BadFlag {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What the grammar says.
        reason: String,
    },
    /// The values of a subchart are no map. The text really carries the noise of a wrong format verb.
    #[error("type mismatch on {name}: {found}")]
    TypeMismatch {
        /// The subchart.
        name: String,
        /// What was found.
        found: String,
    },
    /// Imported values contain themselves.
    #[error("import-values of chart {0} contain themselves")]
    CyclicImport(String),
    /// An import goes to a path that is longer than any chart needs.
    #[error("import-values of chart {chart} name a path of more than {limit} steps")]
    LongImport {
        /// The chart that imports.
        chart: String,
        /// How many steps there may be.
        limit: usize,
    },
    /// A chart has so many subcharts, counted with all that are below them, that it cannot be meant.
    #[error("chart {chart} has more than {limit} subcharts")]
    TooManyCharts {
        /// The chart at which the count was full.
        chart: String,
        /// How many there may be.
        limit: usize,
    },
    /// Charts are listed as dependencies but not there.
    #[error("found in Chart.yaml, but missing in charts/ directory: {0}")]
    MissingDependencies(String),
    /// The values do not fit the schemas.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
}
