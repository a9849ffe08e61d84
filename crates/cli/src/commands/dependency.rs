//! `dependency`: the charts that a chart needs.

mod change;

use std::path::PathBuf;

use pintle::chart::dependency::Row;
use pintle::ops::{DependencyRequest, Signatures, build_dependencies, update_dependencies};

use crate::command::{Command, Operands};
use crate::connect::run_offline;
use crate::dependencies;
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::path::clean;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};

/// `dependency`
pub(crate) static COMMAND: Command = Command {
    name: "dependency",
    aliases: &["dep", "dependencies"],
    short: "manage a chart's dependencies",
    long: "\
A chart lists the charts that it needs in Chart.yaml, each with a range of versions and where to find it:

    dependencies:
    - name: database
      version: ^1.2.0
      repository: https://charts.example.com

A repository is the URL of one, the name that `{program} repo add` gave it with @ before it, a registry (oci://), or a
folder (file://). A chart without one is expected in charts/.

These commands compare that list with the charts/ folder, and bring the folder in line with it. What was chosen is kept
in Chart.lock, so that it can be built again. Library charts that the list `libraries:` names with a repository are kept in
library/ and library.lock the same way.",
    subcommands: &[&change::ADD, &BUILD, &LIST, &UPDATE, &change::UPGRADE],
    ..Command::BLANK
};

static FETCH: &[Flag] = &[
    Flag::switch(names::VERIFY, "verify the signatures of what is fetched"),
    Flag::text(names::KEYRING, "the file of public keys for --verify").or_setting(Setting::Keyring),
    Flag::switch(names::SKIP_REFRESH, "do not refresh the cached repository indexes"),
];

static RECURSIVE: &[Flag] = &[Flag::switch(
    names::RECURSIVE,
    "first do the same for charts in folders that the chart depends on, and for unpacked charts in charts/",
)];

static BUILD: Command = Command {
    name: "build",
    operands_text: "CHART",
    short: "rebuild charts/ from Chart.lock",
    long: "\
Fills charts/ with exactly the versions in Chart.lock. Without a Chart.lock, does what `{program} dependency update`
does. Repositories must be known by `{program} repo add`. CHART is the current folder if not given.",
    operands: Operands::AtMost(1),
    flags: &[FETCH, RECURSIVE, REMOTE, SCRIPTS],
    run: Some(build),
    ..Command::BLANK
};

static LIST: Command = Command {
    name: "list",
    aliases: &["ls"],
    operands_text: "CHART",
    short: "list the dependencies of a chart",
    long: "\
Lists what Chart.yaml asks for, and whether charts/ has it. CHART is a folder or an archive, the current folder if not
given.",
    operands: Operands::AtMost(1),
    flags: &[&[Flag::of(names::MAX_COL_WIDTH, Kind::Uint, "80", "the maximum width of a column")], OUTPUT],
    run: Some(list),
    ..Command::BLANK
};

static UPDATE: Command = Command {
    name: "update",
    aliases: &["up"],
    operands_text: "CHART",
    short: "update charts/ from Chart.yaml",
    long: "\
Picks the newest versions that satisfy Chart.yaml, puts them into charts/, removes older versions of the same charts,
and writes what it picked to Chart.lock. CHART is the current folder if not given.",
    operands: Operands::AtMost(1),
    flags: &[FETCH, RECURSIVE, REMOTE],
    run: Some(update),
    ..Command::BLANK
};

fn chart(invocation: &Invocation<'_>) -> PathBuf {
    PathBuf::from(invocation.flags.operands.first().map_or_else(|| ".".to_owned(), |chart| clean(chart)))
}

/// The request for the chart with the flags of the command.
fn request(invocation: &Invocation<'_>) -> Result<DependencyRequest, Failure> {
    let recursive = invocation.flags.on(names::RECURSIVE);
    Ok(DependencyRequest { recursive, ..dependencies::request(invocation, chart(invocation))? })
}

fn build(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let session = scripts::offline_session(invocation)?;
    let request = request(invocation)?;
    let request = DependencyRequest {
        signatures: dependencies::keyring(invocation).map_or(Signatures::Ignored, Signatures::IfPresent),
        ..request
    };
    Ok(build_dependencies(&session, &request, &mut Reporting::new(invocation.ui))?)
}

fn update(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let request = request(invocation)?;
    let request = DependencyRequest {
        signatures: dependencies::keyring(invocation).map_or(Signatures::Ignored, Signatures::Required),
        ..request
    };
    Ok(run_offline(update_dependencies(&request, &mut Reporting::new(invocation.ui)))?)
}

fn list(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chart = chart(invocation);
    let listing = pintle::ops::dependency::list(&chart, &mut Reporting::new(invocation.ui))?;
    let format = Format::from_flags(&invocation.flags);
    if format.is_data() {
        let record = |row: &Row| {
            Record::default()
                .with("name", row.name.as_str())
                .with("version", row.version.as_str())
                .with("repository", row.repository.as_str())
                .with("status", row.status.as_str())
        };
        let records: Vec<Record> = listing.rows.iter().flatten().map(record).collect();
        for warning in &listing.warnings {
            invocation.ui.note(warning);
        }
        return print_data(invocation.ui, format, &Records(&records));
    }
    if let Some(rows) = &listing.rows {
        let mut cells = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned).to_vec()];
        cells.extend(rows.iter().map(|row| {
            let status = row.status.as_str().to_owned();
            vec![row.name.clone(), row.version.clone(), row.repository.clone(), status]
        }));
        let limit = usize::try_from(invocation.flags.uint(names::MAX_COL_WIDTH)).unwrap_or(usize::MAX);
        print_rows(invocation, &cells, limit)?;
        invocation.ui.print("\n")?;
    }
    for warning in &listing.warnings {
        invocation.ui.print(&format!("{warning}\n"))?;
    }
    Ok(())
}
