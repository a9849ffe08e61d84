//! What users do to requests and to what these have made, each as a test of its own.

use pintle_e2e::{Program, TestEnv};
use serde_json::json;

use super::{
    Controller, TEMPLATE, change, condition, create, delete, is_ready, prepare, publish, text, until,
    until_gone, until_ready, until_reason, versions,
};

/// A namespace with the chart and a controller.
fn start(test: &str) -> Option<(TestEnv, Controller)> {
    let env = TestEnv::new(test)?;
    prepare(&env);
    let controller = Controller::start(&env, None, &[]);
    Some((env, controller))
}

#[test]
fn a_suspended_request_is_left_alone_until_it_is_resumed() {
    let Some((env, _controller)) = start("a_suspended_request_is_left_alone") else { return };
    create(&env, "web", json!({"suspend": true, "values": {"text": "one"}}));
    env.wait_for("helm.sh/v3", "helmrequests", "web", |request| {
        request.is_some_and(|request| request["status"]["phase"] == "Suspended")
    });
    assert_eq!(text(&env, "web"), None);
    env.run(Program::Pintle, &["request", "resume", "web"]).succeeded();
    until_ready(&env, "web");
    assert_eq!(text(&env, "web").as_deref(), Some("one"));
}

#[test]
fn an_edit_of_a_live_object_is_undone() {
    let Some((env, _controller)) = start("an_edit_of_a_live_object_is_undone") else { return };
    create(
        &env,
        "web",
        json!({"driftDetection": {"mode": "enabled"}, "interval": "1s", "values": {"text": "one"}}),
    );
    until_ready(&env, "web");
    env.api().merge(&env.path("v1", "configmaps", "web"), &json!({"data": {"text": "edited"}}));
    until("the edit is undone", || text(&env, "web").as_deref() == Some("one"));
    env.api().delete(&env.path("v1", "configmaps", "web"));
    until("the object is created again", || text(&env, "web").as_deref() == Some("one"));
}

#[test]
fn another_release_name_is_another_release() {
    let Some((env, _controller)) = start("another_release_name_is_another_release") else { return };
    create(&env, "web", json!({"values": {"text": "one"}}));
    until_ready(&env, "web");
    change(&env, "web", json!({"spec": {"releaseName": "other"}}));
    env.wait_for("v1", "configmaps", "web", |object| object.is_none());
    until_ready(&env, "web");
    assert_eq!(text(&env, "other").as_deref(), Some("one"));
    until("nothing is left of the former release", || versions(&env, "web").is_empty());
}

#[test]
fn a_missing_value_is_forgiven_if_it_is_optional() {
    let Some((env, _controller)) = start("a_missing_value_is_forgiven") else { return };
    let from = |optional: bool| json!([{"kind": "ConfigMap", "name": "nothing", "optional": optional}]);
    create(&env, "web", json!({"values": {"text": "one"}, "valuesFrom": from(false)}));
    assert!(until_reason(&env, "web", "ValuesFailed").contains("ConfigMap nothing does not exist"));
    change(&env, "web", json!({"spec": {"valuesFrom": from(true)}}));
    until_ready(&env, "web");
}

#[test]
fn requests_that_wait_for_each_other_are_named_until_the_cycle_is_broken() {
    let Some((env, _controller)) = start("requests_that_wait_for_each_other") else { return };
    create(&env, "a", json!({"dependsOn": [{"name": "b"}], "values": {"text": "one"}}));
    create(&env, "b", json!({"dependsOn": [{"name": "a"}], "values": {"text": "one"}}));
    let message = until_reason(&env, "b", "DependencyCycle");
    let namespace = env.namespace();
    assert!(message.contains(&format!("{namespace}/b → {namespace}/a → {namespace}/b")), "{message}");
    change(&env, "b", json!({"spec": {"dependsOn": null}}));
    until_ready(&env, "b");
    change(&env, "a", json!({"metadata": {"annotations": {"helm.sh/reconcile-requested-at": "now"}}}));
    until_ready(&env, "a");
}

#[test]
fn a_payload_that_is_deleted_under_the_controller_does_not_block() {
    let Some((env, _controller)) = start("a_payload_that_is_deleted") else { return };
    create(
        &env,
        "web",
        json!({"values": {"text": "one"}, "upgrade": {"strategy": {"name": "RetryOnFailure", "retryInterval": "1s"}}}),
    );
    until_ready(&env, "web");
    let secrets = env.objects("v1", "secrets").into_iter();
    let payloads: Vec<String> = secrets
        .filter_map(|secret| Some(secret["metadata"]["name"].as_str()?.to_owned()))
        .filter(|name| name.starts_with("web"))
        .collect();
    assert!(!payloads.is_empty(), "the version has its payload in a Secret");
    for payload in payloads {
        env.api().delete(&env.path("v1", "secrets", &payload));
    }
    change(&env, "web", json!({"spec": {"values": {"text": "two"}}}));
    until("it is not ready, and says why", || {
        let request = env.object("helm.sh/v3", "helmrequests", "web").expect("it is there");
        request["status"]["observedGeneration"] == 2 && condition(&request, "Ready", "status") == "False"
    });
    // Without its payload the release cannot be upgraded. Its objects go with it, and it is installed again.
    env.api().delete(&env.path("helm.sh/v3", "releases", "web"));
    until("it is installed again", || text(&env, "web").as_deref() == Some("two"));
    until_ready(&env, "web");
    assert_eq!(versions(&env, "web"), [(1, "deployed".to_owned())]);
}

