//! `unlock`: who is at work on a release, and how to go on when nobody is.

use pintle::ops::Unlocked;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::Flag;
use crate::invocation::Invocation;
use crate::output::moment;

/// `unlock RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "unlock",
    operands_text: "RELEASE_NAME",
    short: "show who holds the lease of a release, or release it",
    long: "\
Shows who is at work on a release. With --free, marks the version that is pending as failed, so that work can go on.

An operation whose program has died is taken over by the next one; this is for the rest, such as a version that Helm
left pending.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::switch("free", "mark the pending revision as failed")];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let free = invocation.flags.on("free");
    let (session, namespace) = (&connection.session, &connection.namespace);
    let unlocked = connection.run(pintle::ops::unlock(session, namespace, &name, free))?;
    invocation.ui.print(&told(&name, &unlocked))
}

fn told(name: &str, unlocked: &Unlocked) -> String {
    let Some(pending) = &unlocked.pending else {
        return format!("nobody is at work on release \"{name}\"\n");
    };
    let mut text =
        format!("version {} of release \"{name}\" is {}\n", pending.number, pending.status.as_str());
    match &unlocked.lease {
        Some(lease) => {
            text.push_str(&format!("holder: {}\n", lease.holder));
            text.push_str(&format!("since: {}\n", moment::seconds(Some(&lease.since))));
            let silence = if unlocked.abandoned { " (gone)" } else { "" };
            text.push_str(&format!("last seen: {}{silence}\n", moment::seconds(Some(&lease.renewed))));
        }
        None => text.push_str("holder: unknown\n"),
    }
    if unlocked.freed {
        text.push_str("it is marked as failed now\n");
    } else if !unlocked.abandoned {
        text.push_str("--free marks it as failed, so that work can go on\n");
    }
    text
}
