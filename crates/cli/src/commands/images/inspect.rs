//! `images inspect`: shows the images of a chart or of releases, and the values they come from.

use std::collections::BTreeSet;

use pintle::Silent;
use pintle::images::mapping::skeleton;
use pintle::images::{Detection, Policy};
use pintle::ops::images::{self, ImageOptions, Inspected};
use pintle::ops::{ChartInput, ListRequest};
use pintle::release::VersionRef;

use super::files::{self, Existing};
use super::inventory::{self, Filter};
use super::output::{self, FORMAT, OUTPUT};
use super::policy::{PATHS, REGISTRIES, paths, registries};
use super::subject::{LogLevel, SUBJECT, Subject, options, release_input};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::groups::VALUES;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::Record;
use crate::report::Reporting;

/// `images inspect [CHART|RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "inspect",
    operands_text: "[CHART|RELEASE]",
    short: "show the images of a chart or a release and the values they come from",
    long: "\
Show which images a chart defines in its values, which images its rendered objects use, and which values these come
from. Images that are fixed in templates are listed with template and line, and other strings that look like images are
listed as suspects:

    {program} images inspect ./web --source-registries docker.io
    {program} images inspect ./web --generate-config-skeleton registry-mappings.yaml
    {program} images inspect --all-namespaces",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Chart,
    flags: &[SUBJECT, REGISTRIES, PATHS, VALUES, OUTPUT, FORMAT, OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::ALL_NAMESPACES, "include all releases of the cluster").short('A'),
    Flag::text(names::GENERATE_CONFIG_SKELETON, "write a mapping file with the registries that were found"),
    Flag::switch(names::OVERWRITE_SKELETON, "let --generate-config-skeleton overwrite a file"),
];

const SKELETON: &str = "--generate-config-skeleton";

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let level = LogLevel::from_flags(invocation)?;
    let policy = registries(&invocation.flags)?;
    output::check_format(&invocation.flags)?;
    let (record, found) = if invocation.flags.on(names::ALL_NAMESPACES) {
        reject_subject(invocation)?;
        all(invocation, &policy, level)?
    } else {
        let named = Subject::from_flags(invocation)?;
        let subject = named.load(invocation)?;
        let seen = inspect_chart(invocation, &subject, level)?;
        (report(invocation, &subject, &seen, &policy, named.text()), registries_of(&seen))
    };
    let path = invocation.flags.text(names::GENERATE_CONFIG_SKELETON).to_owned();
    if !path.is_empty() {
        let existing =
            if invocation.flags.on(names::OVERWRITE_SKELETON) { Existing::Replace } else { Existing::Keep };
        files::write(SKELETON, &path, skeleton(&found).as_bytes(), existing)?;
        if level >= LogLevel::Info {
            invocation.ui.note(&format!("{path}: {} registries", found.len()));
        }
        return Ok(());
    }
    output::write(invocation, &record)
}

/// Inspects a chart; if it does not render, only its values.
fn inspect_chart(
    invocation: &mut Invocation<'_>,
    subject: &ChartInput,
    level: LogLevel,
) -> Result<Inspected, Failure> {
    let options = ImageOptions { filter: paths(&invocation.flags), ..options(invocation)? };
    let seen = images::inspect(subject, &options, &mut Reporting::new(invocation.ui))?;
    if let Some(reason) = seen.unrendered.as_ref().filter(|_| level >= LogLevel::Warn) {
        invocation.ui.warn(&format!(
            "{} does not render with these values, so only the values are inspected: {reason}",
            subject.chart.name(),
        ));
    }
    if level >= LogLevel::Debug {
        inventory::debug_lines(&seen).iter().for_each(|line| invocation.ui.note(line));
    }
    Ok(seen)
}

fn report(
    invocation: &Invocation<'_>,
    subject: &ChartInput,
    seen: &Inspected,
    policy: &Policy,
    path: &str,
) -> Record {
    let filter = &paths(&invocation.flags);
    inventory::record(subject, seen, &Filter { policy, filtered: policy.sources.is_some(), filter }, path)
}

fn registries_of(seen: &Inspected) -> BTreeSet<String> {
    let mut found = in_values(&seen.detection);
    found.extend(inventory::rendered_registries(seen));
    found
}

fn in_values(detection: &Detection) -> BTreeSet<String> {
    detection.images.iter().filter_map(|finding| Some(finding.reference.as_ref()?.registry())).collect()
}

/// `--all-namespaces` excludes a chart or release.
fn reject_subject(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let named = ["chart-path", "release-name", "namespace"].into_iter().find(|name| flags.is_given(name));
    let other = match (named, flags.operands.first()) {
        (Some(flag), _) => format!("--{flag}"),
        (None, Some(operand)) => format!("`{operand}`"),
        (None, None) => return Ok(()),
    };
    Err(Failure::usage(format!("--all-namespaces and {other} cannot be used together")))
}

/// Inspects all releases; those that fail are reported and listed.
fn all(
    invocation: &mut Invocation<'_>,
    policy: &Policy,
    level: LogLevel,
) -> Result<(Record, BTreeSet<String>), Failure> {
    let connection = Connection::open(invocation)?;
    let releases =
        connection.run(pintle::ops::list(&connection.session, &ListRequest::default(), &mut Silent))?;
    let (mut records, mut skipped, mut found) = (Vec::new(), Vec::new(), BTreeSet::new());
    for release in &releases {
        let version =
            pintle::ops::get(&connection.session, &release.namespace, &release.name, &VersionRef::Current);
        let outcome = connection.run(version).and_then(|version| {
            let subject = release_input(invocation, &version, None, &[])?;
            let seen = inspect_chart(invocation, &subject, level)?;
            Ok((report(invocation, &subject, &seen, policy, &release.name), registries_of(&seen)))
        });
        match outcome {
            Ok((analysis, registries)) => {
                found.extend(registries);
                let record = Record::default()
                    .with("releaseName", release.name.as_str())
                    .with("namespace", release.namespace.as_str());
                records.push(record.with_record("analysis", analysis));
            }
            Err(failure) => {
                let reason = failure.own.as_ref().unwrap_or(&failure.text);
                if level >= LogLevel::Warn {
                    let (namespace, name) = (&release.namespace, &release.name);
                    invocation.ui.warn(&format!("{namespace}/{name} is skipped: {reason}"));
                }
                let name = format!("{}/{}", release.namespace, release.name);
                skipped.push(Record::default().with("release", name).with("reason", reason.as_str()));
            }
        }
    }
    if records.is_empty() && !skipped.is_empty() {
        return Err(Failure::run_time("no release could be inspected"));
    }
    Ok((Record::default().with_records("releases", records).with_records("skipped", skipped), found))
}
