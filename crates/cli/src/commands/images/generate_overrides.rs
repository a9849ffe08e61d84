//! `images override`: generates values that point the images of a chart at another registry, verified by rendering.

use pintle::images::Policy;
use pintle::ops::ChartInput;
use pintle::ops::images::{self, ImageOptions, Inspected};
use pintle_tree::Node;

use super::files::{self, Existing};
use super::inventory;
use super::output::{self, FORMAT, OUTPUT};
use super::policy::{PATHS, POLICY, REGISTRIES, paths, policy, require};
use super::report::Report;
use super::subject::{LogLevel, SUBJECT, Subject, options};
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::VALUES;
use crate::flag::{Flag, FlagCompletion, Kind, names};
use crate::invocation::Invocation;
use crate::report::Reporting;

/// `images override [CHART|RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "override",
    operands_text: "[CHART|RELEASE]",
    short: "generate values that point images at another registry",
    long: "\
Generate the smallest set of values that points the images of a chart or a release at another registry, and print it:

    {program} images override ./web --target-registry hub.corp --source-registries docker.io,quay.io > hub.yaml
    {program} images override ./web --registry-file registry-mappings.yaml --output-file hub.yaml

The chart is rendered with and without them: a value is changed only if exactly the intended images change, each to
exactly its new reference. Images that no value controls are reported with template and line; `{program} images rewrite`
moves these. Values keep their structure, digests are kept, and lists are written as a whole.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Chart,
    flags: &[SUBJECT, POLICY, REGISTRIES, PATHS, VALUES, OUTPUT, FORMAT, OWN],
    exclusive: &[&["no-validate", "validate"]],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::DRY_RUN, "print the values instead of writing --output-file"),
    Flag::switch(names::STRICT, "fail on unsupported image structures"),
    Flag::of(
        names::THRESHOLD,
        Kind::Uint,
        "0",
        "fail if less than this percentage of the images can be relocated",
    )
    .completes(FlagCompletion::Nothing),
    Flag::text(names::REPORT, "write a report in JSON to this file, or - for standard error"),
    Flag::switch(names::ALLOW_TAG_AND_DIGEST, "relocate images that have both a tag and a digest"),
    Flag::switch(names::DISABLE_RULES, "leave out the values that some charts need besides the images"),
    Flag::switch(names::NO_VALIDATE, "detect images in values only, without rendering and proof"),
    Flag::switch(names::VALIDATE, "render before and after, which is done anyway").hidden(),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let level = LogLevel::from_flags(invocation)?;
    check_flags(invocation)?;
    let policy = policy(&invocation.flags)?;
    let subject = Subject::from_flags(invocation)?.load(invocation)?;
    let proves = !invocation.flags.on(names::NO_VALIDATE);
    let seen = relocate(invocation, &subject, &policy, proves)?;
    if level >= LogLevel::Debug {
        inventory::debug_lines(&seen).iter().for_each(|line| invocation.ui.note(line));
    }
    let report = Report::new(&subject, &seen, &policy, proves);
    report_result(invocation, &subject, &policy, &report, level)?;
    refuse(invocation, &report)?;
    let text = output::text(&invocation.flags, &Node::Map(seen.relocation.overrides.clone()))?;
    match invocation.flags.on(names::DRY_RUN) {
        true => Ok(invocation.ui.out().write_all(&text)?),
        false => output::put_text(invocation, &text),
    }
}

fn check_flags(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    output::check_format(flags)?;
    if flags.last_text(&[names::REGISTRY_FILE, names::CONFIG]).is_none_or(str::is_empty) {
        require(flags, &["source-registries", "target-registry"])?;
    }
    if flags.uint(names::THRESHOLD) > 100 {
        return Err(Failure::usage("--threshold must be a percentage between 0 and 100"));
    }
    if flags.on(names::DRY_RUN) { Ok(()) } else { output::check_file(flags) }
}

/// Finds the values, verified or not.
fn relocate(
    invocation: &mut Invocation<'_>,
    subject: &ChartInput,
    policy: &Policy,
    proves: bool,
) -> Result<Inspected, Failure> {
    let options = ImageOptions {
        filter: paths(&invocation.flags),
        disable_rules: invocation.flags.on(names::DISABLE_RULES),
        ..options(invocation)?
    };
    let reporter = &mut Reporting::new(invocation.ui);
    if !proves {
        return Ok(images::relocate_unverified(subject, policy, &options, reporter)?);
    }
    images::relocate(subject, policy, &options, reporter).map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.hint.is_none() && failure.class == FailureKind::RunTime {
            failure.hint = Some(
                "set the required values with --values or --set, or skip the verification with --no-validate"
                    .to_owned(),
            );
        }
        failure
    })
}

/// Prints a summary, and writes the report if requested.
fn report_result(
    invocation: &mut Invocation<'_>,
    subject: &ChartInput,
    policy: &Policy,
    report: &Report<'_>,
    level: LogLevel,
) -> Result<(), Failure> {
    if level >= LogLevel::Warn {
        for text in policy.advice().iter().chain(&report.warnings()) {
            invocation.ui.warn(text);
        }
    }
    let path = invocation.flags.text(names::REPORT).to_owned();
    if !path.is_empty() {
        let text = report.json()?;
        return match path.as_str() {
            "-" => {
                invocation.ui.note(String::from_utf8_lossy(&text).trim_end());
                Ok(())
            }
            path => files::write("--report", path, &text, Existing::Replace),
        };
    }
    if level >= LogLevel::Info {
        for line in report.lines(level >= LogLevel::Debug) {
            invocation.ui.note(&line);
        }
        invocation.ui.note(&format!("{}: {}", subject.chart.name(), report.verdict()));
    }
    Ok(())
}

/// Fails if `--strict` or the threshold demands it.
fn refuse(invocation: &Invocation<'_>, report: &Report<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    if !flags.on(names::ALLOW_TAG_AND_DIGEST)
        && let Some(text) = report.tag_and_digest()
    {
        return Err(Failure::new(FailureKind::BadImage, text)
            .hint("remove one of them, or set --allow-tag-and-digest to relocate the image with both"));
    }
    if flags.on(names::STRICT)
        && let Some((class, text)) = report.strict()
    {
        return Err(Failure::new(class, text).hint("without --strict this is only reported"));
    }
    if report.is_below(flags.uint(names::THRESHOLD)) {
        let text = format!(
            "fewer than {} % of the images can be relocated: {}",
            flags.uint(names::THRESHOLD),
            report.details()
        );
        return Err(Failure::new(FailureKind::BadImage, text)
            .hint("`pintle images rewrite` relocates images that no value controls"));
    }
    Ok(())
}
