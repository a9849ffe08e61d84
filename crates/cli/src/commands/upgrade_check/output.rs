//! The report of `upgrade-check` as text, JSON and YAML.

use std::path::PathBuf;

use pintle::ops::UpgradeChecked;
use pintle::tree::{Node, ValuePath};
use pintle::upgrade::{Finding, Rename, Report, Severity, Verdict};

use crate::failure::Failure;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;
use crate::output::format::{self, Record, print_data};

/// The format of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Data(format::Format),
}

impl Format {
    pub(super) fn from_flags(flags: &Parsed) -> Result<Format, Failure> {
        match flags.text(names::OUTPUT) {
            "text" => Ok(Format::Text),
            "json" | "yaml" => Ok(Format::Data(format::Format::from_flags(flags))),
            other => Err(Failure::usage(format!("`{other}` is not a report format"))
                .hint("the formats are text, json and yaml")),
        }
    }
}

pub(super) fn print(
    invocation: &mut Invocation<'_>,
    format: Format,
    checked: &UpgradeChecked,
) -> Result<(), Failure> {
    match format {
        Format::Text => {
            let verbose = invocation.flags.on(names::VERBOSE);
            invocation.ui.print(&text(&checked.report, verbose))
        }
        Format::Data(format) => print_data(invocation.ui, format, &record(&checked.report)),
    }
}

/// The most renames and objects that are shown for one value.
const MAX_SHOWN: usize = 5;

fn text(report: &Report, verbose: bool) -> String {
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Info));
    let mut out = format!("{} -> {}\n", report.from, report.to);
    let shown = report.findings.iter().filter(|finding| verbose || finding.severity > Severity::Info);
    for finding in shown {
        add_finding(&mut out, finding);
    }
    out.push('\n');
    if errors + warnings == 0 {
        out.push_str("nothing has to be done");
    } else {
        let counted =
            |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        out.push_str(&format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")));
        match report.moves.len() {
            0 => {}
            1 => out.push_str("; --write moves 1 value"),
            count => out.push_str(&format!("; --write moves {count} values")),
        }
    }
    if notes > 0 && !verbose {
        out.push_str(&format!("; --verbose shows {notes} more that need no decision"));
    }
    out.push('\n');
    out
}

fn add_finding(out: &mut String, finding: &Finding) {
    let severity = finding.severity.name();
    out.push_str(&format!("\n{severity:8} {} ({})\n", finding.subject, finding.kind.name()));
    for line in finding.message.lines() {
        out.push_str(&format!("         {line}\n"));
    }
    if !finding.objects.is_empty() {
        out.push_str(&format!("         in {}\n", listed(&finding.objects)));
    }
    let mut seen: Vec<&ValuePath> = Vec::new();
    for rename in &finding.renames {
        // The first is the most likely one; others are shown only if it is a question.
        let is_first = !seen.contains(&&rename.from);
        if is_first {
            seen.push(&rename.from);
        }
        let is_settled =
            finding.renames.iter().any(|other| other.from == rename.from && other.verdict == Verdict::Proven);
        if is_first || !is_settled {
            add_rename(out, rename, finding.subject != rename.from.to_string());
        }
    }
}

fn add_rename(out: &mut String, rename: &Rename, with_from: bool) {
    let from = if with_from { format!("{} ", rename.from) } else { String::new() };
    let (verdict, percent) = (rename.verdict.name(), rename.confidence);
    let to: Vec<String> = std::iter::once(&rename.to).chain(&rename.also).map(ToString::to_string).collect();
    out.push_str(&format!("         {from}-> {} ({verdict}, {percent} %)\n", to.join(" and ")));
    for line in &rename.evidence {
        out.push_str(&format!("            {line}\n"));
    }
}

fn listed(objects: &[String]) -> String {
    let shown = objects[..objects.len().min(MAX_SHOWN)].join(", ");
    match objects.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn record(report: &Report) -> Record {
    let chart = |chart: &pintle::upgrade::ChartName| {
        Record::default().with("name", chart.name.as_str()).with("version", chart.version.as_str())
    };
    let moved = |rename: &Rename| {
        Record::default()
            .with("from", rename.from.to_string())
            .with("to", rename.to.to_string())
            .with("also", rename.also.iter().map(|path| Node::from(path.to_string())).collect::<Vec<_>>())
    };
    Record::default()
        .with_record("from", chart(&report.from))
        .with_record("to", chart(&report.to))
        .with("needsAction", report.needs_action())
        .with("findings", Vec::<Node>::new())
        .replacing("findings", report.findings.iter().map(finding_record).collect())
        .with("moves", Vec::<Node>::new())
        .replacing("moves", report.moves.iter().map(moved).collect())
}

fn finding_record(finding: &Finding) -> Record {
    let objects: Vec<Node> = finding.objects.iter().map(|object| Node::from(object.as_str())).collect();
    Record::default()
        .with("kind", finding.kind.name())
        .with("severity", finding.severity.name())
        .with("subject", finding.subject.as_str())
        .with("message", finding.message.as_str())
        .with("objects", objects)
        .with("renames", Vec::<Node>::new())
        .replacing("renames", finding.renames.iter().map(rename_record).collect())
}

fn rename_record(rename: &Rename) -> Record {
    let evidence: Vec<Node> = rename.evidence.iter().map(|line| Node::from(line.as_str())).collect();
    Record::default()
        .with("from", rename.from.to_string())
        .with("to", rename.to.to_string())
        .with("also", rename.also.iter().map(|path| Node::from(path.to_string())).collect::<Vec<_>>())
        .with("verdict", rename.verdict.name())
        .with("confidence", i64::from(rename.confidence))
        .with("evidence", evidence)
}

/// Whether one of the files has a value. They are read before they are written.
pub(super) fn is_in_files(files: &[PathBuf], path: &ValuePath) -> bool {
    files.iter().any(|file| {
        let text = crate::read::file(file, crate::read::MAX_SETTINGS).unwrap_or_default();
        pintle::yaml::read_map(&text).is_ok_and(|values| path.find(&values).is_some())
    })
}
