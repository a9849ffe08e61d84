//! Charts from repositories on a server of our own, beside the real Helm and without it.

mod beside_helm;
mod commands;
mod dependencies;
pub(crate) mod server;
