//! `upgrade-check`: what a new version of a chart means for values and objects.

mod output;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle::ops::{ChartInput, UpgradeCheckRequest, UpgradeChecked};
use pintle::rehearse::{RehearseRequest, Severity};
use pintle::tree::{Map, Node};
use pintle::values::ValuesLayer;

use super::rehearse::previous::PreviousChart;
use super::{rehearse, template};
use crate::clock::SystemClock;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Connection};
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE, SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, kubeconfig, request, schemas};

/// `upgrade-check [RELEASE] CHART`
pub(crate) static COMMAND: Command = Command {
    name: "upgrade-check",
    operands_text: "[RELEASE] CHART",
    short: "show what a new version of a chart means for your values and objects",
    long: "\
Compare the chart of a release, or the chart of --from, with a new version, for the values that you have set: values that
nothing reads any more and where they moved, values that mean something else, defaults that change objects, values that
are required now, schema violations, and in the cluster removed and renamed objects, immutable fields, CRDs, hooks and
images.

    {program} upgrade-check web ./web-2.0.0.tgz
    {program} upgrade-check -f values.yaml --from ./web-1.4.0.tgz ./web-2.0.0.tgz
    {program} upgrade-check -f values.yaml --from git:main ./web --write

A value that moved is proven by rendering both charts: in its new place it sets the same fields to the same values as
before, and changes nothing else. Everything else is a question, with the reasons for it. --write moves the values that are
proven in the files of -f, and keeps comments, order and spelling; a second run then finds nothing to move. --rehearse
installs the old chart in a new embedded cluster with the old values and upgrades it with the new ones.

--from is a directory, an archive, a version, or git:REF for the same directory at a commit. Records of releases that Helm
has installed do not hold subcharts, so charts with subcharts need it.

Scripts of charts do not run, except with --rehearse. The exit code is 0 if nothing has to be done, 2 if something has to
be decided or changed, and 1 on errors.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::ReleaseAndChart,
    flags: &[OWN, VALUES, SCHEMA, DEVEL, CHART, COSIGN, REMOTE, SCRIPTS],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::FROM, "the chart to upgrade from: a directory, an archive, a version, or git:REF"),
    Flag::switch(names::WRITE, "move proven values in the files of -f"),
    Flag::switch(names::REHEARSE, "upgrade from the old to the new chart in a new embedded cluster"),
    Flag::switch(
        names::SKIP_DOCUMENTS,
        "do not search the README and other texts of the new chart for hints",
    ),
    Flag::text(names::OUTPUT, "the format: text, json or yaml")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "json", "yaml"])),
    Flag::text(names::RELEASE, "the name of the release that charts are rendered for").or("release-name"),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to render for")
        .completes(FlagCompletion::KubeVersions),
    Flag::list(names::API_VERSIONS, "additional API versions of the cluster; may be repeated")
        .short('a')
        .completes(FlagCompletion::Nothing),
    Flag::switch(names::VERBOSE, "also show what needs no decision").short('v'),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = output::Format::from_flags(&invocation.flags)?;
    let (release, reference) = operands(invocation)?;
    let files = writable_files(invocation)?;
    let chart = chart_reference::locate(invocation, &reference)?.path;
    let from = invocation.flags.text(names::FROM).to_owned();
    let previous = PreviousChart::find(invocation, (&reference, &chart), &from)?;
    let input = input(invocation, release.as_deref(), previous.path().as_deref())?;
    let request = UpgradeCheckRequest {
        from: input,
        chart: chart.clone(),
        kube_version: request::kube_version(invocation)?,
        api_versions: invocation.flags.list(names::API_VERSIONS).to_vec(),
        skip_schema: invocation.flags.on(names::SKIP_SCHEMA_VALIDATION),
        nulls: template::generation(invocation)?,
        skip_documents: invocation.flags.on(names::SKIP_DOCUMENTS),
    };
    let session = scripts::offline_session(invocation)?;
    let checked = pintle::ops::upgrade_check(&session, &request, &mut Reporting::new(invocation.ui))?;
    output::print(invocation, format, &checked)?;
    if invocation.flags.on(names::WRITE) {
        write(invocation, &files, &checked)?;
    }
    let is_rehearsed = match invocation.flags.on(names::REHEARSE) {
        true => rehearsal(invocation, &request, (previous.path(), chart), &checked)?,
        false => true,
    };
    let is_written = invocation.flags.on(names::WRITE);
    let is_open = match is_written {
        true => checked.report.needs_action_after_moves(),
        false => checked.report.needs_action(),
    };
    if is_open || !is_rehearsed {
        return Err(Failure::new(FailureKind::Changes, ""));
    }
    Ok(())
}

