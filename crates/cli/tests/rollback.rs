//! `rollback`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn helm_knows_versions_by_number_only() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("rollback"), @r#"
    exit 1
    --- stderr
    Error: "helm rollback" requires at least 1 argument

    Usage:  helm rollback <RELEASE> [REVISION] [flags]
    "#);
    assert_snapshot!(env.helm("rollback web ~1"), @r#"
    exit 1
    --- stderr
    Error: could not convert revision to a number: strconv.Atoi: parsing "~1": invalid syntax
    "#);
    assert_snapshot!(env.helm("rollback web 99999999999999999999"), @r#"
    exit 1
    --- stderr
    Error: could not convert revision to a number: strconv.Atoi: parsing "99999999999999999999": value out of range
    "#);
    assert_snapshot!(env.helm("rollback web -- -1"), @"
    exit 1
    --- stderr
    Error: invalid release revision
    ");
}

#[test]
fn versions_can_be_referenced_by_id() {
    let env = TestEnv::new();
    assert_snapshot!(env.pintle("rollback web ?"), @"
    exit 2
    --- stderr
    error: `?` names no version of a release

    hint: a version is a number, an id, the last characters of an id, or ~1 for the one before
    ");
    for version in ["~1", "7xq3", "01arz3ndektsv4rrffq69g5fav", "2"] {
        let shown = env.pintle(&format!("rollback web {version} {UNREACHABLE}"));
        assert!(shown.contains("the cluster cannot be reached"), "{version}: {shown}");
    }
}

#[test]
fn every_flag_is_accepted() {
    let env = TestEnv::new();
    let line = "rollback web 2 --force-replace=false --force-conflicts --server-side=true --no-hooks --timeout 1m \
                --wait-for-jobs --cleanup-on-fail --history-max 3 --dry-run=none --wait=hookOnly --hook-parallelism 2 \
                --hook-env --logs=end --no-log-output";
    assert_snapshot!(env.helm(&format!("{line} {UNREACHABLE}")), @"
    exit 1
    --- stderr
    Error: if any flags in the group [force-replace force-conflicts] are set none of the others can be; [force-conflicts force-replace] were all set
    ");
    assert_snapshot!(env.helm("rollback web --server-side=maybe"), @"
    exit 1
    --- stderr
    Error: invalid/unknown release server-side apply method: maybe
    ");
    assert_snapshot!(env.helm("rollback web --dry-run=maybe"), @r#"
    exit 1
    --- stderr
    Error: invalid dry-run value ("maybe"). Must be "none", "server", or "client"
    "#);
}

#[test]
fn a_rollback_has_a_description_and_the_history_says_where_it_went() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: \"1\"\n");
    let run = |line: &str| env.helm(&format!("{line} --cluster embedded:box.db"));
    for line in ["install a web", "upgrade a web", "rollback a 1 --description back", "rollback a"] {
        let done = run(line);
        assert!(done.starts_with("exit 0"), "{done}");
    }
    let table = run("history a --show-rollback-revision");
    let cells = |line: &str| -> Vec<String> { line.split('\t').map(|cell| cell.trim().to_owned()).collect() };
    let rows: Vec<(String, String)> =
        table.lines().skip(2).map(cells).map(|row| (row[5].clone(), row[6].clone())).collect();
    let row = |number: &str, text: &str| (number.to_owned(), text.to_owned());
    assert_eq!(
        rows,
        [
            row("ROLLBACK", "DESCRIPTION"),
            row("", "Install complete"),
            row("", "Upgrade complete"),
            row("1", "back"),
            row("2", "Rollback to 2"),
        ]
    );
    assert!(!run("history a").contains("ROLLBACK"));
    let data = run("history a -o json");
    let part = r#""app_version":"1","rollback_revision":1,"description":"back"}"#;
    assert!(data.contains(part), "{data}");
    assert_eq!(data.matches("rollback_revision").count(), 2, "{data}");
    let status = run("status a -o json");
    assert!(status.contains(r#""status":"deployed","rollback_revision":2"#), "{status}");
}

#[test]
fn a_description_that_is_too_long_is_refused_before_anything_is_asked() {
    let env = TestEnv::new();
    let line = format!("rollback none --description {} --kube-apiserver http://127.0.0.1:1", "é".repeat(257));
    assert_eq!(
        env.helm(&line),
        "exit 1\n--- stderr\nError: description must be 256 characters or less, got 257\n"
    );
}
