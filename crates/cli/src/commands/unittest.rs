//! `unittest`: runs the helm-unittest suites of charts.

mod changed;
mod host;
mod watch;

use std::path::PathBuf;
use std::time::Instant;

use pintle::ops::{TestedChart, UnittestHost as _, UnittestRequest};
use pintle::unittest::report::console::{Console, Totals};
use pintle::unittest::report::{self, Format, Setting};
use pintle::unittest::{Options, coverage};
use pintle::values::NullRules;
use pintle_time::{GoTime, Zone};

use crate::command::{ArgCompletion, Command, Operands};
use crate::commands::template;
use crate::failure::{Failure, FailureKind};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::lookup_from::{self, LOOKUP_FROM};
use crate::personality::Personality;
use crate::{lease_holder, schemas};
use host::{Consent, Host};

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

Charts and suites run in parallel and need no cluster; `lookup` finds the objects that a suite declares. Snapshots are
stored in __snapshot__ next to the suites, as helm-unittest stores them.

With --watch, suites run again whenever their chart changes. With --changed, only suites run whose outcome the uncommitted
changes of a git repository can affect; --since adds those of a branch:

    {program} unittest charts/* --changed --since origin/main

A suite may name a program as its post-renderer. It comes with the chart, so that you are asked before it runs;
--allow-post-renderer allows it where nobody can be asked. It may take ten minutes ($PINTLE_PLUGIN_TIMEOUT).

The key `pintle` of a test has expectations about the release: which lifecycle events scripts handle, the order of hooks,
images, and a rehearsal in the embedded cluster.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Chart,
    flags: &[FLAGS],
    run: Some(run),
    ..Command::BLANK
};

static FLAGS: &[Flag] = &[
    Flag::switch(names::COLOR, "use colors even if the output is not a terminal; with =false, never"),
    Flag::switch(names::STRICT, "fail on unknown keys in suites"),
    Flag::array(
        names::FILE_LIST,
        "a pattern of suite files, relative to the chart (default tests/*_test.yaml); may be repeated",
    )
    .short('f'),
    Flag::array(names::VALUES, "a values file for all tests, or a pattern of them; may be repeated")
        .short('v'),
    Flag::switch(names::UPDATE_SNAPSHOT, "store what was rendered as the new snapshots").short('u'),
    Flag::switch(names::WITH_SUBCHART, "also run the suites of subcharts").short('s').or("true"),
    Flag::text(names::OUTPUT_FILE, "write a report to this file").short('o'),
    Flag::text(names::OUTPUT_TYPE, "the format of the report: JUnit, NUnit, XUnit or Sonar")
        .short('t')
        .or("XUnit")
        .completes(FlagCompletion::Words(&["JUnit", "NUnit", "XUnit", "Sonar"])),
    Flag::text(
        names::CHART_TESTS_PATH,
        "the directory, relative to the chart, of a chart whose templates are suites",
    ),
    Flag::switch(names::FAILFAST, "stop at the first failure").short('q'),
    Flag::switch(names::DEBUGPLUGIN, "also write what was rendered to the directory .debug").short('d'),
    LOOKUP_FROM,
    Flag::switch(names::SKIP_SCHEMA_VALIDATION, "skip the check of values against JSON schemas"),
    Flag::switch(
        names::ALLOW_POST_RENDERER,
        "let suites run programs as post-renderers; without it, called as pintle, each is asked for",
    ),
    Flag::switch(names::WATCH, "run again whenever a chart or a values file changes; ends with Ctrl-C"),
    Flag::switch(names::CHANGED, "run only suites that files can affect which differ from the commit in git"),
    Flag::text(names::SINCE, "with --changed, also what changed since this branch or commit was left"),
    Flag::switch(
        names::COVERAGE,
        "show which lines and branches of templates and which values the tests did not reach",
    ),
    Flag::array(
        names::COVERAGE_FILE,
        "write the coverage to this file: LCOV for .info and .lcov, a page for .html, text for others; may be repeated",
    ),
    Flag::text(names::COMPAT, "the Helm version whose behavior to follow: 3 or 4 ($PINTLE_COMPAT)")
        .completes(FlagCompletion::Words(&["3", "4"])),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let current_folder = std::env::current_dir()
        .map_err(|error| Failure::run_time(format!("cannot find the current directory: {error}")))?;
    let nulls = template::generation(invocation)?;
    check_report_type(invocation)?;
    let defaults = UnittestRequest::default();
    let files = match flags.list(names::FILE_LIST) {
        [] => defaults.files,
        files => files.to_vec(),
    };
    let lookup = lookup_from::read(invocation)?;
    let flags = &invocation.flags;
    let request = UnittestRequest {
        charts: flags.operands.clone(),
        files,
        values: flags.list(names::VALUES).to_vec(),
        chart_tests_path: flags.text(names::CHART_TESTS_PATH).to_owned(),
        strict: flags.on(names::STRICT),
        with_subcharts: flags.switch(names::WITH_SUBCHART).unwrap_or(true),
        current_folder,
        rendered_folder: flags.on(names::DEBUGPLUGIN).then(|| PathBuf::from(".debug")),
        changed: None,
        lookup: lookup.objects.clone(),
        options: Options {
            update_snapshots: flags.on(names::UPDATE_SNAPSHOT),
            fail_fast: flags.on(names::FAILFAST),
            skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
            nulls,
            // Under Helm's name suites have the verdicts of helm-unittest, also where these are wrong.
            quirks: invocation.personality == Personality::Helm || nulls == NullRules::Helm3,
            threads: 0,
            coverage: flags.on(names::COVERAGE) || !flags.list(names::COVERAGE_FILE).is_empty(),
        },
    };
    if invocation.flags.on(names::WATCH) {
        return watch(invocation, request);
    }
    let request = UnittestRequest { changed: changed_files(invocation, &request)?, ..request };
    if run_once(invocation, &request)? {
        return Ok(());
    }
    Err(Failure::new(FailureKind::AlreadyReported, "some tests failed"))
}

/// helm-unittest silently writes no report if the type is unknown. So do we under Helm's name; otherwise it is an error.
fn check_report_type(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let name = invocation.flags.text(names::OUTPUT_TYPE);
    if invocation.personality == Personality::Helm || Format::by_name(name).is_some() {
        return Ok(());
    }
    let hint = "the types are JUnit, NUnit, XUnit and Sonar";
    Err(Failure::usage(format!("`{name}` is not a type of report")).hint(hint))
}

/// Runs all suites, and returns whether they passed.
fn run_once(invocation: &mut Invocation<'_>, request: &UnittestRequest) -> Result<bool, Failure> {
    let host = Host {
        start: Instant::now(),
        environment: invocation.environment,
        schemas: schemas::loader(invocation),
        consent: match invocation.personality {
            Personality::Pintle if !invocation.flags.on(names::ALLOW_POST_RENDERER) => Consent::asked(),
            _ => Consent::Given,
        },
    };
    let tested = pintle::ops::unittest(request, &host);
    if tested.is_empty() && request.changed.is_some() {
        invocation.ui.note("no suite is affected by what changed");
        return Ok(true);
    }
    print(invocation, request, &tested, &host)?;
    cover(invocation, &tested)?;
    Ok(tested.iter().all(TestedChart::passed))
}

/// Runs the suites, and again those of each chart that changes.
fn watch(invocation: &mut Invocation<'_>, mut request: UnittestRequest) -> Result<(), Failure> {
    let charts = std::mem::take(&mut request.charts);
    let mut paths = charts.clone();
    paths.extend(request.values.iter().cloned());
    let flags = &invocation.flags;
    let mut written: Vec<PathBuf> = flags.list(names::COVERAGE_FILE).iter().map(PathBuf::from).collect();
    written.push(PathBuf::from(flags.text(names::OUTPUT_FILE)));
    request.charts.clone_from(&charts);
    loop {
        // Read before the run, so that changes during the tests are noticed afterwards.
        let before = watch::Files::read(&paths, &written);
        request.changed = changed_files(invocation, &request)?;
        run_once(invocation, &request)?;
        invocation.ui.note("waiting for changes; press Ctrl-C to end");
        let changed = watch::wait(&before, &paths, &written);
        let is_in = |chart: &&String| changed.iter().any(|file| file.starts_with(chart));
        request.charts = charts.iter().filter(is_in).cloned().collect();
        if request.charts.is_empty() {
            request.charts.clone_from(&charts);
        }
        for file in changed {
            invocation.ui.note(&format!("changed: {}", file.display()));
        }
    }
}

/// The files that differ in git, if only what they affect is to run.
fn changed_files(
    invocation: &Invocation<'_>,
    request: &UnittestRequest,
) -> Result<Option<Vec<PathBuf>>, Failure> {
    let since = invocation.flags.text(names::SINCE);
    if !invocation.flags.on(names::CHANGED) {
        return match since {
            "" => Ok(None),
            _ => Err(Failure::usage("--since is for --changed")),
        };
    }
    changed::files(&request.current_folder, since, invocation.environment).map(Some)
}

/// Whether there was nothing to run.
fn has_no_suites(chart: &TestedChart) -> bool {
    chart.error.is_none()
        && chart.suites.is_empty()
        && chart.unwritten.is_empty()
        && chart.unreadable.is_empty()
}

/// Prints the results, and writes the report.
fn print(
    invocation: &mut Invocation<'_>,
    request: &UnittestRequest,
    tested: &[TestedChart],
    host: &Host,
) -> Result<(), Failure> {
    let colors = invocation.flags.switch(names::COLOR).unwrap_or_else(|| invocation.ui.paint().on);
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
        // helm-unittest counts a chart without tests as passed.
        if invocation.personality == Personality::Pintle && has_no_suites(chart) {
            invocation.ui.warn(&format!("no test suites for chart {} ({})", chart.name, chart.path));
        } else {
            totals.chart(chart.passed(), chart.error.is_some());
        }
        invocation.ui.print(&text)?;
    }
    if let Err(error) = write_report(invocation, request, tested) {
        invocation.ui.print(&console.error(&error))?;
    }
    let elapsed = pintle_time::Duration(i64::try_from(host.elapsed().as_nanos()).unwrap_or(i64::MAX));
    invocation.ui.print(&console.summary(&totals, &elapsed.to_string()))
}

/// Shows and writes the coverage, if it is wanted.
fn cover(invocation: &mut Invocation<'_>, tested: &[TestedChart]) -> Result<(), Failure> {
    let reports: Vec<_> = tested.iter().filter_map(|chart| chart.coverage.clone()).collect();
    let text = || reports.iter().map(|report| report.to_text()).collect::<String>();
    for file in invocation.flags.list(names::COVERAGE_FILE) {
        let path = PathBuf::from(file);
        let content = match path.extension().and_then(|extension| extension.to_str()) {
            Some("info" | "lcov") => coverage::lcov(&reports),
            Some("html" | "htm") => coverage::html(&reports),
            _ => text(),
        };
        pintle::chart::write_atomic(&path, content.as_bytes())
            .map_err(|error| Failure::run_time(format!("cannot write {file}: {error}")))?;
    }
    if invocation.flags.on(names::COVERAGE) { invocation.ui.print(&text()) } else { Ok(()) }
}

/// Writes the report, if requested. Under Helm's name, an unknown type writes none.
fn write_report(
    invocation: &Invocation<'_>,
    request: &UnittestRequest,
    tested: &[TestedChart],
) -> Result<(), String> {
    let file = invocation.flags.text(names::OUTPUT_FILE);
    let format = Format::by_name(invocation.flags.text(names::OUTPUT_TYPE));
    let (Some(format), false) = (format, file.is_empty()) else { return Ok(()) };
    let now = GoTime::now(Zone::local());
    let variable = |name| invocation.environment.variable(name).filter(|text| !text.is_empty());
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
        locale: variable("LC_ALL").or_else(|| variable("LANG")).unwrap_or_default(),
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
