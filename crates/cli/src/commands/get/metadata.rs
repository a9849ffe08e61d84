//! `get metadata`: shows the metadata of a release.

use pintle::release::VersionRef;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::{OUTPUT, REVISION};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_data};
use crate::output::metadata::{lines, record};
use crate::request;

/// `get metadata RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "metadata",
    operands_text: "RELEASE_NAME",
    short: "show the metadata of a release",
    long: "Show the metadata of a release: chart, labels, dependencies, version, status and apply method.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION, OUTPUT],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let at = request::revision(invocation)?;
    let connection = Connection::open(invocation)?;
    let mut version = super::read(&connection, invocation.operand(0), &at)?;
    if at == VersionRef::Current {
        // Helm shows all labels of the record, but only for the last version.
        version.labels = connection.run(pintle::ops::stored_labels(&connection.session, &version))?;
    }
    match Format::from_flags(&invocation.flags) {
        Format::Table => invocation.ui.print(&lines(&version)),
        format => print_data(invocation.ui, format, &record(&version)),
    }
}
