//! What reports and the console show.

use super::console::{Console, Totals};
use super::{Format, Setting, write};
use crate::{AssertionResult, SuiteResult, TestResult};

fn suites() -> Vec<SuiteResult> {
    let assertion = AssertionResult {
        index: 1,
        kind: "equal",
        not: true,
        info: vec!["Template:\tc/templates/a.yaml".to_owned(), "Path:\ta<b".to_owned()],
        ..AssertionResult::default()
    };
    let test = |name: &str| TestResult { name: name.to_owned(), ..TestResult::default() };
    vec![SuiteResult {
        name: "x/a suite".to_owned(),
        file: "tests/a_test.yaml".to_owned(),
        tests: vec![
            TestResult { passed: true, ..test("passes") },
            TestResult { skipped: true, ..test("skipped") },
            TestResult { assertions: vec![assertion], ..test("fails") },
            TestResult { error: Some("bad values".to_owned()), ..test("breaks") },
        ],
        ..SuiteResult::default()
    }]
}

fn setting() -> Setting {
    Setting {
        date: "2026-01-02".to_owned(),
        time: "03:04:05".to_owned(),
        host: "host".to_owned(),
        user: "user".to_owned(),
        folder: "/work".to_owned(),
        platform: "test".to_owned(),
        locale: "en_US.UTF-8".to_owned(),
    }
}

#[test]
fn junit_has_a_case_for_each_test() {
    assert_eq!(
        write(Format::JUnit, &suites(), &setting()),
        "<testsuites>\n\
         \t<testsuite id=\"0\" tests=\"4\" failures=\"1\" errors=\"1\" package=\"\" time=\"0.000\" name=\"x/a suite\" timestamp=\"2026-01-02T03:04:05\" hostname=\"host\">\n\
         \t\t<properties>\n\
         \t\t\t<property name=\"helm-unittest.version\" value=\"1.6\"></property>\n\
         \t\t</properties>\n\
         \t\t<testcase classname=\"a suite\" name=\"passes\" time=\"0.000\"></testcase>\n\
         \t\t<testcase classname=\"a suite\" name=\"skipped\" time=\"0.000\">\n\
         \t\t\t<skipped message=\"SKIPPED &#39;skipped&#39; ,\"></skipped>\n\
         \t\t</testcase>\n\
         \t\t<testcase classname=\"a suite\" name=\"fails\" time=\"0.000\">\n\
         \t\t\t<failure message=\"Failed\" type=\"\"> - asserts[1] NOT `equal` fail , Template:c/templates/a.yaml , Path:a&lt;b ,</failure>\n\
         \t\t</testcase>\n\
         \t\t<testcase classname=\"a suite\" name=\"breaks\" time=\"0.000\">\n\
         \t\t\t<error message=\"Error\" type=\"\">bad values</error>\n\
         \t\t</testcase>\n\
         \t</testsuite>\n\
         </testsuites>\n"
    );
}

#[test]
fn the_other_formats_count_the_same_tests() {
    let text = write(Format::NUnit, &suites(), &setting());
    assert!(text.contains("total=\"4\" errors=\"1\" failures=\"1\""), "{text}");
    assert!(text.contains("<stack-trace>bad values&#xA;</stack-trace>"), "{text}");
    let text = write(Format::XUnit, &suites(), &setting());
    assert!(text.contains("total=\"4\" passed=\"1\" failed=\"1\" skipped=\"1\" errors=\"1\""), "{text}");
    assert!(text.contains("<message><![CDATA[Failed]]></message>"), "{text}");
    assert!(text.contains("<errors></errors>") && text.contains("<traits></traits>"), "{text}");
    let text = write(Format::Sonar, &suites(), &setting());
    assert!(text.contains("<file path=\"tests/a_test.yaml\">"), "{text}");
    assert!(text.contains("<error message=\"Error\"><![CDATA[bad values]]></error>"), "{text}");
}

#[test]
fn the_console_shows_what_did_not_pass_and_counts() {
    let console = Console { colors: false };
    assert_eq!(
        console.suite(&suites()[0]),
        " FAIL  x/a suite\ttests/a_test.yaml\n\
         \t- SKIPPED 'skipped'\n\
         \t- fails\n\n\
         \t\t- asserts[1] NOT `equal` fail\n\
         \t\t\tTemplate:\tc/templates/a.yaml\n\
         \t\t\tPath:\ta<b\n\n\
         \t- breaks\n\
         \t\tError: bad values\n\n"
    );
    let mut totals = Totals::default();
    totals.suite(&suites()[0]);
    totals.chart(false, false);
    assert_eq!(
        console.summary(&totals, "1ms"),
        "\nCharts:      1 failed, 0 passed, 1 total\n\
         Test Suites: 1 failed, 0 passed, 1 total\n\
         Tests:       2 failed, 1 errored, 1 passed, 1 skipped, 4 total\n\
         Snapshot:    0 passed, 0 total\n\
         Time:        1ms\n\n"
    );
}

#[test]
fn colors_are_those_of_helm_unittest() {
    let text = Console { colors: true }.chart("name", "path");
    assert_eq!(text, "\n### Chart [ \u{1b}[1mname\u{1b}[22m ] \u{1b}[2mpath\u{1b}[22m\n\n");
}
