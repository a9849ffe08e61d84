//! `outdated`: lists releases of which the repository has a newer version of the chart.

use pintle::ops::{ComparedRelease, ListRequest, OutdatedRequest, outdated};
use pintle::release::Summary;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::{DEVEL, REMOTE};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::remote;
use crate::report::Reporting;

/// `outdated`
pub(crate) static COMMAND: Command = Command {
    name: "outdated",
    short: "list releases with newer chart versions",
    long: "\
List the releases of a namespace for which the repository or registry of their chart has a newer version.

Where a chart came from is part of the record of a release that pintle installed from a repository or a registry.
Other releases are compared with the chart of the same name in the repositories that were added, if only one has it.

    {program} outdated --all-namespaces -o json",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN, DEVEL, OUTPUT, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::ALL_NAMESPACES, "look at the releases of all namespaces").short('A'),
    Flag::switch(names::ALL, "also list releases that are up to date, and those whose source is unknown"),
    Flag::switch(names::FAIL_ON_OUTDATED, "fail if there is an outdated release"),
];

fn status(row: &ComparedRelease) -> &'static str {
    match () {
        () if row.newest.is_empty() => "unknown",
        () if row.is_outdated() => "outdated",
        () => "up to date",
    }
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let request = ListRequest {
        namespace: Some(connection.namespace.clone()).filter(|_| !invocation.flags.on(names::ALL_NAMESPACES)),
        ..ListRequest::default()
    };
    let request = OutdatedRequest { releases: request, query: remote::wanted(&invocation.flags, "") };
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let mut reporter = Reporting::new(invocation.ui);
    let mut rows = connection.run(outdated(&connection.session, &remote, &request, &mut reporter))?;
    for row in rows.iter().filter(|row| !row.problem.is_empty()) {
        invocation.ui.warn(&format!("release {}: {}", row.release.name, row.problem));
    }
    let (total, unknown) = (rows.len(), rows.iter().filter(|row| row.newest.is_empty()).count());
    let is_any_outdated = rows.iter().any(ComparedRelease::is_outdated);
    let all = invocation.flags.on(names::ALL);
    rows.retain(|row| all || row.is_outdated());
    print(invocation, &rows, (total, unknown))?;
    if is_any_outdated && invocation.flags.on(names::FAIL_ON_OUTDATED) {
        return Err(Failure::run_time("there are outdated releases"));
    }
    Ok(())
}

/// What to print if no release is outdated: a release that was not compared may be.
fn none_outdated(total: usize, unknown: usize) -> String {
    const HINT: &str =
        "the source of their charts is unknown; `--all` lists them, `repo add` adds a repository";
    match unknown {
        0 => "No outdated releases\n".to_owned(),
        _ if unknown == total => format!("No release could be compared, of {total}: {HINT}\n"),
        _ => format!("No outdated releases, but {unknown} of {total} could not be compared: {HINT}\n"),
    }
}

fn print(
    invocation: &mut Invocation<'_>,
    rows: &[ComparedRelease],
    (total, unknown): (usize, usize),
) -> Result<(), Failure> {
    match Format::from_flags(&invocation.flags) {
        Format::Table if rows.is_empty() => invocation.ui.print(&none_outdated(total, unknown)),
        Format::Table => {
            let headings = ["NAME", "NAMESPACE", "CHART", "INSTALLED", "NEWEST", "STATUS", "SOURCE"];
            let line = |row: &ComparedRelease| {
                let Summary { name, namespace, chart_name, chart_version, .. } = &row.release;
                let cells =
                    [name, namespace, chart_name, chart_version, &row.newest, status(row), &row.source];
                cells.map(str::to_owned).to_vec()
            };
            let mut cells = vec![headings.map(str::to_owned).to_vec()];
            cells.extend(rows.iter().map(line));
            print_rows(invocation, &cells, 0)
        }
        format => {
            let record = |row: &ComparedRelease| {
                Record::default()
                    .with("name", row.release.name.as_str())
                    .with("namespace", row.release.namespace.as_str())
                    .with("chart", row.release.chart_name.as_str())
                    .with("installed", row.release.chart_version.as_str())
                    .with("newest", row.newest.as_str())
                    .with("status", status(row))
                    .with("source", row.source.as_str())
            };
            let records: Vec<Record> = rows.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}
