//! `repo`: manages chart repositories.

mod add;
mod index;
mod list;
mod remove;
mod update;

use pintle::Remote;

use crate::command::{Command, Operands};
use crate::env::Home;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::remote;

/// `repo`
pub(crate) static COMMAND: Command = Command {
    name: "repo",
    operands_text: "add|remove|list|index|update [ARGS]",
    short: "add, list, remove, update and index chart repositories",
    long: "\
Manage chart repositories: servers that list their charts in an index.yaml.

    {program} repo add bitnami https://charts.bitnami.com/bitnami
    {program} search repo nginx
    {program} install web bitnami/nginx

The list of repositories and the cached indexes are shared with Helm.",
    operands: Operands::None,
    subcommands: &[&add::COMMAND, &index::COMMAND, &list::COMMAND, &remove::COMMAND, &update::COMMAND],
    ..Command::BLANK
};

/// What commands that download indexes work with: like Helm, the default folder instead of an empty path.
fn remote(invocation: &Invocation<'_>) -> Remote {
    let mut remote = remote::remote(invocation, invocation.flags.duration(names::TIMEOUT));
    if remote.paths.repository_cache.as_os_str().is_empty() {
        remote.paths.repository_cache = invocation.environment.home(Home::Cache, "repository").into();
    }
    remote
}

/// The timeout for downloading an index.
const TIMEOUT: Flag = Flag::of(names::TIMEOUT, Kind::Duration, "2m0s", "how long fetching an index may take")
    .completes(crate::flag::FlagCompletion::Nothing);
