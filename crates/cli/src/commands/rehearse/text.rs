//! The report of a rehearsal as text.

use pintle::rehearse::{Finding, Rehearsal, Severity, Stage};

use crate::output::color::{BLUE, GREEN, RED, Rule, YELLOW};

/// The number of findings in the short report, so that it fits on a terminal of 24 lines.
const MAX_FINDINGS: usize = 7;
/// The maximum length of a finding in the short report.
const WIDTH: usize = 240;

/// The report as text: findings by severity, then a line per stage. The short report fits on a screen; the verbose one
/// has every finding and object.
pub(in crate::commands) fn text(report: &Rehearsal, verbose: bool) -> String {
    let mut out = format!(
        "Release {} in namespace {} on the embedded Kubernetes {}\n",
        report.release, report.namespace, report.kube_version
    );
    let mut budget = if verbose { usize::MAX } else { MAX_FINDINGS };
    let mut left = 0;
    for (title, severity) in
        [("Problems", Severity::Error), ("Warnings", Severity::Warning), ("Notes", Severity::Note)]
    {
        let found: Vec<&Finding> = report.findings.iter().filter(|it| it.severity == severity).collect();
        let shown = found.len().min(budget);
        budget -= shown;
        left += found.len() - shown;
        if shown > 0 {
            out.push_str(&format!("\n{title}:\n"));
        }
        for finding in &found[..shown] {
            add_finding(&mut out, finding, verbose);
        }
    }
    if left > 0 {
        out.push_str(&format!("  … and {left} more, which --verbose shows\n"));
    }
    if !verbose {
        out.push('\n');
    }
    for stage in &report.stages {
        if verbose { add_stage(&mut out, stage) } else { add_summary(&mut out, stage) }
    }
    let verdict = match report.worst() {
        Some(Severity::Error) => "the chart does not work",
        Some(Severity::Warning) => "the chart works, with warnings",
        _ => "the chart works",
    };
    out.push_str(&format!("\n{verdict}\n"));
    out
}

/// The colors of the report.
pub(in crate::commands) const COLORS: &[Rule] = &[
    Rule::new("", "Problems:", RED),
    Rule::new("", "Warnings:", YELLOW),
    Rule::new("", "Notes:", BLUE),
    Rule::new("", "the chart does not work", RED),
    Rule::new("", "the chart works, with warnings", YELLOW),
    Rule::new("", "the chart works", GREEN),
    Rule::new("  ", "FAIL", RED),
    Rule::new("  ", "ok  ", GREEN),
    Rule::new(": ", "failed", RED),
    Rule::new(": ", "ok", GREEN),
];

/// A stage in one line.
fn add_summary(out: &mut String, stage: &Stage) {
    let word = if stage.error.is_empty() { "ok" } else { "failed" };
    let ready = stage.objects.iter().filter(|object| object.ready).count();
    let mut parts = Vec::new();
    if !stage.objects.is_empty() {
        parts.push(format!("{ready} of {} ready", count_of(stage.objects.len(), "object")));
    }
    if !stage.hooks.is_empty() {
        parts.push(count_of(stage.hooks.len(), "hook"));
    }
    let bad = stage.events.iter().filter(|event| event.kind == "Warning").count();
    if bad > 0 {
        parts.push(count_of(bad, "warning event"));
    }
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    out.push_str(&format!("{} {}: {word}{parts}\n", stage.name, stage.chart));
}

fn count_of(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn add_stage(out: &mut String, stage: &Stage) {
    let word = if stage.error.is_empty() { "ok" } else { "failed" };
    out.push_str(&format!("\n{} {}: {word}\n", stage.name, stage.chart));
    for object in &stage.objects {
        let mark = if object.ready { "ok  " } else { "FAIL" };
        out.push_str(&format!("  {mark} {}: {}\n", object.object, object.message));
    }
    for hook in &stage.hooks {
        out.push_str(&format!("  hook {} ({}): {}\n", hook.object, hook.events.join(","), hook.phase));
        for line in hook.log.lines() {
            out.push_str(&format!("       | {line}\n"));
        }
    }
    let events = stage.events.len();
    if events > 0 {
        let bad = stage.events.iter().filter(|event| event.kind == "Warning").count();
        out.push_str(&format!("  {}, {}\n", count_of(events, "event"), count_of(bad, "warning")));
    }
}

/// The position of a finding, as far as it is known.
pub(super) fn position(finding: &Finding) -> String {
    match (finding.file.as_str(), finding.line, finding.rendered_line) {
        ("", _, _) => String::new(),
        (file, 0, 0) => file.to_owned(),
        (file, 0, rendered) => format!("{file} (line {rendered} as rendered)"),
        (file, line, _) => format!("{file}:{line}"),
    }
}

fn add_finding(out: &mut String, finding: &Finding, whole: bool) {
    let mut words = vec![finding.stage.to_owned()];
    words.extend([position(finding), finding.object.clone()].into_iter().filter(|word| !word.is_empty()));
    let line = format!("{}: {}", words.join(": "), finding.message.trim_end());
    let line = if whole { line.replace('\n', "\n    ") } else { shortened(&line) };
    out.push_str(&format!("  {line}\n"));
}

/// The beginning of a text on one line.
fn shortened(text: &str) -> String {
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}
