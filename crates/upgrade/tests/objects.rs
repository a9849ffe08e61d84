//! What an upgrade demands, and what it does to objects.

use pintle_upgrade::{FindingKind, Report, Severity};

use crate::support::{TestEnv, deployment, of_kind};

fn only(report: &Report, kind: FindingKind) -> (Severity, String, String) {
    match of_kind(report, kind).as_slice() {
        [finding] => (finding.severity, finding.subject.clone(), finding.message.clone()),
        found => panic!("{} findings of {}: {:#?}", found.len(), kind.name(), report.findings),
    }
}

#[test]
fn changed_defaults_that_reach_an_object_are_told_from_others() {
    let env = TestEnv::default()
        .both(
            "templates/d.yaml",
            &deployment("", "        ports: [{name: {{ .Values.port }}, containerPort: 80}]\n", ""),
        )
        .both(
            "templates/x.yaml",
            "{{ if .Values.off }}\nkind: X\nmetadata: {name: {{ .Values.unused }}}\n{{ end }}\n",
        )
        .before("values.yaml", "port: web\nunused: a\noff: false\n")
        .after("values.yaml", "port: http-web\nunused: b\noff: false\n");
    let report = env.check();
    let found = of_kind(&report, FindingKind::ChangedDefault);
    let shown: Vec<_> =
        found.iter().map(|found| (found.subject.as_str(), found.severity, found.objects.clone())).collect();
    assert_eq!(
        shown,
        [("port", Severity::Warning, vec!["Deployment/web".to_owned()]), ("unused", Severity::Info, vec![])]
    );
    let report = env.user("port: mine\n").check();
    assert!(
        of_kind(&report, FindingKind::ChangedDefault).iter().all(|found| found.severity == Severity::Info)
    );
}

#[test]
fn required_values_fail_texts_and_schemas_are_errors() {
    let schema = "{\"properties\": {\"size\": {\"type\": \"integer\"}}}";
    let env = TestEnv::default()
        .after("templates/a.yaml", "a: {{ required \"domain is required\" .Values.domain }}\n{{ if .Values.old }}{{ fail \"old is gone\" }}{{ end }}\n")
        .before("templates/a.yaml", "kind: ConfigMap\nmetadata: {name: {{ .Values.old }}}\ndata: {size: '{{ .Values.size }}'}\n")
        .after("values.schema.json", schema)
        .user("old: x\nsize: big\n");
    let report = env.check();
    assert_eq!(only(&report, FindingKind::RequiredValue).1, "domain is required");
    assert_eq!(only(&report, FindingKind::Fail).1, "old is gone");
    assert!(only(&report, FindingKind::SchemaViolation).2.contains("size"));
    assert_eq!(report.worst(), Some(Severity::Error));
}

#[test]
fn a_render_that_fails_is_an_error_and_not_safe() {
    let env = TestEnv::default()
        .before("templates/a.yaml", "kind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .Values.list }}'}\n")
        .after(
            "templates/a.yaml",
            "kind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ index .Values.list 5 }}'}\n",
        )
        .user("list: [a]\n");
    assert_eq!(only(&env.check(), FindingKind::RenderError).0, Severity::Error);
}

#[test]
fn a_kubernetes_version_that_is_not_supported_is_an_error() {
    let chart = |range: &str| format!("apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: '{range}'\n");
    let env = TestEnv::default()
        .before("Chart.yaml", &chart(">=1.20.0-0"))
        .after("Chart.yaml", &chart(">=1.25.0-0"));
    assert_eq!(only(&env.check(), FindingKind::KubeVersion).0, Severity::Info);
    let env = env.after("Chart.yaml", &chart(">=99.0.0-0"));
    assert_eq!(only(&env.check(), FindingKind::KubeVersion).0, Severity::Error);
}

