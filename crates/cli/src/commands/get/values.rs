//! `get values`: shows the values of a release.

use pintle_tree::Node;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::{OUTPUT, REVISION};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_data, yaml};
use crate::output::release::computed_values;

/// `get values RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "values",
    operands_text: "RELEASE_NAME",
    short: "show the values of a release",
    long: "Show the values that were set for a release; with --all, merged with the defaults of its chart.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION, OWN, OUTPUT],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] =
    &[Flag::switch(names::ALL, "show all values, including the chart's defaults").short('a')];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = super::version(invocation)?;
    let all = invocation.flags.on(names::ALL);
    let values = if all {
        Node::Map(computed_values(&version, invocation.ui)?)
    } else {
        version.config.map_or(Node::Nil, Node::Map)
    };
    match Format::from_flags(&invocation.flags) {
        Format::Table => {
            let title = if all { "COMPUTED VALUES:\n" } else { "USER-SUPPLIED VALUES:\n" };
            invocation.ui.print(title)?;
            Ok(invocation.ui.out().write_all(&yaml(&values)?)?)
        }
        format => print_data(invocation.ui, format, &values),
    }
}
