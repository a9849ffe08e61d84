//! Lines for people: the place, the severity, what is wrong, and the rule.

use super::{circumstances, counts, file};
use crate::finding::{Report, VerdictStatus};

pub(super) fn write(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        for finding in &report.findings {
            let file = file(report, finding);
            let line = finding.location.as_ref().map_or(0, |location| location.line);
            let location = if line == 0 { file } else { format!("{file}:{line}") };
            let (severity, message, rule) = (finding.severity, &finding.message, finding.rule.name);
            let mut lines = message.lines();
            let first = lines.next().unwrap_or_default();
            text.push_str(&format!("{location}: {severity}: {first} [{rule}]\n"));
            lines.for_each(|line| text.push_str(&format!("    {line}\n")));
            let circumstances = circumstances(finding);
            if !circumstances.is_empty() {
                text.push_str(&format!("    {circumstances}\n"));
            }
        }
    }
    text.push_str(&summary(reports));
    text
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn summary(reports: &[Report]) -> String {
    let [errors, warnings, infos] = counts(reports);
    let verdicts = || reports.iter().flat_map(|report| &report.verdicts);
    let checked = verdicts().filter(|verdict| verdict.status != VerdictStatus::Empty).count();
    let mut versions: Vec<&str> = verdicts().map(|verdict| verdict.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let mut text = format!(
        "{}, {}, {infos} info; {} checked for Kubernetes {}",
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(checked, "object"),
        versions.join(", ")
    );
    let ignored: usize = reports.iter().map(|report| report.ignored).sum();
    if ignored > 0 {
        text.push_str(&format!("; {ignored} ignored"));
    }
    let fixable = reports.iter().flat_map(|report| &report.findings).filter(|it| it.fix.is_some()).count();
    if fixable > 0 {
        text.push_str(&format!("; {fixable} can be fixed with --fix"));
    }
    text.push('\n');
    text
}
