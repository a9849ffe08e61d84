//! `install`

use crate::support;

use insta::assert_snapshot;
use support::TestEnv;
use support::chart;

/// An API server that refuses connections.
const UNREACHABLE: &str = "--kube-apiserver http://127.0.0.1:1";

fn env() -> TestEnv {
    let env = TestEnv::new();
    chart::write(&env);
    env
}

#[test]
fn a_release_name_is_given_generated_or_rendered() {
    let env = env();
    assert_snapshot!(env.helm("install ./web"), @"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: must either provide a name or specify --generate-name
    ");
    assert_snapshot!(env.helm("install a ./web more"), @"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: expected at most two arguments, unexpected arguments: more
    ");
    assert_snapshot!(env.helm("install a ./web -g"), @"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: cannot set --generate-name and also specify a name
    ");
    assert_snapshot!(env.helm("install a ./web --name-template x"), @"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: cannot set --name-template and also specify a name
    ");
    let named = env.helm("install ./web --name-template '{{ printf \"n-%d\" 3 }}' --dry-run=client");
    assert!(named.starts_with("exit 0\n--- stdout\nNAME: n-3\n"), "{named}");
    let made_up = env.helm("install ./web -g --dry-run=client");
    assert!(made_up.starts_with("exit 0\n--- stdout\nNAME: web-"), "{made_up}");
    assert_snapshot!(env.pintle("install ./web"), @"
    exit 2
    --- stderr
    error: must either provide a name or specify --generate-name

    hint: usage: install NAME CHART, where CHART is a folder, an archive, repo/name or a URL
    ");
    assert_snapshot!(env.pintle("install web charts/web"), @"
    exit 2
    --- stderr
    error: there is no repository `charts`, and no chart at `charts/web`

    hint: add it: `pintle repo add charts URL`; `pintle search hub NAME` finds addresses of charts
    ");
    assert_snapshot!(env.helm("install"), @r#"
    exit 1
    --- stderr
    Error: "helm install" requires at least 1 argument

    Usage:  helm install [NAME] [CHART] [flags]
    "#);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let env = env();
    assert_snapshot!(env.helm("install a ./web --dry-run=maybe"), @r#"
    exit 1
    --- stderr
    Error: invalid dry-run value ("maybe"). Must be "none", "server", or "client"
    "#);
    assert_snapshot!(env.helm("install a ./web --wait=maybe"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "maybe" for "--wait" flag: invalid wait input "maybe". Valid inputs are watcher, hookOnly, and legacy
    "#);
    assert_snapshot!(env.helm("install a ./web -o xml"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "xml" for "-o, --output" flag: invalid format type
    "#);
    assert_snapshot!(env.helm("install a ./web --timeout 5"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "5" for "--timeout" flag: time: missing unit in duration "5"
    "#);
    assert_snapshot!(env.helm("install a ./web --labels x"), @r#"
    exit 1
    --- stderr
    Error: invalid argument "x" for "-l, --labels" flag: x must be formatted as key=value
    "#);
    assert_snapshot!(env.pintle("install a ./web --logs=never"), @r#"
    exit 2
    --- stderr
    error: invalid argument "never" for "--logs" flag: must be "end" or "stream"
    "#);
    assert_snapshot!(env.helm("install a ./web --force-replace --force-conflicts"), @"
    exit 1
    --- stderr
    Error: if any flags in the group [force-replace force-conflicts] are set none of the others can be; [force-conflicts force-replace] were all set
    ");
}

#[test]
fn a_missing_chart_is_reported_before_a_missing_cluster() {
    let env = env();
    assert_snapshot!(env.helm(&format!("install a ./nope {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: path "./nope" not found
    "#);
    assert_snapshot!(env.pintle(&format!("install a ./nope {UNREACHABLE}")), @"
    exit 2
    --- stderr
    error: there is no chart at `./nope`

    hint: the only chart here is `web`; a chart can also be an archive, or repo/name of a repository
    ");
    assert_snapshot!(env.helm(&format!("install a ./web {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    level=ERROR msg="cluster reachability check failed: kubernetes cluster unreachable: Get \"http://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused"
    Error: INSTALLATION FAILED: cluster reachability check failed: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.pintle(&format!("install a ./web {UNREACHABLE}")), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}

#[test]
fn a_rehearsal_without_a_cluster_shows_everything() {
    let env = env();
    let clean = |text: String| {
        let line = |line: &str| match line.split_once("LAST DEPLOYED: ") {
            Some(_) => "LAST DEPLOYED: [time]\n".to_owned(),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect::<String>()
    };
    assert_snapshot!(clean(env.helm("install a ./web --dry-run=client --set greeting=hi -n shop")), @r#"
    exit 0
    --- stdout
    NAME: a
    LAST DEPLOYED: [time]
    NAMESPACE: shop
    STATUS: pending-install
    REVISION: 1
    DESCRIPTION: Dry run complete
    HOOKS:
    ---
    # Source: web/templates/hook.yaml
    apiVersion: v1
    kind: Pod
    metadata:
      name: hook
      annotations: {helm.sh/hook: pre-install}

    ---
    # Source: web/templates/test.yaml
    apiVersion: v1
    kind: Pod
    metadata:
      name: test
      annotations: {helm.sh/hook: test}

    MANIFEST:
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
      namespace: shop
    data:
      greeting: hi
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"
    "#);
    assert_snapshot!(clean(env.helm("install a ./web --dry-run --debug")), @r#"
    exit 0
    --- stdout
    NAME: a
    LAST DEPLOYED: [time]
    NAMESPACE: default
    STATUS: pending-install
    REVISION: 1
    DESCRIPTION: Dry run complete
    USER-SUPPLIED VALUES:
    {}

    COMPUTED VALUES:
    greeting: hello
    list:
    - a
    - b
    nested:
      port: 80

    HOOKS:
    ---
    # Source: web/templates/hook.yaml
    apiVersion: v1
    kind: Pod
    metadata:
      name: hook
      annotations: {helm.sh/hook: pre-install}

    ---
    # Source: web/templates/test.yaml
    apiVersion: v1
    kind: Pod
    metadata:
      name: test
      annotations: {helm.sh/hook: test}

    MANIFEST:
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
      namespace: default
    data:
      greeting: hello
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"


    --- stderr
    level=WARN msg="--dry-run is deprecated and should be replaced with '--dry-run=client'"
    level=DEBUG msg="Original chart version" version=""
    level=DEBUG msg="Chart path" path={here}/web
    "#);
}

#[test]
fn colors_are_those_of_helm() {
    let shown = env().helm("install a ./web --dry-run=client --color always");
    assert!(shown.contains("NAMESPACE: \u{1b}[36mdefault\u{1b}[0m\n"), "{shown}");
    assert!(shown.contains("STATUS: \u{1b}[33mpending-install\u{1b}[0m\n"), "{shown}");
}

#[test]
fn data_is_one_line_of_json_or_sorted_yaml() {
    let env = env();
    let json = env.helm("install a ./web --dry-run=client -o json --description d --labels x=y");
    assert!(
        json.starts_with("exit 0\n--- stdout\n{\"name\":\"a\",\"info\":{\"first_deployed\":\""),
        "{json}"
    );
    assert_eq!(json.lines().count(), 3, "{json}");
    let yaml = env.helm("install a ./web --dry-run=true -o yaml");
    assert!(yaml.contains("--- stdout\napply_method: ssa\nchart:\n  files:"), "{yaml}");
    assert!(yaml.contains("level=WARN msg=\"boolean '--dry-run=true' flag is deprecated"), "{yaml}");
}

#[test]
fn every_other_flag_is_accepted() {
    let env = env();
    let line = "install a ./web --dry-run=client --create-namespace --force-replace=false --server-side=false \
                --no-hooks --replace --timeout 1m --wait-for-jobs --description d --devel --dependency-update \
                --disable-openapi-validation --rollback-on-failure --skip-crds --render-subchart-notes \
                --skip-schema-validation -l a=b --enable-dns --hide-notes --take-ownership --hide-secret --wait \
                --hook-parallelism 2 --hook-env --logs=stream --no-log-output --lease 10s --version 1 --set-string a=b \
                --set-json a=1 --set-literal a=b --set-file a=web/Chart.yaml -f web/values.yaml -o json";
    let shown = env.helm(line);
    assert!(shown.starts_with("exit 0\n--- stdout\n{\"name\":\"a\""), "{shown}");
    let old = env.helm("install a ./web --atomic --force --wait=true --dry-run=client -o json");
    let warnings: Vec<&str> =
        old.split_once("--- stderr\n").map(|(_, lines)| lines.lines().collect()).unwrap_or_default();
    assert_eq!(
        warnings,
        [
            "level=WARN msg=\"--wait=true is deprecated (boolean value) and can be replaced with --wait=watcher\"",
            "Flag --atomic has been deprecated, use --rollback-on-failure instead",
            "Flag --force has been deprecated, use --force-replace instead",
        ]
    );
}

#[test]
fn an_unusable_configuration_is_reported_where_helm_reports_it() {
    let env = TestEnv::new();
    env.write("k", "contexts: [{name: a, context: }]");
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    let helm = |line: &str| env.helm(&format!("{line} --kubeconfig k --kube-context nope"));
    let logged = r#"level=ERROR msg="cluster reachability check failed: kubernetes cluster unreachable: context \"nope\" does not exist""#;
    let unreachable = r#"kubernetes cluster unreachable: context "nope" does not exist"#;
    for (line, prefix) in [
        ("install r web", "INSTALLATION FAILED: "),
        // Before what is wrong with the flags.
        ("install r web --hide-secret", "INSTALLATION FAILED: "),
        ("template r web --dry-run=server", ""),
    ] {
        assert_eq!(
            helm(line),
            format!(
                "exit 1\n--- stderr\n{logged}\nError: {prefix}cluster reachability check failed: {unreachable}\n"
            )
        );
    }
    for line in ["upgrade r web", "upgrade r web --hide-secret"] {
        assert_eq!(helm(line), format!("exit 1\n--- stderr\nError: UPGRADE FAILED: {unreachable}\n"));
    }
    for line in [
        "upgrade -i r web",
        "list",
        "status r",
        "get all r",
        "history r",
        "rollback r",
        "uninstall r",
        "test r",
    ] {
        assert_eq!(helm(line), format!("exit 1\n--- stderr\nError: {unreachable}\n"), "{line}");
    }
    // A missing chart is reported first.
    assert!(helm("install r ./nothing").contains(r#"path "./nothing" not found"#));
}

#[test]
fn the_memory_driver_of_helm_builds_no_objects() {
    let (env, flag) = (TestEnv::new(), support::cluster::start());
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    let memory = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "/dev/null")];
    // Helm's client for this driver prints what it is given, and looks at nothing.
    for object in [
        "kind: ConfigMap\n",
        "apiVersion: v1\n",
        "a: b\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: 5}\n",
    ] {
        env.write("web/templates/a.yaml", object);
        let output = env.helm_with(&format!("install r web {flag}"), &memory);
        assert!(output.contains("STATUS: deployed"), "{object}: {output}");
    }
}

#[test]
fn capabilities_of_a_cluster_require_a_cluster() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n");
    // The memory driver needs no cluster, but rendering needs its version.
    let memory = [("HELM_DRIVER", "memory"), ("HELM_MEMORY_DRIVER_DATA", "/dev/null")];
    assert_snapshot!(env.helm_with(&format!("install r web {UNREACHABLE}"), &memory), @r#"
    exit 1
    --- stderr
    Error: INSTALLATION FAILED: could not get server version from Kubernetes: Get "http://127.0.0.1:1/version?timeout=32s": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
}
