//! `template`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

fn env() -> TestEnv {
    let env = TestEnv::new();
    chart::write(&env);
    env
}

#[test]
fn objects_come_first_and_then_hooks() {
    assert_snapshot!(env().helm("template web"), @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: release-name
      namespace: default
    data:
      greeting: hello
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"
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
    "#);
}

#[test]
fn names_and_namespaces_can_be_chosen() {
    let env = env();
    assert_snapshot!(env.helm("template demo web -n there -s templates/config.yaml"), @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: demo
      namespace: there
    data:
      greeting: hello
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"
    "#);
    assert_snapshot!(env.helm("template web --name-template '{{ upper `x` | lower }}y' -s templates/config.yaml"), @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: xy
      namespace: default
    data:
      greeting: hello
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"
    "#);
    assert_snapshot!(env.helm("template --generate-name web --set greeting=x -s templates/config.yaml"), @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: release-name
      namespace: default
    data:
      greeting: x
      upgrade: "false"
      kube: v1.37.0
      monitoring: "false"
    "#);
}

#[test]
fn capabilities_can_be_set() {
    let env = env();
    assert_snapshot!(
        env.helm("template web --kube-version 1.29 --api-versions monitoring/v1,x/v2 --is-upgrade --show-only templates/config.yaml"),
        @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/config.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: release-name
      namespace: default
    data:
      greeting: hello
      upgrade: "true"
      kube: v1.29
      monitoring: "true"
    "#
    );
    assert_snapshot!(env.helm("template web --kube-version x"), @r#"
    exit 1
    --- stderr
    Error: invalid kube version 'x': could not parse "x" as version
    "#);
}

#[test]
fn hooks_tests_and_definitions_can_be_left_out_or_in() {
    let env = env();
    assert_snapshot!(env.helm("template web --skip-tests --include-crds -s templates/hook.yaml -s crds/crd.yaml"), @"
    exit 0
    --- stdout
    ---
    # Source: web/templates/hook.yaml
    apiVersion: v1
    kind: Pod
    metadata:
      name: hook
      annotations: {helm.sh/hook: pre-install}


    ---
    # Source: web/crds/crd.yaml
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    ");
    assert_snapshot!(env.helm("template web --no-hooks -s templates/hook.yaml"), @"
    exit 1
    --- stderr
    Error: could not find template templates/hook.yaml in chart
    ");
}

#[test]
fn values_come_from_files_and_flags() {
    let env = env();
    env.write("v.yaml", "greeting: from-file\n").write("g.txt", "from-content");
    for (flags, greeting) in [
        ("-f v.yaml", "from-file"),
        ("--values v.yaml --set greeting=set", "set"),
        ("--set-string greeting=1", "1"),
        ("--set-file greeting=g.txt", "from-content"),
        ("--set-json greeting=\"json\"", "json"),
        ("--set-literal greeting=a,b", "a,b"),
    ] {
        let text = env.helm(&format!("template web {flags}"));
        assert!(text.contains(&format!("greeting: {greeting}\n")), "{flags}\n{text}");
    }
    assert_snapshot!(env.helm("template web -f none.yaml"), @"
    exit 1
    --- stderr
    Error: open none.yaml: no such file or directory
    ");
    assert_snapshot!(env.pintle("template web -f http://127.0.0.1:1/v.yaml"), @r#"
    exit 1
    --- stderr
    error: `http://127.0.0.1:1/v.yaml` cannot be reached: connection refused

    hint: see whether the server runs, and whether host and port are right
    "#);
    assert_snapshot!(env.pintle("template web --set greeting"), @"
    exit 2
    --- stderr
    error: `--set greeting`: `greeting` has no value

    hint: write `--set greeting=VALUE`; `greeting=` sets an empty text, `greeting=null` removes the value
    ");
}

#[test]
fn files_can_be_written_instead() {
    let env = env();
    assert_snapshot!(env.helm("template web --output-dir out/"), @"
    exit 0
    --- stdout
    wrote out//web/templates/config.yaml
    wrote out//web/templates/hook.yaml
    wrote out//web/templates/test.yaml
    ");
    assert_snapshot!(env.helm("template demo web --output-dir out --release-name --no-hooks"), @"
    exit 0
    --- stdout
    wrote out/demo/web/templates/config.yaml
    ");
    let text = std::fs::read_to_string(env.path().join("out/demo/web/templates/config.yaml")).unwrap();
    assert!(text.starts_with("---\n# Source: web/templates/config.yaml\n"), "{text}");
}

#[test]
fn a_failing_template_shows_where() {
    let env = env();
    env.write("web/templates/_lib.tpl", "{{ define \"inner\" }}\n  {{ .Values.a.b.c }}\n{{ end }}")
        .write("web/templates/bad.yaml", "a: 1\nb: {{ include \"inner\" . }}\n");
    assert_snapshot!(env.helm("template web"), @r#"
    exit 1
    --- stderr
    Error: web/templates/bad.yaml:2:6
      executing "web/templates/bad.yaml" at <include "inner" .>:
        error calling include:
    web/templates/_lib.tpl:2:12
      executing "inner" at <.Values.a.b.c>:
        nil pointer evaluating interface {}.b

    Use --debug flag to render out invalid YAML
    "#);
    assert_snapshot!(env.pintle("template web"), @"
    exit 1
    --- stderr
    error: the value `a` is not set, so `.b.c` cannot be read from it
      --> web/templates/_lib.tpl:2:13
      2 |   {{ .Values.a.b.c }}
        |             ^
      included from web/templates/bad.yaml:2:7

    hint: set it with `--set a.b.c=VALUE`, in a file given with -f, or in values.yaml of the chart
    ");
    env.write("web/templates/bad.yaml", "b: {{ required \"say b\" .Values.b }}\n");
    assert_snapshot!(env.pintle("template web"), @r#"
    exit 1
    --- stderr
    error: say b
      --> web/templates/bad.yaml:1:7
      1 | b: {{ required "say b" .Values.b }}
        |       ^

    hint: `b` is not set; set it with `--set b=VALUE`, in a file given with -f, or in values.yaml of the chart
    "#);
    env.write("web/templates/bad.yaml", "b: {{ if }}\n");
    assert_snapshot!(env.pintle("template web"), @"
    exit 3
    --- stderr
    error: `if` has no argument
      --> web/templates/bad.yaml:1:10
      1 | b: {{ if }}
        |          ^

    hint: write `{{ if CONDITION }}`
    ");
}

#[test]
fn text_that_is_no_object_is_shown_on_demand() {
    let env = env();
    env.write("web/templates/bad.yaml", "a: 1\nb: [\n");
    assert_snapshot!(env.helm("template web"), @"
    exit 1
    --- stderr
    Error: YAML parse error on web/templates/bad.yaml: error converting YAML to JSON: yaml: line 2: did not find expected node content

    Use --debug flag to render out invalid YAML
    ");
    assert_snapshot!(env.pintle("template web --no-hooks"), @"
    exit 1
    --- stderr
    error: `web/templates/bad.yaml` renders to text that is not a Kubernetes object: the bracket that opens here is not closed
      --> web/templates/bad.yaml:2:1
      2 | b: [
        | ^

    hint: close it with `]` or `}`, and separate its items by commas; `--debug` prints what was rendered
    ");
    let text = env.helm("template web --debug");
    assert!(text.contains("# Source: web/templates/bad.yaml\na: 1\nb: ["), "{text}");
}

#[test]
fn missing_charts_are_errors() {
    let env = env();
    assert_snapshot!(env.helm("template ./nowhere"), @r#"
    exit 1
    --- stderr
    Error: path "./nowhere" not found
    "#);
    assert_snapshot!(env.helm("template nowhere"), @"
    exit 1
    --- stderr
    Error: non-absolute URLs should be in form of repo_name/path_to_chart, got: nowhere
    ");
    assert_snapshot!(env.pintle("template web --verify"), @"
    exit 2
    --- stderr
    error: unpacked charts cannot be verified

    hint: `package --sign` makes an archive that can
    ");
}

#[test]
fn missing_clusters_are_errors() {
    let env = env();
    assert_snapshot!(env.helm("template web --validate --kube-apiserver http://127.0.0.1:1"), @r#"
    exit 1
    --- stderr
    Flag --validate has been deprecated, use '--dry-run=server' instead
    level=ERROR msg="cluster reachability check failed: kubernetes cluster unreachable: Get \"http://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused"
    Error: cluster reachability check failed: kubernetes cluster unreachable: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    assert_snapshot!(env.pintle("template web --dry-run=server --kube-apiserver http://127.0.0.1:1"), @r#"
    exit 1
    --- stderr
    error: the cluster cannot be reached
    caused by: Get "http://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused

    hint: see whether the cluster runs, and whether --kube-context and --kubeconfig name the right one; `--cluster embedded` tries it without a cluster
    "#);
}

#[test]
fn older_spellings_warn() {
    let env = env();
    for line in
        ["--dry-run", "--dry-run=true", "--wait=false", "--hide-notes", "--render-subchart-notes", "--atomic"]
    {
        let text = env.helm(&format!("template web -s templates/hook.yaml {line}"));
        assert!(text.starts_with("exit 0\n"), "{text}");
        let (_, notes) = text.split_once("--- stderr\n").expect("there is a warning");
        assert!(notes.contains("deprecated"), "{notes}");
    }
    assert_snapshot!(env.helm("template web --dry-run=none"), @r#"
    exit 1
    --- stderr
    Error: invalid dry-run value ("none"). Must be "server" or "client"
    "#);
    assert_snapshot!(env.pintle("template web -s nope --dry-run"), @"
    exit 2
    --- stderr
    warning: --dry-run is deprecated and should be replaced with '--dry-run=client'
    error: the chart has no template `nope`

    hint: there are `templates/config.yaml`, `templates/hook.yaml`, `templates/test.yaml`
    ");
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    let env = env();
    assert_snapshot!(env.helm("template web --force-replace --force-conflicts"), @"
    exit 1
    --- stderr
    Error: if any flags in the group [force-replace force-conflicts] are set none of the others can be; [force-conflicts force-replace] were all set
    ");
    assert_snapshot!(env.pintle("template web --force --force-conflicts"), @"
    exit 2
    --- stderr
    warning: --force is deprecated: use --force-replace instead
    error: --force and --force-conflicts cannot be used together
    ");
    assert_snapshot!(env.helm("template a web -g"), @"
    exit 1
    --- stderr
    Error: cannot set --generate-name and also specify a name
    ");
    assert_snapshot!(env.helm("template a b c"), @"
    exit 1
    --- stderr
    Error: expected at most two arguments, unexpected arguments: c
    ");
}

#[test]
fn flags_for_clusters_and_repositories_change_nothing_for_a_local_chart() {
    let env = env();
    let line = "template web --create-namespace --server-side=false --replace --timeout 1m --wait-for-jobs \
                --description d --devel --dependency-update --disable-openapi-validation --rollback-on-failure \
                --skip-crds --labels a=b,c=d --enable-dns --take-ownership --wait=legacy --version 9.9.9 --keyring k \
                --pass-credentials --username u --password p --insecure-skip-tls-verify --plain-http \
                --skip-schema-validation --post-renderer-args x";
    assert_eq!(env.helm(line), env.helm("template web"));
}

#[test]
fn tls_files_are_read_even_for_a_local_chart() {
    assert_snapshot!(env().helm("template web --cert-file c --key-file k --ca-file a"), @r#"
    exit 1
    --- stderr
    Error: missing registry client: can't create TLS config for client: unable to read cert file: "c": open c: no such file or directory
    can't read CA file: "a": open a: no such file or directory
    "#);
}

#[test]
fn helm_3_is_followed_on_request() {
    let env = TestEnv::new();
    env.write("p/Chart.yaml", "apiVersion: v2\nname: p\nversion: 0.1.0\n");
    env.write("p/values.yaml", "sub: {a: null}\n");
    env.write("p/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n");
    env.write("p/charts/sub/values.yaml", "a: 1\n");
    env.write("p/charts/sub/templates/a.yaml", "a: {{ .Values.a }}\n\n\n---\nb: 2\n");
    assert_snapshot!(env.helm("template p --compat=3"), @r#"
    exit 0
    --- stdout
    ---
    # Source: p/charts/sub/templates/a.yaml
    a:
    ---
    # Source: p/charts/sub/templates/a.yaml
    b: 2
    "#);
    assert_snapshot!(env.helm("template p --compat=4"), @r#"
    exit 0
    --- stdout
    ---
    # Source: p/charts/sub/templates/a.yaml
    a: 1



    ---
    # Source: p/charts/sub/templates/a.yaml
    b: 2
    "#);
    assert_snapshot!(env.pintle("template p --compat=2"), @r#"
    exit 2
    --- stderr
    error: --compat is "2"

    hint: it may be 3 or 4, for Helm 3 or Helm 4
    "#);
}

#[test]
fn debug_shows_only_the_selected_templates_when_rendering_fails() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/templates/bad.yaml", "a: {{ .Values.none.such }}\n");
    let failed = env.helm("template web --debug --show-only templates/bad.yaml");
    assert!(
        failed.starts_with("exit 1\n--- stderr\nlevel=DEBUG ") && failed.contains("\nError: "),
        "{failed}"
    );
    // With --debug, output that is not YAML is shown.
    env.write("web/templates/bad.yaml", "a: b: c\n").write("web/templates/good.yaml", "kind: A\n");
    assert_snapshot!(env.helm("template web --debug --show-only templates/bad.yaml"), @r#"
    exit 1
    --- stdout
    ---
    # Source: web/templates/bad.yaml
    a: b: c


    --- stderr
    level=DEBUG msg="Original chart version" version=""
    level=DEBUG msg="Chart path" path={here}/web
    Error: YAML parse error on web/templates/bad.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context
    "#);
    let failed = env.helm("template web --debug --show-only templates/none.yaml");
    assert!(
        failed.starts_with("exit 1\n--- stderr\nlevel=DEBUG ") && failed.contains("\nError: YAML"),
        "{failed}"
    );
}

#[test]
fn a_missing_file_is_an_empty_byte_slice() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n").write(
        "web/templates/a.yaml",
        "text: |\n  {{ .Files.no }} {{ index .Files \"no\" }} {{ (.Files.Glob \"*\").no }} {{ .Files.no | len }} {{ .Files.no | typeOf }} \
         {{ .Files.no | quote }} {{ printf \"%T %v\" .Files.no .Files.no }} {{ .Files.no | default \"d\" }}\n",
    );
    assert_snapshot!(env.helm("template web"), @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/a.yaml
    text: |
      [] [] [] 0 []uint8 "" []uint8 [] d
    "#);
}

#[test]
fn lookup_finds_objects_of_files_without_a_cluster() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/a.yaml",
        "found: {{ with lookup \"v1\" \"ConfigMap\" \"shop\" \"settings\" }}{{ .data.color }}{{ else }}none{{ end }}\n",
    );
    env.write(
        "objects/settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {color: red}\n",
    );
    for line in ["template web --lookup-from objects", "template web --lookup-from objects/settings.yaml"] {
        let shown = env.pintle(line);
        assert!(shown.contains("found: red"), "{line}: {shown}");
    }
    assert!(env.pintle("template web").contains("found: none"));
    let missing = env.pintle("template web --lookup-from objcts");
    assert!(missing.contains("did you mean `objects`?"), "{missing}");
}

/// A chart that fails without the ConfigMap `settings`.
fn chart_that_looks_up(env: &TestEnv) {
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "{}\n");
    env.write(
        "web/templates/a.yaml",
        "{{- $found := lookup \"v1\" \"ConfigMap\" \"shop\" \"settings\" }}\n{{- if not $found }}{{ fail \"no settings\" }}{{ end }}\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copy}\ndata: {color: {{ $found.data.color }}}\n",
    );
    env.write(
        "web/tests/a_test.yaml",
        "suite: a\ntemplates: [a.yaml]\ntests:\n- it: copies\n  asserts: [{equal: {path: data.color, value: red}}]\n",
    );
    env.write(
        "settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {color: red}\n",
    );
}

#[test]
fn charts_are_checked_with_the_objects_that_they_look_up() {
    let env = TestEnv::new();
    chart_that_looks_up(&env);
    // A cluster that has the object, too.
    env.write("given/Chart.yaml", "apiVersion: v2\nname: given\nversion: 1.0.0\n");
    env.write("given/templates/a.yaml", &std::fs::read_to_string(env.path().join("settings.yaml")).unwrap());
    let made = env.pintle("install given given -n shop --create-namespace --cluster embedded:state.db");
    assert!(made.starts_with("exit 0\n"), "{made}");
    for command in ["template web", "lint web", "check web", "unittest web"] {
        let without = env.pintle(command);
        // `fail` is no error for lint, but the missing value is.
        assert!(!without.starts_with("exit 0\n"), "{command}: {without}");
        for source in ["settings.yaml", "embedded:state.db"] {
            let line = format!("{command} --lookup-from {source}");
            let shown = env.pintle(&line);
            assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
        }
    }
    let nowhere = env.pintle("check web --lookup-from embedded:nowhere.db");
    assert!(
        nowhere.starts_with("exit 2\n") && nowhere.contains("there is no cluster in `nowhere.db`"),
        "{nowhere}"
    );
    assert!(!env.path().join("nowhere.db").exists());
}

#[test]
fn with_the_embedded_cluster_lookup_finds_what_the_chart_renders() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/a.yaml",
        "{{- $old := lookup \"v1\" \"Secret\" .Release.Namespace \"key\" }}\napiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n  \
         labels: {kept: {{ if $old }}\"yes\"{{ else }}\"no\"{{ end }}}\n\
         {{- if $old }}\ndata:\n  key: {{ $old.data.key }}\n{{- else }}\nstringData:\n  key: first\n{{- end }}\n",
    );
    assert!(env.pintle("template web").contains("kept: \"no\""));
    let seeded = env.pintle("template web --cluster embedded");
    assert!(seeded.contains("kept: \"yes\"") && seeded.contains("key: Zmlyc3Q="), "{seeded}");
    // The variable is for commands that need a cluster.
    let by_variable = env.called("pintle", "template web", &[("PINTLE_CLUSTER", "embedded")]);
    assert!(by_variable.contains("kept: \"no\""), "{by_variable}");
}
