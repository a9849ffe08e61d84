//! `get all`: shows all stored data of a release.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::REVISION;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::format::Format;
use crate::output::release::Shown;
use crate::text_template;

/// `get all RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "all",
    operands_text: "RELEASE_NAME",
    short: "show all information about a release",
    long: "\
Show everything that is stored about a release: status, values, hooks, objects and notes.

A Go template selects parts of it:

    {program} get all web --template '{{.Release.Info.Status}}'",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION, OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] =
    &[Flag::text(names::TEMPLATE, "a Go template for the output, such as {{.Release.Name}}")
        .completes(FlagCompletion::Nothing)];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = super::version(invocation)?;
    let template = invocation.flags.text(names::TEMPLATE);
    if !template.is_empty() {
        let by_number = !matches!(invocation.flags.text(names::REVISION), "" | "0");
        let text = text_template::release(template, &version, by_number).map_err(Failure::usage)?;
        return Ok(invocation.ui.out().write_all(&text)?);
    }
    let shown = Shown { details: true, chart: true, ..Shown::of(&version, invocation) };
    shown.print(Format::Table, invocation.ui)
}