#[test]
fn immutable_fields_that_differ_are_errors() {
    let set = |selector: &str, size: &str, name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec:\n  replicas: 1\n  serviceName: {name}\n  selector: {{matchLabels: {{app: {selector}}}}}\n  volumeClaimTemplates:\n  - metadata: {{name: data}}\n    spec: {{resources: {{requests: {{storage: {size}}}}}}}\n"
        )
    };
    let binding = |role: &str| {
        format!("kind: RoleBinding\nmetadata: {{name: b}}\nroleRef: {{kind: Role, name: {role}}}\n")
    };
    let env = TestEnv::default()
        .before("templates/s.yaml", &set("a", "1Gi", "x"))
        .after("templates/s.yaml", &set("b", "2Gi", "x"))
        .before("templates/b.yaml", &binding("one"))
        .after("templates/b.yaml", &binding("two"));
    let report = env.check();
    let subjects: Vec<&str> =
        of_kind(&report, FindingKind::ImmutableField).iter().map(|found| found.subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["RoleBinding/b roleRef", "StatefulSet/db spec.selector", "StatefulSet/db spec.volumeClaimTemplates"]
    );
}

#[test]
fn objects_are_removed_renamed_and_added() {
    let config = |name: &str, text: &str| {
        format!(
            "kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: {text}, more: same, again: same}}\n"
        )
    };
    let env = TestEnv::default()
        .before("templates/a.yaml", &config("web-config", "x"))
        .after("templates/a.yaml", &config("web-settings", "x"))
        .before(
            "templates/p.yaml",
            "kind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: fast}\n",
        )
        .after("templates/s.yaml", "kind: Service\nmetadata: {name: fresh}\n");
    let report = env.check();
    let (severity, subject, message) = only(&report, FindingKind::RenamedObject);
    assert_eq!((severity, subject.as_str()), (Severity::Warning, "ConfigMap/web-config"));
    assert!(message.contains("ConfigMap/web-settings"));
    let (severity, subject, _) = only(&report, FindingKind::RemovedObject);
    assert_eq!((severity, subject.as_str()), (Severity::Error, "PersistentVolumeClaim/data"));
    assert_eq!(only(&report, FindingKind::AddedObject).1, "Service/fresh");
}

#[test]
fn definitions_that_lose_versions_or_fields_are_found() {
    let crd = |name: &str, version: &str, field: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\nspec:\n  group: x.io\n  names: {{kind: X, plural: xs}}\n  scope: Namespaced\n  versions:\n  - name: {version}\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{field}: {{type: string}}}}}}}}}}}}\n"
        )
    };
    let env = TestEnv::default()
        .before("crds/a.yaml", &crd("xs.x.io", "v1alpha1", "a"))
        .after("crds/a.yaml", &crd("xs.x.io", "v1", "a"))
        .before("crds/b.yaml", &crd("ys.x.io", "v1", "a"))
        .after("crds/b.yaml", &crd("ys.x.io", "v1", "b"))
        .before("crds/c.yaml", &crd("zs.x.io", "v1", "a"));
    let report = env.check();
    assert_eq!(only(&report, FindingKind::RemovedCrdVersion).1, "xs.x.io");
    assert_eq!(only(&report, FindingKind::RemovedCrdField).1, "ys.x.io spec.a");
    assert_eq!(only(&report, FindingKind::RemovedCrd).1, "zs.x.io");
}

#[test]
fn hooks_and_major_image_steps_are_found() {
    let job = |events: &str| {
        format!("kind: Job\nmetadata: {{name: migrate, annotations: {{helm.sh/hook: {events}}}}}\n")
    };
    let env = TestEnv::default()
        .before("templates/j.yaml", &job("pre-install"))
        .after("templates/j.yaml", &job("pre-upgrade"))
        .before("templates/d.yaml", &deployment("", "", ""))
        .after("templates/d.yaml", &deployment("", "", "").replace("nginx:1.25", "nginx:2.0"));
    let report = env.check();
    assert!(only(&report, FindingKind::ChangedHook).2.contains("pre-upgrade instead of pre-install"));
    let (_, subject, message) = only(&report, FindingKind::MajorImage);
    assert_eq!(subject, "Deployment/web spec.template.spec.containers[name=web].image");
    assert!(message.contains("from 1.25 to 2.0"), "{message}");
}
