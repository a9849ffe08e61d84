//! The hook filter in the hands of the real Helm 4, on a real cluster: a hook of two events runs at each of them, with its
//! own weight and variables.

use std::path::Path;

use pintle_e2e::{CommandResult, Program, TestEnv};
use serde_json::Value;

const CHART: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    helm.sh/hook: pre-install,post-upgrade
    helm.sh/hook-weight: \"-20\"
data: {greeting: hello}
---
apiVersion: v1
kind: Pod
metadata:
  name: migrate
  annotations:
    helm.sh/hook: pre-install,post-upgrade
    helm.sh/hook-weights: pre-install=-5,post-upgrade=10
    helm.sh/hook-delete-policy: before-hook-creation
    pintle.dev/simulate-log: $(greeting) from $(HELM_HOOK_EVENT) at $(HELM_HOOK_WEIGHT)
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: 'test.invalid/busybox:1'
      command: [sh, -c, 'echo $greeting from $HELM_HOOK_EVENT at $HELM_HOOK_WEIGHT']
      envFrom: [{configMapRef: {name: settings}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {is: '{{ .Values.is | default 1 }}'}
";

/// Runs the real Helm 4 with the filter as its plugin.
fn helm(env: &TestEnv, arguments: &[&str]) -> CommandResult {
    let program = std::env::var_os("PINTLE_E2E_PROGRAM").expect("the program is named");
    let link = env.folder().join("home/pintle");
    if !link.exists() {
        std::os::unix::fs::symlink(program, &link).expect("a link can be made");
    }
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let mut command = env.command(Program::Helm4);
    command.args(arguments).args(["--post-renderer", "helm-hooks"]);
    command.env("PATH", env.folder().join("home")).env("HELM_PLUGINS", plugins);
    command.output().expect("Helm can be run").into()
}

/// The hooks of the release as Helm has recorded them: name, event and weight, in its order.
fn recorded(env: &TestEnv) -> Vec<String> {
    let ran = env.run(Program::Helm4, &["get", "hooks", "web"]).succeeded();
    let field = |document: &str, key: &str| {
        let line = document.lines().find(|line| line.trim_start().starts_with(key));
        line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.trim_matches('"').to_owned())
    };
    let hook = |document: &str| {
        let name = field(document, "name:")?;
        Some(format!("{name} {}", field(document, "helm.sh/hook-weight:")?))
    };
    let mut hooks: Vec<String> = ran.stdout.split("---\n").filter_map(hook).collect();
    hooks.sort();
    hooks
}

fn chart(env: &TestEnv) {
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/all.yaml", CHART);
}

/// A variable of the only container of a pod.
fn variable(pod: &Value, name: &str) -> String {
    let env = pod["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
    let found = env.iter().find(|variable| variable["name"] == name);
    found.and_then(|variable| variable["value"].as_str()).unwrap_or_default().to_owned()
}

#[test]
fn the_real_helm_4_runs_a_hook_of_two_events_with_two_weights() {
    let Some(env) = TestEnv::with_pods("the_real_helm_4_runs_a_hook_of_two_events") else { return };
    chart(&env);
    helm(&env, &["install", "web", "chart", "--timeout", "10m"]).succeeded();
    assert_eq!(
        recorded(&env),
        [
            "migrate-post-upgrade 10",
            "migrate-pre-install -5",
            "settings-post-upgrade -20",
            "settings-pre-install -20"
        ]
    );
    let ran = |name: &str, event: &str, weight: &str| {
        let pod = env.object("v1", "pods", name).expect("the hook has run");
        assert_eq!(pod["status"]["phase"], "Succeeded");
        assert_eq!(
            (variable(&pod, "HELM_HOOK_EVENT"), variable(&pod, "HELM_HOOK_WEIGHT")),
            (event.into(), weight.into())
        );
        let log = env.path("v1", "pods", &format!("{name}/log"));
        assert_eq!(env.api().text(&log), format!("hello from {event} at {weight}\n"));
    };
    ran("migrate-pre-install", "pre-install", "-5");
    assert_eq!(env.object("v1", "pods", "migrate-post-upgrade"), None);
    helm(&env, &["upgrade", "web", "chart", "--set", "is=2", "--timeout", "10m"]).succeeded();
    ran("migrate-post-upgrade", "post-upgrade", "10");
    assert!(env.object("v1", "configmaps", "plain").is_some_and(|object| object["data"]["is"] == "2"));
}

#[test]
fn the_real_helm_4_makes_nothing_when_the_filter_refuses() {
    let Some(env) = TestEnv::new("the_real_helm_4_makes_nothing") else { return };
    chart(&env);
    env.write("chart/templates/all.yaml", &CHART.replace("post-upgrade=10", "post-upgrade=ten"));
    let ran = helm(&env, &["install", "web", "chart"]).failed();
    // Helm 4.2.4 does not show the error output of plugins; `helm template web chart | helm-hooks` does.
    assert!(ran.stderr.contains("plugin \"helm-hooks\" exited with error"), "{}", ran.stderr);
    assert_eq!(env.object("v1", "configmaps", "plain"), None);
}

#[test]
fn the_plan_of_a_release_is_listed() {
    let Some(env) = TestEnv::new("the_plan_of_a_release_is_listed") else { return };
    let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n    helm.sh/hook: post-install,post-delete\n    helm.sh/hook-weight: 1,2\n";
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/all.yaml", hook);
    env.run(Program::Pintle, &["install", "web", "./chart"]).succeeded();
    let listed = env
        .run(Program::Pintle, &["hooks", "list", "web", "--event", "post-delete", "-o", "json"])
        .succeeded();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!((&listed[0]["event"], &listed[0]["weight"]), (&"post-delete".into(), &2.into()));
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}
