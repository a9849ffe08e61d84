//! `init`: makes a cluster ready to keep releases in objects of their own.

use pintle::DryRun;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `init`
pub(crate) static COMMAND: Command = Command {
    name: "init",
    short: "install the custom resource definitions for releases",
    long: "\
Installs the custom resource definitions in which releases are kept, or brings them up to date.

This happens by itself where the user may do it; where not, an administrator runs this command once for a cluster.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open_or_make(invocation, DryRun::None)?;
    connection.run(pintle::ops::init(&connection.session))?;
    invocation.ui.print("the cluster is ready to keep releases\n")
}
