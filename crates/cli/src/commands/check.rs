//! `check`: rendered objects against schemas, deprecated APIs and policy rules.

use pintle::check::report::{self, Format};
use pintle::check::{Config, RULES, Severity};
use pintle::ops::{CheckRequest, CheckSubject, Checked};

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::groups::{SCHEMA, VALUES};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::lookup_from::{self, LOOKUP_FROM};
use crate::output::color::{BLUE, RED, Rule as ColorRule, YELLOW};
use crate::output::grid::counted;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{kubeconfig, request};

/// `check CHART...`
pub(crate) static COMMAND: Command = Command {
    name: "check",
    operands_text: "CHART [...]",
    short: "check what charts render, without a cluster",
    long: "\
Render charts with their defaults and with each of their ci/*-values.yaml, and check the objects: against the schemas of
Kubernetes versions and of CRDs, for deprecated and removed API versions, and by policy rules. Values that templates read
and values.yaml does not have are reported too, and the reverse. Findings have the line of the template that wrote what
is wrong.

    {program} check ./web --kubernetes-version 1.34,1.37 --output github

An operand may also be a file or a directory of rendered objects, or - for standard input:

    helm template ./web | {program} check -

Schemas of built-in kinds are part of the program. Those of custom resources come from the CRDs of the chart and its
dependencies, and from --schema-location, in the forms that kubeconform accepts: a directory, or a template of paths or
URLs such as 'crds/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json'. A directory or a file of CRDs will do too.

Rules have severities. A file .pintle-check.yaml in the chart, or --config, changes them and ignores findings, and
--rule changes one. An object is excepted from a rule by the annotation ignore-check.pintle.dev/RULE or
ignore-check.kube-linter.io/RULE, whose value is the reason. --list-rules shows all rules.

Exit codes: 0 if there is no error (or what --fail-on says), 1 if there is, 2 for invalid input.",
    operands: Operands::Any,
    completion: ArgCompletion::Chart,
    flags: &[OWN, VALUES, SCHEMA, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::list(
        names::KUBERNETES_VERSION,
        "a Kubernetes version to render and check for (default the newest); may be repeated",
    )
    .completes(FlagCompletion::KubeVersions),
    Flag::list(
        names::API_VERSIONS,
        "API versions that the cluster has in addition, for .Capabilities.APIVersions",
    )
    .short('a'),
    LOOKUP_FROM,
    Flag::switch(names::STRICT, "unknown fields and duplicate keys are errors"),
    Flag::switch(names::IGNORE_MISSING_SCHEMAS, "skip objects of kinds without a schema"),
    Flag::array(names::SCHEMA_LOCATION, "where to find other schemas, as in kubeconform; may be repeated"),
    Flag::text(
        names::CONFIG,
        "the configuration file for all charts, instead of their own .pintle-check.yaml",
    ),
    Flag::array(names::RULE, "RULE=SEVERITY, with info, warning, error or off; may be repeated")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::FAIL_ON, "the lowest severity that fails: error, warning, info or never")
        .or("error")
        .completes(FlagCompletion::Words(&["error", "warning", "info", "never"])),
    Flag::switch(names::FIX, "change templates where a fix needs no decision"),
    Flag::switch(names::LIST_RULES, "show all rules and their severities"),
    Flag::text(names::OUTPUT, "text, json, junit, sarif or github")
        .short('o')
        .or("text")
        .completes(FlagCompletion::Words(&Format::NAMES)),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    if invocation.flags.on(names::LIST_RULES) {
        return invocation.ui.print(&rule_list());
    }
    let flags = &invocation.flags;
    if flags.operands.is_empty() {
        return Err(Failure::usage("check needs a chart, or a file or directory of objects"));
    }
    let output = flags.text(names::OUTPUT);
    let format = Format::by_name(output).ok_or_else(|| {
        Failure::usage(format!("`{output}` is not a report format"))
            .hint(format!("the formats are {}", Format::NAMES.join(", ")))
    })?;
    let limit = match flags.text(names::FAIL_ON) {
        "never" => None,
        name => Some(Severity::by_name(name).ok_or_else(|| {
            Failure::usage(format!("`{name}` is not a severity")).hint("use error, warning, info or never")
        })?),
    };
    let lookup = lookup_from::read(invocation)?;
    let flags = &invocation.flags;
    let request = CheckRequest {
        subjects: flags.operands.iter().map(|operand| subject(operand)).collect::<Result<_, Failure>>()?,
        values: request::values(invocation)?,
        namespace: kubeconfig::namespace(&invocation.flags, invocation.environment),
        kubernetes_versions: flags.list(names::KUBERNETES_VERSION).to_vec(),
        api_versions: flags.list(names::API_VERSIONS).to_vec(),
        config: config(flags.text(names::CONFIG))?,
        severities: flags.list(names::RULE).to_vec(),
        strict: flags.on(names::STRICT),
        ignore_missing_schemas: flags.on(names::IGNORE_MISSING_SCHEMAS),
        schema_locations: flags.list(names::SCHEMA_LOCATION).to_vec(),
        skip_schema: flags.on(names::SKIP_SCHEMA_VALIDATION),
        fix: flags.on(names::FIX),
        lookup: lookup.objects.clone(),
    };
    let checked = check(invocation, &request)?;
    let reports: Vec<_> = checked.into_iter().map(|checked| checked.report).collect();
    let text = report::write(Format::Text, &reports, env!("CARGO_PKG_VERSION"));
    scripts::hint_at_refusals(invocation.ui, &text);
    let shown = report::write(format, &reports, env!("CARGO_PKG_VERSION"));
    let shown = if format == Format::Text { invocation.ui.paint().report(shown, COLORS) } else { shown };
    invocation.ui.print(&shown)?;
    let worst = reports.iter().filter_map(|report| report.worst()).max();
    if limit.is_some_and(|limit| worst >= Some(limit)) {
        return Err(Failure::new(FailureKind::AlreadyReported, "the check found problems"));
    }
    Ok(())
}

