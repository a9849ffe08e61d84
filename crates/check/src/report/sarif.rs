//! SARIF 2.1.0.

use pintle_tree::{Node, json};

use super::json::map;
use super::{circumstances, file};
use crate::finding::{Finding, Report};
use crate::rule::{RULES, Severity};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn write(reports: &[Report], program_version: &str) -> String {
    let results = reports.iter().flat_map(|report| report.findings.iter().map(|it| result(report, it)));
    let rules = RULES.iter().map(|rule| {
        map([
            ("id", Node::from(rule.name)),
            ("shortDescription", text(rule.about)),
            ("help", text(rule.advice)),
            ("defaultConfiguration", map([("level", Node::from(rule.severity.map_or("none", level)))])),
        ])
    });
    let driver = map([
        ("name", Node::from("pintle")),
        ("version", Node::from(program_version)),
        ("rules", Node::List(rules.collect())),
    ]);
    let run = map([("tool", map([("driver", driver)])), ("results", Node::List(results.collect()))]);
    let document = map([
        ("$schema", Node::from(SCHEMA)),
        ("version", Node::from("2.1.0")),
        ("runs", Node::List(vec![run])),
    ]);
    let text = json::write_pretty(&document).unwrap_or_default();
    format!("{}\n", String::from_utf8_lossy(&text).trim_end())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn text(text: &str) -> Node {
    map([("text", Node::from(text))])
}

fn result(report: &Report, finding: &Finding) -> Node {
    let index = RULES.iter().position(|rule| rule == finding.rule).unwrap_or_default();
    let message = match circumstances(finding) {
        circumstances if circumstances.is_empty() => finding.message.clone(),
        circumstances => format!("{} ({circumstances})", finding.message),
    };
    let line = finding.location.as_ref().map_or(0, |location| location.line);
    let region = if line == 0 { Node::Nil } else { map([("startLine", Node::Int(line as i64))]) };
    let artifact = map([("uri", Node::from(file(report, finding)))]);
    let physical = map([("artifactLocation", artifact), ("region", region)]);
    map([
        ("ruleId", Node::from(finding.rule.name)),
        ("ruleIndex", Node::Int(index as i64)),
        ("level", Node::from(level(finding.severity))),
        ("message", text(&message)),
        ("locations", Node::List(vec![map([("physicalLocation", physical)])])),
    ])
}
