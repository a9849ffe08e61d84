//! JSON: findings, and the verdicts about schemas in the words of kubeconform.

use std::collections::BTreeSet;

use pintle_tree::{Map, Node, Str, json};

use super::{counts, file};
use crate::finding::{Finding, ObjectName, Report, Verdict};

pub(super) fn write(reports: &[Report]) -> String {
    let [errors, warnings, infos] = counts(reports);
    let findings = reports.iter().flat_map(|report| report.findings.iter().map(|it| finding(report, it)));
    let resources = reports.iter().flat_map(|report| report.verdicts.iter().map(resource));
    let ignored: usize = reports.iter().map(|report| report.ignored).sum();
    let count = |count: usize| Node::Int(count as i64);
    let document = map([
        ("findings", Node::List(findings.collect())),
        ("resources", Node::List(resources.collect())),
        (
            "summary",
            map([
                ("errors", count(errors)),
                ("warnings", count(warnings)),
                ("infos", count(infos)),
                ("ignored", count(ignored)),
            ]),
        ),
    ]);
    let text = json::write_pretty(&document).unwrap_or_default();
    format!("{}\n", String::from_utf8_lossy(&text).trim_end())
}

pub(super) fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    let entries = entries.into_iter().filter(|(_, value)| !value.is_nil());
    Node::Map(entries.map(|(key, value)| (Str::from(key), value)).collect::<Map<Node>>())
}

fn words(words: &BTreeSet<String>) -> Node {
    match words.is_empty() {
        true => Node::Nil,
        false => Node::List(words.iter().map(|word| Node::from(word.as_str())).collect()),
    }
}

fn text(text: &str) -> Node {
    if text.is_empty() { Node::Nil } else { Node::from(text) }
}

fn object(object: &ObjectName) -> Node {
    map([
        ("apiVersion", text(&object.api_version)),
        ("kind", text(&object.kind)),
        ("namespace", text(&object.namespace)),
        ("name", text(&object.name)),
    ])
}

fn finding(report: &Report, finding: &Finding) -> Node {
    let line = finding.location.as_ref().map_or(0, |location| location.line);
    map([
        ("rule", Node::from(finding.rule.name)),
        ("severity", Node::from(finding.severity.name())),
        ("message", Node::from(finding.message.as_str())),
        ("advice", Node::from(finding.rule.advice)),
        ("file", text(&file(report, finding))),
        ("line", if line == 0 { Node::Nil } else { Node::Int(line as i64) }),
        ("object", finding.object.as_ref().map_or(Node::Nil, object)),
        ("path", text(&finding.pointer)),
        ("values", words(&finding.scenarios)),
        ("kubernetesVersions", words(&finding.versions)),
        ("fixable", if finding.fix.is_some() { Node::Bool(true) } else { Node::Nil }),
    ])
}

fn resource(verdict: &Verdict) -> Node {
    map([
        ("filename", text(&verdict.file)),
        ("kind", text(&verdict.object.kind)),
        ("name", text(&verdict.object.name)),
        ("version", text(&verdict.object.api_version)),
        ("kubernetesVersion", text(&verdict.version)),
        ("values", text(&verdict.scenario)),
        ("status", Node::from(verdict.status.name())),
    ])
}
