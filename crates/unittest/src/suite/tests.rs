//! Suites: what they may contain, and what tests inherit.

use super::{Suite, SuiteOrigin};

fn parse(text: &str, strict: bool) -> Result<Vec<Suite>, String> {
    let origin = SuiteOrigin { file: "tests/a_test.yaml", route: "c", strict, ..SuiteOrigin::default() };
    Suite::parse(text.as_bytes(), &origin).map_err(|error| error.to_string())
}

const ASSERTS: &str = "asserts: [{exists: {path: a}}]";

#[test]
fn tests_inherit_what_the_suite_sets() {
    let text = format!(
        "suite: s\nrelease: {{name: r, revision: 2}}\nchart: {{version: 1.10, appVersion: 2}}\n\
         capabilities: {{majorVersion: 1, minorVersion: 30, apiVersions: [a/v1]}}\nvalues: [x.yaml]\ntests:\n\
         - {{it: 1, {ASSERTS}, values: [y.yaml], release: {{name: own}}, capabilities: {{apiVersions: [b/v1]}}}}\n\
         - {{it: two, {ASSERTS}, capabilities: {{minorVersion: \"31\", apiVersions: null}}}}\n"
    );
    let suites = parse(&text, true).unwrap();
    let [first, second] = &suites[0].tests[..] else { panic!("two tests") };
    assert_eq!(first.name, "1");
    assert_eq!((first.settings.release.name.as_str(), first.settings.release.revision), ("own", 2));
    assert_eq!(
        (first.settings.chart.version.as_str(), first.settings.chart.app_version.as_str()),
        ("1.10", "2")
    );
    assert_eq!(first.settings.values, ["x.yaml", "y.yaml"]);
    assert_eq!(first.capabilities.api_versions.as_deref(), Some(&["b/v1".to_owned(), "a/v1".to_owned()][..]));
    assert_eq!(second.capabilities.minor, "31");
    assert_eq!(second.capabilities.api_versions, None);
}

#[test]
fn one_file_has_several_suites_with_their_own_snapshots() {
    let text = format!(
        "suite: a\ntests: [{{it: x, {ASSERTS}}}]\n---\nsuite: b\nsnapshotId: n\ntests: [{{it: x, {ASSERTS}}}]\n---\n# nothing\n"
    );
    let suites = parse(&text, false).unwrap();
    assert_eq!(suites.len(), 2);
    assert_eq!(suites[0].snapshot_file(), "tests/__snapshot__/a_test.yaml.snap");
    assert_eq!(suites[1].snapshot_file(), "tests/__snapshot__/a_test.yaml_n.snap");
}

#[test]
fn malformed_suites_are_errors() {
    for (text, strict, expected) in [
        ("suite: a\n".to_owned(), false, "no tests found"),
        ("tests: [{it: x}]".to_owned(), false, "no asserts found"),
        ("tests: [{it: x, asserts: [{}]}]".to_owned(), false, "no assertion type defined"),
        ("tests: [{it: x, asserts: [{same: {}}]}]".to_owned(), false, "Assertion type `same` is invalid"),
        (
            "tests: [{it: x, asserts: [{equal: {}, exists: {}}]}]".to_owned(),
            false,
            "assertion type `equal` and `exists` is declared duplicately",
        ),
        (
            "tests: [{it: x, asserts: [{exists: {path: a}, documentSelector: {value: a}}]}]".to_owned(),
            false,
            "empty 'documentSelector.path' not supported",
        ),
        (
            format!("odd: 1\ntests: [{{it: x, {ASSERTS}}}]"),
            true,
            "yaml: unmarshal errors:\n  line 1: field odd not found in type unittest.TestSuite",
        ),
        (
            format!("values: text\ntests: [{{it: x, {ASSERTS}}}]"),
            false,
            "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `text` into []string",
        ),
    ] {
        assert_eq!(parse(&text, strict).map(|_| ()).unwrap_err(), expected, "{text}");
    }
    assert!(parse(&format!("odd: 1\ntests: [{{it: x, {ASSERTS}}}]"), false).is_ok());
}

#[test]
fn backslashes_that_yaml_does_not_know_are_accepted() {
    let text = "suite: s\ntests: [{it: x, asserts: [{matchRegex: {path: a, pattern: \"^\\d+$\"}}]}]";
    assert_eq!(parse(text, false).unwrap()[0].tests.len(), 1);
}

#[test]
fn suites_for_newer_versions_are_skipped() {
    let text = format!("skip: {{minimumVersion: 9.9.9}}\ntests: [{{it: x, {ASSERTS}}}]");
    let suites = parse(&text, false).unwrap();
    assert_eq!(
        suites[0].tests[0].skip_reason,
        "Test suite requires minimum unittest plugin version 9.9.9, but current version is 1.1.2"
    );
}

#[test]
fn the_name_of_a_snapshot_file_stays_a_name() {
    for id in ["/../../x", "a/b", "..\\\\x"] {
        let text = format!("suite: a\nsnapshotId: \"{id}\"\ntests: [{{it: x, {ASSERTS}}}]\n");
        let origin = SuiteOrigin { file: "tests/a_test.yaml", ..SuiteOrigin::default() };
        let error = Suite::parse(text.as_bytes(), &origin).unwrap_err().to_string();
        assert!(error.contains("snapshotId"), "{error}");
    }
}
