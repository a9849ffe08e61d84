//! `repo update`: updates the cached indexes of repositories.

use pintle::ops::update_repositories;

use super::TIMEOUT;
use crate::command::{ArgCompletion, Command};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::report::Reporting;

/// `repo update [NAME…]`
pub(super) static COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    operands_text: "[REPO1 [REPO2 ...]]",
    short: "update the cached indexes of chart repositories",
    long: "\
Update the cached indexes of all repositories, or of the named ones, concurrently. An index that the server reports as
unchanged is not downloaded again.",
    completion: ArgCompletion::Repositories,
    flags: &[&[TIMEOUT, FAIL]],
    run: Some(run),
    ..Command::BLANK
};

/// A flag of Helm 3 that scripts still use.
const FAIL: Flag = Flag::switch(names::FAIL_ON_REPO_UPDATE_FAIL, "")
    .deprecated("it has no effect: an update that fails is always an error");

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let remote = super::remote(invocation);
    let mut reporter = Reporting::new(invocation.ui);
    run_offline(update_repositories(&remote, &invocation.flags.operands, &mut reporter))?;
    invocation.ui.print("Update Complete. ⎈Happy Helming!⎈\n")
}
