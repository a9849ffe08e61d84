//! Tests of the test framework: the cluster, the programs and `TestEnv`.

use pintle_e2e::{Program, TestEnv, simulated_log};
use serde_json::json;

#[test]
fn every_program_prints_its_version() {
    let Some(env) = TestEnv::new("every_program_prints_its_version") else { return };
    for (program, text) in [
        (Program::Pintle, env!("CARGO_PKG_VERSION")),
        (Program::PintleAsHelm, "v4.3"),
        (Program::Helm4, "v4.3"),
        (Program::Helm3, "v3.22"),
    ] {
        let ran = env.run(program, &["version", "--short"]).succeeded();
        assert!(ran.stdout.starts_with(text), "{program:?}: {}", ran.stdout);
    }
}

#[test]
fn the_real_helms_share_a_release() {
    let Some(env) = TestEnv::new("the_real_helms_share_a_release") else { return };
    env.write("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
    env.write("chart/templates/note.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n");
    env.run(Program::Helm4, &["install", "web", "chart"]).succeeded();
    assert!(env.object("v1", "configmaps", "note").is_some());
    env.run(Program::Helm3, &["upgrade", "web", "chart"]).succeeded();
    let secrets = env.objects("v1", "secrets");
    let names: Vec<&str> = secrets.iter().filter_map(|secret| secret["metadata"]["name"].as_str()).collect();
    assert_eq!(names, ["sh.helm.release.v1.web.v1", "sh.helm.release.v1.web.v2"]);
    env.run(Program::Helm4, &["uninstall", "web"]).succeeded();
    env.wait_for("v1", "configmaps", "note", |note| note.is_none());
}

#[test]
fn a_namespace_is_deleted_with_its_test_env() {
    let Some(env) = TestEnv::new("a_namespace_is_deleted_with_its_test_env") else { return };
    let (api, path) = (env.api(), format!("/api/v1/namespaces/{}", env.namespace()));
    drop(env);
    let going = api.read(&path).is_none_or(|namespace| !namespace["metadata"]["deletionTimestamp"].is_null());
    assert!(going);
}

#[test]
fn a_pod_runs_and_its_log_can_be_read() {
    let Some(env) = TestEnv::with_pods("a_pod_runs_and_its_log_can_be_read") else { return };
    let container = json!({"name": "main", "image": "test.invalid/busybox:1", "command": ["echo", "hello"]});
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "speaker", "annotations": simulated_log("hello")},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    });
    env.api().create(&env.path("v1", "pods", ""), &pod);
    env.wait_for("v1", "pods", "speaker", |pod| pod.is_some_and(|pod| pod["status"]["phase"] == "Succeeded"));
    assert_eq!(env.api().text(&format!("{}/log", env.path("v1", "pods", "speaker"))), "hello\n");
}
