//! `rehearse`: one chart for each kind of problem that a rehearsal must find, and for each form of `--from` and
//! `--given`.

use crate::support;

use std::process::Command;

use support::TestEnv;

fn holds(shown: &str, parts: &[&str]) {
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
}

fn lacks(shown: &str, part: &str) {
    assert!(!shown.contains(part), "{part:?} in:\n{shown}");
}

/// A chart with one template.
fn chart(env: &TestEnv, folder: &str, version: &str, template: &str) {
    env.write(&format!("{folder}/Chart.yaml"), &format!("apiVersion: v2\nname: web\nversion: {version}\n"))
        .write(&format!("{folder}/templates/all.yaml"), template);
}

const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: one}]
";

const STATEFUL: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: a, image: one}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 1Gi}}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: 10.96.7.7
  ports: [{port: 80}]
";

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
immutable: true
data: {a: one}
";

#[test]
fn changes_of_immutable_fields_are_found() {
    let cases = [
        (JOB, "image: one", "image: two", "Job/once", "field is immutable"),
        (STATEFUL, "1Gi", "2Gi", "StatefulSet/db", "field is immutable"),
        (SERVICE, "10.96.7.7", "10.96.7.8", "Service/web", "may not change once set"),
        (CONFIG, "a: one", "a: two", "ConfigMap/fixed", "field is immutable when `immutable` is set"),
    ];
    for (template, before, after, object, why) in cases {
        let env = TestEnv::new();
        chart(&env, "old", "1.0.0", template);
        chart(&env, "new", "1.1.0", &template.replace(before, after));
        let shown = env.pintle("rehearse --verbose new --from old");
        holds(
            &shown,
            &["exit 1", "install web-1.0.0: ok", "upgrade", "web/templates/all.yaml:", object, why],
        );
        assert_eq!(shown.matches(why).count(), 1, "it is printed once:\n{shown}");
        holds(&env.pintle("rehearse --verbose old --from old"), &["exit 0"]);
    }
}

#[test]
fn an_older_chart_is_a_path_a_version_or_a_commit() {
    let env = TestEnv::new();
    chart(&env, "charts/web", "1.1.0", CONFIG);
    chart(&env, "older/web", "1.0.0", &CONFIG.replace("fixed", "older"));
    holds(&env.pintle("package older/web -d charts"), &["exit 0"]);
    for from in ["1.0.0", "older/web", "charts/web-1.0.0.tgz"] {
        let shown = env.pintle(&format!("rehearse --verbose charts/web --from {from}"));
        holds(&shown, &["exit 0", "install web-1.0.0: ok", "upgrade web-1.1.0: ok"]);
    }
    holds(
        &env.pintle("rehearse --verbose charts/web --from 0.9.0"),
        &["exit 2", "there is no web-0.9.0.tgz next to the chart", "git:REF"],
    );
    holds(
        &env.pintle("rehearse --verbose charts/web --from nothing"),
        &["exit 2", "there is no chart at `nothing`"],
    );

    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(env.path())
            .output()
            .expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "charts/web"]);
    git(&["commit", "--quiet", "--message", "one"]);
    chart(&env, "charts/web", "1.2.0", &CONFIG.replace("a: one", "a: two"));
    holds(
        &env.pintle("rehearse --verbose charts/web --from git:main"),
        &["exit 1", "install web-1.1.0: ok", "upgrade", "immutable"],
    );
    // Commands in the configuration of the repository do not run.
    let command = format!("touch {}; cat", env.path().join("ran").display());
    for setting in ["tar.tar.gz.command", "filter.evil.smudge", "filter.evil.process", "core.fsmonitor"] {
        git(&["config", setting, &command]);
    }
    git(&["config", "core.sshCommand", &command]);
    env.write(".git/info/attributes", "* filter=evil\n");
    holds(&env.pintle("rehearse --verbose charts/web --from git:main"), &["exit 1", "install web-1.1.0: ok"]);
    assert!(!env.path().join("ran").exists(), "a command of the repository ran");
    holds(
        &env.pintle("rehearse --verbose charts/web --from git:v9"),
        &["exit 2", "git has no `v9` of this chart"],
    );
    holds(&env.pintle("rehearse --verbose charts/web --from git:--output=x"), &["exit 2", "cannot be used"]);
    holds(&env.pintle("rehearse --verbose charts/web-1.0.0.tgz --from git:main"), &["exit 2", "work tree"]);
    // Missing objects are not fetched, because a remote can be a command.
    for (setting, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", "ext::touch ran"),
        ("protocol.ext.allow", "always"),
    ] {
        git(&["config", setting, value]);
    }
    let listed = Command::new("git")
        .args(["rev-parse", "main:charts/web/Chart.yaml"])
        .current_dir(env.path())
        .output()
        .expect("git runs");
    let object = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    let (folder, name) = object.split_at(2);
    std::fs::remove_file(env.path().join(".git/objects").join(folder).join(name)).expect("it is loose");
    holds(
        &env.pintle("rehearse --verbose charts/web --from git:main"),
        &["exit 2", "git has no `main` of this chart"],
    );
    assert!(!env.path().join("ran").exists() && !env.path().join("charts/web/ran").exists());
}

