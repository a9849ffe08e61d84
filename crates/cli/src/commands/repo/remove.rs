//! `repo remove`: removes repositories.

use pintle::repo::repository::remove_cache;
use pintle::repo::{Locked, Repositories};
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::remote;

/// `repo remove NAME…`
pub(super) static COMMAND: Command = Command {
    name: "remove",
    aliases: &["rm"],
    operands_text: "[REPO1 [REPO2 ...]]",
    short: "remove chart repositories",
    long: "Remove repositories from the list, and their cached indexes.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Repositories,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let none = || Failure::usage("no repositories configured");
    // Without a repository file there is nothing to lock.
    if Repositories::load_partly(&folders.repository_config).entries.is_empty() {
        return Err(none());
    }
    let lock = Locked::open(&folders.repository_config)?;
    let mut repositories = lock.read_partly();
    for name in invocation.flags.operands.clone() {
        let shown = quote(name.as_bytes());
        if !repositories.remove(&name) {
            return Err(Failure::usage(format!("no repo named {shown} found")));
        }
        lock.write(&repositories)?;
        remove_cache(&folders.repository_cache, &name)?;
        invocation.ui.print(&format!("{shown} has been removed from your repositories\n"))?;
    }
    Ok(())
}
