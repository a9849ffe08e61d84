//! Errors of parsing rendered text into objects.

use crate::LogLine;

/// Why rendered text could not be turned into objects.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A document is not YAML, or its head has fields of the wrong type.
    #[error("YAML parse error on {path}: {reason}")]
    Document {
        /// The rendered file that holds the document.
        path: String,
        /// The index of the document within the file, counting only non-empty documents.
        index: usize,
        /// What is wrong, as Go reports it.
        reason: String,
        /// The line within the document, if the YAML reader reports one.
        line: Option<usize>,
        /// Log lines that precede the error.
        log: Vec<LogLine>,
    },
}
