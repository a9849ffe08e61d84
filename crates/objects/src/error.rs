//! What can go wrong between rendered text and objects.

use crate::LogLine;

/// Why rendered text could not be turned into objects.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A document is not YAML, or its head has the wrong shape.
    #[error("YAML parse error on {path}: {reason}")]
    Document {
        /// The rendered file that holds the document.
        path: String,
        /// The document's number inside the file, from 0, counting only documents that are not empty.
        index: usize,
        /// What the YAML or the head's shape lacks, in Go's words.
        reason: String,
        /// The line inside the document, where the YAML reader tells.
        line: Option<usize>,
        /// What was to be logged before the document was met.
        log: Vec<LogLine>,
    },
}