#[test]
fn removed_and_deprecated_api_versions_are_reported_with_replacements() {
    let env = TestEnv::new();
    let gone = "# first\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n";
    chart(&env, "gone", "1.0.0", gone);
    let shown = env.pintle("rehearse --verbose gone --kube-version 1.35");
    holds(
        &shown,
        &["exit 1", "web/templates/all.yaml:2", "unavailable in v1.25+; use policy/v1 PodDisruptionBudget"],
    );
    assert_eq!(shown.matches("no matches for kind").count(), 1, "it is printed once:\n{shown}");
    // An API version that is deprecated in one Kubernetes version is removed in another.
    let going = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n";
    chart(&env, "going", "1.0.0", going);
    holds(
        &env.pintle("rehearse --verbose going"),
        &["exit 0", "web/templates/all.yaml:1: Endpoints/e: v1 Endpoints is deprecated in v1.33+"],
    );
}

const MONITOR: &str = "\
apiVersion: example.com/v1
kind: Monitor
metadata: {name: m}
spec: {every: 30}
";

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: monitors.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Monitor, plural: monitors}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {every: {type: string}}}}
";

#[test]
fn prerequisites_of_the_chart_can_be_given() {
    let env = TestEnv::new();
    chart(&env, "web", "1.0.0", MONITOR);
    let missing = r#"no matches for kind "Monitor" in version "example.com/v1""#;
    holds(
        &env.pintle("rehearse --verbose web"),
        &["exit 1", "web/templates/all.yaml:1: Monitor/m", missing, "--given"],
    );
    env.write("kinds/monitor.yaml", DEFINITION).write("kinds/README.md", "no manifest");
    let wrong = "spec.every: Invalid value: \"integer\"";
    holds(
        &env.pintle("rehearse --verbose web --given kinds"),
        &["exit 1", "web/templates/all.yaml:4", wrong],
    );
    chart(&env, "web", "1.0.0", &MONITOR.replace("30", "'30'"));
    let shown = env.pintle("rehearse --verbose web --given kinds/monitor.yaml");
    holds(&shown, &["exit 0", "the chart works"]);
    lacks(&shown, "left behind");
    // Of another chart only its custom resource definitions are used.
    chart(&env, "operator", "1.0.0", JOB);
    env.write("operator/crds/monitor.yaml", DEFINITION);
    holds(&env.pintle("rehearse --verbose web --given operator"), &["exit 0"]);
    // Namespaces and secrets can be given as well.
    let elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: elsewhere\n";
    chart(&env, "far", "1.0.0", elsewhere);
    holds(
        &env.pintle("rehearse --verbose far"),
        &["exit 1", "web/templates/all.yaml:5", r#"namespaces "elsewhere" not found"#, "--given"],
    );
    env.write("space.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n");
    holds(&env.pintle("rehearse --verbose far --given space.yaml"), &["exit 0"]);
    env.write("empty.yaml", "# nothing\n").write("bad.yaml", "kind: [");
    holds(&env.pintle("rehearse --verbose far --given empty.yaml"), &["exit 2", "no objects in it"]);
    holds(&env.pintle("rehearse --verbose far --given bad.yaml"), &["exit 2", "cannot use bad.yaml"]);
    holds(&env.pintle("rehearse --verbose far --given none.yaml"), &["exit 2", "cannot use none.yaml"]);
}

#[test]
fn a_broken_definition_does_not_hide_the_rest() {
    let env = TestEnv::new();
    chart(&env, "web", "1.0.0", &SERVICE.replace("port: 80", "port: 80000"));
    env.write("web/crds/old.yaml", "# a\n---\napiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n");
    holds(
        &env.pintle("rehearse --verbose web"),
        &[
            "exit 1",
            "web/crds/old.yaml:3: CustomResourceDefinition/a.b",
            "this Kubernetes has it in apiextensions.k8s.io/v1",
            "web/templates/all.yaml:6: Service/web: spec.ports[0].port: Invalid value: 80000",
        ],
    );
}

#[test]
fn objects_of_the_chart_itself_are_not_reported_as_missing() {
    let env = TestEnv::new();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {helm.sh/hook: test}\n\
               spec:\n  restartPolicy: Never\n  serviceAccountName: mine\n  priorityClassName: mine\n  containers: [{name: a, image: b}]\n";
    let account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: mine}\n";
    let class =
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mine}\nvalue: 1\n";
    chart(&env, "web", "1.0.0", &format!("{pod}{account}{class}"));
    holds(&env.pintle("rehearse --verbose web"), &["exit 0"]);
    chart(&env, "web", "1.0.0", &format!("{pod}{class}"));
    holds(&env.pintle("rehearse --verbose web"), &["exit 1", r#"serviceaccount "mine" not found"#]);
}

const NEVER: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: slow}
spec:
  selector: {matchLabels: {app: slow}}
  template:
    metadata:
      labels: {app: slow}
      annotations: {pintle.dev/simulate-ready: never}
    spec:
      containers: [{name: a, image: one}]
