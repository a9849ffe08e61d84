//! Reports for SonarQube.

use super::described;
use super::xml::Element;
use crate::{SuiteResult, TestResult};

pub(super) fn report(suites: &[SuiteResult]) -> Element {
    let file = |suite: &SuiteResult| {
        Element::new("file").with("path", &suite.file).children(suite.tests.iter().map(case))
    };
    Element::new("testExecutions").with("version", 1).children(suites.iter().map(file))
}

fn case(test: &TestResult) -> Element {
    let case = Element::new("testCase").with("name", &test.name).with("duration", test.duration.as_millis());
    if test.skipped {
        case.child(Element::raw("skipped", described(test)).with("message", "Skipped"))
    } else if test.passed {
        case
    } else if let Some(error) = &test.error {
        case.child(Element::raw("error", error).with("message", "Error"))
    } else {
        case.child(Element::raw("failure", described(test)).with("message", "Failed"))
    }
}