#[test]
fn definitions_are_upgraded_if_the_request_says_so() {
    let Some((env, _controller)) = start("definitions_are_upgraded") else { return };
    let group = format!("{}.example.com", env.namespace());
    let crd = |property: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.{group}}}\n\
             spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Widget, plural: widgets, singular: widget}}\n\
             \x20 versions:\n  - name: v1\n    served: true\n    storage: true\n\
             \x20   schema: {{openAPIV3Schema: {{type: object, properties: {{{property}: {{type: string}}}}}}}}\n"
        )
    };
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}");
    let properties = || {
        let crd = env.api().read(&path).unwrap_or_default();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].clone()
    };
    publish(&env, "1.1.0", &[("templates/all.yaml", TEMPLATE), ("crds/widget.yaml", &crd("one"))]);
    create(&env, "web", json!({"values": {"text": "one"}}));
    until_ready(&env, "web");
    assert!(properties().get("one").is_some());
    publish(&env, "1.2.0", &[("templates/all.yaml", TEMPLATE), ("crds/widget.yaml", &crd("two"))]);
    change(&env, "web", json!({"spec": {"values": {"text": "two"}}}));
    until("the new chart is deployed", || text(&env, "web").as_deref() == Some("two"));
    until_ready(&env, "web");
    assert!(properties().get("one").is_some(), "an upgrade leaves definitions alone by default");
    change(&env, "web", json!({"spec": {"values": {"text": "three"}, "upgrade": {"crds": "Apply"}}}));
    until_ready(&env, "web");
    assert!(properties().get("two").is_some(), "{}", properties());
    env.api().delete(&path);
}

#[test]
fn a_failing_test_hook_fails_the_release() {
    let Some((env, _controller)) = start("a_failing_test_hook_fails_the_release") else { return };
    create(
        &env,
        "web",
        json!({"values": {"text": "one", "hook": "test"}, "test": {"enable": true, "timeout": "1s"}}),
    );
    until_reason(&env, "web", "TestFailed");
    let request = env.object("helm.sh/v3", "helmrequests", "web").expect("it is there");
    assert_eq!(condition(&request, "TestSuccess", "status"), "False");
    assert_eq!(condition(&request, "Released", "status"), "True");
    assert_eq!(request["status"]["lastError"]["step"], "test");
    change(&env, "web", json!({"spec": {"test": {"ignoreFailures": true}}}));
    until_ready(&env, "web");
}

#[test]
fn a_failing_pre_delete_hook_keeps_the_request_until_it_is_orphaned() {
    let Some((env, _controller)) = start("a_failing_pre_delete_hook_keeps") else { return };
    create(
        &env,
        "web",
        json!({"values": {"text": "one", "hook": "pre-delete"}, "uninstall": {"timeout": "1s"}}),
    );
    until_ready(&env, "web");
    delete(&env, "web");
    let message = until_reason(&env, "web", "UninstallFailed");
    assert!(message.contains("helm.sh/deletion-policy: orphan"), "{message}");
    change(&env, "web", json!({"metadata": {"annotations": {"helm.sh/deletion-policy": "orphan"}}}));
    until_gone(&env, "web");
    assert_eq!(text(&env, "web").as_deref(), Some("one"), "the release is left as it is");
}

#[test]
fn a_burst_of_requests_is_deployed_once_each() {
    let Some(env) = TestEnv::new("a_burst_of_requests_is_deployed_once_each") else { return };
    prepare(&env);
    const COUNT: usize = 60;
    for number in 0..COUNT {
        create(&env, &format!("r{number}"), json!({"values": {"text": number.to_string()}}));
    }
    let _controller = Controller::start(&env, None, &["--concurrent", "10"]);
    until("all are ready", || env.objects("helm.sh/v3", "helmrequests").iter().all(is_ready));
    assert_eq!(env.objects("helm.sh/v3", "releaseversions").len(), COUNT, "nothing is deployed twice");
    for number in [0, COUNT - 1] {
        assert_eq!(text(&env, &format!("r{number}")), Some(number.to_string()));
    }
}

#[test]
fn deleting_a_request_uninstalls_its_release() {
    let Some((env, _controller)) = start("deleting_a_request_uninstalls_its_release") else { return };
    create(&env, "web", json!({"values": {"text": "one"}}));
    until_ready(&env, "web");
    delete(&env, "web");
    until_gone(&env, "web");
    assert_eq!(text(&env, "web"), None);
    assert!(env.object("helm.sh/v3", "releases", "web").is_none());
}
