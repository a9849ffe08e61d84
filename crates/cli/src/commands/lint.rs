//! `lint`: reports problems in charts.

use std::path::Path;

use pintle::lint::Severity;
use pintle::ops::{LintRequest, Linted};

use crate::command::{Command, Operands};
use crate::failure::Failure;
use crate::flag::groups::{SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
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
conventions as [WARNING], and recommendations as [INFO].",
    operands: Operands::AtLeast(1),
    flags: &[SCHEMA, VALUES, OWN, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch("strict", "fail on warnings"),
    Flag::switch("with-subcharts", "lint the subcharts too"),
    Flag::switch("quiet", "print warnings and errors only"),
    Flag::text("kube-version", "the Kubernetes version to check against").completes(FlagCompletion::Nothing),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let session = scripts::offline_session(invocation)?;
    let values = request::overrides(invocation)?;
    let flags = &invocation.flags;
    let request = LintRequest {
        kube_version: request::kube_version(invocation)?,
        namespace: kubeconfig::namespace(flags, invocation.environment),
        values,
        skip_schema: flags.on("skip-schema-validation"),
        extra_rules: invocation.personality == Personality::Pintle,
        scratch: invocation.environment.temporary_folder(),
    };
    let (quiet, strict) = (flags.on("quiet"), flags.on("strict"));
    let mut charts = flags.operands.clone();
    if flags.on("with-subcharts") {
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
    let summary = format!("{} chart(s) linted, {failed} chart(s) failed", charts.len());
    if failed > 0 {
        return Err(Failure::run_time(summary));
    }
    if !quiet || remarkable { invocation.ui.print(&format!("{summary}\n")) } else { Ok(()) }
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
    text.push('\n');
    invocation.ui.print(&text)
}
