//! `get hooks`: shows the hooks of a release.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::REVISION;
use crate::invocation::Invocation;
use crate::output::release::print_hooks;

/// `get hooks RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "hooks",
    operands_text: "RELEASE_NAME",
    short: "show the hooks of a release",
    long: "Show the hooks of a release in YAML, as they were rendered.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = super::version(invocation)?;
    print_hooks(&version.hooks, invocation.ui)
}