/// The colors of the report.
pub(crate) const COLORS: &[ColorRule] = &[
    ColorRule::new(": ", "error", RED),
    ColorRule::new(": ", "warning", YELLOW),
    ColorRule::new(": ", "info", BLUE),
];

/// What an operand means; `-` is standard input.
fn subject(operand: &str) -> Result<CheckSubject, Failure> {
    if operand != "-" {
        return Ok(CheckSubject::Path(operand.into()));
    }
    let text = crate::read::standard_input();
    let text = text.map_err(|error| Failure::usage(format!("read standard input: {}", reason(&error))))?;
    Ok(CheckSubject::Objects { name: operand.to_owned(), text })
}

/// Checks charts, and says what was fixed.
pub(crate) fn check(
    invocation: &mut Invocation<'_>,
    request: &CheckRequest,
) -> Result<Vec<Checked>, Failure> {
    let session = scripts::offline_session(invocation)?;
    let outcome = pintle::ops::check(&session, request, &mut Reporting::new(invocation.ui));
    let checked = outcome.map_err(|error| {
        let mut failure = Failure::from(error);
        failure.class = FailureKind::BadInput;
        failure
    })?;
    for checked in &checked {
        for (file, count) in &checked.fixed {
            let places = if *count == 1 { "1 place".to_owned() } else { format!("{count} places") };
            invocation.ui.note(&format!("fixed {places} in {}/{file}", checked.report.chart));
        }
        for left in &checked.unfixed {
            let place = format!("{}/{}:{}", checked.report.chart, left.file, left.line);
            invocation.ui.note(&format!("left {place}: {}; write `{}` there", left.why, left.wanted));
        }
        let undecided = checked.report.findings.iter().filter(|finding| finding.fix.is_none()).count();
        if request.fix && undecided > 0 {
            let findings = counted(undecided, "finding");
            invocation.ui.note(&format!("left {findings} whose fix needs a decision"));
        }
    }
    Ok(checked)
}

fn config(path: &str) -> Result<Option<Config>, Failure> {
    if path.is_empty() {
        return Ok(None);
    }
    let text = crate::read::file(path, crate::read::MAX_SETTINGS)
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    let config = Config::read(&text).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    Ok(Some(config))
}

fn rule_list() -> String {
    let width = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or_default();
    let line = |rule: &pintle::check::Rule| {
        let severity = rule.severity.map_or("off", Severity::name);
        format!("{:width$}  {severity:7}  {}\n", rule.name, rule.about)
    };
    RULES.iter().map(line).collect()
}
