//! `get manifest`: shows the objects of a release.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::REVISION;
use crate::invocation::Invocation;

/// `get manifest RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "manifest",
    operands_text: "RELEASE_NAME",
    short: "show the manifest of a release",
    long: "Show the objects of a release and of its subcharts in YAML, as they were rendered.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = super::version(invocation)?;
    invocation.ui.print(&version.manifest)?;
    invocation.ui.print("\n")
}
