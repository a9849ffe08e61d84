//! Values that nothing reads any more, and where they moved.

use pintle_upgrade::{FindingKind, Severity, Verdict};

use crate::support::{TestEnv, assert_proven, deployment, guess, of_kind};

fn replicas() -> TestEnv {
    TestEnv::default()
        .before("values.yaml", "replicas: 1\nname: x\n")
        .after("values.yaml", "replicaCount: 1\nname: x\n")
        .before("templates/d.yaml", &deployment("  replicas: {{ .Values.replicas }}\n", "", ""))
        .after("templates/d.yaml", &deployment("  replicas: {{ .Values.replicaCount }}\n", "", ""))
        .both("templates/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {name: {{ .Values.name }}}\n")
}

#[test]
fn a_renamed_value_is_found_proven_and_written() {
    let env = replicas().user("# ours\nreplicas: 3   # enough\nname: y\n");
    let report = env.check();
    assert_proven(&report, "replicas", "replicaCount");
    assert!(report.needs_action() && !report.needs_action_after_moves());
    assert_eq!(env.written(), "# ours\nreplicaCount: 3   # enough\nname: y\n");
}

#[test]
fn values_that_both_charts_read_alike_need_nothing() {
    let report = replicas().user("name: y\n").check();
    assert!(!report.needs_action(), "{:?}", report.findings);
}

#[test]
fn a_value_that_neither_chart_reads_is_only_a_note() {
    let report = replicas().user("tpyo: 1\n").check();
    let found = of_kind(&report, FindingKind::UnreadValue);
    assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
}

#[test]
fn a_value_without_a_successor_is_reported_and_nothing_is_proposed_as_proven() {
    let env = TestEnv::default()
        .before("values.yaml", "debug: {flag: a}\nlevel: info\n")
        .after("values.yaml", "level: info\n")
        .before(
            "templates/d.yaml",
            &deployment("", "        args: [{{ .Values.debug.flag }}, {{ .Values.level }}]\n", ""),
        )
        .after("templates/d.yaml", &deployment("", "        args: [{{ .Values.level }}]\n", ""))
        .user("debug: {flag: b}\n");
    let report = env.check();
    let found = of_kind(&report, FindingKind::UnreadValue);
    assert_eq!((found[0].subject.as_str(), found[0].severity), ("debug", Severity::Warning));
    assert_eq!(found[0].objects, ["Deployment/web"]);
    assert!(report.moves.is_empty());
}

#[test]
fn names_that_are_not_similar_are_found_by_what_templates_read_in_their_place() {
    let secret = |user: &str, password: &str| {
        format!(
            "kind: Secret\nmetadata: {{name: s}}\nstringData:\n  user: {{{{ .Values.{user} }}}}\n  password: {{{{ .Values.{password} }}}}\n"
        )
    };
    let env = TestEnv::default()
        .before("values.yaml", "accessKey: {password: ''}\nsecretKey: {password: ''}\n")
        .after("values.yaml", "auth: {rootUser: admin, rootPassword: ''}\n")
        .before("templates/s.yaml", &secret("accessKey.password", "secretKey.password"))
        .after("templates/s.yaml", &secret("auth.rootUser", "auth.rootPassword"))
        .user("accessKey:\n  password: me\nsecretKey:\n  password: s3cret\n")
        .without_documents();
    let report = env.check();
    assert_proven(&report, "accessKey.password", "auth.rootUser");
    assert_proven(&report, "secretKey.password", "auth.rootPassword");
    assert!(!format!("{report:?}").contains("s3cret"), "values of secrets are not shown");
    assert_eq!(env.written(), "auth:\n  rootUser: me\n  rootPassword: s3cret\n");
}

#[test]
fn a_secret_whose_key_has_another_name_says_where_a_value_went() {
    let secret = |key: &str, value: &str| {
        format!("kind: Secret\nmetadata: {{name: s}}\ndata:\n  {key}: {{{{ {value} | b64enc }}}}\n")
    };
    let env = TestEnv::default()
        .before("values.yaml", "accessKey: {password: abcd}\n")
        .after("values.yaml", "auth: {rootUser: admin}\nother: text\n")
        .before("templates/s.yaml", &secret("access-key", "default .Values.accessKey.password .Values.key"))
        .after("templates/s.yaml", &secret("root-user", ".Values.auth.rootUser"))
        .both("templates/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {name: {{ .Values.other }}}\n")
        .user("accessKey: {password: my-own}\n")
        .without_documents();
    let report = env.check();
    let first = guess(&report, "accessKey.password").expect("a guess");
    assert_eq!((first.to.to_string().as_str(), first.verdict), ("auth.rootUser", Verdict::Question));
    assert!(report.moves.is_empty(), "what sets another key is never written");
}

