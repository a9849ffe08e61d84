//! `list`: lists the releases of a namespace or of all namespaces.

use pintle::ops::ListRequest;
use pintle::release::Status;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Connection};
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::TABLE;
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, FlagCompletion, Kind, Name, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Records, print_data};
use crate::output::grid;
use crate::output::list::{names, records, releases_grid, rows, summary};
use crate::personality::Personality;
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
    flags: &[OWN, OUTPUT, TABLE, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::SHORT, "print only the release names").short('q'),
    Flag::switch(names::NO_HEADERS, "do not print the headers of the table"),
    Flag::text(names::TIME_FORMAT, "a Go time layout, such as \"2006-01-02 15:04:05Z0700\"")
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::DATE, "sort by release date").short('d'),
    Flag::switch(names::REVERSE, "reverse the sort order").short('r'),
    Flag::switch(names::UNINSTALLED, "show uninstalled releases (if kept with --keep-history)"),
    Flag::switch(names::SUPERSEDED, "show superseded releases"),
    Flag::switch(names::UNINSTALLING, "show releases that are uninstalling"),
    Flag::switch(names::DEPLOYED, "show deployed releases"),
    Flag::switch(names::FAILED, "show failed releases"),
    Flag::switch(names::PENDING, "show pending releases"),
    // A flag of Helm 3 that scripts still use.
    Flag::switch(names::ALL, "").short('a').deprecated("it has no effect: releases in any status are shown"),
    Flag::switch(names::ALL_NAMESPACES, "show the releases of all namespaces").short('A'),
    Flag::of(names::MAX, Kind::Int, "256", "the maximum number of releases to show; 0 for no limit")
        .short('m'),
    Flag::of(names::OFFSET, Kind::Int, "0", "the number of releases to skip"),
    Flag::text(names::FILTER_TEXT, "a regular expression that names must match")
        .short('f')
        .completes(FlagCompletion::Nothing),
    Flag::text(names::SELECTOR, "labels that releases must have: a=x,b!=y")
        .short('l')
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let flags = &invocation.flags;
    let environment = invocation.environment;
    let count = |flags: &Parsed, name: Name<i64>| usize::try_from(flags.int(name, environment)).unwrap_or(0);
    let max = count(flags, names::MAX);
    // A limit that nobody asked for is told. Helm says nothing.
    let tells_of_more = invocation.personality == Personality::Pintle && max > 0 && !flags.given(names::MAX);
    let request = ListRequest {
        namespace: Some(connection.namespace.clone()).filter(|_| !flags.on(names::ALL_NAMESPACES)),
        statuses: statuses(flags),
        filter: flags.text(names::FILTER_TEXT).to_owned(),
        selector: flags.text(names::SELECTOR).to_owned(),
        by_date: flags.on(names::DATE),
        reverse: flags.on(names::REVERSE),
        // All of them, to tell how many there are; the limit saves no request.
        limit: if tells_of_more { 0 } else { max },
        offset: count(flags, names::OFFSET),
    };
    let mut releases = {
        let mut reporter = Reporting::new(invocation.ui);
        connection.run(pintle::ops::list(&connection.session, &request, &mut reporter))?
    };
    if tells_of_more && releases.len() > max {
        let total = releases.len();
        releases.truncate(max);
        let next = count(&invocation.flags, names::OFFSET) + max;
        let text =
            format!("{max} of {total} releases are shown: `--max 0` shows all, `--offset {next}` the next");
        invocation.ui.warn(&text);
    }
    let flags = &invocation.flags;
    let layout = flags.text(names::TIME_FORMAT);
    let ids = connect::keeps_ids(invocation.personality, invocation.environment);
    match (Format::from_flags(flags), flags.on(names::SHORT)) {
        (Format::Table, true) => {
            let lines: String = releases.iter().map(|release| format!("{}\n", release.name)).collect();
            invocation.ui.print(&lines)
        }
        (Format::Table, false) if grid::is_wanted(invocation) => {
            let all_namespaces = flags.on(names::ALL_NAMESPACES);
            let headings = !flags.on(names::NO_HEADERS);
            let table = releases_grid(&releases, all_namespaces || grid::is_wide(invocation), ids);
            let summary = summary(&releases);
            grid::print(invocation, table, headings, &summary)
        }
        (Format::Table, false) => {
            let table = rows(&releases, layout, !flags.on(names::NO_HEADERS), ids, invocation.ui.paint());
            invocation.ui.print(&table)
        }
        (format, true) => print_data(invocation.ui, format, &names(&releases)),
        (format, false) => print_data(invocation.ui, format, &Records(&records(&releases, layout, ids))),
    }
}

/// The selected statuses; empty for all.
fn statuses(flags: &Parsed) -> Vec<Status> {
    const FLAGS: [(Name<bool>, &[Status]); 6] = [
        (names::DEPLOYED, &[Status::Deployed]),
        (names::UNINSTALLED, &[Status::Uninstalled]),
        (names::UNINSTALLING, &[Status::Uninstalling]),
        (names::PENDING, &[Status::PendingInstall, Status::PendingUpgrade, Status::PendingRollback]),
        (names::FAILED, &[Status::Failed]),
        (names::SUPERSEDED, &[Status::Superseded]),
    ];
    FLAGS
        .iter()
        .filter(|(name, _)| flags.on(*name))
        .flat_map(|(_, statuses)| statuses.iter().copied())
        .collect()
}