";

#[test]
fn objects_that_are_not_ready_or_left_behind_are_reported() {
    let env = TestEnv::new();
    chart(&env, "web", "1.0.0", NEVER);
    let shown = env.pintle("rehearse --verbose web --timeout 1s");
    holds(
        &shown,
        &["exit 1", "install web-1.0.0: failed", "FAIL Deployment/slow", "uninstall web-1.0.0: ok"],
    );
    holds(&shown, &["install: web/templates/all.yaml: Deployment/slow: "]);
    lacks(&shown, "rollback");
    chart(&env, "web", "1.0.0", STATEFUL);
    holds(
        &env.pintle("rehearse --verbose web"),
        &[
            "exit 0",
            "PersistentVolumeClaim/data-db-0: left behind: volume claims of a StatefulSet outlive it",
        ],
    );
    let kept = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: kept\n  annotations: {helm.sh/resource-policy: keep}\n";
    chart(&env, "web", "1.0.0", kept);
    holds(
        &env.pintle("rehearse --verbose web"),
        &["exit 0", "Secret/kept: left behind: its resource policy says keep"],
    );
}

#[test]
fn a_failing_hook_is_shown_with_its_log() {
    let env = TestEnv::new();
    let hook = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        pintle.dev/simulate-failures: always
        pintle.dev/simulate-log: no such table
    spec:
      restartPolicy: Never
      containers: [{name: a, image: one}]
";
    chart(&env, "web", "1.0.0", hook);
    let shown = env.pintle("rehearse --verbose web");
    holds(
        &shown,
        &[
            "exit 1",
            "install web-1.0.0: ok",
            "upgrade web-1.0.0: failed",
            "hook Job/migrate (pre-upgrade): Failed",
            "| no such table",
            "upgrade: web/templates/all.yaml: Job/migrate: ",
        ],
    );
    holds(&env.pintle("rehearse --verbose web -o junit"), &["<failure message=\"it ended Failed\">"]);
}

