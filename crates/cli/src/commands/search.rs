//! `search`: searches for charts.

mod hub;
mod repo;

use pintle_tree::quote::quote;

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

fn bad_constraint(error: &dyn std::fmt::Display, text: &str) -> Failure {
    Failure::usage(format!("an invalid version/constraint format: {error}"))
        .with_pintle_text(format!("{} is not a version range: {error}", quote(text.as_bytes())))
}
