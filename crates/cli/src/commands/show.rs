//! `show`: shows files of a chart.

use pintle::lua::Permission;
use pintle::ops::Shown;
use pintle_tree::jsonpath;

use crate::chart_reference;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::grid::print_rows;
use crate::personality::Personality;
use crate::report::Reporting;

/// `show`
pub(crate) static COMMAND: Command = Command {
    name: "show",
    aliases: &["inspect"],
    short: "show information about a chart",
    long: "Show files of a chart as they are.",
    subcommands: &[&ALL, &CHART_COMMAND, &CRDS, &PERMISSIONS, &README, &VALUES_COMMAND],
    ..Command::BLANK
};

const PART: Command = Command {
    operands_text: "[CHART]",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Chart,
    flags: &[DEVEL, CHART, COSIGN, REMOTE],
    ..Command::BLANK
};

static ALL: Command = Command {
    name: "all",
    short: "show all information about a chart",
    long: "Show Chart.yaml, values.yaml, the README and the custom resource definitions of a chart.",
    run: Some(|invocation| run(invocation, Part::All)),
    ..PART
};

static CHART_COMMAND: Command = Command {
    name: "chart",
    short: "show the definition of a chart",
    long: "Show the Chart.yaml of a chart.",
    run: Some(|invocation| run(invocation, Part::Chart)),
    ..PART
};

static CRDS: Command = Command {
    name: "crds",
    short: "show the custom resource definitions of a chart",
    long: "Show the custom resource definitions in crds/, including those of subcharts.",
    run: Some(|invocation| run(invocation, Part::Crds)),
    ..PART
};

static PERMISSIONS: Command = Command {
    name: "permissions",
    short: "show the permissions that the scripts of a chart request",
    long: "\
Show the permissions that the scripts of a chart and its subcharts request in ext/permissions.yaml. No script runs.
`{program} install` asks for them; --accept-perms and --yes answer in advance.",
    run: Some(permissions),
    ..PART
};

static README: Command = Command {
    name: "readme",
    short: "show the README of a chart",
    long: "Show the README of a chart.",
    run: Some(|invocation| run(invocation, Part::Readme)),
    ..PART
};

static VALUES_COMMAND: Command = Command {
    name: "values",
    short: "show the values of a chart",
    long: "Show the values.yaml of a chart.",
    flags: &[DEVEL, CHART, COSIGN, REMOTE, JSONPATH],
    run: Some(|invocation| run(invocation, Part::Values)),
    ..PART
};

static JSONPATH: &[Flag] = &[Flag::text(names::JSONPATH, "a JSONPath expression to select the output")];

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    All,
    Chart,
    Values,
    Readme,
    Crds,
}

fn run(invocation: &mut Invocation<'_>, part: Part) -> Result<(), Failure> {
    let reference = invocation.operand(0).to_owned();
    chart_reference::debug_version(invocation, "original chart version");
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let shown = run_offline(pintle::ops::show(&chart, &mut Reporting::new(invocation.ui)))?;
    if shown.is_library && matches!(part, Part::All | Part::Chart) {
        note_library(invocation);
    }
    let out = match part {
        Part::Values if invocation.flags.given(names::JSONPATH) => {
            pick(invocation.flags.text(names::JSONPATH), &shown)?
        }
        part => text(part, &shown),
    };
    Ok(invocation.ui.out().write_all(&out)?)
}

/// Says that a chart is a library, which its metadata says to those who know where to look.
fn note_library(invocation: &mut Invocation<'_>) {
    if invocation.personality == Personality::Pintle {
        let text = "note: this is a library chart: other charts use it, and it cannot be installed";
        invocation.ui.note(text);
    }
}

fn permissions(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let asked = run_offline(pintle::ops::permissions(&chart, &mut Reporting::new(invocation.ui)))?;
    if asked.charts.is_empty() {
        return invocation.ui.print("The chart requests no permissions.\n");
    }
    let mut cells = vec![["CHART", "PERMISSION", "WHAT IT ALLOWS"].map(str::to_owned).to_vec()];
    for (path, permissions) in &asked.charts {
        let name = path.names().join("/");
        let row = |permission: Permission| {
            vec![name.clone(), permission.to_string(), permission.description().to_owned()]
        };
        cells.extend(permissions.iter().map(row));
    }
    print_rows(invocation, &cells, usize::MAX)
}

/// The files of the chart, each with a line break after it.
fn text(part: Part, shown: &Shown) -> Vec<u8> {
    let mut out = Vec::new();
    let mut add = |separate: bool, text: &[u8]| {
        if separate {
            out.extend_from_slice(b"---\n");
        }
        out.extend_from_slice(text);
        out.push(b'\n');
    };
    let all = part == Part::All;
    if all || part == Part::Chart {
        add(false, &shown.chart);
    }
    if let Some(values) = shown.values.as_ref().filter(|_| all || part == Part::Values) {
        add(all, values);
    }
    if let Some(readme) = shown.readme.as_ref().filter(|_| all || part == Part::Readme) {
        add(all, readme);
    }
    if all || part == Part::Crds {
        for crd in &shown.crds {
            add(!crd.starts_with(b"---"), crd);
        }
    }
    out
}

/// Evaluates a JSONPath template on the values.
fn pick(template: &str, shown: &Shown) -> Result<Vec<u8>, Failure> {
    if template.is_empty() {
        return Ok(text(Part::Values, shown));
    }
    let Some(values) = &shown.values else { return Ok(Vec::new()) };
    let values = pintle_yaml::read_values(values).map_err(|error| Failure::run_time(error.to_string()))?;
    jsonpath::render(template, &values)
        .map_err(|reason| Failure::usage(format!("error parsing jsonpath {template}: {reason}")))
}
