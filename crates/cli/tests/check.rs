//! `check`, and `lint --all`

use crate::support;

use support::TestEnv;

/// A chart with one of each: a wrong type in a partial, a removed API, an unknown field, and unused values.
fn web() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "replicas: two\nunused:\n  deep: 1\n");
    env.write(
        "web/templates/_helpers.tpl",
        "{{ define \"web.spec\" -}}\nselector:\n  matchLabels: {app: web}\nreplicas: {{ .Values.replicas }}\n{{- end }}\n",
    );
    env.write(
        "web/templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  {{- include \"web.spec\" . | nindent 2 }}\n  \
         template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n        - name: web\n          \
         image: nginx:latest\n          imagepullPolicy: Always\n",
    );
    env.write(
        "web/templates/cron.yaml",
        "{{- if .Values.cron }}\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: cron\nspec:\n  schedule: '* * * * *'\n  \
         jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers: \
         [{name: a, image: 'a:1'}]\n{{- end }}\n",
    );
    env.write("web/ci/cron-values.yaml", "cron: true\nreplicas: 2\n");
    env
}

/// The lines of findings with one of these rules.
fn findings(output: &str, rules: &[&str]) -> Vec<String> {
    let has = |line: &&str| rules.iter().any(|rule| line.ends_with(&format!("[{rule}]")));
    output.lines().filter(has).map(str::to_owned).collect()
}

#[test]
fn findings_have_the_line_of_the_template_that_wrote_them() {
    let output = web().pintle("check web");
    assert!(output.starts_with("exit 1"), "{output}");
    let found = findings(
        &output,
        &["schema", "unknown-field", "removed-api", "undefined-value", "unused-value", "latest-tag"],
    );
    assert_eq!(
        found,
        [
            "web/templates/_helpers.tpl:4: error: spec.replicas: got string, want null or integer [schema]",
            "web/templates/cron.yaml:1: info: templates read cron, which values.yaml does not have [undefined-value]",
            "web/templates/cron.yaml:2: error: batch/v1beta1 CronJob is not served since Kubernetes 1.25; use batch/v1 CronJob [removed-api]",
            "web/templates/deployment.yaml:13: warning: container \"web\": image \"nginx:latest\" has the tag latest [latest-tag]",
            "web/templates/deployment.yaml:14: warning: unknown field 'imagepullPolicy' in spec.template.spec.containers[0]; did you mean imagePullPolicy? [unknown-field]",
            "web/values.yaml:2: warning: no template reads unused [unused-value]",
        ]
    );
}

#[test]
fn fixes_change_what_needs_no_decision() {
    let env = web();
    let output = env.pintle("check web --fix --set replicas=1 --fail-on never");
    assert!(output.starts_with("exit 0"), "{output}");
    assert!(findings(&output, &["unknown-field", "removed-api"]).is_empty(), "{output}");
    let read = |path: &str| std::fs::read_to_string(env.path().join(path)).expect(path);
    assert!(read("web/templates/cron.yaml").contains("\napiVersion: batch/v1\n"));
    assert!(read("web/templates/deployment.yaml").ends_with("          imagePullPolicy: Always\n"));
}

#[test]
fn severities_come_from_flags_files_and_annotations() {
    let env = web();
    let flags = "check web --set replicas=1 --rule removed-api=off --rule minimum-replicas=error --strict";
    let output = env.pintle(flags);
    assert!(findings(&output, &["removed-api"]).is_empty(), "{output}");
    assert_eq!(findings(&output, &["minimum-replicas"]).len(), 1, "{output}");
    assert!(findings(&output, &["unknown-field"])[0].contains(": error: "), "{output}");

    env.write(
        "web/.pintle-check.yaml",
        "rules: {removed-api: off}\nignore: [{rule: unknown-field, kind: Deployment}]\n",
    );
    let output = env.pintle("check web --set replicas=1");
    assert!(output.starts_with("exit 0") && output.contains("1 ignored"), "{output}");
    env.write("other.yaml", "rules: {}\n");
    assert!(env.pintle("check web --set replicas=1 --config other.yaml").starts_with("exit 1"));
    env.write("bad.yaml", "rules: {no-such-rule: off}\n");
    assert!(env.pintle("check web --config bad.yaml").contains("bad.yaml: rules.no-such-rule: unknown rule"));

    env.write(
        "objects/a.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    ignore-check.kube-linter.io/latest-tag: no\nspec:\n  \
         containers: [{name: a, image: a}]\n",
    );
    let output = env.pintle("check objects");
    assert!(findings(&output, &["latest-tag"]).is_empty() && output.contains("1 ignored"), "{output}");
}

