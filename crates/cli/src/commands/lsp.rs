//! `lsp`: the language server for editors.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `lsp`
pub(crate) static COMMAND: Command = Command {
    name: "lsp",
    short: "serve editors: completion, definitions, renames and checks for charts",
    long: "\
Speak the language server protocol on standard input and output. Editors start this command; the guide on editors has
their settings.

The server knows templates, values files, Chart.yaml and test suites: what a name is and may be, where it is set and used, in
the chart, its subcharts and their archives. It renders the chart as it is in the editor and reports what fails, and what the
objects have that Kubernetes does not know. It runs no scripts and no plugins, uses no network, and writes no files.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

fn run(_: &mut Invocation<'_>) -> Result<(), Failure> {
    pintle_lsp::run_stdio(env!("CARGO_PKG_VERSION")).map_err(|error| Failure::run_time(error.to_string()))
}
