//! Errors of the database.

use pintle_release::StoreError;

/// Why the database cannot be used, or an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection string is invalid.
    #[error("invalid connection string: {0}")]
    ConnectionString(String),
    /// A certificate or key is invalid.
    #[error("cannot use {file}: {reason}")]
    Certificate {
        /// Its file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The database rejected the statement or did not answer.
    #[error("{}", error_text(.0))]
    Database(#[from] tokio_postgres::Error),
}

/// The database's own message where there is one, with the prefix of Go's driver; otherwise the client's.
fn error_text(error: &tokio_postgres::Error) -> String {
    let mut text = match error.as_db_error() {
        Some(refusal) => return format!("pq: {}", refusal.message()),
        None => error.to_string(),
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Adds the store's operation to an error.
pub(crate) fn backend_error<E: Into<Error>>(action: &'static str) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Backend {
        action: action.to_owned(),
        forbidden: false,
        source: Box::new(error.into()),
    }
}
