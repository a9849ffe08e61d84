//! Errors of this crate.

/// Why two manifests cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A document is not YAML, or its head has the wrong types.
    #[error("YAML unmarshal error: {message}\nCan't unmarshal {document}")]
    Document {
        /// What is wrong.
        message: String,
        /// The document.
        document: String,
    },
    /// A document is larger than helm-diff reads.
    #[error("Error reading input: bufio.Scanner: token too long")]
    TooLong,
    /// A pattern of suppressed lines does not parse.
    #[error(transparent)]
    Pattern(#[from] pintle_regex::Error),
}

/// The result of comparing.
pub type Result<T> = std::result::Result<T, Error>;
