//! `list`: lists the releases of a namespace or of all namespaces.

use pintle::ops::ListRequest;
use pintle::release::Status;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Connection};
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, Kind};
use crate::invocation::Invocation;
use crate::output::format::{Format, Records, print_data};
use crate::output::list::{names, records, rows};
use crate::report::Reporting;
use crate::scripts::SCRIPTS;

/// `list`
pub(crate) static COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    short: "list releases",
    long: "\
List the releases of a namespace in any status, sorted by name.

Flags such as --deployed and --failed select releases by status and can be combined. --filter selects by name with a
regular expression:

    {program} list --filter '^web' --failed",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN, OUTPUT, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch("short", "print only the release names").short('q'),
    Flag::switch("no-headers", "do not print the headers of the table"),
    Flag::text("time-format", "a Go time layout, such as \"2006-01-02 15:04:05Z0700\"")
        .completes(FlagCompletion::Nothing),
    Flag::switch("date", "sort by release date").short('d'),
    Flag::switch("reverse", "reverse the sort order").short('r'),
    Flag::switch("uninstalled", "show uninstalled releases (if kept with --keep-history)"),
    Flag::switch("superseded", "show superseded releases"),
    Flag::switch("uninstalling", "show releases that are uninstalling"),
    Flag::switch("deployed", "show deployed releases"),
    Flag::switch("failed", "show failed releases"),
    Flag::switch("pending", "show pending releases"),
    // A flag of Helm 3 that scripts still use.
    Flag::switch("all", "").short('a').deprecated("it has no effect: releases in any status are shown"),
    Flag::switch("all-namespaces", "show the releases of all namespaces").short('A'),
    Flag::of("max", Kind::Int, "256", "the maximum number of releases to show; 0 for no limit").short('m'),
    Flag::of("offset", Kind::Int, "0", "the number of releases to skip"),
    Flag::text("filter", "a regular expression that names must match")
        .short('f')
        .completes(FlagCompletion::Nothing),
    Flag::text("selector", "labels that releases must have: a=x,b!=y")
        .short('l')
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let flags = &invocation.flags;
    let count = |name: &str| usize::try_from(flags.int(name, invocation.environment)).unwrap_or(0);
    let request = ListRequest {
        namespace: Some(connection.namespace.clone()).filter(|_| !flags.on("all-namespaces")),
        statuses: statuses(flags),
        filter: flags.text("filter").to_owned(),
        selector: flags.text("selector").to_owned(),
        by_date: flags.on("date"),
        reverse: flags.on("reverse"),
        limit: count("max"),
        offset: count("offset"),
    };
    let releases = {
        let mut reporter = Reporting::new(invocation.ui);
        connection.run(pintle::ops::list(&connection.session, &request, &mut reporter))?
    };
    let layout = flags.text("time-format");
    let ids = connect::keeps_ids(invocation.personality, invocation.environment);
    match (Format::from_flags(flags), flags.on("short")) {
        (Format::Table, true) => {
            let lines: String = releases.iter().map(|release| format!("{}\n", release.name)).collect();
            invocation.ui.print(&lines)
        }
        (Format::Table, false) => {
            let table = rows(&releases, layout, !flags.on("no-headers"), invocation.ui.paint());
            invocation.ui.print(&table)
        }
        (format, true) => print_data(invocation.ui, format, &names(&releases)),
        (format, false) => print_data(invocation.ui, format, &Records(&records(&releases, layout, ids))),
    }
}

/// The selected statuses; empty for all.
fn statuses(flags: &Parsed) -> Vec<Status> {
    const FLAGS: [(&str, &[Status]); 6] = [
        ("deployed", &[Status::Deployed]),
        ("uninstalled", &[Status::Uninstalled]),
        ("uninstalling", &[Status::Uninstalling]),
        ("pending", &[Status::PendingInstall, Status::PendingUpgrade, Status::PendingRollback]),
        ("failed", &[Status::Failed]),
        ("superseded", &[Status::Superseded]),
    ];
    FLAGS
        .iter()
        .filter(|(name, _)| flags.on(name))
        .flat_map(|(_, statuses)| statuses.iter().copied())
        .collect()
}