/// The release, if there is one, and the reference to the new chart.
fn operands(invocation: &Invocation<'_>) -> Result<(Option<String>, String), Failure> {
    match invocation.flags.operands.as_slice() {
        [chart] if invocation.flags.text(names::FROM).is_empty() => {
            Err(Failure::usage(format!("there is nothing to compare {chart} with"))
                .hint("name a release before it, or give the chart to upgrade from with --from"))
        }
        [chart] => Ok((None, chart.clone())),
        [release, chart] => Ok((Some(release.clone()), chart.clone())),
        _ => {
            Err(Failure::usage("there are more than two operands").hint("give at most a release and a chart"))
        }
    }
}

/// The files that --write edits. Values that come from elsewhere cannot be written.
fn writable_files(invocation: &mut Invocation<'_>) -> Result<Vec<PathBuf>, Failure> {
    let named = invocation.flags.list(names::VALUES);
    let files: Vec<PathBuf> = named.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    if invocation.flags.on(names::WRITE) && files.is_empty() {
        return Err(Failure::usage("--write needs a values file to edit").hint(
            "name it with -f; for a release without one, `get values RELEASE -o yaml > values.yaml` makes one",
        ));
    }
    Ok(files)
}

/// The old chart and the values of the user.
fn input(
    invocation: &mut Invocation<'_>,
    release: Option<&str>,
    previous: Option<&Path>,
) -> Result<ChartInput, Failure> {
    let values = request::values(invocation)?;
    let Some(release) = release else {
        let name = invocation.flags.text(names::RELEASE).to_owned();
        let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
        let path = previous.unwrap_or(Path::new(""));
        return Ok(ChartInput::from_chart(
            path,
            &values,
            &name,
            &namespace,
            &mut Reporting::new(invocation.ui),
        )?);
    };
    let connection = Connection::open(invocation)?;
    let at = pintle::release::VersionRef::Current;
    let version =
        connection.run(pintle::ops::get(&connection.session, &connection.namespace, release, &at))?;
    let mut input = ChartInput::from_release(&version, &values)?;
    match previous {
        Some(path) => {
            let (name, namespace) = (&version.name, &version.namespace);
            let mut reporter = Reporting::new(invocation.ui);
            input.chart = ChartInput::from_chart(path, &[], name, namespace, &mut reporter)?.chart;
        }
        None if ChartInput::lacks_subcharts(&version) => {
            let text = format!("the record of release {release} does not hold the subcharts of its chart");
            let about = &version.chart.metadata;
            return Err(Failure::usage(text)
                .hint(format!("give the chart: --from {}-{}.tgz", about.name, about.version)));
        }
        None => {}
    }
    Ok(input)
}

fn write(
    invocation: &mut Invocation<'_>,
    files: &[PathBuf],
    checked: &UpgradeChecked,
) -> Result<(), Failure> {
    let moves = &checked.report.moves;
    let unwritten = moves.iter().filter(|rename| !output::is_in_files(files, &rename.from));
    let unwritten: Vec<String> = unwritten.map(|rename| rename.from.to_string()).collect();
    let written = pintle::ops::write_renames(files, moves)?;
    if !unwritten.is_empty() {
        invocation.ui.warn(&format!("not in the files of -f, so not moved: {}", unwritten.join(", ")));
    }
    for path in written {
        invocation.ui.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Upgrades in a new embedded cluster, and says whether that works.
fn rehearsal(
    invocation: &mut Invocation<'_>,
    request: &UpgradeCheckRequest,
    (from, chart): (Option<PathBuf>, PathBuf),
    checked: &UpgradeChecked,
) -> Result<bool, Failure> {
    let Some(from) = from else {
        return Err(Failure::usage("--rehearse needs the old chart").hint("give it with --from"));
    };
    let version = request.kube_version.as_ref();
    let rehearsal = RehearseRequest {
        chart: chart.into(),
        from: Some(from.into()),
        name: request.from.name.clone(),
        namespace: request.from.namespace.clone(),
        values: layers(&checked.values)?,
        from_values: Some(layers(&request.from.user_values)?),
        kube_version: version.map(|it| format!("{}.{}", it.major, it.minor)).unwrap_or_default(),
        clock: Arc::new(SystemClock),
        events: scripts::lifecycle(invocation)?,
        schemas: schemas::loader(invocation),
        ..RehearseRequest::default()
    };
    let report = connect::runtime()?.block_on(pintle::rehearse::rehearse(&rehearsal))?;
    let text = rehearse::text::text(&report, invocation.flags.on(names::VERBOSE));
    // The report itself may be JSON, so this goes beside it.
    match output::Format::from_flags(&invocation.flags)? {
        output::Format::Text => invocation.ui.print(&format!("\n{text}"))?,
        output::Format::Data(_) => text.lines().for_each(|line| invocation.ui.note(line)),
    }
    Ok(report.worst() < Some(Severity::Error))
}

fn layers(values: &Map<Node>) -> Result<Vec<ValuesLayer>, Failure> {
    let content = pintle::yaml::write(values).map_err(|error| Failure::run_time(error.to_string()))?;
    Ok(vec![ValuesLayer::Bytes { name: "values.yaml".to_owned(), content }])
}
