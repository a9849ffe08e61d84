//! `unittest`: runs the helm-unittest suites of charts.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use pintle::ops::{TestedChart, UnittestHost, UnittestRequest};
use pintle::unittest::report::console::{Console, Totals};
use pintle::unittest::report::{self, Format, Setting};
use pintle::unittest::{Options, PostRenderer};
use pintle::values::NullRules;
use pintle_time::{GoTime, Zone};

use crate::command::{ArgCompletion, Command, Operands};
use crate::commands::template;
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
use crate::lease_holder;
use crate::personality::Personality;

/// `unittest CHART...`
pub(crate) static COMMAND: Command = Command {
    name: "unittest",
    operands_text: "CHART [...]",
    short: "run the unit tests of charts",
    long: "\
Run the unit tests of charts, written as suites of helm-unittest: each test renders the chart with its own values and
checks the rendered documents.

    # web/tests/deployment_test.yaml
    suite: deployment
    templates: [deployment.yaml]
    tests:
      - it: has the wanted number of replicas
        set:
          replicaCount: 3
        asserts:
          - isKind: {of: Deployment}
          - equal: {path: spec.replicas, value: 3}

    {program} unittest ./web

Suites run in parallel and need no cluster; `lookup` finds the objects that a suite declares. Snapshots are stored in
__snapshot__ next to the suites, as helm-unittest stores them.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Chart,
    flags: &[FLAGS],
    run: Some(run),
    ..Command::BLANK
};

static FLAGS: &[Flag] = &[
    Flag::switch("color", "use colors even if the output is not a terminal; with =false, never"),
    Flag::switch("strict", "fail on unknown keys in suites"),
    Flag::array(
        "file",
        "a pattern of suite files, relative to the chart (default tests/*_test.yaml); may be repeated",
    )
    .short('f'),
    Flag::array("values", "a values file for all tests, or a pattern of them; may be repeated").short('v'),
    Flag::switch("update-snapshot", "store what was rendered as the new snapshots").short('u'),
    Flag::switch("with-subchart", "also run the suites of subcharts").short('s').or("true"),
    Flag::text("output-file", "write a report to this file").short('o'),
    Flag::text("output-type", "the format of the report: JUnit, NUnit, XUnit or Sonar")
        .short('t')
        .or("XUnit")
        .completes(FlagCompletion::Words(&["JUnit", "NUnit", "XUnit", "Sonar"])),
    Flag::text(
        "chart-tests-path",
        "the directory, relative to the chart, of a chart whose templates are suites",
    ),
    Flag::switch("failfast", "stop at the first failure").short('q'),
    Flag::switch("debugPlugin", "also write what was rendered to the directory .debug").short('d'),
    Flag::switch("skip-schema-validation", "skip the check of values against JSON schemas"),
    Flag::text("compat", "the Helm version whose behavior to follow: 3 or 4 ($PINTLE_COMPAT)")
        .completes(FlagCompletion::Words(&["3", "4"])),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let current_folder = std::env::current_dir()
        .map_err(|error| Failure::run_time(format!("cannot find the current directory: {error}")))?;
    let nulls = template::generation(invocation)?;
    let defaults = UnittestRequest::default();
    let files = match flags.list("file") {
        [] => defaults.files,
        files => files.to_vec(),
    };
    let request = UnittestRequest {
        charts: flags.operands.clone(),
        files,
        values: flags.list("values").to_vec(),
        chart_tests_path: flags.text("chart-tests-path").to_owned(),
        strict: flags.on("strict"),
        with_subcharts: flags.switch("with-subchart").unwrap_or(true),
        current_folder,
        rendered_folder: flags.on("debugPlugin").then(|| PathBuf::from(".debug")),
        options: Options {
            update_snapshots: flags.on("update-snapshot"),
            fail_fast: flags.on("failfast"),
            skip_schema: flags.on("skip-schema-validation"),
            nulls,
            // Under Helm's name suites have the verdicts of helm-unittest, also where these are wrong.
            quirks: invocation.personality == Personality::Helm || nulls == NullRules::Helm3,
            threads: 0,
        },
    };
    let host = Host { start: Instant::now() };
    let tested = pintle::ops::unittest(&request, &host);
    print(invocation, &request, &tested, &host)?;
    if tested.iter().all(TestedChart::passed) {
        return Ok(());
    }
    Err(Failure::new(FailureKind::AlreadyReported, "some tests failed"))
}

