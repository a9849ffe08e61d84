//! Tests of the report formats.

use std::collections::BTreeSet;

use super::*;
use crate::finding::{ObjectName, SourceLine, Verdict, VerdictStatus};
use crate::rule::rule;

fn report() -> Report {
    let object = ObjectName {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        namespace: String::new(),
        name: "web".to_owned(),
    };
    let finding = Finding {
        rule: rule("schema").unwrap(),
        severity: Severity::Error,
        message: "spec.replicas: got string, want <integer>".to_owned(),
        location: Some(SourceLine { file: "templates/a,b.yaml".to_owned(), line: 7 }),
        object: Some(object.clone()),
        pointer: "/spec/replicas".to_owned(),
        scenarios: BTreeSet::from(["ci/a-values.yaml".to_owned()]),
        versions: BTreeSet::from(["1.36.1".to_owned()]),
        fix: None,
    };
    let verdict = Verdict {
        file: "web/templates/a,b.yaml".to_owned(),
        scenario: String::new(),
        version: "1.36.1".to_owned(),
        object,
        status: VerdictStatus::Invalid,
    };
    Report { chart: "charts/web".to_owned(), findings: vec![finding], ignored: 1, verdicts: vec![verdict] }
}

#[test]
fn people_get_the_place_first() {
    let text = write(Format::Text, &[report()], "1");
    assert_eq!(
        text,
        "charts/web/templates/a,b.yaml:7: error: spec.replicas: got string, want <integer> [schema]\n    \
         Deployment/web, with ci/a-values.yaml, in Kubernetes 1.36.1\n\
         1 error, 0 warnings, 0 info; 1 object checked for Kubernetes 1.36.1; 1 ignored\n"
    );
}

#[test]
fn programs_get_what_their_formats_want() {
    let json = write(Format::Json, &[report()], "1");
    let node = pintle_tree::json::read(json.as_bytes()).unwrap();
    let first = |list: &str| node.get(list).unwrap().as_list().unwrap()[0].clone();
    assert_eq!(first("findings").get("line"), Some(&pintle_tree::Node::Float(7.0)));
    assert_eq!(first("resources").get("status").unwrap().as_str(), Some("statusInvalid"));

    let sarif = pintle_tree::json::read(write(Format::Sarif, &[report()], "1").as_bytes()).unwrap();
    let run = &sarif.get("runs").unwrap().as_list().unwrap()[0];
    let result = &run.get("results").unwrap().as_list().unwrap()[0];
    let location = &result.get("locations").unwrap().as_list().unwrap()[0];
    let physical = location.get("physicalLocation").unwrap();
    assert_eq!(
        physical.get("artifactLocation").unwrap().get("uri").unwrap().as_str(),
        Some("charts/web/templates/a,b.yaml")
    );
    assert_eq!(result.get("level").unwrap().as_str(), Some("error"));

    let github = write(Format::GitHub, &[report()], "1");
    assert!(
        github.starts_with("::error file=charts/web/templates/a%2Cb.yaml,line=7,title=schema::spec"),
        "{github}"
    );
    let junit = write(Format::JUnit, &[report()], "1");
    assert!(
        junit.contains("tests=\"1\" failures=\"1\"") && junit.contains("want &lt;integer&gt;"),
        "{junit}"
    );
}
