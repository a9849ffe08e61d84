//! `outdated`: lists releases of which the repository has a newer version of the chart.

use std::path::PathBuf;

use pintle::ops::{ChartInput, ComparedRelease, ListRequest, OutdatedRequest, UpgradeCheckRequest, outdated};
use pintle::release::{Summary, VersionRef};
use pintle::repo::ChartQuery;
use pintle::upgrade::{Report, Severity};
use pintle::{Session, Silent};

use crate::chart_reference;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{Connection, run_offline};
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::{DEVEL, REMOTE};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::{counted, print_rows};
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

    {program} outdated --all-namespaces -o json

With --check, the newest chart of each outdated release is fetched and compared with the installed one for the values of
the release, as `{program} upgrade-check` does, which shows the details.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN, DEVEL, OUTPUT, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::ALL_NAMESPACES, "look at the releases of all namespaces").short('A'),
    Flag::switch(names::ALL, "also list releases that are up to date, and those whose source is unknown"),
    Flag::switch(names::CHECK, "also say what the newest chart means for the values of each release"),
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
    let mut checks = Vec::new();
    if invocation.flags.on(names::CHECK) {
        for row in &rows {
            let checked = row.is_outdated().then(|| check(invocation, &connection, row));
            checks.push(checked.unwrap_or_default());
        }
    }
    print(invocation, &rows, &checks, (total, unknown))?;
    if is_any_outdated && invocation.flags.on(names::FAIL_ON_OUTDATED) {
        return Err(Failure::run_time("there are outdated releases"));
    }
    Ok(())
}

/// What the newest chart means for the values of a release.
#[derive(Debug, Default)]
struct Check {
    errors: usize,
    warnings: usize,
    /// The values that `upgrade-check --write` moves.
    moves: usize,
    /// Why it is not known.
    problem: Option<String>,
    is_done: bool,
}

impl Check {
    fn text(&self) -> String {
        match self {
            Check { problem: Some(_), .. } => "unknown".to_owned(),
            Check { is_done: false, .. } => String::new(),
            Check { errors: 0, warnings: 0, .. } => "nothing to do".to_owned(),
            Check { errors: 0, warnings, .. } => counted(*warnings, "warning"),
            Check { errors, warnings: 0, .. } => counted(*errors, "error"),
            Check { errors, warnings, .. } => {
                format!("{}, {}", counted(*errors, "error"), counted(*warnings, "warning"))
            }
        }
    }

    fn record(&self) -> Record {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Record::default()
            .with("done", self.is_done)
            .with("errors", number(self.errors))
            .with("warnings", number(self.warnings))
            .with("moves", number(self.moves))
            .with("problem", self.problem.as_deref().unwrap_or_default())
    }
}

/// Fetches the newest chart and compares it. A release that cannot be checked stops no other.
fn check(invocation: &mut Invocation<'_>, connection: &Connection, row: &ComparedRelease) -> Check {
    match try_check(invocation, connection, row) {
        Ok(report) => {
            let count = |severity| report.findings.iter().filter(|it| it.severity == severity).count();
            Check {
                errors: count(Severity::Error),
                warnings: count(Severity::Warning),
                moves: report.moves.len(),
                problem: None,
                is_done: true,
            }
        }
        Err(failure) => {
            let problem = failure.own.clone().unwrap_or_else(|| failure.text.clone());
            invocation.ui.warn(&format!("release {} cannot be checked: {problem}", row.release.name));
            Check { problem: Some(problem), ..Check::default() }
        }
    }
}

fn try_check(
    invocation: &mut Invocation<'_>,
    connection: &Connection,
    row: &ComparedRelease,
) -> Result<Report, Failure> {
    let fetch = |version: &str| -> Result<PathBuf, Failure> {
        let (reference, repo_url) = row.chart.clone();
        let wanted = remote::wanted(&invocation.flags, "");
        let query = ChartQuery { reference, repo_url, version: version.to_owned(), ..wanted };
        let chart = chart_reference::of_query(invocation, query)?;
        Ok(run_offline(pintle::ops::locate_chart(&chart, &mut Silent))?.path)
    };
    let Summary { name, namespace, number, chart_version, .. } = &row.release;
    let at = VersionRef::Number(*number);
    let version = connection.run(pintle::ops::get(&connection.session, namespace, name, &at))?;
    let mut from = ChartInput::from_release(&version, &[])?;
    if ChartInput::lacks_subcharts(&version) {
        let installed = fetch(chart_version)?;
        from.chart = ChartInput::from_chart(&installed, &[], name, namespace, &mut Silent)?.chart;
    }
    let request = UpgradeCheckRequest { from, chart: fetch(&row.newest)?, ..UpgradeCheckRequest::default() };
    let checked = pintle::ops::upgrade_check(&Session::offline(), &request, &mut Silent)?;
    Ok(checked.report)
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
    checks: &[Check],
    (total, unknown): (usize, usize),
) -> Result<(), Failure> {
    match Format::from_flags(&invocation.flags) {
        Format::Table if rows.is_empty() => invocation.ui.print(&none_outdated(total, unknown)),
        Format::Table => {
            let mut headings =
                ["NAME", "NAMESPACE", "CHART", "INSTALLED", "NEWEST", "STATUS"].map(str::to_owned).to_vec();
            headings.extend((!checks.is_empty()).then(|| "CHECK".to_owned()));
            headings.push("SOURCE".to_owned());
            let line = |(at, row): (usize, &ComparedRelease)| {
                let Summary { name, namespace, chart_name, chart_version, .. } = &row.release;
                let cells = [name, namespace, chart_name, chart_version, &row.newest, status(row)];
                let mut cells = cells.map(str::to_owned).to_vec();
                cells.extend(checks.get(at).map(Check::text));
                cells.push(row.source.clone());
                cells
            };
            let mut cells = vec![headings];
            cells.extend(rows.iter().enumerate().map(line));
            print_rows(invocation, &cells, 0)
        }
        format => {
            let record = |(at, row): (usize, &ComparedRelease)| {
                let record = Record::default()
                    .with("name", row.release.name.as_str())
                    .with("namespace", row.release.namespace.as_str())
                    .with("chart", row.release.chart_name.as_str())
                    .with("installed", row.release.chart_version.as_str())
                    .with("newest", row.newest.as_str())
                    .with("status", status(row))
                    .with("source", row.source.as_str());
                match checks.get(at) {
                    Some(check) => record.with_record("check", check.record()),
                    None => record,
                }
            };
            let records: Vec<Record> = rows.iter().enumerate().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}
