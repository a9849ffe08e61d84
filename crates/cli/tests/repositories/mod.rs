//! Charts from repositories on a server of our own, beside the real Helm and without it.

mod beside_helm;
mod changes;
mod commands;
mod dependencies;
mod museum;
pub(crate) mod server;