#[test]
fn a_list_that_the_new_chart_has_itself_as_well_is_reported() {
    let file =
        |jobs: &str| format!("kind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  jobs: |\n    jobs:\n{jobs}");
    let own = "    {{- toYaml .Values.files.jobs | nindent 4 }}\n";
    let env = TestEnv::default()
        .before("values.yaml", "files: {jobs: [{name: node}]}\n")
        .after("values.yaml", "files: {}\njobs: [{name: node}]\n")
        .before("templates/c.yaml", &file(own))
        .after(
            "templates/c.yaml",
            &file(&format!(
                "    {{{{- toYaml .Values.jobs | nindent 4 }}}}\n    {{{{- with .Values.files.jobs }}}}\n{}    {{{{- end }}}}\n",
                "    {{- toYaml . | nindent 4 }}\n"
            )),
        );
    for user in ["files: {jobs: [{name: mine}]}\n", "files: {jobs: [{name: node}, {name: mine}]}\n"] {
        let report = env.clone().user(user).without_documents().check();
        let found = of_kind(&report, FindingKind::ChangedMeaning);
        assert_eq!(
            found.first().map(|found| found.severity),
            Some(Severity::Warning),
            "{:?}",
            report.findings
        );
        assert_eq!(guess(&report, "files.jobs").map(|first| first.to.to_string()).as_deref(), Some("jobs"));
    }
}

#[test]
fn what_a_value_no_longer_replaces_is_named() {
    let file = |text: &str| format!("kind: ConfigMap\nmetadata: {{name: c}}\ndata:\n{text}");
    let own = "  job: {{ .Values.job }}\n";
    let env = TestEnv::default()
        .both("values.yaml", "job: node\n")
        .before("templates/c.yaml", &file(own))
        .after("templates/c.yaml", &file("  job: node\n  other: {{ .Values.job }}\n"))
        .user("job: mine\n");
    let report = env.check();
    let found = of_kind(&report, FindingKind::ChangedMeaning);
    assert_eq!(found.first().map(|found| found.severity), Some(Severity::Warning), "{:?}", report.findings);
    assert!(found[0].message.contains("no longer replaces data.job of ConfigMap/c"), "{}", found[0].message);
}

#[test]
fn of_several_places_the_one_with_the_same_comment_is_the_first_guess() {
    let comment = "ConfigMap with extra environment variables for all pods of the release";
    let from = |value: &str| {
        deployment("", &format!("        envFrom: [{{configMapRef: {{name: {{{{ {value} }}}}}}}}]\n"), "")
    };
    let env = TestEnv::default()
        .before("values.yaml", &format!("# {comment}\nextraEnvVarsConfigMap: a\n"))
        .after("values.yaml", &format!("# {comment}\nextraEnvVarsCM: ''\nmaster:\n  # ConfigMap for master nodes\n  extraEnvVarsCM: ''\n"))
        .before("templates/d.yaml", &from(".Values.extraEnvVarsConfigMap"))
        .after("templates/d.yaml", &from("or .Values.master.extraEnvVarsCM .Values.extraEnvVarsCM"))
        .user("extraEnvVarsConfigMap: b\n")
        .without_documents();
    let report = env.check();
    let first = guess(&report, "extraEnvVarsConfigMap").expect("a guess");
    assert_eq!(first.to.to_string(), "extraEnvVarsCM");
}

#[test]
fn a_value_that_moves_into_a_subchart_is_found() {
    let monitor = |value: &str| {
        format!(
            "kind: ServiceMonitor\nmetadata: {{name: exporter}}\nspec: {{jobLabel: '{{{{ .Values.{value} }}}}'}}\n"
        )
    };
    let chart =
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: node-exporter, version: 1.0.0}\n";
    let env = TestEnv::default()
        .both("Chart.yaml", chart)
        .both("charts/node-exporter/Chart.yaml", "apiVersion: v2\nname: node-exporter\nversion: 1.0.0\n")
        .before("values.yaml", "nodeExporter: {jobLabel: jobLabel}\n")
        .before("templates/m.yaml", &monitor("nodeExporter.jobLabel"))
        .after("values.yaml", "node-exporter: {monitor: {jobLabel: jobLabel}}\n")
        .after("charts/node-exporter/values.yaml", "monitor: {jobLabel: ''}\n")
        .after("charts/node-exporter/templates/m.yaml", &monitor("monitor.jobLabel"))
        .user("nodeExporter:\n  jobLabel: mine\n");
    assert_proven(&env.check(), "nodeExporter.jobLabel", "node-exporter.monitor.jobLabel");
    assert_eq!(env.written(), "node-exporter:\n  monitor:\n    jobLabel: mine\n");
}

