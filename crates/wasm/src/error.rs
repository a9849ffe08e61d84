//! What can go wrong with a module.

use std::time::Duration;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid module, or one that imports unknown functions.
    #[error("the module cannot be loaded: {0}")]
    Module(String),
    /// The module has no such function.
    #[error("unknown function: {0}")]
    NoFunction(String),
    /// The function has another signature.
    #[error("function {name} {problem}")]
    Signature {
        /// The name of the function.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The module reported an error.
    #[error("{0}")]
    Reported(String),
    /// The module did something that is not possible or not allowed.
    #[error("the module was stopped: {0}")]
    Trap(String),
    /// The module ran too long.
    #[error("the module did not end within {0:?}, and was stopped")]
    Timeout(Duration),
}
