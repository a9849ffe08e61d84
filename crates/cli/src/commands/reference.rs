//! `__reference`: prints a reference page: all commands and flags, or another one, for the documentation and tests.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::reference;

/// `__reference`
pub(crate) static COMMAND: Command = Command {
    name: "__reference",
    operands_text: "[page]",
    short: "print the reference of all commands, or another page, in Markdown",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Nothing,
    hidden: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let name = match invocation.operand(0) {
        "" => "commands",
        name => name,
    };
    let page = reference::page(name, invocation.personality)
        .ok_or_else(|| Failure::usage("the pages are commands, environment and exit-codes"))?;
    invocation.ui.print(&page)
}
