//! `unlock`: shows who holds the lease of a release, and releases it.

use pintle::ops::LockStatus;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::time;

/// `unlock RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "unlock",
    operands_text: "RELEASE_NAME",
    short: "show who holds the lease of a release, or release it",
    long: "\
Show who holds the lease of a release. With --free, mark the pending version as failed and release the lease.

The lease of a process that has died expires, and the next operation takes it over. This command is for other cases, such
as a version that Helm left pending.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::switch(names::FREE, "mark the pending revision as failed")];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let free = invocation.flags.on(names::FREE);
    let (session, namespace) = (&connection.session, &connection.namespace);
    let status = match free {
        true => connection.run(pintle::ops::unlock(session, namespace, &name))?,
        false => connection.run(pintle::ops::lock_status(session, namespace, &name))?,
    };
    invocation.ui.print(&describe(&name, &status, free))
}

fn describe(name: &str, status: &LockStatus, freed: bool) -> String {
    let Some(pending) = &status.pending else {
        return format!("no operation is in progress on release \"{name}\"\n");
    };
    let mut text =
        format!("version {} of release \"{name}\" is {}\n", pending.number, pending.status.as_str());
    match &status.lease {
        Some(lease) => {
            text.push_str(&format!("holder: {}\n", lease.holder));
            text.push_str(&format!("since: {}\n", time::seconds(Some(&lease.since))));
            let gone = if status.abandoned { " (gone)" } else { "" };
            text.push_str(&format!("last seen: {}{gone}\n", time::seconds(Some(&lease.renewed))));
        }
        None => text.push_str("holder: unknown\n"),
    }
    if freed {
        text.push_str("marked as failed\n");
    } else if !status.abandoned {
        text.push_str("use --free to mark it as failed\n");
    }
    text
}
