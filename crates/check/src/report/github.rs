//! Annotations of GitHub Actions: workflow commands that the runner reads from the output.

use super::{circumstances, file};
use crate::finding::Report;
use crate::rule::Severity;

pub(super) fn write(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        for finding in &report.findings {
            let command = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "notice",
            };
            let line = finding.location.as_ref().map_or(0, |location| location.line).max(1);
            let message = match circumstances(finding) {
                circumstances if circumstances.is_empty() => finding.message.clone(),
                circumstances => format!("{} ({circumstances})", finding.message),
            };
            let (file, title) = (property(&file(report, finding)), finding.rule.name);
            text.push_str(&format!(
                "::{command} file={file},line={line},title={title}::{}\n",
                data(&message)
            ));
        }
    }
    text
}

/// The text of a command, in which some characters are escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
