//! `lint`: reports problems in charts.

use std::path::Path;

use pintle::check::Severity as CheckSeverity;
use pintle::check::report::{self, Format};
use pintle::lint::Severity;
use pintle::ops::{CheckRequest, CheckSubject, LintRequest, Linted};

use crate::command::{Command, Operands};
use crate::commands::check;
use crate::failure::Failure;
use crate::flag::groups::{SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::lookup_from::{self, LOOKUP_FROM};
use crate::output::color::{BLUE, RED, Rule, YELLOW};
use crate::personality::Personality;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{kubeconfig, request};

/// `lint PATH`
pub(crate) static COMMAND: Command = Command {
    name: "lint",
    operands_text: "PATH",
    short: "examine a chart for problems",
    long: "\
Examine charts in directories or archives. Problems that make a chart fail are reported as [ERROR], violations of
conventions as [WARNING], and recommendations as [INFO]. With --all, what the charts render is checked too, see
`{program} check --help`.",
    operands: Operands::AtLeast(1),
    flags: &[SCHEMA, VALUES, OWN, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::STRICT, "fail on warnings"),
    Flag::switch(names::WITH_SUBCHARTS, "lint the subcharts too"),
    Flag::switch(names::QUIET, "print warnings and errors only"),
    Flag::switch(names::ALL, "also check the rendered objects, as the command check does"),
    LOOKUP_FROM,
    Flag::text(names::KUBE_VERSION, "the Kubernetes version to check against")
        .completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let session = scripts::offline_session(invocation)?;
    let values = request::values(invocation)?;
    let lookup = lookup_from::read(invocation)?;
    let flags = &invocation.flags;
    let request = LintRequest {
        kube_version: request::kube_version(invocation)?,
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values,
        skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
        extra_rules: invocation.personality == Personality::Pintle,
        lookup: lookup.objects.clone(),
        scratch: invocation.environment.temporary_folder(),
    };
    let (quiet, strict) = (flags.on(names::QUIET), flags.on(names::STRICT));
    let mut charts = flags.operands.clone();
    if flags.on(names::WITH_SUBCHARTS) {
        for chart in &flags.operands {
            let folders = pintle::ops::subchart_folders(Path::new(chart))?;
            charts.extend(folders.iter().map(|folder| crate::path::clean(&folder.to_string_lossy())));
        }
    }
    let (mut failed, mut remarkable) = (0, false);
    for chart in &charts {
        let linted = {
            let mut reporter = Reporting::new(invocation.ui);
            pintle::ops::lint(&session, Path::new(chart), &request, &mut reporter)?
        };
        let worst = linted.findings.worst();
        let noticed = linted.problem.is_some() || worst >= Some(Severity::Warning);
        remarkable |= noticed;
        if quiet && !noticed {
            continue;
        }
        let limit = if strict { Severity::Warning } else { Severity::Error };
        failed += usize::from(linted.problem.is_some() || worst >= Some(limit));
        print(invocation, chart, &linted, quiet)?;
    }
    if invocation.flags.on(names::ALL) {
        failed += check_objects(invocation, &charts, &request, strict)?;
    }
    let summary = format!("{} chart(s) linted, {failed} chart(s) failed", charts.len());
    if failed > 0 {
        return Err(Failure::run_time(summary));
    }
    if !quiet || remarkable { invocation.ui.print(&format!("{summary}\n")) } else { Ok(()) }
}

/// Runs `check` on the charts. Returns how many of them fail.
fn check_objects(
    invocation: &mut Invocation<'_>,
    charts: &[String],
    linted: &LintRequest,
    strict: bool,
) -> Result<usize, Failure> {
    let flags = &invocation.flags;
    let version = request::kube_version(invocation)?;
    let request = CheckRequest {
        subjects: charts.iter().map(|chart| CheckSubject::Path(chart.into())).collect(),
        values: linted.values.clone(),
        namespace: linted.namespace.clone(),
        kubernetes_versions: version.map(|it| format!("{}.{}", it.major, it.minor)).into_iter().collect(),
        skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
        lookup: linted.lookup.clone(),
        ..CheckRequest::default()
    };
    let reports: Vec<_> =
        check::check(invocation, &request)?.into_iter().map(|checked| checked.report).collect();
    let text = report::write(Format::Text, &reports, env!("CARGO_PKG_VERSION"));
    scripts::hint_at_refusals(invocation.ui, &text);
    let shown = invocation.ui.paint().report(format!("{text}\n"), check::COLORS);
    invocation.ui.print(&shown)?;
    let limit = if strict { CheckSeverity::Warning } else { CheckSeverity::Error };
    Ok(reports.iter().filter(|report| report.worst() >= Some(limit)).count())
}

fn print(invocation: &mut Invocation<'_>, chart: &str, linted: &Linted, quiet: bool) -> Result<(), Failure> {
    let mut text = format!("==> Linting {chart}\n");
    if let Some(problem) = &linted.problem {
        text.push_str(&format!("Error {problem}\n"));
    }
    for message in &linted.findings.messages {
        if !quiet || message.severity > Severity::Info {
            text.push_str(&format!("{message}\n"));
        }
    }
    scripts::hint_at_refusals(invocation.ui, &text);
    text.push('\n');
    // Helm has no colors here.
    if invocation.personality == Personality::Pintle {
        text = invocation.ui.paint().report(text, COLORS);
    }
    invocation.ui.print(&text)
}

const COLORS: &[Rule] =
    &[Rule::new("", "[ERROR]", RED), Rule::new("", "[WARNING]", YELLOW), Rule::new("", "[INFO]", BLUE)];
