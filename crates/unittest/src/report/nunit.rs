//! NUnit reports.

use super::xml::Element;
use super::{FRAMEWORK, Setting, class_name, described, seconds};
use crate::{SuiteResult, TestResult};

pub(super) fn report(suites: &[SuiteResult], setting: &Setting) -> Element {
    let tests = || suites.iter().filter(|suite| suite.error.is_none()).flat_map(|suite| &suite.tests);
    let failed = |test: &&TestResult| !test.skipped && !test.passed;
    let suite_errors = suites.iter().filter(|suite| suite.error.is_some()).count();
    let errors = tests().filter(failed).filter(|test| test.error.is_some()).count();
    let environment = Element::new("environment")
        .with("nunit-version", "2.5.8.0")
        .with("clr-version", "unknown")
        .with("os-version", "unknown")
        .with("platform", &setting.platform)
        .with("cwd", &setting.folder)
        .with("machine-name", &setting.host)
        .with("user", &setting.user)
        .with("user-domain", "");
    let (language, tag) = culture(&setting.locale);
    let culture =
        Element::new("culture-info").with("current-culture", &language).with("current-uiculture", &tag);
    Element::new("test-results")
        .with("name", FRAMEWORK)
        .with("total", tests().count() + suite_errors)
        .with("errors", errors + suite_errors)
        .with("failures", tests().filter(failed).count() - errors)
        .with("inconclusive", 0)
        .with("not-run", 0)
        .with("ignored", 0)
        .with("skipped", tests().filter(|test| test.skipped).count())
        .with("invalid", 0)
        .with("date", &setting.date)
        .with("time", &setting.time)
        .child(environment)
        .child(culture)
        .children(suites.iter().map(suite))
}

/// The language of a locale, and its tag with the territory: `en` and `en-US` for `en_US.UTF-8`.
fn culture(locale: &str) -> (String, String) {
    let name = locale.split('.').next().unwrap_or_default().replace('-', "_");
    let mut parts = name.split('_');
    let language = parts.next().unwrap_or_default().to_owned();
    let tag = match parts.next() {
        Some(territory) if !territory.is_empty() => format!("{language}-{territory}"),
        _ => language.clone(),
    };
    (language, tag)
}

fn suite(suite: &SuiteResult) -> Element {
    let element = Element::new("test-suite")
        .with("type", "TestFixture")
        .with("name", &suite.name)
        .with("description", &suite.file)
        .with("success", suite.passed)
        .with("time", seconds(suite.duration()))
        .with("executed", suite.error.is_none() && !suite.skipped)
        .with("asserts", "")
        .with("result", outcome(suite.passed, suite.skipped));
    if let Some(error) = &suite.error {
        return element.child(failure("Error", error));
    }
    if suite.tests.is_empty() {
        return element;
    }
    let cases = suite.tests.iter().map(|test| case(class_name(&suite.name), test));
    element.child(Element::new("results").children(cases))
}

fn case(class: &str, test: &TestResult) -> Element {
    let case = Element::new("test-case")
        .with("name", &test.name)
        .with("description", format!("{class}.{}", test.name))
        .with("success", test.passed)
        .with("time", seconds(test.duration))
        .with("executed", test.error.is_none() && !test.skipped)
        .with("asserts", "0")
        .with("result", outcome(test.passed, test.skipped));
    if test.skipped {
        case.child(Element::new("reason").child(Element::text("message", described(test))))
    } else if test.passed {
        case
    } else {
        case.child(failure("Failed", &described(test)))
    }
}

fn failure(message: &str, trace: &str) -> Element {
    Element::new("failure")
        .child(Element::text("message", message))
        .child(Element::text("stack-trace", trace))
}

fn outcome(passed: bool, skipped: bool) -> &'static str {
    match (passed, skipped) {
        (_, true) => "Skipped",
        (true, false) => "Success",
        (false, false) => "Failed",
    }
}
