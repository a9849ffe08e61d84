//! The page: totals, what was found by class, and the charts that do not work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Rehearsal;

/// Classes of findings, each by words of its messages; the first that fits is taken.
const CLASSES: [(&str, &str); 15] = [
    ("unavailable in v", "an API version that is gone"),
    ("no matches for kind", "a kind that the cluster does not have"),
    ("unknown field", "a field that Kubernetes does not know"),
    ("not found; the template names it", "a namespace that is not there"),
    ("not ready", "something does not become ready"),
    ("left behind: CRDs", "left behind: CRDs in `crds/`"),
    ("left behind: volume claims", "left behind: volume claims of StatefulSets"),
    ("left behind: its resource policy", "left behind: kept by policy"),
    ("left behind: it is a hook", "left behind: hooks"),
    ("left behind", "left behind: other"),
    ("is deprecated", "something that is deprecated"),
    ("Invalid value", "a value that Kubernetes refuses"),
    ("Required value", "a value that Kubernetes refuses"),
    ("Forbidden", "a value that Kubernetes refuses"),
    ("Failed", "a container or volume that cannot be had"),
];

/// How much of a message is shown.
const SHOWN: usize = 200;

/// The class of findings that match none of [`CLASSES`].
const OTHER: &str = "other";

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn findings(outcome: &Rehearsal) -> impl Iterator<Item = &Value> {
    outcome.report["findings"].as_array().into_iter().flatten()
}

fn worst(outcome: &Rehearsal) -> &str {
    text(&outcome.report, "worst")
}

/// The whole page.
pub(super) fn page(outcomes: &[Rehearsal]) -> String {
    let (render, refuse): (Vec<&Rehearsal>, Vec<&Rehearsal>) = outcomes.iter().partition(|it| it.renders);
    let count = |severity: &str| render.iter().filter(|it| worst(it) == severity).count();
    let stages = |name: &str| {
        let ended = |it: &&&Rehearsal| {
            let all = it.report["stages"].as_array();
            all.into_iter().flatten().any(|stage| text(stage, "name") == name && stage["ok"] == true)
        };
        render.iter().filter(ended).count()
    };
    let mut page = String::from(
        "# Rehearsals of the corpus\n\n\
         `pintle rehearse CHART` for every chart of the corpus, without any values, on Kubernetes 1.37. Made by\n\
         `cargo xtask rehearse-report --write`; without `--write` it fails when a rehearsal does not come to an end, or\n\
         when anything below has changed. A test asks a real API server about the same objects (`e2e/tests/rehearse.rs`).\n\n",
    );
    page.push_str(&format!(
        "{} charts render without values, and all of their rehearsals come to an end:\n\n\
         | | charts |\n|---|---|\n\
         | no findings, or notes only | {} |\n| warnings | {} |\n| problems | {} |\n\n\
         {} were installed, {} upgraded, {} rolled back and {} uninstalled; {} brought tests, which passed. {} more charts\n\
         want values or are broken on purpose; each is refused with the reason.\n\n",
        render.len(),
        count("") + count("note"),
        count("warning"),
        count("error"),
        stages("install"),
        stages("upgrade"),
        stages("rollback"),
        stages("uninstall"),
        stages("test"),
        refuse.len(),
    ));
    page.push_str("## What was found\n\n| | severity | findings | charts |\n|---|---|---|---|\n");
    for ((rank, class), (findings, charts)) in classes(&render) {
        let severity = ["error", "warning", "note"][rank];
        page.push_str(&format!("| {class} | {severity} | {findings} | {} |\n", charts.len()));
    }
    page.push_str("\n## Charts with problems\n\n| chart | problems | the first of them |\n|---|---|---|\n");
    for outcome in render.iter().filter(|it| worst(it) == "error") {
        let errors: Vec<&Value> = findings(outcome).filter(|it| text(it, "severity") == "error").collect();
        page.push_str(&format!("| {} | {} | {} |\n", outcome.chart, errors.len(), shown(errors[0])));
    }
    page.push_str("\n## Charts with warnings\n\n| chart | warning |\n|---|---|\n");
    for outcome in render.iter().filter(|it| worst(it) == "warning") {
        for finding in findings(outcome).filter(|it| text(it, "severity") == "warning") {
            page.push_str(&format!("| {} | {} |\n", outcome.chart, shown(finding)));
        }
    }
    page
}

type Classes<'o> = BTreeMap<(usize, &'static str), (usize, BTreeSet<&'o str>)>;

fn classes<'o>(outcomes: &[&'o Rehearsal]) -> Classes<'o> {
    let mut classes = Classes::new();
    for outcome in outcomes {
        for finding in findings(outcome) {
            let rank = match text(finding, "severity") {
                "error" => 0,
                "warning" => 1,
                _ => 2,
            };
            let message = text(finding, "message");
            let class =
                CLASSES.iter().find(|(words, _)| message.contains(words)).map_or(OTHER, |(_, class)| class);
            let (count, charts) = classes.entry((rank, class)).or_default();
            *count += 1;
            charts.insert(&outcome.chart);
        }
    }
    classes
}

/// Where and what, on one line of a table.
fn shown(finding: &Value) -> String {
    let mut words = Vec::new();
    match (text(finding, "file"), finding["line"].as_u64().unwrap_or_default()) {
        ("", _) => {}
        (file, 0) => words.push(file.to_owned()),
        (file, line) => words.push(format!("{file}:{line}")),
    }
    words.push(text(finding, "object").to_owned());
    words.push(text(finding, "message").split_whitespace().collect::<Vec<_>>().join(" "));
    words.retain(|word| !word.is_empty());
    let line = words.join(": ").replace('|', "\\|").replace('<', "&lt;");
    let cut: String = line.chars().take(SHOWN).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(renders: bool, findings: Value) -> Rehearsal {
        let worst = findings[0]["severity"].clone();
        let stages = serde_json::json!([{"name": "install", "ok": true}, {"name": "upgrade", "ok": false}]);
        let report = serde_json::json!({"worst": worst, "stages": stages, "findings": findings});
        Rehearsal { chart: "web-1".to_owned(), renders, code: Some(1), report, error: String::new() }
    }

    #[test]
    fn a_page_counts_charts_by_the_worst_and_findings_by_class() {
        let error = serde_json::json!([{
            "severity": "error", "file": "web/templates/a.yaml", "line": 3, "object": "Service/a",
            "message": "spec.ports[0].port: Invalid value:\n0 | 1",
        }]);
        let note = serde_json::json!([{"severity": "note", "message": "left behind: it is a hook, and …"}]);
        let page = page(&[outcome(true, error), outcome(true, note), outcome(false, Value::Null)]);
        for part in [
            "2 charts render",
            "| no findings, or notes only | 1 |\n| warnings | 0 |\n| problems | 1 |",
            "2 were installed, 0 upgraded",
            "| a value that Kubernetes refuses | error | 1 | 1 |",
            "| left behind: hooks | note | 1 | 1 |",
            "| web-1 | 1 | web/templates/a.yaml:3: Service/a: spec.ports[0].port: Invalid value: 0 \\| 1 |",
        ] {
            assert!(page.contains(part), "no {part:?} in:\n{page}");
        }
    }
}
