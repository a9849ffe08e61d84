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
