//! `upgrade`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;
use support::chart;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn a_release_and_a_chart_are_required() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("upgrade web"), @r#"
    exit 1
    --- stderr
    Error: "helm upgrade" requires 2 arguments

    Usage:  helm upgrade [RELEASE] [CHART] [flags]
    "#);
    assert_snapshot!(env.pintle("upgrade web"), @"
    exit 2
    --- stderr
    error: `pintle upgrade` requires 2 arguments, but 1 was given

    hint: usage: pintle upgrade [RELEASE] [CHART] [flags]
    ");
}

#[test]
fn errors_of_chart_and_values_have_no_upgrade_failed_prefix() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm(&format!("upgrade a ./nope {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: path "./nope" not found
    "#);
    assert_snapshot!(env.helm(&format!("upgrade a ./web -f nope.yaml {UNREACHABLE}")), @"
    exit 1
    --- stderr
    Error: open nope.yaml: no such file or directory
    ");
    assert_snapshot!(env.helm(&format!("upgrade a ./web {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: UPGRADE FAILED: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.helm(&format!("upgrade a ./web --install {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.pintle(&format!("upgrade a ./web {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.helm("upgrade a ./web --server-side=maybe"), @"
    exit 1
    --- stderr
    Error: UPGRADE FAILED: invalid/unknown release server-side apply method: maybe
    ");
    assert_snapshot!(env.pintle("upgrade a ./web --server-side=maybe"), @"
    exit 2
    --- stderr
    error: --server-side is `maybe`

    hint: it may be auto, true or false
    ");
    assert_snapshot!(env.helm("upgrade a ./web --history-max=many"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "many" for "--history-max" flag: strconv.ParseInt: parsing "many": invalid syntax
    "#);
    assert_snapshot!(env.helm("upgrade a ./web --force --force-conflicts"), @"
    exit 1
    --- stderr
    Flag --force has been deprecated, use --force-replace instead
    Error: if any flags in the group [force force-conflicts] are set none of the others can be; [force force-conflicts] were all set
    ");
}

#[test]
fn every_other_flag_is_accepted() {
    let env = TestEnv::new();
    chart::write(&env);
    let line = "--create-namespace --devel --hide-secret=false --force-replace=false --no-hooks \
                --disable-openapi-validation --skip-crds --timeout 1m --reset-values --reuse-values \
                --reset-then-reuse-values --wait-for-jobs --rollback-on-failure --history-max 3 --cleanup-on-fail \
                --render-subchart-notes --hide-notes --skip-schema-validation -l a=null --description d \
                --dependency-update --enable-dns --take-ownership --wait=legacy --dry-run=server -o yaml \
                --hook-parallelism 2 --hook-env --logs=end --no-log-output";
    assert_snapshot!(env.helm(&format!("upgrade a ./web {line} {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: UPGRADE FAILED: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}
