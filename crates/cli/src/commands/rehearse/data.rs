//! The report of a rehearsal as JSON.

use pintle::rehearse::{Rehearsal, Stage};
use pintle_tree::{Map, Node, Str, json};

use crate::failure::Failure;

fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (Str::from(key), value)).collect::<Map<Node>>())
}

fn number(count: usize) -> Node {
    Node::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The report as JSON.
pub(super) fn json(report: &Rehearsal) -> Result<Vec<u8>, Failure> {
    let finding = |it: &pintle::rehearse::Finding| {
        map([
            ("severity", it.severity.as_str().into()),
            ("stage", it.stage.into()),
            ("object", it.object.as_str().into()),
            ("file", it.file.as_str().into()),
            ("line", number(it.line)),
            ("renderedLine", number(it.rendered_line)),
            ("message", it.message.as_str().into()),
        ])
    };
    let verdict = report.worst().map_or("", pintle::rehearse::Severity::as_str);
    let tree = map([
        ("release", report.release.as_str().into()),
        ("namespace", report.namespace.as_str().into()),
        ("kubernetes", report.kube_version.as_str().into()),
        ("worst", verdict.into()),
        ("stages", Node::List(report.stages.iter().map(stage).collect())),
        ("findings", Node::List(report.findings.iter().map(finding).collect())),
    ]);
    json::write(&tree).map_err(|error| Failure::run_time(format!("unable to write JSON output: {error}")))
}

fn stage(stage: &Stage) -> Node {
    let object = |it: &pintle::rehearse::ObjectState| {
        map([
            ("object", it.object.as_str().into()),
            ("state", it.state.as_str().into()),
            ("ready", it.ready.into()),
            ("message", it.message.as_str().into()),
        ])
    };
    let hook = |it: &pintle::rehearse::HookState| {
        map([
            ("object", it.object.as_str().into()),
            ("events", Node::List(it.events.iter().map(|event| event.as_str().into()).collect())),
            ("phase", it.phase.as_str().into()),
            ("log", it.log.as_str().into()),
        ])
    };
    let event = |it: &pintle::rehearse::EventLine| {
        map([
            ("object", it.object.as_str().into()),
            ("type", it.kind.as_str().into()),
            ("reason", it.reason.as_str().into()),
            ("message", it.message.as_str().into()),
        ])
    };
    map([
        ("name", stage.name.into()),
        ("chart", stage.chart.as_str().into()),
        ("ok", stage.error.is_empty().into()),
        ("error", stage.error.as_str().into()),
        ("objects", Node::List(stage.objects.iter().map(object).collect())),
        ("hooks", Node::List(stage.hooks.iter().map(hook).collect())),
        ("events", Node::List(stage.events.iter().map(event).collect())),
        ("warnings", Node::List(stage.warnings.iter().map(|it| it.as_str().into()).collect())),
    ])
}
