//! `get notes`: shows the notes of a release.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::REVISION;
use crate::invocation::Invocation;

/// `get notes RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "notes",
    operands_text: "RELEASE_NAME",
    short: "show the notes of a release",
    long: "Show the rendered notes of a release.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = super::version(invocation)?;
    match version.info.notes.as_str() {
        "" => Ok(()),
        notes => invocation.ui.print(&format!("NOTES:\n{notes}\n")),
    }
}
