//! `status`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_and_a_version_are_checked_before_the_cluster() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("status"), @r#"
    exit 1
    --- stderr
    Error: "helm status" requires 1 argument

    Usage:  helm status RELEASE_NAME [flags]
    "#);
    assert_snapshot!(env.helm("status web --revision last"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "last" for "--revision" flag: strconv.ParseInt: parsing "last": invalid syntax
    "#);
    assert_snapshot!(env.pintle("status web --revision ?"), @"
    exit 2
    --- stderr
    error: `?` names no version of a release

    hint: a version is a number, an id, the last characters of an id, or ~1 for the one before
    ");
    assert_snapshot!(env.helm("status web --show-everything"), @"
    exit 1
    --- stderr
    Error: unknown flag: --show-everything
    ");
    assert_snapshot!(env.helm(&format!("status web --revision 0x2 -o json {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.pintle(&format!("status web --revision ~1 {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}
