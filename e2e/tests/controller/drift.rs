//! Changes of live objects by others: found, undone or left alone as asked, and never fought over.

use pintle_e2e::TestEnv;
use serde_json::{Value, json};

use super::{Controller, change, condition, create, prepare, publish, until, until_ready};

const OBJECTS: usize = 100;

const TEMPLATE: &str = "{{ range until 100 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-{{ . }}
  labels: {tier: '{{ mod . 2 }}'}
data: {a: '1', b: '1'}
{{ end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: 'test.invalid/busybox:1'}]}
";

fn config_maps(env: &TestEnv) -> Vec<Value> {
    let all = env.objects("v1", "configmaps").into_iter();
    let mut ours: Vec<Value> = all
        .filter(|object| object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("web-")))
        .collect();
    ours.sort_by_key(|object| object["metadata"]["name"].to_string());
    ours
}

fn edit(env: &TestEnv) {
    for number in 0..OBJECTS {
        let path = env.path("v1", "configmaps", &format!("web-{number}"));
        env.api().merge(&path, &json!({"data": {"a": "2"}}));
        env.api().merge(&path, &json!({"data": {"b": "2"}}));
    }
}

/// Asks for a reconciliation, and waits until it is done.
fn reconcile(env: &TestEnv, token: &str) {
    change(env, "web", json!({"metadata": {"annotations": {"helm.sh/reconcile-requested-at": token}}}));
    env.wait_for("helm.sh/v3", "helmrequests", "web", |request| {
        request.is_some_and(|request| request["status"]["lastHandledReconcileAt"] == token)
    });
}

#[test]
fn two_hundred_edits_are_undone_or_left_alone_without_fights() {
    let Some(env) = TestEnv::new("two_hundred_edits_are_undone") else { return };
    prepare(&env);
    publish(&env, "2.0.0", &[("templates/all.yaml", TEMPLATE)]);
    let ignore =
        json!([{"paths": ["/data/b"], "target": {"kind": "Config.*", "labelSelector": "tier in (1)"}}]);
    create(&env, "web", json!({"driftDetection": {"mode": "warn", "ignore": ignore}, "interval": "1h"}));
    let _controller = Controller::start(&env, None, &[]);
    until_ready(&env, "web");
    edit(&env);
    // As the controller of HorizontalPodAutoscalers does it.
    let deployment = env.path("apps/v1", "deployments", "web");
    let scale = format!("{deployment}/scale?fieldManager=kube-controller-manager");
    env.api().merge(&scale, &json!({"spec": {"replicas": 2}}));
    reconcile(&env, "warn");
    let request = env.object("helm.sh/v3", "helmrequests", "web").expect("it is there");
    assert_eq!(condition(&request, "Drifted", "status"), "True");
    assert_eq!(condition(&request, "Ready", "status"), "True", "what is only reported is no failure");
    let drift = request["status"]["drift"].as_array().cloned().unwrap_or_default();
    assert_eq!(drift.len(), OBJECTS, "every object but the one that is scaled");
    let fields = |number: usize| {
        let name = format!("ConfigMap/{}/web-{number}", env.namespace());
        drift.iter().find(|entry| entry["object"] == name.as_str()).map(|entry| entry["fields"].clone())
    };
    assert_eq!(fields(0), Some(json!(["/data/a", "/data/b"])));
    assert_eq!(fields(1), Some(json!(["/data/a"])), "what is ignored is not reported");
    assert_eq!(config_maps(&env)[0]["data"]["a"], "2", "what is only reported stays");

    change(&env, "web", json!({"spec": {"driftDetection": {"mode": "enabled"}}}));
    until("everything is corrected", || config_maps(&env).iter().all(|object| object["data"]["a"] == "1"));
    until_ready(&env, "web");
    for object in config_maps(&env) {
        let is_ignored = object["metadata"]["labels"]["tier"] == "1";
        assert_eq!(object["data"]["b"], if is_ignored { "2" } else { "1" }, "{}", object["metadata"]["name"]);
    }
    let deployment = env.object("apps/v1", "deployments", "web").expect("it is there");
    assert_eq!(deployment["spec"]["replicas"], 2, "whoever scales decides");

    let state = || -> Vec<Value> {
        config_maps(&env).iter().map(|object| object["metadata"]["resourceVersion"].clone()).collect()
    };
    let before = state();
    for round in 0..3 {
        reconcile(&env, &format!("round {round}"));
    }
    assert_eq!(state(), before, "nothing is written again");
    let request = env.object("helm.sh/v3", "helmrequests", "web").expect("it is there");
    assert_eq!(condition(&request, "Drifted", "status"), "False");
}