#[test]
fn conditions_that_are_off_do_not_hide_what_is_read() {
    let ingress = |value: &str| {
        format!(
            "{{{{- if .Values.ingress.enabled }}}}\nkind: Ingress\nmetadata: {{name: web}}\nspec: {{rules: [{{host: '{{{{ .Values.ingress.{value} }}}}'}}]}}\n{{{{- end }}}}\n"
        )
    };
    let env = TestEnv::default()
        .before("values.yaml", "ingress: {enabled: false, host: a.example}\n")
        .after("values.yaml", "ingress: {enabled: false, hostname: a.example}\n")
        .before("templates/i.yaml", &ingress("host"))
        .after("templates/i.yaml", &ingress("hostname"))
        .user("ingress: {host: b.example}\n");
    let report = env.check();
    assert_proven(&report, "ingress.host", "ingress.hostname");
    let evidence = guess(&report, "ingress.host").expect("a guess").evidence.join("; ");
    assert!(evidence.contains("with ingress.enabled on"), "{evidence}");
}

#[test]
fn a_name_that_lives_on_with_another_meaning_is_found() {
    let context = |pod: &str, container: &str| {
        deployment(
            "",
            &format!("        securityContext: {{{{ toJson .Values.{container} }}}}\n"),
            &format!("      securityContext: {{{{ toJson .Values.{pod} }}}}\n"),
        )
    };
    let env = TestEnv::default()
        .before("values.yaml", "securityContext: {runAsUser: 1000}\ncontainerSecurity: {}\n")
        .after("values.yaml", "podSecurityContext: {runAsUser: 1000}\nsecurityContext: {}\n")
        .before("templates/d.yaml", &context("securityContext", "containerSecurity"))
        .after("templates/d.yaml", &context("podSecurityContext", "securityContext"))
        .user("securityContext:\n  runAsUser: 2000\n");
    let report = env.check();
    let found = of_kind(&report, FindingKind::ChangedMeaning);
    assert!(!found.is_empty() && found[0].severity == Severity::Warning, "{:?}", report.findings);
    assert!(found[0].renames[0].to.to_string().starts_with("podSecurityContext"));
    assert_eq!(env.written(), "podSecurityContext:\n  runAsUser: 2000\n");
}

#[test]
fn values_that_change_places_are_moved_together() {
    let config = |global: &str, tenant: &str| {
        format!(
            "kind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  global: {{{{ .Values.{global} | quote }}}}\n  tenant: {{{{ .Values.{tenant} | quote }}}}\n"
        )
    };
    let env = TestEnv::default()
        .before("values.yaml", "global_overrides: a\noverrides: b\n")
        .after("values.yaml", "overrides: a\nper_tenant_overrides: b\n")
        .before("templates/c.yaml", &config("global_overrides", "overrides"))
        .after("templates/c.yaml", &config("overrides", "per_tenant_overrides"))
        .user("# all\nglobal_overrides: x\n# some\noverrides: y\n");
    let report = env.check();
    assert_proven(&report, "global_overrides", "overrides");
    assert_proven(&report, "overrides", "per_tenant_overrides");
    assert_eq!(env.written(), "# all\noverrides: x\n# some\nper_tenant_overrides: y\n");
}

#[test]
fn a_key_that_became_two_is_written_to_both() {
    let env = TestEnv::default()
        .before("values.yaml", "memory: 1Gi\n")
        .after("values.yaml", "resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}\n")
        .before(
            "templates/d.yaml",
            &deployment("", "        resources: {requests: {memory: {{ .Values.memory }}}, limits: {memory: {{ .Values.memory }}}}\n", ""),
        )
        .after(
            "templates/d.yaml",
            &deployment(
                "",
                "        resources: {requests: {memory: {{ .Values.resources.requests.memory }}}, limits: {memory: {{ .Values.resources.limits.memory }}}}\n",
                "",
            ),
        )
        .user("memory: 2Gi\n");
    let report = env.check();
    assert_proven(&report, "memory", "resources.requests.memory");
    let rename = guess(&report, "memory").expect("a guess");
    assert_eq!(rename.also, ["resources.limits.memory".parse().expect("a path")]);
    assert_eq!(env.written(), "resources:\n  requests:\n    memory: 2Gi\n  limits:\n    memory: 2Gi\n");
}

