//! `uninstall`

use crate::support;

use insta::assert_snapshot;
use support::Place;

/// A place where nobody listens.
const NOBODY: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_is_needed_and_the_way_of_deleting_is_checked_first() {
    let place = Place::new();
    assert_snapshot!(place.helm("uninstall"), @r#"
    exit 1
    --- stderr
    Error: "helm uninstall" requires at least 1 argument

    Usage:  helm uninstall RELEASE_NAME [...] [flags]
    "#);
    assert_snapshot!(place.helm("uninstall web --cascade sideways"), @r#"
    exit 1
    --- stderr
    Error: invalid cascade value (sideways). Must be "background", "foreground", or "orphan"
    "#);
    assert_snapshot!(place.helm("delete web --dry-run=client"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "client" for "--dry-run" flag: strconv.ParseBool: parsing "client": invalid syntax
    "#);
}

#[test]
fn every_flag_is_accepted() {
    let place = Place::new();
    let line = "un web more --dry-run --no-hooks --ignore-not-found --keep-history --cascade orphan --timeout 1m \
                --description d --wait --hook-parallelism 2 --hook-env --logs=end --no-log-output";
    assert_snapshot!(place.helm(&format!("{line} {NOBODY}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(place.pintle(&format!("uninstall web {NOBODY}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}
