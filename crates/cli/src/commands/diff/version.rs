//! `diff version`: shows the version of helm-diff whose behavior is followed.

use super::HELM_DIFF;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `diff version`
pub(crate) static COMMAND: Command = Command {
    name: "version",
    short: "show the version of helm-diff that is followed",
    long: "Show the version of the helm-diff plugin whose flags and output the diff commands have.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    invocation.ui.print(&format!("{HELM_DIFF}\n"))
}
