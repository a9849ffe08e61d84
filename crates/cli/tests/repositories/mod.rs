//! Charts from repositories on a server of our own: what differs from Helm. What equals Helm is in `beside_helm`.

mod bad_input;
mod changes;
mod commands;
mod dependencies;
mod museum;
pub(crate) mod server;

use crate::support::TestEnv;
use server::Server;

/// An empty home, and a server with charts.
fn set_up() -> (TestEnv, Server) {
    let env = TestEnv::new();
    let files = server::files(&env);
    (env, Server::plain(&files))
}

/// What a command printed that must have succeeded.
fn good(printed: String) -> String {
    assert!(printed.starts_with("exit 0\n"), "{printed}");
    printed
}
