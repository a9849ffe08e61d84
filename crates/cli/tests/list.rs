//! `list`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

#[test]
fn it_takes_no_operands_and_knows_its_formats() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("list web"), @r#"
    exit 1
    --- stderr
    Error: "helm list" accepts no arguments

    Usage:  helm list [flags]
    "#);
    assert_snapshot!(env.helm("ls -o xml"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "xml" for "-o, --output" flag: invalid format type
    "#);
    assert_snapshot!(env.helm("list -x"), @"
    exit 1
    --- stderr
    Error: unknown shorthand flag: 'x' in -x
    ");
    assert_snapshot!(env.helm("list --max=many"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "many" for "-m, --max" flag: strconv.ParseInt: parsing "many": invalid syntax
    "#);
}

#[test]
fn a_limit_that_nobody_asked_for_is_told() {
    let env = TestEnv::new();
    let release = |number: usize| {
        format!(
            "- {{name: r{number}, namespace: default, version: 1, info: {{status: deployed}}, chart: {{metadata: {{name: a, version: 1.0.0}}}}}}\n"
        )
    };
    env.write("releases.yaml", &(0..257).map(release).collect::<String>());
    let memory = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "releases.yaml")];
    let told = "256 of 257 releases are shown: `--max 0` shows all, `--offset 256` the next";
    let output = env.called("pintle", "list -q", &memory);
    assert!(output.contains(told) && output.matches("\nr").count() == 256, "{output}");
    for line in ["list -q --max 256", "list -q --max 0", "list -q --offset 1"] {
        let output = env.called("pintle", line, &memory);
        assert!(!output.contains("are shown"), "{line}: {output}");
    }
    assert!(!env.helm_with("list -q", &memory).contains("are shown"));
}

#[test]
fn every_flag_is_accepted() {
    let env = TestEnv::new();
    let line = "list -q --no-headers --time-format 2006 -d -r --uninstalled --superseded --uninstalling --deployed \
                --failed --pending -A -m 3 --offset 1 -f ^a -l a=b -o json --all-namespaces=false --date --reverse --selector a=b";
    assert_snapshot!(env.helm(&format!("{line} {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}

#[test]
fn an_unreachable_cluster_is_an_error_with_a_hint() {
    let env = TestEnv::new();
    assert_snapshot!(env.pintle("list --kubeconfig nope"), @"
    exit 2
    --- stderr
    error: the cluster cannot be reached
    caused by: stat nope: no such file or directory

    hint: --kubeconfig or $KUBECONFIG names the file that describes the cluster, and --kube-context the context in it; `--cluster embedded` tries it without a cluster
    ");
    env.write("config", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: []\n");
    assert_snapshot!(env.helm("list --kubeconfig config --kube-context b"), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: context "b" does not exist
    "#);
    assert_snapshot!(env.pintle("list --kubeconfig config --kube-context b"), @"
    exit 2
    --- stderr
    error: the kubeconfig has no context `b`

    hint: `kubectl config get-contexts` shows them
    ");
    assert_snapshot!(env.pintle(&format!("list {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
    assert_snapshot!(env.helm(&format!("list {UNREACHABLE} --debug")), @r#"
    exit 1
    --- stderr
    Error: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}

#[test]
fn an_unknown_storage_driver_is_an_error() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm_with("list", &[("HELM_DRIVER", "drawer")]), @r#"
    exit 1
    --- stderr
    level=INFO msg="unknown driver \"drawer\""
    "#);
}

#[test]
fn releases_of_one_name_are_listed_by_namespace() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    let cluster = "--cluster embedded:cluster.db --create-namespace";
    for namespace in ["two", "three", "one"] {
        let installed = env.pintle(&format!("install same web -n {namespace} {cluster}"));
        assert!(installed.starts_with("exit 0"), "{installed}");
    }
    let listed = env.pintle("list -A -o json --cluster embedded:cluster.db");
    let at = |namespace: &str| listed.find(&format!(r#""namespace":"{namespace}""#)).expect("it is listed");
    assert!(at("one") < at("three") && at("three") < at("two"), "{listed}");
}
