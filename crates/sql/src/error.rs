//! What can go wrong between us and the database.

use pintle_release::StoreError;

/// Why the database cannot be used, or did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection string cannot be read.
    #[error("the connection string has a bad part: {0}")]
    ConnectionString(String),
    /// A certificate or key cannot be used.
    #[error("cannot use {file}: {reason}")]
    Certificate {
        /// Where it comes from.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database refused or did not answer.
    #[error("{}", error_text(.0))]
    Database(#[from] tokio_postgres::Error),
}

/// The database's own words where it has some; the client's are about the protocol.
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

/// Says what the store was doing.
pub(crate) fn backend_error<E: Into<Error>>(action: &'static str) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Backend { action: action.to_owned(), source: Box::new(error.into()) }
}
