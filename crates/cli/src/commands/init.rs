//! `init`: installs the custom resource definitions of releases.

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
Install or update the custom resource definitions in which releases are stored.

The first install does this automatically if the user is allowed to; otherwise an administrator runs this command once
per cluster.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open_or_create(invocation, DryRun::None)?;
    connection.run(pintle::ops::init(&connection.session))?;
    invocation.ui.print("the custom resource definitions of releases are installed\n")
}
