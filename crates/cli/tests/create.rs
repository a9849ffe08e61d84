//! `create`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn a_new_chart_lints_and_renders() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("create demo"), @"
    exit 0
    --- stdout
    Creating demo
    ");
    assert_snapshot!(env.helm("lint demo"), @"
    exit 0
    --- stdout
    ==> Linting demo
    [INFO] Chart.yaml: icon is recommended

    1 chart(s) linted, 0 chart(s) failed
    ");
    let text = env.helm("template demo");
    assert!(
        text.starts_with("exit 0\n--- stdout\n---\n# Source: demo/templates/serviceaccount.yaml\n"),
        "{text}"
    );
}

#[test]
fn files_that_are_there_are_overwritten_with_a_warning() {
    let env = TestEnv::new();
    env.write("demo/Chart.yaml", "old");
    assert_snapshot!(env.helm("create ./demo"), @r#"
    exit 0
    --- stdout
    Creating ./demo
    WARNING: File "{here}/demo/Chart.yaml" already exists. Overwriting.
    "#);
    env.write("third/Chart.yaml", "old");
    let made = env.helm_with("create ./third --chart-api-version v3", &[("HELM_EXPERIMENTAL_CHART_V3", "1")]);
    assert_snapshot!(made, @r#"
    exit 0
    --- stdout
    Creating ./third
    --- stderr
    level=WARN msg="Overwriting existing file" file={here}/third/Chart.yaml
    "#);
}

#[test]
fn a_starter_can_be_named_or_given_by_path() {
    let env = TestEnv::new();
    chart::write(&env);
    let (here, starters) = (env.path().join("web"), env.path().join(".local/share/helm/starters"));
    std::fs::create_dir_all(&starters).unwrap();
    std::os::unix::fs::symlink(&here, starters.join("mine")).unwrap();
    assert_snapshot!(env.helm("create one --starter mine"), @"
    exit 0
    --- stdout
    Creating one
    ");
    assert_snapshot!(env.helm(&format!("create two -p {}", here.display())), @"
    exit 0
    --- stdout
    Creating two
    ");
    assert_snapshot!(env.helm("create three -p none"), @"
    exit 1
    --- stdout
    Creating three
    --- stderr
    Error: could not load {here}/.local/share/helm/starters/none: stat {here}/.local/share/helm/starters/none: no such file or directory
    ");
    assert!(env.path().join("two/templates/config.yaml").exists());
}

#[test]
fn bad_names_and_versions_are_refused() {
    let env = TestEnv::new();
    assert_snapshot!(env.helm("create bad@name"), @r#"
    exit 1
    --- stdout
    Creating bad@name
    --- stderr
    Error: chart name must match the regular expression "^[a-zA-Z0-9._-]+$"
    "#);
    assert_snapshot!(env.helm("create x --chart-api-version v3"), @"
    exit 1
    --- stdout
    Creating x
    --- stderr
    Error: this feature has been marked as experimental and is not enabled by default. Please set HELM_EXPERIMENTAL_CHART_V3=1 in your environment to use this feature
    ");
    assert_snapshot!(env.pintle("create x --chart-api-version v9"), @"
    exit 2
    --- stdout
    Creating x
    --- stderr
    error: unsupported chart API version: v9 (supported: v2, v3, helm.sh/v3)
    ");
    assert_snapshot!(env.helm("create"), @r#"
    exit 1
    --- stderr
    Error: "helm create" requires 1 argument

    Usage:  helm create NAME [flags]
    "#);
}

#[test]
fn v3_charts_can_only_be_created_and_shown() {
    let env = TestEnv::new();
    let gate = [("HELM_EXPERIMENTAL_CHART_V3", "1")];
    assert_snapshot!(env.helm_with("create x --chart-api-version v3", &gate), @"
    exit 0
    --- stdout
    Creating x
    ");
    assert_snapshot!(env.helm_with("create y --chart-api-version v3", &[("HELM_EXPERIMENTAL_CHART_V3", "")]), @"
    exit 1
    --- stdout
    Creating y
    --- stderr
    Error: this feature has been marked as experimental and is not enabled by default. Please set HELM_EXPERIMENTAL_CHART_V3=1 in your environment to use this feature
    ");
    assert!(env.helm("show chart x").contains("apiVersion: v3\n"));
    // A starter chart makes no difference.
    let starter = env.path().join("x").display().to_string();
    env.helm_with(&format!("create z --chart-api-version v3 --starter {starter}"), &gate);
    assert!(env.helm("show chart z").contains("apiVersion: v3\n"));
    for line in ["template x", "package x"] {
        assert_eq!(
            env.helm_with(line, &gate),
            "exit 1\n--- stderr\nError: invalid chart apiVersion\n",
            "{line}"
        );
    }
    for (line, prefix) in
        [("install web x --dry-run=client", "INSTALLATION FAILED"), ("upgrade web x", "UPGRADE FAILED")]
    {
        let line = format!("{line} {}", crate::support::cluster::start());
        assert_eq!(
            env.helm(&line),
            format!("exit 1\n--- stderr\nError: {prefix}: invalid chart apiVersion\n")
        );
    }
    assert!(env.pintle("template x").contains("hint: `apiVersion: v3` is experimental"));
}

/// What `kubectl get … -o yaml` prints: a List with what servers add.
const RUNNING: &str = r#"apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    annotations:
      deployment.kubernetes.io/revision: "3"
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"apps/v1"}
    creationTimestamp: "2026-01-02T03:04:05Z"
    generation: 3
    labels: {app: shop-web}
    managedFields: [{manager: kubectl}]
    name: shop-web
    namespace: shop
    resourceVersion: "12345"
    uid: 6f3a
  spec:
    replicas: 3
    selector: {matchLabels: {app: shop-web}}
    template:
      metadata: {labels: {app: shop-web}}
      spec:
        serviceAccountName: shop-web
        containers:
        - name: web
          image: registry.example.com:5000/shop/web:2.7.1
          imagePullPolicy: IfNotPresent
          args: ["--message", "{{ not a template }}"]
          env:
          - {name: LOG_LEVEL, value: info}
          - {name: TOKEN, valueFrom: {secretKeyRef: {name: shop-token, key: token, optional: true}}}
          ports: [{containerPort: 8080, name: http}]
          resources: {requests: {cpu: 100m, memory: 64Mi}}
  status: {replicas: 3}
- apiVersion: v1
  kind: Service
  metadata: {name: shop-web, namespace: shop}
  spec:
    clusterIP: 10.96.1.2
    clusterIPs: [10.96.1.2]
    ports: [{name: http, port: 80, targetPort: http}]
    selector: {app: shop-web}
    type: ClusterIP
  status: {loadBalancer: {}}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: shop-settings, namespace: shop}
  data:
    color: red
    page.html: |
      <p>{{ .Values.no }}</p>
      <p>second line</p>
- apiVersion: v1
  kind: ServiceAccount
  metadata: {name: shop-web, namespace: shop}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: shop-web, namespace: shop}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
  subjects: [{kind: ServiceAccount, name: shop-web, namespace: shop}]
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: shop-web, namespace: shop}
  spec: {maxReplicas: 5, minReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop-web}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: shop}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: carts.shop.example.com}
  spec:
    group: shop.example.com
    names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
    scope: Namespaced
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
- apiVersion: v1
  kind: Namespace
  metadata: {name: shop}
"#;

#[test]
fn a_new_chart_passes_its_own_checks_without_a_warning() {
    let env = TestEnv::new();
    assert_snapshot!(env.pintle("create web"), @"
    exit 0
    --- stdout
    Creating web
    --- stderr
    next: `pintle template ./web` renders it, `pintle check ./web` and `pintle unittest ./web` check it, and
          `pintle install demo ./web --cluster embedded` tries it without a cluster
    ");
    let again = env.pintle("create web");
    assert!(again.starts_with("exit 2\n") && again.contains("--force"), "{again}");
    assert!(env.pintle("create web --force").starts_with("exit 0\n"));
    for line in [
        "check web",
        "lint web",
        "unittest web",
        "rehearse web",
        "docs web --check",
        "schema derive web --check",
        "template web",
        "template web -f web/ci/ingress-values.yaml",
        "template web -f web/ci/autoscaling-values.yaml",
    ] {
        let shown = env.pintle(line);
        assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
        for word in ["warning", "WARNING", "warn:"] {
            assert!(!shown.replace("0 warnings", "").contains(word), "{line}: {shown}");
        }
    }
}

#[test]
fn a_chart_of_manifests_renders_to_the_same_objects() {
    let env = TestEnv::new();
    env.write("running.yaml", RUNNING);
    assert_snapshot!(env.pintle("create shop --from running.yaml"), @"
    exit 0
    --- stdout
    Created shop from 7 objects and 1 CRD, with 13 values; its templates render to the same objects
    --- stderr
    note: Namespace shop is left out: `--create-namespace` of install makes it
    ");
    let values = std::fs::read_to_string(env.path().join("shop/values.yaml")).unwrap();
    assert_snapshot!(values, @"
    # The settings of shop and their defaults.

    # -- PersistentVolumeClaim data
    data:
      storage:
        size: 8Gi

    # -- ConfigMap shop-settings
    shopSettings:
      config:
        color: red

    # -- Deployment shop-web, Service shop-web, HorizontalPodAutoscaler shop-web
    shopWeb:
      args:
      - --message
      - '{{ not a template }}'
      autoscaling:
        maxReplicas: 5
        minReplicas: 2
      env:
        LOG_LEVEL: info
      image:
        repository: registry.example.com:5000/shop/web
        tag: 2.7.1
      pullPolicy: IfNotPresent
      replicas: 3
      resources:
        requests:
          cpu: 100m
          memory: 64Mi
      service:
        port: 80
        type: ClusterIP
    ");
    let rendered = env.pintle("template demo shop -n elsewhere --set shopWeb.replicas=1");
    assert!(rendered.starts_with("exit 0\n"), "{rendered}");
    for text in [
        "image: \"registry.example.com:5000/shop/web:2.7.1\"",
        "replicas: 1",
        "{{ not a template }}",
        "<p>{{ .Values.no }}</p>",
        "namespace: elsewhere",
    ] {
        assert!(rendered.contains(text), "{text}: {rendered}");
    }
    for text in
        ["resourceVersion", "10.96.1.2", "last-applied", "status:", "creationTimestamp", "namespace: shop\n"]
    {
        assert!(!rendered.contains(text), "{text}: {rendered}");
    }
    assert!(env.path().join("shop/crds/carts.shop.example.com.yaml").exists());
    for line in ["lint shop", "template shop", "schema derive shop --check", "rehearse shop"] {
        let shown = env.pintle(line);
        assert!(shown.starts_with("exit 0\n"), "{line}: {shown}");
    }
}

#[test]
fn manifests_that_no_chart_can_be_made_of_are_refused() {
    let env = TestEnv::new();
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (text, reason) in [
        ("", "the manifests have no objects"),
        ("a: [", "bad.yaml"),
        ("apiVersion: v1\nkind: ConfigMap\n", "an object has no kind or no name"),
        (&format!("{twice}---\n{twice}"), "ConfigMap a is there twice"),
    ] {
        env.write("bad.yaml", text);
        let shown = env.pintle("create web --from bad.yaml");
        assert!(shown.starts_with("exit 2\n") && shown.contains(reason), "{text}: {shown}");
        assert!(!env.path().join("web").exists(), "{text}");
    }
    let name = env.pintle("create 'a b' --from bad.yaml");
    assert!(name.contains("chart name must match"), "{name}");
    let missing = env.pintle("create web --from bda.yaml");
    assert!(missing.contains("did you mean `bad.yaml`?"), "{missing}");
}

#[test]
fn hostile_names_stay_in_the_chart_and_end() {
    let env = TestEnv::new();
    // Names that are paths, that look like what stands for a value, that break comments, and that are keys of others.
    let objects: Vec<String> = [
        ("ConfigMap", "../../escape", "data: {a: b}"),
        ("../../../Kind", "x", "spec: {a: b}"),
        ("Deployment", "value-hole0x", "spec: {replicas: 2, template: {spec: {containers: [{name: value-hole1x, image: a:b}]}}}"),
        ("ConfigMap", "global", "data: {a: valueHole0x, b: \"{{ fail \\\"x\\\" }}\", c: \"{{- end }}\"}"),
        ("ConfigMap", "line\\nimage: other", "data: {a: b}"),
        ("Service", "1st", "spec: {type: ClusterIP, ports: [{port: 80}, {name: a, port: 90071992547409931}]}"),
        ("StatefulSet", "same", "spec: {replicas: 1, template: {spec: {containers: [{name: a-b, image: x:1}, {name: aB, image: y:2}]}}}"),
    ]
    .iter()
    .map(|(kind, name, rest)| format!("apiVersion: v1\nkind: \"{kind}\"\nmetadata: {{name: \"{name}\"}}\n{rest}\n"))
    .collect();
    env.write("hostile.yaml", &objects.join("---\n"));
    let made = env.pintle("create inner/web --from hostile.yaml");
    assert!(made.contains("no such file or directory"), "{made}");
    std::fs::create_dir(env.path().join("inner")).unwrap();
    let made = env.pintle("create inner/web --from hostile.yaml");
    assert!(made.starts_with("exit 0\n"), "{made}");
    let rendered = env.pintle("template inner/web");
    assert!(rendered.starts_with("exit 0\n") && !rendered.contains("no template reads"), "{rendered}");
    let outside: Vec<_> = std::fs::read_dir(env.path().join("inner")).unwrap().collect();
    assert_eq!(outside.len(), 1);
    assert!(env.path().join("inner/web/templates/-..-..-escape-configmap.yaml").exists());
    assert!(!env.path().join("escape-configmap.yaml").exists());
    let values = std::fs::read_to_string(env.path().join("inner/web/values.yaml")).unwrap();
    assert!(!values.contains("\nimage: other") && values.contains("nglobal:"), "{values}");
}
