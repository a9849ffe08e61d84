//! `request`: the requests of the controller, `HelmRequest` objects.

mod export;
mod logs;

use std::collections::BTreeMap;

use pintle::cluster::{Cluster, ListParams, PatchType, WriteParams, crds};
use pintle::objects::{Object, ObjectId};
use pintle_tree::{Map, Node, json};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::yaml;
use crate::output::grid::{self, Cell, Column, Fit, Grid};
use crate::output::table::table;
use crate::personality::Personality;

/// The widest column of the list.
const MAX_COLUMN: usize = 80;

/// `request`
pub(crate) static COMMAND: Command = Command {
    name: "request",
    short: "manage the requests of the controller",
    long: "\
A HelmRequest describes a release, and `pintle-controller` keeps it as described. These commands show requests and tell the
controller what to do about them.",
    subcommands: &[
        &APPROVE,
        &export::COMMAND,
        &GET,
        &LIST,
        &logs::COMMAND,
        &RECONCILE,
        &RESUME,
        &SUSPEND,
    ],
    ..Command::BLANK
};

static APPROVE: Command = Command {
    name: "approve",
    operands_text: "NAME",
    short: "approve what a request waits to do",
    long: "\
Approve the install or upgrade that a request with `approval: Manual` waits to do. Exactly the objects of the plan are
deployed; if the cluster changes what would happen to them, a new plan waits.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    run: Some(approve),
    ..Command::BLANK
};

static GET: Command = Command {
    name: "get",
    operands_text: "NAME",
    short: "show a request",
    long: "Show a request with its status, as YAML.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    run: Some(get),
    ..Command::BLANK
};

static LIST: Command = Command {
    name: "list",
    aliases: &["ls"],
    short: "list requests",
    long: "List the requests of a namespace, whether they are ready, and what happened last.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[ALL],
    run: Some(list),
    ..Command::BLANK
};

static RECONCILE: Command = Command {
    name: "reconcile",
    operands_text: "NAME",
    short: "reconcile a request now",
    long: "\
Ask the controller to reconcile a request now instead of at its next interval. With --force, the release is upgraded even if
nothing changed; with --reset, failures are forgotten, so that a stalled request is tried again.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    flags: &[HOW],
    run: Some(reconcile),
    ..Command::BLANK
};

static RESUME: Command = Command {
    name: "resume",
    operands_text: "NAME",
    short: "resume a suspended request",
    long: "Let the controller reconcile a suspended request again.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    run: Some(resume),
    ..Command::BLANK
};

static SUSPEND: Command = Command {
    name: "suspend",
    operands_text: "NAME",
    short: "suspend a request",
    long: "Make the controller leave the release of a request alone until it is resumed.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Nothing,
    run: Some(suspend),
    ..Command::BLANK
};

static ALL: &[Flag] = &[Flag::switch(names::ALL_NAMESPACES, "list requests of all namespaces").short('A')];

static HOW: &[Flag] = &[
    Flag::switch(names::FORCE, "upgrade the release even if nothing changed"),
    Flag::switch(names::RESET, "forget failures"),
];

fn list(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let all = invocation.flags.on(names::ALL_NAMESPACES);
    let namespace = if all { "" } else { connection.namespace.as_str() };
    let cluster = &connection.session.cluster;
    let listed = connection
        .try_run(async { cluster.list(&crds::helm_requests(), namespace, &ListParams::default()).await });
    let requests = listed.map_err(unknown_kind)?;
    if grid::is_wanted(invocation) {
        return print_grid(invocation, &requests);
    }
    let mut rows =
        vec![["NAMESPACE", "NAME", "READY", "CHART VERSION", "STATUS"].map(str::to_owned).to_vec()];
    rows.extend(requests.iter().map(|request| {
        let word = match (request.at(&["spec", "suspend"]), ready(request, "status")) {
            (Some(Node::Bool(true)), _) => "Suspended",
            (_, "") => "Unknown",
            (_, word) => word,
        };
        [
            request.namespace(),
            request.name(),
            word,
            request.text(&["status", "chartVersion"]),
            ready(request, "message"),
        ]
        .map(str::to_owned)
        .to_vec()
    }));
    invocation.ui.print(&format!("{}\n", table(&rows, MAX_COLUMN)))
}

/// The table for people.
fn print_grid(invocation: &mut Invocation<'_>, requests: &[Object]) -> Result<(), Failure> {
    let mut table = Grid::new(vec![
        Column::new("NAMESPACE", Fit::Middle),
        Column::new("NAME", Fit::Middle),
        Column::new("READY", Fit::Keep),
        Column::new("CHART VERSION", Fit::Drop(1)),
        Column::new("STATUS", Fit::End),
    ]);
    for request in requests {
        let (word, color) = match (request.at(&["spec", "suspend"]), ready(request, "status")) {
            (Some(Node::Bool(true)), _) => ("Suspended", Some(33)),
            (_, "True") => ("True", Some(32)),
            (_, "False") => ("False", Some(31)),
            (_, "") => ("Unknown", Some(33)),
            (_, word) => (word, None),
        };
        table.push(vec![
            Cell::from(request.namespace()),
            Cell::from(request.name()),
            Cell::from(word).colored(color),
            Cell::from(request.text(&["status", "chartVersion"])),
            Cell::from(ready(request, "message")),
        ]);
    }
    let summary = grid::counted(requests.len(), "request");
    grid::print(invocation, table, true, &summary)
}

