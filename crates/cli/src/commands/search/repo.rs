//! `search repo`: searches for charts in repositories.

use pintle::ops::{SearchRequest, search};
use pintle::repo::search::Hit;
use pintle::{Error, RemoteError};

use super::nothing_found;
use crate::command::{Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::personality::Personality;
use crate::report::Reporting;
use crate::{chart_reference, remote};

/// `search repo [KEYWORD…]`
pub(super) static COMMAND: Command = Command {
    name: "repo",
    operands_text: "[keyword]",
    short: "search for charts in the repositories that were added",
    long: "\
Search the names, descriptions and keywords of the charts of all repositories that were added. Only the cached indexes
are searched; `{program} repo update` updates them.

    {program} search repo nginx
    {program} search repo nginx --devel
    {program} search repo nginx --version ^1.0.0 --versions

Registries have no index to look into, but they list the versions of a chart:

    pintle search repo oci://registry.example.com/charts/web --versions",
    operands: Operands::Any,
    flags: &[OWN, OUTPUT, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::REGEXP, "treat the keyword as a regular expression").short('r'),
    Flag::switch(names::VERSIONS, "list all versions of each chart, not just the newest").short('l'),
    Flag::switch(
        names::DEVEL,
        "include pre-releases, as --version '>0.0.0-0' does; ignored if --version is set",
    ),
    Flag::text(names::VERSION, "a range of versions, such as ^2.0.0"),
    Flag::of(names::MAX_COL_WIDTH, Kind::Uint, "50", "the maximum width of a column"),
    Flag::switch(names::FAIL_ON_NO_RESULT, "fail if nothing is found"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let version = version(invocation);
    let flags = &invocation.flags;
    let request = SearchRequest {
        words: flags.operands.clone(),
        regexp: flags.on(names::REGEXP),
        version,
        all_versions: flags.on(names::VERSIONS),
        only_repositories: invocation.personality == Personality::Helm,
    };
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let outcome = run_offline(search(&remote, &request, &mut Reporting::new(invocation.ui)));
    let hits = outcome.map_err(|error| {
        let is_empty = matches!(&error, Error::Remote(it) if matches!(**it, RemoteError::NoRepositories));
        let failure = Failure::from(error);
        if is_empty { failure.hint("`repo add` adds one") } else { failure }
    })?;
    print(invocation, &hits)
}

/// The range of versions to look for.
fn version(invocation: &mut Invocation<'_>) -> String {
    chart_reference::debug_version(invocation, "original chart version");
    let flags = &invocation.flags;
    let (version, message) = match flags.text(names::VERSION) {
        "" if flags.on(names::DEVEL) => (">0.0.0-0", "setting version to >0.0.0-0"),
        "" => (">0.0.0", "setting version to >0.0.0"),
        version => return version.to_owned(),
    };
    invocation.ui.debug(message, &[]);
    version.to_owned()
}

fn print(invocation: &mut Invocation<'_>, hits: &[Hit]) -> Result<(), Failure> {
    if hits.is_empty() && invocation.flags.on(names::FAIL_ON_NO_RESULT) {
        return Err(nothing_found());
    }
    let is_ours = invocation.personality == Personality::Pintle;
    let chart_type = |hit: &Hit| if hit.is_library { "library" } else { "application" };
    match Format::from_flags(&invocation.flags) {
        Format::Table if hits.is_empty() => invocation.ui.print("No results found\n"),
        Format::Table => {
            let mut heads =
                ["NAME", "CHART VERSION", "APP VERSION", "DESCRIPTION"].map(str::to_owned).to_vec();
            // Libraries cannot be installed; where there are none, there is nothing to tell apart.
            let with_types = is_ours && hits.iter().any(|hit| hit.is_library);
            if with_types {
                heads.insert(3, "TYPE".to_owned());
            }
            let row = |hit: &Hit| {
                let Hit { name, version, app_version, description, .. } = hit;
                let mut row = vec![name.clone(), version.clone(), app_version.clone(), description.clone()];
                if with_types {
                    row.insert(3, chart_type(hit).to_owned());
                }
                row
            };
            let rows: Vec<Vec<String>> = std::iter::once(heads).chain(hits.iter().map(row)).collect();
            let limit = usize::try_from(invocation.flags.uint(names::MAX_COL_WIDTH)).unwrap_or(usize::MAX);
            print_rows(invocation, &rows, limit)
        }
        format => {
            let record = |hit: &Hit| {
                let record = Record::default()
                    .with("name", hit.name.as_str())
                    .with("version", hit.version.as_str())
                    .with("app_version", hit.app_version.as_str())
                    .with("description", hit.description.as_str());
                if is_ours { record.with("type", chart_type(hit)) } else { record }
            };
            let records: Vec<Record> = hits.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}
