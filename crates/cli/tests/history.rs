//! `history`

use crate::support;

use insta::assert_snapshot;
use support::Place;

/// A place where nobody listens.
const NOBODY: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_is_needed_and_flags_are_read() {
    let place = Place::new();
    assert_snapshot!(place.helm("history"), @r#"
    exit 1
    --- stderr
    Error: "helm history" requires 1 argument

    Usage:  helm history RELEASE_NAME [flags]
    "#);
    assert_snapshot!(place.helm("hist web --max=all"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "all" for "--max" flag: strconv.ParseInt: parsing "all": invalid syntax
    "#);
    assert_snapshot!(place.helm(&format!("hist web --max 3 -o yaml {NOBODY}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}