fn get(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let mut request = read(&connection, invocation.operand(0))?;
    request.metadata_mut().remove("managedFields");
    let text = yaml(request.body())?;
    invocation.ui.print(&String::from_utf8_lossy(&text))
}

fn suspend(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    set_suspended(invocation, true)
}

fn resume(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    set_suspended(invocation, false)
}

fn set_suspended(invocation: &mut Invocation<'_>, suspended: bool) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let spec = Map::from_entries(vec![("suspend".into(), suspended.into())]);
    patch(&connection, &name, "spec", spec)?;
    let word = if suspended { "suspended" } else { "resumed" };
    invocation.ui.print(&format!("request \"{name}\" {word}\n"))
}

fn reconcile(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let token = connection.session.clock.now().to_string();
    let mut annotations = vec![("helm.sh/reconcile-requested-at", token.clone())];
    for (flag, key) in
        [(names::FORCE, "helm.sh/force-requested-at"), (names::RESET, "helm.sh/reset-requested-at")]
    {
        if invocation.flags.on(flag) {
            annotations.push((key, token.clone()));
        }
    }
    annotate(&connection, &name, annotations)?;
    invocation.ui.print(&format!("request \"{name}\" will be reconciled\n"))
}

fn approve(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let name = invocation.operand(0).to_owned();
    let request = read(&connection, &name)?;
    let digest = request.text(&["status", "planDigest"]).to_owned();
    if digest.is_empty() {
        return Err(Failure::run_time(format!("request `{name}` does not wait for an approval")));
    }
    annotate(&connection, &name, vec![("helm.sh/approve", digest.clone())])?;
    let summary = request.text(&["status", "planSummary"]);
    let objects = request.at(&["status", "planObjects"]).and_then(Node::as_list).unwrap_or_default();
    let lines: String = objects.iter().filter_map(Node::as_str).map(|line| format!("  {line}\n")).collect();
    invocation.ui.print(&format!("approved: {summary} ({digest})\n{lines}"))
}

/// Warns that the controller will undo what was done to a release by hand.
pub(super) fn warn_if_managed(
    invocation: &mut Invocation<'_>,
    labels: &BTreeMap<String, String>,
    undo: &str,
) {
    if invocation.personality != Personality::Pintle {
        return;
    }
    let Some(owner) = pintle_controller::origin_labels::owner_of(labels) else { return };
    invocation.ui.warn(&format!(
        "HelmRequest {}/{} manages this release, and the controller will {undo}; change the request instead, or suspend it: \
         `pintle request suspend {} --namespace {}`",
        owner.namespace, owner.name, owner.name, owner.namespace
    ));
}

/// A field of the condition `Ready`.
fn ready<'r>(request: &'r Object, field: &str) -> &'r str {
    let conditions = request.at(&["status", "conditions"]).and_then(Node::as_list).unwrap_or_default();
    let ready = conditions.iter().find(|node| node.get("type").and_then(Node::as_str) == Some("Ready"));
    ready.and_then(|node| node.get(field)).and_then(Node::as_str).unwrap_or_default()
}

fn read(connection: &Connection, name: &str) -> Result<Object, Failure> {
    let cluster: &Cluster = &connection.session.cluster;
    let namespace = connection.namespace.as_str();
    let found =
        connection.try_run(async { cluster.get_by_name(&crds::helm_requests(), namespace, name).await });
    found.map_err(unknown_kind)?.ok_or_else(|| missing(name, namespace))
}

fn annotate(connection: &Connection, name: &str, annotations: Vec<(&str, String)>) -> Result<(), Failure> {
    let annotations = annotations.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
    let metadata = Map::from_entries(vec![("annotations".into(), Node::Map(Map::from_entries(annotations)))]);
    patch(connection, name, "metadata", metadata)
}

fn patch(connection: &Connection, name: &str, field: &str, value: Map<Node>) -> Result<(), Failure> {
    let namespace = connection.namespace.as_str();
    let id = ObjectId::new("helm.sh/v3", "HelmRequest", namespace, name);
    let body = Map::from_entries(vec![(field.into(), Node::Map(value))]);
    let body = json::write_raw(&body).unwrap_or_default();
    let params = WriteParams { field_manager: "pintle", ..WriteParams::default() };
    let cluster = &connection.session.cluster;
    let patched = connection.try_run(async { cluster.patch(&id, PatchType::Merge, body, &params).await });
    match patched {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Err(missing(name, namespace)),
        Err(error) => Err(unknown_kind(error)),
    }
}

fn missing(name: &str, namespace: &str) -> Failure {
    Failure::run_time(format!("there is no HelmRequest `{name}` in namespace `{namespace}`"))
        .hint("`request list --all-namespaces` lists all")
}

/// Says what is missing when the cluster does not know the kind.
fn unknown_kind(error: pintle::cluster::Error) -> Failure {
    let is_unknown = error.is_not_found() || matches!(error, pintle::cluster::Error::NoSuchKind { .. });
    let failure = Failure::from(pintle::Error::from(error));
    match is_unknown {
        true => failure.hint("the cluster does not know HelmRequests; install the controller first"),
        false => failure,
    }
}
