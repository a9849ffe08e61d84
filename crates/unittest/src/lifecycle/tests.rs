//! Tests of expectations about releases.

use super::*;

fn prepared() -> PreparedChart {
    PreparedChart {
        events: vec!["pre-render".to_owned()],
        log: vec!["set 3 replicas".to_owned()],
        hooks: [
            ("pre-install".to_owned(), vec!["Job/a".to_owned(), "Job/b".to_owned()]),
            ("post-install".to_owned(), vec![]),
        ]
        .into(),
        images: [
            ("nginx:1".to_owned(), "docker.io".to_owned()),
            ("ghcr.io/x/y:2".to_owned(), "ghcr.io".to_owned()),
        ]
        .into(),
        ..PreparedChart::default()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn what_is_as_expected_passes() {
    let expected = Expectations {
        events: Some(texts(&["pre-render"])),
        log: Some(texts(&["[0-9] replicas$"])),
        hooks: Some([("pre-install".to_owned(), texts(&["Job/a", "Job/b"]))].into()),
        images: Some(ImageExpectations {
            equal: Some(texts(&["nginx:1", "ghcr.io/x/y:2"])),
            registries: Some(texts(&["docker.io", "ghcr.io"])),
        }),
        ..Expectations::default()
    };
    let results = expected.check(Some(&prepared()));
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.passed), "{results:?}");
    assert!(expected.check(None).iter().all(|result| !result.passed));
}

#[test]
fn what_differs_is_shown() {
    let expected = Expectations {
        log: Some(texts(&["4 replicas"])),
        hooks: Some([("pre-install".to_owned(), texts(&["Job/b", "Job/a"]))].into()),
        images: Some(ImageExpectations { equal: None, registries: Some(texts(&["ghcr.io"])) }),
        ..Expectations::default()
    };
    let results = expected.check(Some(&prepared()));
    let lines: Vec<String> = results.iter().map(|result| result.info.join("|")).collect();
    assert_eq!(lines[0], "Expected a line to match:|\t4 replicas|Actual:|\tset 3 replicas");
    assert!(lines[1].contains("Diff:|\t--- Expected|\t+++ Actual|"), "{}", lines[1]);
    assert_eq!(lines[2], "Expected images from the registries:|\t- ghcr.io|Actual:|\t- nginx:1");
}

#[test]
fn a_hook_event_that_does_not_exist_is_an_error() {
    let expected = Expectations {
        hooks: Some([("before-install".to_owned(), Vec::new())].into()),
        ..Expectations::default()
    };
    let info = &expected.check(Some(&prepared()))[0].info;
    assert!(
        info[1].contains("there is no hook event `before-install`; the events are post-install, pre-install")
    );
}

#[test]
fn rehearsals_fail_by_errors_or_as_expected() {
    let findings = [
        RehearsalFinding { is_warning: true, text: "deprecated".to_owned(), ..RehearsalFinding::default() },
        RehearsalFinding {
            is_error: true,
            text: "install: unknown field".to_owned(),
            ..RehearsalFinding::default()
        },
    ];
    let passes =
        |settings: &RehearsalSettings, findings: &[RehearsalFinding]| settings.check(findings).is_empty();
    let lenient = RehearsalSettings::default();
    assert!(passes(&lenient, &findings[..1]) && !passes(&lenient, &findings));
    let strict = RehearsalSettings { strict: true, ..RehearsalSettings::default() };
    assert!(!passes(&strict, &findings[..1]));
    let fails =
        |pattern: &str| RehearsalSettings { fails: Some(pattern.to_owned()), ..RehearsalSettings::default() };
    assert!(passes(&fails("unknown field$"), &findings) && !passes(&fails("timeout"), &findings));
    assert!(!passes(&fails("("), &findings));
}
