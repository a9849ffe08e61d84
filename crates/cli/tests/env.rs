//! `env`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;

const KUBECONFIG: &str = "\
current-context: one
contexts:
- name: one
  context: {cluster: c, namespace: first}
- name: two
  context: {cluster: c, namespace: second}
- name: three
  context: {cluster: d}
";

#[test]
fn all_variables_are_shown_sorted() {
    assert_snapshot!(TestEnv::new().helm("env"), @r#"
    exit 0
    --- stdout
    HELM_BIN="{here}/.bin/helm"
    HELM_BURST_LIMIT="100"
    HELM_CACHE_HOME="{here}/.cache/helm"
    HELM_CONFIG_HOME="{here}/.config/helm"
    HELM_CONTENT_CACHE="{here}/.cache/helm/content"
    HELM_DATA_HOME="{here}/.local/share/helm"
    HELM_DEBUG="false"
    HELM_KUBEAPISERVER=""
    HELM_KUBEASGROUPS=""
    HELM_KUBEASUSER=""
    HELM_KUBECAFILE=""
    HELM_KUBECONTEXT=""
    HELM_KUBEINSECURE_SKIP_TLS_VERIFY="false"
    HELM_KUBETLS_SERVER_NAME=""
    HELM_KUBETOKEN=""
    HELM_MAX_HISTORY="10"
    HELM_NAMESPACE="default"
    HELM_PLUGINS="{here}/.local/share/helm/plugins"
    HELM_QPS="0.00"
    HELM_REGISTRY_CONFIG="{here}/.config/helm/registry/config.json"
    HELM_REPOSITORY_CACHE="{here}/.cache/helm/repository"
    HELM_REPOSITORY_CONFIG="{here}/.config/helm/repositories.yaml"
    "#);
}

#[test]
fn flags_win_over_variables() {
    let env = TestEnv::new();
    let variables =
        [("HELM_NAMESPACE", "from-variable"), ("HELM_CACHE_HOME", "/cache/"), ("HELM_DEBUG", "1")];
    assert_snapshot!(env.helm_with("env -n from-flag HELM_NAMESPACE", &variables), @"
    exit 0
    --- stdout
    from-flag
    ");
    assert_snapshot!(env.helm_with("env HELM_NAMESPACE", &variables), @"
    exit 0
    --- stdout
    from-variable
    ");
    assert_snapshot!(env.helm_with("env HELM_REPOSITORY_CACHE", &variables), @"
    exit 0
    --- stdout
    /cache/repository
    ");
    assert_snapshot!(env.helm_with("env HELM_DEBUG --debug=false", &variables), @"
    exit 0
    --- stdout
    false
    ");
}

#[test]
fn every_global_flag_shows_in_its_variable() {
    let line = "env --kubeconfig k --kube-context c --kube-token t --kube-as-user u --kube-as-group g \
                --kube-as-group h --kube-apiserver a --kube-ca-file f --kube-tls-server-name s \
                --kube-insecure-skip-tls-verify --registry-config r --repository-config p --repository-cache q \
                --content-cache o --burst-limit 0x10 --qps 1.255 --color never";
    assert_snapshot!(TestEnv::new().helm(line), @r#"
    exit 0
    --- stdout
    HELM_BIN="{here}/.bin/helm"
    HELM_BURST_LIMIT="16"
    HELM_CACHE_HOME="{here}/.cache/helm"
    HELM_CONFIG_HOME="{here}/.config/helm"
    HELM_CONTENT_CACHE="o"
    HELM_DATA_HOME="{here}/.local/share/helm"
    HELM_DEBUG="false"
    HELM_KUBEAPISERVER="a"
    HELM_KUBEASGROUPS="g,h"
    HELM_KUBEASUSER="u"
    HELM_KUBECAFILE="f"
    HELM_KUBECONTEXT="c"
    HELM_KUBEINSECURE_SKIP_TLS_VERIFY="true"
    HELM_KUBETLS_SERVER_NAME="s"
    HELM_KUBETOKEN="t"
    HELM_MAX_HISTORY="10"
    HELM_NAMESPACE="default"
    HELM_PLUGINS="{here}/.local/share/helm/plugins"
    HELM_QPS="1.25"
    HELM_REGISTRY_CONFIG="r"
    HELM_REPOSITORY_CACHE="q"
    HELM_REPOSITORY_CONFIG="p"
    KUBECONFIG="k"
    "#);
}

#[test]
fn the_namespace_comes_from_the_context() {
    let env = TestEnv::new();
    env.write(".kube/config", KUBECONFIG).write("other", "current-context: two");
    assert_snapshot!(env.helm("env HELM_NAMESPACE"), @"
    exit 0
    --- stdout
    first
    ");
    assert_snapshot!(env.helm("env HELM_NAMESPACE --kube-context two"), @"
    exit 0
    --- stdout
    second
    ");
    assert_snapshot!(env.helm("env HELM_NAMESPACE --kube-context three"), @"
    exit 0
    --- stdout
    default
    ");
    assert_snapshot!(env.helm("env HELM_NAMESPACE --kube-context none"), @"
    exit 0
    --- stdout
    default
    ");
    let both = [("KUBECONFIG", "other:missing:.kube/config")];
    assert_snapshot!(env.helm_with("env HELM_NAMESPACE", &both), @"
    exit 0
    --- stdout
    second
    ");
}
