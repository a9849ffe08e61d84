//! JUnit: a suite per chart, and a test per rule and file, which fails for warnings and errors.

use std::collections::BTreeMap;

use super::{circumstances, file};
use crate::finding::{Finding, Report};
use crate::rule::Severity;

pub(super) fn write(reports: &[Report]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for report in reports {
        suite(report, &mut text);
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(report: &Report, text: &mut String) {
    let mut cases: BTreeMap<(String, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in &report.findings {
        cases.entry((file(report, finding), finding.rule.name)).or_default().push(finding);
    }
    let fails = |findings: &Vec<&Finding>| findings.iter().any(|it| it.severity >= Severity::Warning);
    let failures = cases.values().filter(|findings| fails(findings)).count();
    // A chart without findings is one test that passes.
    let tests = cases.len().max(1);
    let name = escaped(&report.chart);
    text.push_str(&format!("  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">\n"));
    if cases.is_empty() {
        text.push_str(&format!("    <testcase classname=\"{name}\" name=\"check\"/>\n"));
    }
    for ((file, rule), findings) in &cases {
        let file = escaped(file);
        text.push_str(&format!("    <testcase classname=\"{file}\" name=\"{rule}\""));
        let lines: Vec<String> = findings.iter().map(|finding| line(finding)).collect();
        let content = escaped(&lines.join("\n"));
        if fails(findings) {
            let message = escaped(&findings[0].message);
            let kind = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Warning);
            text.push_str(&format!(
                ">\n      <failure message=\"{message}\" type=\"{kind}\">{content}</failure>\n"
            ));
        } else {
            text.push_str(&format!(">\n      <system-out>{content}</system-out>\n"));
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n");
}

fn line(finding: &Finding) -> String {
    let location = finding.location.as_ref().map_or_else(String::new, |location| format!("{location}: "));
    match circumstances(finding) {
        circumstances if circumstances.is_empty() => format!("{location}{}", finding.message),
        circumstances => format!("{location}{} ({circumstances})", finding.message),
    }
}

/// Text for an attribute or an element. Characters that XML does not allow are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            character if character < ' ' => {}
            character => out.push(character),
        }
    }
    out
}