#[test]
fn an_old_key_that_a_helper_still_honours_is_not_without_effect() {
    let env = replicas()
        .after("templates/d.yaml", &deployment("  replicas: {{ include \"web.replicas\" . }}\n", "", ""))
        .after(
            "templates/_h.tpl",
            "{{ define \"web.replicas\" }}{{ .Values.replicas | default .Values.replicaCount }}{{ end }}",
        )
        .user("replicas: 3\n");
    let report = env.check();
    assert!(
        of_kind(&report, FindingKind::UnreadValue).is_empty() && !report.needs_action(),
        "{:?}",
        report.findings
    );
}

#[test]
fn an_old_key_that_only_leads_to_fail_is_unread() {
    let env = replicas()
        .after("templates/_check.tpl", "{{ define \"x\" }}{{ end }}")
        .after(
            "templates/check.yaml",
            "{{- if .Values.replicas }}\n{{- fail \"replicas was renamed to replicaCount\" }}\n{{- end }}\n",
        )
        .user("replicas: 3\n");
    let report = env.check();
    assert_proven(&report, "replicas", "replicaCount");
    assert_eq!(env.written(), "replicaCount: 3\n");
}

#[test]
fn maps_that_are_printed_whole_are_read_with_all_their_keys() {
    let env = TestEnv::default()
        .both("values.yaml", "extra: {}\n")
        .both("templates/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {{ toJson .Values.extra }}\n")
        .user("extra: {any: thing, other: one}\n");
    assert!(!env.check().needs_action());
}

#[test]
fn a_type_that_changes_is_found_with_the_new_place() {
    let mount = |value: &str| deployment("", "", &format!("      hostPID: {{{{ .Values.{value} }}}}\n"));
    let env = TestEnv::default()
        .before("values.yaml", "mount: true\n")
        .after("values.yaml", "mount: {enabled: true, propagation: HostToContainer}\n")
        .before("templates/d.yaml", &mount("mount"))
        .after("templates/d.yaml", &mount("mount.enabled"))
        .user("mount: false\n");
    let report = env.check();
    assert!(!of_kind(&report, FindingKind::ChangedType).is_empty(), "{:?}", report.findings);
    assert_proven(&report, "mount", "mount.enabled");
    assert_eq!(env.written(), "mount:\n  enabled: false\n");
}

#[test]
fn texts_alone_make_a_question_and_decide_between_equals() {
    let env = TestEnv::default()
        .before("values.yaml", "first: ''\n")
        .after("values.yaml", "alpha: {value: ''}\nbeta: {value: ''}\n")
        .before("templates/c.yaml", "kind: ConfigMap\nmetadata: {name: c}\ndata: {a: '{{ .Values.first }}'}\n")
        .after("templates/c.yaml", "kind: ConfigMap\nmetadata: {name: c2}\ndata: {b: '{{ .Values.alpha.value }}', c: '{{ .Values.beta.value }}'}\n")
        .after("README.md", "## 2.0.0\n\n- `first` was renamed to `beta.value`.\n")
        .user("first: x\n");
    let report = env.check();
    let rename = guess(&report, "first").expect("a guess");
    assert_eq!((rename.to.to_string().as_str(), rename.verdict), ("beta.value", Verdict::Question));
    assert!(rename.evidence.iter().any(|line| line.contains("README.md:3")), "{rename:?}");
    assert!(report.moves.is_empty(), "what renders differently is not written");
    assert!(
        guess(&env.without_documents().check(), "first")
            .is_none_or(|rename| rename.verdict == Verdict::Question)
    );
}

#[test]
fn fields_of_items_that_nothing_reads_are_found() {
    let hosts = |field: &str| {
        format!(
            "kind: Ingress\nmetadata: {{name: i}}\nspec:\n  rules:\n  {{{{- range .Values.hosts }}}}\n  - host: {{{{ .{field} }}}}\n  {{{{- end }}}}\n"
        )
    };
    let env = TestEnv::default()
        .both("values.yaml", "hosts: []\n")
        .before("templates/i.yaml", &hosts("name"))
        .after("templates/i.yaml", &hosts("host"))
        .user("hosts: [{name: a.example}]\n");
    let report = env.check();
    let subjects: Vec<&str> = report.findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert!(subjects.contains(&"hosts[*].name"), "{subjects:?}");
}
