//! `__reference`: prints the reference page of all commands and flags, for the documentation and tests.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::reference;

/// `__reference`
pub(crate) static COMMAND: Command = Command {
    name: "__reference",
    short: "print the reference of all commands in Markdown",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    hidden: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let page = reference::page(invocation.personality);
    invocation.ui.print(&page)
}
