//! `outdated`: lists releases of which the repository has a newer version of the chart.

use std::collections::BTreeMap;

use pintle::ops::ListRequest;
use pintle::release::{ChartSource, Summary};
use pintle::repo::repository::download_index;
use pintle::repo::{Entry, Getter, Repositories, Wanted};
use pintle_semver::Version;

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

/// A release, and what its source has.
struct Row {
    release: Summary,
    newest: String,
    source: String,
    /// Why the newest version is unknown.
    problem: String,
}

impl Row {
    fn is_outdated(&self) -> bool {
        match (Version::parse(&self.release.chart_version), Version::parse(&self.newest)) {
            (Ok(installed), Ok(newest)) => newest.compare(&installed) == std::cmp::Ordering::Greater,
            _ => false,
        }
    }

    fn status(&self) -> &'static str {
        match () {
            () if self.newest.is_empty() => "unknown",
            () if self.is_outdated() => "outdated",
            () => "up to date",
        }
    }
}

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let request = ListRequest {
        namespace: Some(connection.namespace.clone()).filter(|_| !invocation.flags.on(names::ALL_NAMESPACES)),
        ..ListRequest::default()
    };
    let releases = {
        let mut reporter = Reporting::new(invocation.ui);
        connection.run(pintle::ops::list(&connection.session, &request, &mut reporter))?
    };
    let getter = remote::getter(invocation, remote::TIMEOUT);
    let mut lookup = Lookup::new(invocation, &getter)?;
    let mut rows = Vec::new();
    for release in releases {
        let (session, namespace) = (&connection.session, &release.namespace);
        let at = pintle::release::VersionRef::Number(release.number);
        let version = connection.run(pintle::ops::get(session, namespace, &release.name, &at))?;
        rows.push(lookup.row(invocation, release, ChartSource::of(&version.chart)));
    }
    for row in rows.iter().filter(|row| !row.problem.is_empty()) {
        invocation.ui.warn(&format!("release {}: {}", row.release.name, row.problem));
    }
    let (total, unknown) = (rows.len(), rows.iter().filter(|row| row.newest.is_empty()).count());
    let is_any_outdated = rows.iter().any(Row::is_outdated);
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
    rows: &[Row],
    (total, unknown): (usize, usize),
) -> Result<(), Failure> {
    match Format::from_flags(&invocation.flags) {
        Format::Table if rows.is_empty() => invocation.ui.print(&none_outdated(total, unknown)),
        Format::Table => {
            let headings = ["NAME", "NAMESPACE", "CHART", "INSTALLED", "NEWEST", "STATUS", "SOURCE"];
            let line = |row: &Row| {
                let Summary { name, namespace, chart_name, chart_version, .. } = &row.release;
                let cells =
                    [name, namespace, chart_name, chart_version, &row.newest, row.status(), &row.source];
                cells.map(str::to_owned).to_vec()
            };
            let mut cells = vec![headings.map(str::to_owned).to_vec()];
            cells.extend(rows.iter().map(line));
            print_rows(invocation, &cells, 0)
        }
        format => {
            let record = |row: &Row| {
                Record::default()
                    .with("name", row.release.name.as_str())
                    .with("namespace", row.release.namespace.as_str())
                    .with("chart", row.release.chart_name.as_str())
                    .with("installed", row.release.chart_version.as_str())
                    .with("newest", row.newest.as_str())
                    .with("status", row.status())
                    .with("source", row.source.as_str())
            };
            let records: Vec<Record> = rows.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}

/// Finds the newest versions of charts; each repository is asked once.
struct Lookup<'g> {
    getter: &'g Getter,
    entries: Vec<Entry>,
    refreshed: BTreeMap<String, Result<(), String>>,
}

impl<'g> Lookup<'g> {
    fn new(invocation: &Invocation<'_>, getter: &'g Getter) -> Result<Lookup<'g>, Failure> {
        let folders = remote::folders(&invocation.flags, invocation.environment);
        let known = Repositories::load(&folders.repository_config)?.unwrap_or_default();
        Ok(Lookup { getter, entries: known.entries, refreshed: BTreeMap::new() })
    }

    fn row(&mut self, invocation: &Invocation<'_>, release: Summary, source: Option<ChartSource>) -> Row {
        let found = match source {
            Some(source) => self.newest(invocation, &release.chart_name, &source),
            None => self.by_name(invocation, &release.chart_name),
        };
        let (newest, source, problem) = match found {
            Ok((newest, source)) => (newest, source, String::new()),
            Err(problem) => (String::new(), String::new(), problem),
        };
        Row { release, newest, source, problem }
    }

    /// The newest version at the source of the chart, and that source.
    fn newest(
        &mut self,
        invocation: &Invocation<'_>,
        name: &str,
        source: &ChartSource,
    ) -> Result<(String, String), String> {
        let wanted = remote::wanted(&invocation.flags, "");
        if source.repository.is_empty() {
            let Some(path) = source.url.strip_prefix("oci://") else {
                // A single archive has no versions.
                return Ok((String::new(), source.url.clone()));
            };
            let path = path.split_once('@').map_or(path, |(path, _)| path);
            let end = path.rfind(':').filter(|at| !path[*at..].contains('/')).unwrap_or(path.len());
            let reference = format!("oci://{}", &path[..end]);
            let version = self.resolve(invocation, &Wanted { reference: reference.clone(), ..wanted })?;
            return Ok((version, reference));
        }
        let is_it = |entry: &&Entry| pintle::repo::address::equal(&entry.url, &source.repository);
        let wanted = match self.entries.iter().find(is_it).cloned() {
            Some(entry) => {
                self.refresh(invocation, &entry)?;
                Wanted { reference: format!("{}/{name}", entry.name), ..wanted }
            }
            None => Wanted { reference: name.to_owned(), repo_url: source.repository.clone(), ..wanted },
        };
        Ok((self.resolve(invocation, &wanted)?, source.repository.clone()))
    }

    /// The newest version of a chart that exactly one repository has.
    fn by_name(&mut self, invocation: &Invocation<'_>, name: &str) -> Result<(String, String), String> {
        let mut found = Vec::new();
        for entry in self.entries.clone() {
            if self.refresh(invocation, &entry).is_err() {
                continue;
            }
            let reference = format!("{}/{name}", entry.name);
            let wanted = remote::wanted(&invocation.flags, &reference);
            if let Ok(version) = self.resolve(invocation, &wanted) {
                found.push((version, entry.url));
            }
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            _ => Ok((String::new(), String::new())),
        }
    }

    fn resolve(&self, invocation: &Invocation<'_>, wanted: &Wanted) -> Result<String, String> {
        let resolved = remote::resolver(invocation, self.getter).resolve(wanted);
        resolved.map(|resolved| resolved.source.version).map_err(|error| error.to_string())
    }

    fn refresh(&mut self, invocation: &Invocation<'_>, entry: &Entry) -> Result<(), String> {
        let folders = remote::folders(&invocation.flags, invocation.environment);
        let fetch = || {
            let fetched = download_index(self.getter, entry, &folders.repository_cache);
            fetched.map(|_| ()).map_err(|error| error.to_string())
        };
        self.refreshed.entry(entry.name.clone()).or_insert_with(fetch).clone()
    }
}
