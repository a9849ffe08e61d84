//! `rollback`: rolls a release back to an earlier version.

use pintle::ops::{RollbackRequest, check_rollback_description};

use super::request::warn_if_managed;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::{DRY_RUN, EXCLUSIVE};
use crate::flag::names;
use crate::flag::operations::{ROLLBACK_GROUPS, join};
use crate::invocation::Invocation;
use crate::report::ClusterReporter;
use crate::request;

/// `rollback <RELEASE> [REVISION]`
pub(crate) static COMMAND: Command = Command {
    name: "rollback",
    operands_text: "<RELEASE> [REVISION]",
    short: "roll a release back to an earlier version",
    long: "\
Roll a release back to an earlier version: the previous one, or the one that is given. `{program} history` lists the
versions of a release.

Nothing is rendered again: the stored objects of that version are applied as a new version.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::ReleaseAndVersion,
    flags: &join::<6>(&[&ROLLBACK_GROUPS, &[DRY_RUN]]),
    exclusive: EXCLUSIVE,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let to = invocation.flags.operands.get(1).map(String::as_str);
    let to = request::rollback_target(invocation.personality, to)?;
    check_rollback_description(invocation.flags.text(names::DESCRIPTION)).map_err(Failure::from)?;
    let mode = request::mode(&invocation.flags, invocation.ui)?;
    let deploy = request::deploy_options(invocation)?;
    let method = request::method_choice(&invocation.flags)?;
    let connection = Connection::open(invocation)?;
    let request = RollbackRequest {
        name: invocation.operand(0).to_owned(),
        namespace: connection.namespace.clone(),
        to,
        method,
        cleanup_on_fail: invocation.flags.on(names::CLEANUP_ON_FAIL),
        max_history: request::max_history(invocation),
        description: invocation.flags.text(names::DESCRIPTION).to_owned(),
        deploy,
        dry_run: mode,
    };
    connection.cancel_on_signals(None);
    let version = {
        let mut reporter = ClusterReporter::new(invocation.ui, false);
        connection.run(pintle::ops::rollback(&connection.session, &request, &mut reporter))?
    };
    if !mode.is_dry_run() {
        warn_if_managed(invocation, &version.labels, "upgrade it again");
    }
    invocation.ui.print("Rollback was a success! Happy Helming!\n")
}
