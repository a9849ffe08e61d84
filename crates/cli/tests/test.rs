//! `test`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_is_needed_and_flags_are_read() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("test"), @r#"
    exit 1
    --- stderr
    Error: "helm test" requires 1 argument

    Usage:  helm test [RELEASE] [flags]
    "#);
    assert_snapshot!(env.helm("test web --timeout soon"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "soon" for "--timeout" flag: time: invalid duration "soon"
    "#);
    assert_snapshot!(env.helm(&format!("test web --timeout 1s --logs --filter name=a,!name=b {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}