/// A test hook whose pod has the given annotations and specification.
fn a_test(annotations: &str, spec: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: Pod
metadata:
  name: knock
  annotations:
    helm.sh/hook: test
{annotations}
spec:
  restartPolicy: Never
  containers: [{{name: a, image: one{spec}}}]
"
    )
}

#[test]
fn the_tests_of_a_chart_are_run_before_it_is_rolled_back() {
    let env = TestEnv::new();
    chart(&env, "web", "1.0.0", &a_test("    pintle.dev/simulate-log: it is open", ""));
    let shown = env.pintle("rehearse --verbose web");
    holds(&shown, &["exit 0", "test web-1.0.0: ok", "hook Pod/knock (test): Succeeded", "| it is open"]);
    for form in ["text --verbose", "json", "junit"] {
        let silent = env.pintle(&format!("rehearse --no-log-output web -o {form}"));
        assert!(silent.starts_with("exit 0") && !silent.contains("it is open"), "{silent}");
    }
    let at = |stage: &str| shown.find(&format!("\n{stage} web-1.0.0: ok")).expect(stage);
    assert!(at("upgrade") < at("test") && at("test") < at("rollback"), "{shown}");

    chart(&env, "web", "1.0.0", &a_test("    pintle.dev/simulate-failures: always", ""));
    let shown = env.pintle("rehearse --verbose web");
    holds(
        &shown,
        &[
            "exit 1",
            "test web-1.0.0: failed",
            "hook Pod/knock (test): Failed",
            "test: web/templates/all.yaml: Pod/knock: ",
            "rollback web-1.0.0: ok",
        ],
    );

    chart(&env, "web", "1.0.0", &a_test("", ", envFrom: [{secretRef: {name: gone}}]"));
    let shown = env.pintle("rehearse --verbose web --timeout 1s");
    holds(&shown, &["exit 1", "test web-1.0.0: failed", r#"secret "gone" not found"#]);

    chart(&env, "web", "1.0.0", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: only}\n");
    lacks(&env.pintle("rehearse --verbose web"), "\ntest ");
}

#[test]
fn the_security_standard_of_a_namespace_holds() {
    let env = TestEnv::new();
    let deployment = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - {name: a, image: one, securityContext: {allowPrivilegeEscalation: {{ .Values.loose }}, capabilities: {drop: [ALL]}}}
";
    chart(&env, "web", "1.0.0", deployment);
    let space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {pod-security.kubernetes.io/enforce: restricted}}\n";
    env.write("prod.yaml", space);
    let strict = "rehearse --verbose web -n prod --given prod.yaml";
    holds(&env.pintle(&format!("{strict} --set loose=false")), &["exit 0", "the chart works"]);
    let shown = env.pintle(&format!("{strict} --set loose=true"));
    let why =
        r#"violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "a" must"#;
    holds(
        &shown,
        &[
            "exit 1",
            "install: web/templates/all.yaml: Deployment/web: ",
            &format!(r#"cannot create pods: pods "web-*" is forbidden: {why}"#),
            &format!(
                "install: web/templates/all.yaml:1: Deployment/web: would {}",
                why.replacen("violates", "violate", 1)
            ),
        ],
    );
    assert_eq!(shown.matches("FailedCreate").count(), 1, "one event is enough:\n{shown}");
    holds(&env.pintle("rehearse --verbose web --set loose=true"), &["exit 0"]);
}

#[test]
fn ranges_of_limits_hold() {
    let env = TestEnv::new();
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: a, image: one, resources: {limits: {memory: '{{ .Values.memory }}'}}}]
";
    chart(&env, "web", "1.0.0", pod);
    let range = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {memory: 64Mi}}]}\n";
    env.write("small.yaml", range);
    holds(&env.pintle("rehearse --verbose web --given small.yaml --set memory=64Mi"), &["exit 0"]);
    holds(
        &env.pintle("rehearse --verbose web --given small.yaml --set memory=65Mi"),
        &[
            "exit 1",
            "Pod/web: pods \"web\" is forbidden: maximum memory usage per Container is 64Mi, but limit is 65Mi",
        ],
    );
}

