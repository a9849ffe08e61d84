//! `lua`: tools for authors of chart scripts.

use pintle::events::{Event, TABLE};
use pintle::ops::{TriedEvent, TryEventRequest, check_scripts};
use pintle_tree::Node;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::{Failure, FailureKind};
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::VALUES;
use crate::flag::{Flag, names};
use crate::grants::{self, Grant, Grants};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_data, yaml};
use crate::output::grid::print_rows;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::suggest::{NameOf, question};
use crate::{chart_reference, kubeconfig, request};

/// `lua`
pub(crate) static COMMAND: Command = Command {
    name: "lua",
    short: "check, run and inspect the scripts of a chart and their permissions",
    long: "\
A chart may contain scripts that handle lifecycle events: ext/lua/chart.lua is loaded with the chart. These commands
help to write them. `{program} create --lua` creates a chart with a script to start from.",
    subcommands: &[&CHECK, &GRANTS, &RUN, &TYPES],
    ..Command::BLANK
};

static CHECK: Command = Command {
    name: "check",
    operands_text: "CHART",
    short: "examine scripts for problems without running them",
    long: "\
Check the scripts of a chart and its subcharts without running them: syntax, unknown events and names, modules that
cannot be required, permissions that are not requested, calls with wrong arguments, and fields of the context that do
not exist or are read-only.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Chart,
    run: Some(check),
    ..Command::BLANK
};

static GRANTS: Command = Command {
    name: "grants",
    short: "show or revoke the permissions that you have granted to scripts",
    long: "\
Show the permissions that you have granted to scripts of releases. A grant is bound to the digest of the scripts and to
your user: changed scripts, and other users, are asked again. Grants are stored in your data directory; a chart or the
record of a release cannot grant anything.

    {program} lua grants --revoke web",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[GRANTS_OWN, OUTPUT],
    run: Some(grants),
    ..Command::BLANK
};

static GRANTS_OWN: &[Flag] = &[
    Flag::array(
        names::REVOKE,
        "revoke the grants of this digest, or its beginning, or of this chart; may be repeated",
    ),
    Flag::switch(names::REVOKE_ALL, "revoke all grants"),
];

static RUN: Command = Command {
    name: "run",
    operands_text: "CHART EVENT",
    short: "run the handlers of one event and show what they change",
    long: "\
Call the handlers of a chart for one event, and print their input and their output as two YAML documents. Nothing is
written, and no cluster is contacted. Handlers of other events are not called: for an event after rendering, the chart
is rendered without them.

    {program} lua run ./web pre-render --set replicas=3 --explain",
    operands: Operands::Exactly(2),
    completion: ArgCompletion::ChartAndEvent,
    flags: &[VALUES, SCRIPTS, OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::RELEASE, "the name of the release").or("release-name"),
    Flag::switch(names::IS_UPGRADE, "run handlers as for an upgrade instead of an install"),
];

static TYPES: Command = Command {
    name: "types",
    short: "print the types of what scripts can use, for editors",
    long: "\
Print a definition file for luau-lsp, for completion and type checks in editors:

    {program} lua types > pintle.d.luau",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(types),
    ..Command::BLANK
};

fn check(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let findings = run_offline(check_scripts(&chart, &mut Reporting::new(invocation.ui)))?;
    for finding in &findings {
        invocation.ui.print(&format!("{finding}\n"))?;
    }
    match findings.len() {
        0 => invocation.ui.print("No problems found.\n"),
        1 => Err(Failure::new(FailureKind::BadChart, "1 problem found")),
        count => Err(Failure::new(FailureKind::BadChart, format!("{count} problems found"))),
    }
}

fn grants(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let grants = Grants::for_user(invocation.environment);
    let revoked = invocation.flags.list(names::REVOKE).to_vec();
    if invocation.flags.on(names::REVOKE_ALL) || !revoked.is_empty() {
        return revoke(invocation, &grants, &revoked);
    }
    let all = grants.all().map_err(Failure::run_time)?;
    match Format::from_flags(&invocation.flags) {
        Format::Table if all.is_empty() => invocation.ui.print("No permissions have been granted.\n"),
        Format::Table => print_rows(invocation, &rows(&all), 0),
        format => print_data(invocation.ui, format, &Node::List(all.iter().map(grants::node).collect())),
    }
}

fn rows(grants: &[Grant]) -> Vec<Vec<String>> {
    let head = ["CHART", "PERMISSIONS", "GRANTED", "DIGEST"].map(str::to_owned).to_vec();
    let row = |grant: &Grant| {
        vec![grant.chart.clone(), grant.permissions.to_string(), grant.granted.clone(), grant.digest.clone()]
    };
    std::iter::once(head).chain(grants.iter().map(row)).collect()
}

/// The minimum length of a digest prefix that identifies scripts.
const MIN_DIGEST_LENGTH: usize = 6;

fn revoke(invocation: &mut Invocation<'_>, grants: &Grants, revoked: &[String]) -> Result<(), Failure> {
    let all = invocation.flags.on(names::REVOKE_ALL);
    let is_meant = |grant: &Grant, name: &String| {
        let digest = grant.digest.trim_start_matches("sha256:");
        let start = name.trim_start_matches("sha256:");
        grant.chart == *name || (start.len() >= MIN_DIGEST_LENGTH && digest.starts_with(start))
    };
    let known = grants.all().map_err(Failure::run_time)?;
    if let Some(name) = revoked.iter().find(|name| !known.iter().any(|grant| is_meant(grant, name))) {
        return Err(Failure::usage(format!("there is no grant for {name:?}")).hint(
            "`pintle lua grants` shows all grants; the beginning of a digest has at least 6 characters",
        ));
    }
    let revoked = grants
        .revoke(|grant| all || revoked.iter().any(|name| is_meant(grant, name)))
        .map_err(Failure::run_time)?;
    for grant in &revoked {
        let Grant { chart, permissions, digest, .. } = grant;
        invocation.ui.print(&format!("revoked {permissions} of chart {chart} ({digest})\n"))?;
    }
    Ok(())
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let event = event(invocation.operand(1))?;
    let session = scripts::offline_session(invocation)?;
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let values = request::values(invocation)?;
    let flags = &invocation.flags;
    let request = TryEventRequest {
        chart,
        event,
        values,
        name: flags.text(names::RELEASE).to_owned(),
        namespace: kubeconfig::namespace(flags, invocation.environment),
        is_upgrade: flags.on(names::IS_UPGRADE),
    };
    let TriedEvent { before, after, has_handlers } =
        run_offline(pintle::ops::try_event(&session, &request, &mut Reporting::new(invocation.ui)))?;
    if !has_handlers {
        invocation.ui.warn(&format!("the chart has no handler for `{event}`"));
    }
    for (title, context) in [("before", &before), ("after", &after)] {
        invocation.ui.print(&format!("---\n# {title} {event}\n"))?;
        let text = yaml(context)?;
        invocation.ui.out().write_all(&text)?;
    }
    Ok(())
}

fn event(name: &str) -> Result<Event, Failure> {
    Event::for_handlers(name).map_err(|error| {
        let known: Vec<&str> = TABLE.iter().filter(|entry| !entry.core).map(|entry| entry.name).collect();
        let failure = Failure::usage(error.to_string());
        match question(NameOf::Hook, name, &known) {
            Some(question) => failure.hint(question),
            None => failure,
        }
    })
}

fn types(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    invocation.ui.print(pintle::lua::TYPE_DEFINITIONS)
}