/// Prints the results, and writes the report.
fn print(
    invocation: &mut Invocation<'_>,
    request: &UnittestRequest,
    tested: &[TestedChart],
    host: &Host,
) -> Result<(), Failure> {
    let colors = invocation.flags.switch("color").unwrap_or_else(|| invocation.ui.paint().on);
    let console = Console { colors };
    let mut totals = Totals::default();
    for chart in tested {
        for warning in &chart.warnings {
            invocation.ui.warn(warning);
        }
        let mut text = String::new();
        for suite in &chart.unreadable {
            text.push_str(&console.suite(suite));
            totals.suite(suite);
        }
        text.push_str(&match &chart.error {
            Some(error) => console.error(error),
            None => console.chart(&chart.name, &chart.path),
        });
        for suite in chart.suites.iter().chain(&chart.unwritten) {
            text.push_str(&console.suite(suite));
            totals.suite(suite);
        }
        totals.chart(chart.passed(), chart.error.is_some());
        invocation.ui.print(&text)?;
    }
    if let Err(error) = write_report(invocation, request, tested) {
        invocation.ui.print(&console.error(&error))?;
    }
    let elapsed = pintle_time::Duration(i64::try_from(host.elapsed().as_nanos()).unwrap_or(i64::MAX));
    invocation.ui.print(&console.summary(&totals, &elapsed.to_string()))
}

/// Writes the report, if one is wanted. A format that does not exist is no report, as in helm-unittest.
fn write_report(
    invocation: &Invocation<'_>,
    request: &UnittestRequest,
    tested: &[TestedChart],
) -> Result<(), String> {
    let file = invocation.flags.text("output-file");
    let format = Format::by_name(invocation.flags.text("output-type"));
    let (Some(format), false) = (format, file.is_empty()) else { return Ok(()) };
    let now = GoTime::now(Zone::local());
    let setting = Setting {
        date: now.format("2006-01-02"),
        time: now.format("15:04:05"),
        host: lease_holder::host(invocation.environment),
        user: invocation.environment.variable("USER").unwrap_or_default(),
        folder: request.current_folder.display().to_string(),
        platform: format!(
            "pintle-{}.{}-{}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    };
    let suites: Vec<_> = tested
        .iter()
        .flat_map(|chart| &chart.suites)
        .filter(|suite| !suite.name.is_empty() || suite.error.is_none())
        .cloned()
        .collect();
    let path = PathBuf::from(file);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("mkdir {}: {error}", folder.display()))?;
    }
    std::fs::write(&path, report::write(format, &suites, &setting))
        .map_err(|error| format!("open {file}: {error}"))
}

/// Runs post-renderers and has the clock.
struct Host {
    start: Instant,
}

impl UnittestHost for Host {
    fn post_render(&self, post_renderer: &PostRenderer, text: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| {
            format!("post-render failed: error while running command {}: {error}", post_renderer.command)
        };
        let mut child = Process::new(&post_renderer.command)
            .args(&post_renderer.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A program that does not read its input is no error.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(text)));
            child.wait_with_output()
        })
        .map_err(failed)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!(
                "post-render failed: error while running command {}. error output:\n{errors}: {}",
                post_renderer.command, output.status
            ));
        }
        if output.stdout.trim_ascii().is_empty() {
            return Err(format!(
                "post-render failed: post-renderer {:?} produced empty output",
                post_renderer.command
            ));
        }
        Ok(output.stdout)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
