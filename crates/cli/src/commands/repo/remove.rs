//! `repo remove`: removes repositories.

use pintle::ops::remove_repositories;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::remote;
use crate::report::Reporting;

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
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let mut reporter = Reporting::new(invocation.ui);
    Ok(run_offline(remove_repositories(&remote, &invocation.flags.operands, &mut reporter))?)
}
