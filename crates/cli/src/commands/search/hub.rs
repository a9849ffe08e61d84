//! `search hub`: searches for charts in a hub.

use std::time::Duration;

use pintle::ops::{HubSearchRequest, search_hub};
use pintle::repo::hub::HubChart;

use super::nothing_found;
use crate::command::{Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::remote;
use crate::report::Reporting;

/// `search hub [KEYWORD…]`
pub(super) static COMMAND: Command = Command {
    name: "hub",
    operands_text: "[KEYWORD]",
    short: "search for charts in Artifact Hub or another hub",
    long: "\
Search for charts in a hub, Artifact Hub by default. The results are web pages, not references that can be installed:
add the repository of the chart first (--list-repo-url shows it).",
    operands: Operands::Any,
    flags: &[OWN, OUTPUT],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::ENDPOINT, "the hub to ask").or("https://hub.helm.sh"),
    Flag::of(names::MAX_COL_WIDTH, Kind::Uint, "50", "the maximum width of a column"),
    Flag::switch(names::LIST_REPO_URL, "show the URLs of repositories too"),
    Flag::switch(names::FAIL_ON_NO_RESULT, "fail if nothing is found"),
];

/// Helm has no timeout here; a hub that does not respond must not block for ever.
const TIMEOUT: Duration = Duration::from_secs(120);

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let request = HubSearchRequest {
        endpoint: invocation.flags.text(names::ENDPOINT).to_owned(),
        words: invocation.flags.operands.clone(),
    };
    let remote = remote::remote(invocation, TIMEOUT);
    let charts = run_offline(search_hub(&remote, &request, &mut Reporting::new(invocation.ui)))?;
    let flags = &invocation.flags;
    if charts.is_empty() && flags.on(names::FAIL_ON_NO_RESULT) {
        return Err(nothing_found());
    }
    match Format::from_flags(flags) {
        Format::Table if charts.is_empty() => invocation.ui.print("No results found\n"),
        Format::Table => {
            let limit = usize::try_from(flags.uint(names::MAX_COL_WIDTH)).unwrap_or(usize::MAX);
            let rows = rows(&charts, flags.on(names::LIST_REPO_URL));
            print_rows(invocation, &rows, limit)
        }
        format => {
            let records: Vec<Record> = charts.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}

fn rows(charts: &[HubChart], repositories: bool) -> Vec<Vec<String>> {
    let mut rows = vec![["URL", "CHART VERSION", "APP VERSION", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(charts.iter().map(|chart| {
        let HubChart { url, version, app_version, description, .. } = chart.clone();
        vec![url, version, app_version, description]
    }));
    if repositories {
        rows[0].push("REPO URL".to_owned());
        for (row, chart) in rows[1..].iter_mut().zip(charts) {
            row.push(chart.repository_url.clone());
        }
    }
    rows
}

fn record(chart: &HubChart) -> Record {
    let repository = Record::default()
        .with("url", chart.repository_url.as_str())
        .with("name", chart.repository_name.as_str());
    Record::default()
        .with("url", chart.url.as_str())
        .with("version", chart.version.as_str())
        .with("app_version", chart.app_version.as_str())
        .with("description", chart.description.as_str())
        .with_record("repository", repository)
}