/// A template whose ReplicaSet is named after a password.
const RANDOM: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {checksum: '{{ randAlphaNum 20 }}'}
    spec:
      containers: [{name: a, image: one, envFrom: [{secretRef: {name: gone}}]}]
";

#[test]
fn random_values_do_not_change_the_report() {
    let env = TestEnv::new();
    chart(&env, "web", "1.0.0", RANDOM);
    let first = env.pintle("rehearse --verbose web -o json --timeout 1s");
    holds(&first, &["exit 1", "secret \\\"gone\\\" not found"]);
    assert_eq!(first, env.pintle("rehearse --verbose web -o json --timeout 1s"));
}

const SCRIPT: &str = "\
events.on('pre-render', function(ctx)
    ctx.values.port = 8080
    log.warn('port is not set')
end)
events.on('pre-upgrade', function(ctx)
    log.info('about to upgrade')
    if ctx.values.refuse then error('not today') end
end)
";

#[test]
fn scripts_run_as_they_do_in_an_install() {
    let env = TestEnv::new();
    chart(
        &env,
        "web",
        "1.0.0",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports:\n    - port: {{ .Values.port }}\n",
    );
    env.write("web/values.yaml", "port: 0\n").write("web/ext/lua/chart.lua", SCRIPT);
    let shown = env.pintle("rehearse --verbose web");
    holds(&shown, &["exit 0", "port is not set", "about to upgrade", "the chart works, with warnings"]);
    assert_eq!(shown.matches("port is not set").count(), 1, "it is printed once:\n{shown}");
    holds(&env.pintle("rehearse --verbose web --set refuse=true"), &["exit 1", "upgrade", "not today"]);
    holds(
        &env.pintle("rehearse --verbose web --skip-scripts"),
        &["exit 1", "web/templates/all.yaml:6", "spec.ports[0].port"],
    );
    holds(&env.pintle("rehearse --verbose web --explain"), &["exit 0", "values.port"]);
    // Permissions are required as in all commands.
    env.write("web/ext/permissions.yaml", "lua: [os]\n");
    holds(
        &env.pintle("rehearse --verbose web"),
        &["exit 1", "asks for permissions that were not granted: os"],
    );
    holds(&env.pintle("rehearse --verbose web --yes"), &["exit 0"]);
    let all = "--accept-perms os --scripts-folder . --allow-private-network";
    holds(&env.pintle(&format!("rehearse --verbose web {all}")), &["exit 0"]);
}

#[test]
fn the_report_fits_on_a_screen_with_problems_first() {
    let env = TestEnv::new();
    let objects: Vec<String> = (0..40)
        .map(|number| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\nunknown{number}: {{a: 1}}\n"
            )
        })
        .collect();
    chart(&env, "web", "0.1.0", &objects.join("---\n"));
    let short = env.pintle("rehearse web");
    assert!(short.lines().count() <= 26, "a screen, and the lines of the exit code:\n{short}");
    holds(&short, &["more, which --verbose shows", "objects ready", "install web-0.1.0: "]);
    let (found, stages) = (short.find("unknown0"), short.find("install web-0.1.0: "));
    assert!(found.is_some() && found < stages, "what was found comes first:\n{short}");
    lacks(&short, "ConfigMap/c39:");
    let long = env.pintle("rehearse web --verbose");
    let all: Vec<String> = (0..40).map(|number| format!("unknown{number}\"")).collect();
    holds(&long, &all.iter().map(String::as_str).collect::<Vec<_>>());
    lacks(&long, "--verbose shows");
}
