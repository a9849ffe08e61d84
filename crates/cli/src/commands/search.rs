//! `search`: searches for charts.

mod hub;
mod repo;

use crate::command::{Command, Operands};
use crate::failure::Failure;

/// `search`
pub(crate) static COMMAND: Command = Command {
    name: "search",
    operands_text: "[keyword]",
    short: "search for charts",
    long: "Search for charts in the repositories that were added, or in a hub.",
    operands: Operands::Any,
    subcommands: &[&hub::COMMAND, &repo::COMMAND],
    ..Command::BLANK
};

fn nothing_found() -> Failure {
    Failure::run_time("no results found")
}
