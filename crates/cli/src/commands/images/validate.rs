//! `images validate`: checks that a chart renders with additional values.

use pintle::ops::images;
use pintle::prepare::Prepared;

use super::output::{self, OUTPUT};
use super::subject::{LogLevel, SUBJECT, Subject, options};
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::VALUES;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::report::Reporting;

/// `images validate [CHART|RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "validate",
    operands_text: "[CHART|RELEASE]",
    short: "check that a chart renders with values, such as those of override",
    long: "\
Check that a chart, or the chart of a release with its values, renders with additional values:

    {program} images validate ./web --values hub.yaml

With --output-file, the rendered objects are written to a file. With --strict, a missing value is an error.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Chart,
    flags: &[SUBJECT, VALUES, OUTPUT, OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] =
    &[Flag::switch(names::STRICT, "fail on missing values and on template text left in the output")];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let level = LogLevel::from_flags(invocation)?;
    super::policy::require(&invocation.flags, &["values"])?;
    output::check_file(&invocation.flags)?;
    let options = options(invocation)?;
    let subject = Subject::from_flags(invocation)?.load(invocation)?;
    let name = subject.chart.name();
    let prepared = images::validate(&subject, &options, false, &mut Reporting::new(invocation.ui))?;
    if invocation.flags.on(names::STRICT) {
        reject_incomplete_output(&images::validate(&subject, &options, true, &mut pintle::Silent)?)?;
    }
    if !invocation.flags.text(names::OUTPUT_FILE).is_empty() {
        output::put_text(invocation, &manifest(&prepared))?;
    }
    if level < LogLevel::Info {
        Ok(())
    } else {
        invocation.ui.print(&format!("{name} renders with these values.\n"))
    }
}

/// Rejects output with missing values or unrendered template text.
fn reject_incomplete_output(prepared: &Prepared) -> Result<(), Failure> {
    for (path, text) in &prepared.files {
        let text = String::from_utf8_lossy(text);
        for (index, line) in text.lines().enumerate() {
            let gap = ["<no value>", "{{"].into_iter().find(|gap| line.contains(gap));
            if let Some(gap) = gap {
                let text = format!("{path}, as rendered, line {}: `{gap}` in `{}`", index + 1, line.trim());
                return Err(
                    Failure::new(FailureKind::Unsupported, text).hint("without --strict this is not checked")
                );
            }
        }
    }
    Ok(())
}

fn manifest(prepared: &Prepared) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, content) in prepared.files.iter().filter(|(_, content)| !content.trim_ascii().is_empty()) {
        text.extend_from_slice(format!("---\n# Source: {path}\n").as_bytes());
        text.extend_from_slice(content);
        if !content.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
    text
}
