//! `request logs`: what happened to a request.

use std::collections::BTreeSet;
use std::time::Duration;

use pintle::cluster::{ListParams, Resource};
use pintle::objects::Object;
use pintle_tree::Node;

use super::{read, ready};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;

/// How often new Events are listed with --follow.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// `request logs NAME`
pub(super) static COMMAND: Command = Command {
    name: "logs",
    operands_text: "NAME",
    short: "show what happened to a request",
    long: "\
Show the Events of a request in the order in which they happened, and the last lines of the logs of hooks if the last
operation failed. With --follow, print what happens until the request is ready or stalled.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] =
    &[Flag::switch(names::FOLLOW, "print what happens until the request is ready or stalled").short('f')];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let follow = invocation.flags.on(names::FOLLOW);
    let mut printed = BTreeSet::new();
    loop {
        let request = read(&connection, &name)?;
        for event in events(&connection, &request)? {
            if printed.insert(event.name().to_owned()) {
                invocation.ui.print(&line(&event))?;
            }
        }
        if !follow || is_settled(&request) {
            return hook_logs(invocation, &request);
        }
        invocation.ui.flush()?;
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The Events of a request, oldest first.
fn events(connection: &Connection, request: &Object) -> Result<Vec<Object>, Failure> {
    let resource = Resource::new("", "v1", "Event", "events");
    let params = ListParams {
        fields: format!("involvedObject.kind=HelmRequest,involvedObject.name={}", request.name()),
        ..ListParams::default()
    };
    let cluster = &connection.session.cluster;
    let listed = connection.try_run(async { cluster.list(&resource, &connection.namespace, &params).await });
    let mut events = listed.map_err(|error| Failure::from(pintle::Error::from(error)))?;
    // A request of the same name may have been deleted before.
    events.retain(|event| event.text(&["involvedObject", "uid"]) == request.uid());
    events.sort_by_key(|event| {
        let text = |path: &[&str]| event.text(path).to_owned();
        (text(&["lastTimestamp"]), text(&["metadata", "creationTimestamp"]), event.name().to_owned())
    });
    Ok(events)
}

fn line(event: &Object) -> String {
    let [time, kind, reason, message] =
        ["lastTimestamp", "type", "reason", "message"].map(|field| event.text(&[field]));
    format!("{time} {kind:<7} {reason}: {message}\n")
}

/// Whether nothing more happens until the request changes.
fn is_settled(request: &Object) -> bool {
    let is_observed =
        request.int(&["metadata", "generation"]) == request.int(&["status", "observedGeneration"]);
    let conditions = request.at(&["status", "conditions"]).and_then(Node::as_list).unwrap_or_default();
    let is_stalled = conditions.iter().any(|node| {
        let text = |key: &str| node.get(key).and_then(Node::as_str);
        text("type") == Some("Stalled") && text("status") == Some("True")
    });
    let waits = ready(request, "reason") == "AwaitingApproval";
    is_observed && (ready(request, "status") == "True" || is_stalled || waits)
}

fn hook_logs(invocation: &mut Invocation<'_>, request: &Object) -> Result<(), Failure> {
    let lines = request.at(&["status", "lastError", "hookLogs"]).and_then(Node::as_list).unwrap_or_default();
    for line in lines.iter().filter_map(Node::as_str) {
        invocation.ui.print(&format!("{line}\n"))?;
    }
    Ok(())
}
