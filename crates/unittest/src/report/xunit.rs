//! XUnit reports.

use super::xml::Element;
use super::{FRAMEWORK, Setting, class_name, described, seconds};
use crate::{SuiteResult, TestResult};

/// The method of every test.
const METHOD: &str = "Helm-Validation";

pub(super) fn report(suites: &[SuiteResult], setting: &Setting) -> Element {
    Element::new("assemblies").children(suites.iter().map(|suite| assembly(suite, setting)))
}

/// How many tests of a suite ended how.
struct Totals {
    total: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    errors: usize,
}

fn totals(suite: &SuiteResult) -> Totals {
    if suite.error.is_some() {
        return Totals { total: 1, passed: 0, failed: 0, skipped: 0, errors: 1 };
    }
    let count = |of: fn(&TestResult) -> bool| suite.tests.iter().filter(|test| of(test)).count();
    Totals {
        total: suite.tests.len(),
        passed: count(|test| !test.skipped && test.passed),
        failed: count(|test| !test.skipped && !test.passed && test.error.is_none()),
        skipped: count(|test| test.skipped),
        errors: count(|test| !test.skipped && !test.passed && test.error.is_some()),
    }
}

fn assembly(suite: &SuiteResult, setting: &Setting) -> Element {
    let totals = totals(suite);
    let assembly = Element::new("assembly")
        .with("name", &suite.file)
        .with("config-file", &suite.file)
        .with("test-framework", FRAMEWORK)
        .with("run-date", &setting.date)
        .with("run-time", &setting.time)
        .with("time", seconds(suite.duration()))
        .with("total", totals.total)
        .with("passed", totals.passed)
        .with("failed", totals.failed)
        .with("skipped", totals.skipped)
        .with("errors", totals.errors)
        .child(Element::text("environment", &setting.platform));
    if let Some(error) = &suite.error {
        let failure = failure(&format!("{METHOD}-Error"), "Error", error);
        let error = Element::new("error").with("type", "Error").with("name", "Error").child(failure);
        return assembly.child(Element::new("errors").child(error));
    }
    let collection = Element::new("collection")
        .with("name", &suite.name)
        .with("time", seconds(suite.duration()))
        .with("total", totals.total)
        .with("passed", totals.passed)
        .with("failed", totals.failed)
        .with("skipped", totals.skipped)
        .children(suite.tests.iter().map(|test| case(class_name(&suite.name), test)));
    assembly.child(Element::new("errors")).child(collection)
}

fn case(class: &str, test: &TestResult) -> Element {
    let outcome = match (test.passed, test.skipped) {
        (_, true) => "Skip",
        (true, false) => "Pass",
        (false, false) => "Fail",
    };
    let case = Element::new("test")
        .with("name", &test.name)
        .with("type", class)
        .with("method", METHOD)
        .with("time", seconds(test.duration))
        .with("result", outcome)
        .child(Element::new("traits"));
    if test.skipped {
        return case.child(Element::raw("reason", described(test)));
    }
    if test.passed {
        return case;
    }
    let kind = if test.error.is_some() { format!("{METHOD}-Error") } else { METHOD.to_owned() };
    case.child(failure(&kind, "Failed", &described(test)))
}

fn failure(kind: &str, message: &str, trace: &str) -> Element {
    Element::new("failure")
        .with("exception-type", kind)
        .child(Element::raw("message", message))
        .child(Element::raw("stack-trace", trace))
}
