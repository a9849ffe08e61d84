//! `adopt`: moves the records of a release from Helm's store to our own.

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `adopt RELEASE_NAME [...]`
pub(crate) static COMMAND: Command = Command {
    name: "adopt",
    operands_text: "RELEASE_NAME [...]",
    short: "move a release from Helm's records to Pintle's",
    long: "\
Move the records of all versions of a release from Helm's Secrets into Pintle's own store. The objects of the release
are not changed. A successful upgrade or rollback adopts the release automatically.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Releases,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    for name in invocation.flags.operands.clone() {
        let (session, namespace) = (&connection.session, &connection.namespace);
        let line = match connection.run(pintle::ops::adopt(session, namespace, &name))? {
            0 => format!("release \"{name}\" is already adopted\n"),
            1 => format!("release \"{name}\" adopted with 1 version\n"),
            moved => format!("release \"{name}\" adopted with {moved} versions\n"),
        };
        invocation.ui.print(&line)?;
    }
    Ok(())
}