#[test]
fn custom_resources_need_a_schema() {
    let env = TestEnv::new();
    env.write(
        "o/a.yaml",
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: big}\n",
    );
    let output = env.pintle("check o");
    assert_eq!(
        findings(&output, &["missing-schema"]),
        ["o/a.yaml:2: error: there is no schema for example.com/v1 Widget [missing-schema]"]
    );
    assert!(env.pintle("check o --ignore-missing-schemas").starts_with("exit 0"));
    let schema = r#"{"properties":{"spec":{"properties":{"size":{"type":"integer"}}}}}"#;
    env.write("schemas/example.com/widget_v1.json", schema);
    let output = env.pintle(
        "check o --schema-location schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json",
    );
    assert_eq!(
        findings(&output, &["schema"]),
        ["o/a.yaml:4: error: spec.size: got string, want integer [schema]"]
    );
    env.write(
        "o/crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  \
         group: example.com\n  scope: Namespaced\n  names: {kind: Widget, plural: widgets}\n  versions:\n  - name: v1\n    served: true\n    \
         storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            \
         type: object\n            properties: {size: {type: string, enum: [small]}}\n",
    );
    let output = env.pintle("check o");
    assert_eq!(
        findings(&output, &["schema"]),
        ["o/a.yaml:4: error: spec.size: value must be 'small' [schema]"]
    );
}

#[test]
fn versions_are_checked_one_by_one() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/a.yaml",
        "apiVersion: {{ if .Capabilities.APIVersions.Has \"example.com/v1\" }}v1{{ else }}v2{{ end }}\nkind: ConfigMap\nmetadata:\n  \
         name: a\ndata:\n  version: {{ .Capabilities.KubeVersion.Minor | quote }}\n",
    );
    let output = env.pintle(
        "check web --api-versions example.com/v1 --kubernetes-version 1.34,1.36 --skip-scripts --output json",
    );
    assert_eq!(output.matches("\"statusValid\"").count(), 2, "{output}");
    assert!(env.pintle("check web --kubernetes-version 1.2").contains("1.2 is not supported"));
    let output = env.pintle("check web --output github");
    assert!(output.contains("::error file=web/templates/a.yaml,line=2,title=missing-schema::"), "{output}");
    assert!(env.pintle("check web --output nothing").starts_with("exit 2"));
    assert!(env.pintle("check --list-rules").contains("\nlatest-tag "));
}

#[test]
fn lint_checks_objects_with_all() {
    let output = web().pintle("lint web --all");
    assert!(output.contains("==> Linting web") && output.contains("1 chart(s) failed"), "{output}");
    assert_eq!(findings(&output, &["schema"]).len(), 1, "{output}");
}

/// A CRD for a kind whose field `size` has this schema.
fn crd(kind: &str, size: &str) -> String {
    let plural = kind.to_lowercase() + "s";
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.example.com}}\nspec:\n  \
         group: example.com\n  names: {{kind: {kind}, plural: {plural}}}\n  scope: Namespaced\n  versions:\n    - name: v1\n      \
         served: true\n      storage: true\n      schema:\n        openAPIV3Schema:\n          type: object\n          properties:\n            \
         size: {size}\n"
    )
}

#[test]
fn a_crd_that_cannot_be_used_affects_its_own_objects_only() {
    let env = TestEnv::new();
    env.write("o/bad.yaml", &crd("Bad", "{type: string, pattern: '('}"));
    env.write("o/good.yaml", &crd("Good", "{type: integer}"));
    env.write("o/a.yaml", "apiVersion: example.com/v1\nkind: Bad\nmetadata: {name: a}\nsize: x\n");
    env.write("o/b.yaml", "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: b}\nsize: x\n");
    env.write("o/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: 1}\n");
    let found = findings(&env.pintle("check o"), &["schema", "missing-schema"]);
    assert_eq!(
        found,
        [
            "o/a.yaml:2: error: the schema of example.com/v1 Bad cannot be used [missing-schema]",
            "o/b.yaml:4: error: size: got string, want integer [schema]",
            "o/c.yaml:4: error: data.a: got number, want null or string [schema]",
        ]
    );
}

