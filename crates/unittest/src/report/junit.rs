//! JUnit reports.

use super::xml::Element;
use super::{Setting, class_name, described, seconds};
use crate::{SuiteResult, TestResult};

pub(super) fn report(suites: &[SuiteResult], setting: &Setting) -> Element {
    let suites = suites.iter().enumerate().map(|(index, result)| suite(index, result, setting));
    Element::new("testsuites").children(suites)
}

fn suite(index: usize, suite: &SuiteResult, setting: &Setting) -> Element {
    let failed = |test: &&TestResult| !test.skipped && !test.passed;
    let errors = suite.tests.iter().filter(failed).filter(|test| test.error.is_some()).count();
    let failures = suite.tests.iter().filter(failed).count() - errors;
    let property = Element::new("property").with("name", "helm-unittest.version").with("value", "1.6");
    Element::new("testsuite")
        .with("id", index)
        .with("tests", suite.tests.len())
        .with("failures", failures)
        .with("errors", errors)
        .with("package", "")
        .with("time", seconds(suite.duration()))
        .with("name", &suite.name)
        .with("timestamp", format!("{}T{}", setting.date, setting.time))
        .with("hostname", &setting.host)
        .child(Element::new("properties").child(property))
        .children(suite.tests.iter().map(|test| case(class_name(&suite.name), test)))
}

fn case(class: &str, test: &TestResult) -> Element {
    let case = Element::new("testcase")
        .with("classname", class)
        .with("name", &test.name)
        .with("time", seconds(test.duration));
    let flat = || described(test).replace('\n', ",").replace('\t', "");
    if test.skipped {
        return case.child(Element::new("skipped").with("message", flat()));
    }
    if test.passed {
        return case;
    }
    let (name, message, text) = match &test.error {
        Some(error) => ("error", "Error", error.clone()),
        None => ("failure", "Failed", flat()),
    };
    case.child(Element::text(name, text).with("message", message).with("type", ""))
}
