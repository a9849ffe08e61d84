//! `rehearse`: runs the lifecycle of a chart in a new embedded cluster.

mod data;
mod junit;
pub(super) mod previous;
pub(super) mod text;

use std::path::PathBuf;
use std::sync::Arc;

use pintle::rehearse::{RehearseRequest, Severity};

use crate::clock::SystemClock;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE, VALUES};
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_json};
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, connect, request, schemas};

/// `rehearse CHART`
pub(crate) static COMMAND: Command = Command {
    name: "rehearse",
    operands_text: "CHART",
    short: "install, upgrade, test, roll back and uninstall a chart without a cluster",
    long: "\
Install a chart in a new embedded cluster, upgrade it, run its tests, roll it back and uninstall it, and report its
problems, the most severe first: unknown fields with file and line, deprecated and removed API versions, changes of
immutable fields, and objects that are left behind. The report fits on a screen; --verbose shows every finding, object
and hook. With --from, the chart to upgrade from is installed first: a directory or an archive, a version
(NAME-VERSION.tgz next to the chart, in its directory or in the current one), or git:REF for the same directory at a
commit, branch or tag:

    {program} rehearse ./web -f production.yaml --from git:main --output junit > report.xml

The cluster is empty except for what --given adds: files or directories with custom resource definitions, namespaces,
secrets and other objects that the chart requires, or a chart, whose custom resource definitions are used.

No container runs, but the scripts of the chart do; annotations control what happens to pods, see
`{program} cluster --help`.

Exit codes: 0 if the chart works, 1 if it does not (with --strict, also if there are warnings), 2 for invalid input.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Chart,
    flags: &[VALUES, OWN, DEVEL, CHART, COSIGN, REMOTE, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(
        names::FROM,
        "the previous chart to upgrade from: a directory, an archive, a version, or git:REF",
    ),
    Flag::list(
        names::GIVEN,
        "objects that exist before the chart: a file or folder of objects, or a chart for its CRDs",
    ),
    Flag::text(names::RELEASE_NAME, "the name of the release")
        .or("rehearsal")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to rehearse on")
        .completes(FlagCompletion::KubeVersions),
    Flag::of(
        names::TIMEOUT,
        Kind::Duration,
        "3s",
        "the real time to wait for objects that do not become ready",
    ),
    Flag::text(names::OUTPUT, "text, json, or junit")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&["text", "json", "junit"])),
    Flag::switch(names::NO_LOG_OUTPUT, "do not show the logs of hooks"),
    Flag::switch(names::STRICT, "fail on warnings"),
    Flag::switch(names::VERBOSE, "show every finding and every object").short('v'),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let output = flags.text(names::OUTPUT).to_owned();
    if !matches!(output.as_str(), "text" | "json" | "junit") {
        return Err(Failure::usage(format!("`{output}` is not a report format"))
            .hint("the formats are text, json and junit"));
    }
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.path;
    let from = invocation.flags.text(names::FROM).to_owned();
    let from = previous::PreviousChart::find(invocation, (&reference, &chart), &from)?;
    let values = request::values(invocation)?;
    let flags = &invocation.flags;
    let given = flags.list(names::GIVEN).iter().map(PathBuf::from).collect();
    let events = scripts::lifecycle(invocation)?;
    let version = request::kube_version(invocation)?;
    let namespace = match flags.text_or_setting(names::NAMESPACE, invocation.environment) {
        namespace if namespace.is_empty() => "default".to_owned(),
        namespace => namespace,
    };
    let rehearsal = RehearseRequest {
        chart: chart.into(),
        from: from.path().map(Into::into),
        fixtures: given,
        name: flags.text(names::RELEASE_NAME).to_owned(),
        namespace,
        values,
        from_values: None,
        kube_version: version.map(|it| format!("{}.{}", it.major, it.minor)).unwrap_or_default(),
        timeout: flags.duration(names::TIMEOUT),
        clock: Arc::new(SystemClock),
        events,
        schemas: schemas::loader(invocation),
    };
    let strict = flags.on(names::STRICT);
    let verbose = flags.on(names::VERBOSE);
    let no_logs = flags.on(names::NO_LOG_OUTPUT);
    let runtime = connect::runtime()?;
    let mut report = runtime.block_on(pintle::rehearse::rehearse(&rehearsal)).map_err(|error| {
        let mut failure = Failure::from(error);
        failure.class = FailureKind::BadInput;
        failure
    })?;
    if no_logs {
        report.stages.iter_mut().flat_map(|stage| &mut stage.hooks).for_each(|hook| hook.log.clear());
    }
    for finding in &report.findings {
        scripts::hint_at_refusals(invocation.ui, &finding.message);
    }
    match output.as_str() {
        "json" => print_json(invocation.ui, Format::Json, data::json(&report)?)?,
        "junit" => invocation.ui.print(&junit::xml(&report))?,
        _ => {
            let text = invocation.ui.paint().report(text::text(&report, verbose), text::COLORS);
            invocation.ui.print(&text)?;
        }
    }
    let limit = if strict { Severity::Warning } else { Severity::Error };
    if report.worst() >= Some(limit) {
        return Err(Failure::new(FailureKind::AlreadyReported, "the rehearsal found problems"));
    }
    Ok(())
}
