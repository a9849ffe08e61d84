//! `get`: shows the stored data of a release.

mod all;
mod hooks;
mod manifest;
mod metadata;
mod notes;
mod values;

use pintle::release::{ReleaseVersion, VersionRef};

use crate::command::Command;
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::request;

/// `get`
pub(crate) static COMMAND: Command = Command {
    name: "get",
    short: "show stored information about a release",
    long: "\
Show what is stored about a release: its values, objects, hooks, notes or metadata.",
    subcommands: &[
        &all::COMMAND,
        &hooks::COMMAND,
        &manifest::COMMAND,
        &metadata::COMMAND,
        &notes::COMMAND,
        &values::COMMAND,
    ],
    ..Command::BLANK
};

/// Reads the version of the operand and `--revision`.
fn version(invocation: &mut Invocation<'_>) -> Result<ReleaseVersion, Failure> {
    let at = request::revision(invocation)?;
    let connection = Connection::open(invocation)?;
    read(&connection, invocation.operand(0), &at)
}

fn read(connection: &Connection, name: &str, at: &VersionRef) -> Result<ReleaseVersion, Failure> {
    connection.run(pintle::ops::get(&connection.session, &connection.namespace, name, at))
}