#[test]
fn crds_are_found_in_directories_and_files() {
    let env = TestEnv::new();
    env.write("defined/deep/good.yaml", &crd("Good", "{type: integer}"));
    env.write("b.yaml", "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: b}\nsize: x\n");
    assert_eq!(findings(&env.pintle("check b.yaml"), &["missing-schema"]).len(), 1);
    for location in ["defined", "defined/deep/good.yaml"] {
        let output = env.pintle(&format!("check b.yaml --schema-location {location}"));
        assert_eq!(
            findings(&output, &["schema", "missing-schema"]),
            ["b.yaml:4: error: size: got string, want integer [schema]"]
        );
    }
}

#[test]
fn a_server_that_fails_is_not_taken_for_one_without_the_schema() {
    let env = TestEnv::new();
    env.write("b.yaml", "apiVersion: example.com/v1\nkind: Good\nmetadata: {name: b}\nsize: x\n");
    let server = crate::repositories::server::Server::plain(&std::sync::Arc::default());
    let path = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";
    let check =
        |address: &str| env.pintle(&format!("check b.yaml --schema-location http://{address}/{path}"));
    let missing = check(&server.address);
    assert_eq!(findings(&missing, &["missing-schema"]).len(), 1, "{missing}");
    assert!(missing.contains("there is no schema for example.com/v1 Good"), "{missing}");
    let failing = check("127.0.0.1:1");
    assert!(failing.contains("example.com/good_v1.json") && failing.contains("refused"), "{failing}");
    assert!(!failing.contains("there is no schema"), "{failing}");
}

#[test]
fn what_a_server_refuses_is_found_with_the_line_of_the_template() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "memory: 64MB\nport: 80000\n");
    env.write(
        "web/templates/a.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: Web_1}\nspec:\n  ports:\n    - port: {{ .Values.port }}\n---\n\
         apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources:\n    \
         requests:\n      storage: {{ .Values.memory }}\n",
    );
    let shown = env.pintle("check web --rule dangling-service=off");
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    for text in [
        "web/templates/a.yaml:3: error: metadata.name: Invalid value: \"Web_1\"",
        "web/templates/a.yaml:6: error: spec.ports[0].port: Invalid value: 80000",
        "web/templates/a.yaml:15: error: spec.resources.requests[storage]: Invalid value: \"64MB\": not a quantity; did you mean \
         `64Mi` or `64M`? [refused-object]",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let off = env.pintle("check web --rule refused-object=off --rule dangling-service=off");
    assert!(off.starts_with("exit 0\n"), "{off}");
}

#[test]
fn fix_says_what_it_left_and_why() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "api: batch/v1beta1\n");
    let job = |api: &str, name: &str| {
        format!(
            "apiVersion: {api}\nkind: CronJob\nmetadata: {{name: {name}}}\nspec:\n  schedule: \"* * * * *\"\n  jobTemplate:\n    spec:\n      \
             template:\n        spec:\n          restartPolicy: Never\n          containers: [{{name: a, image: 'a:1'}}]\n"
        )
    };
    env.write("web/templates/a.yaml", &job("batch/v1beta1", "a"));
    env.write("web/templates/b.yaml", &job("{{ .Values.api }}", "b"));
    let shown = env.pintle("check web --fix");
    assert!(shown.contains("fixed 1 place in web/templates/a.yaml"), "{shown}");
    assert!(
        shown.contains(
            "left web/templates/b.yaml:1: the template computes the line, or has the text more than once; write `batch/v1` there"
        ),
        "{shown}"
    );
    assert!(shown.contains("whose fix needs a decision"), "{shown}");
}

#[test]
fn reports_have_colors_on_terminals_only() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/templates/a.yaml", "apiVersion: v1\nkind: Nothing\nmetadata: {name: a}\n");
    for line in ["check web", "lint web", "rehearse web"] {
        let plain = env.pintle(line);
        assert!(!plain.contains('\u{1b}'), "{line}: {plain}");
        let on_terminal = crate::support::terminal::Terminal::start_as(&env, "pintle", line, true);
        let (_, _, shown) = on_terminal.end();
        assert!(shown.contains("\u{1b}[1;3") || shown.contains("\u{1b}[36m"), "{line}: {shown}");
    }
}
