//! The options of a spec, each with and without: what they change.

use pintle::objects::ObjectId;
use pintle::release::Status;
use pintle_controller::request::{RECONCILE_ANNOTATION, RESET_ANNOTATION};
use serde_json::json;

use crate::support::{NEVER_READY, TEMPLATE, TestCluster};

/// Reconciles once, and expects that the request is not ready for this reason. Returns the message.
async fn refused(test: &TestCluster, expected: &str) -> String {
    let (controller, _) = test.controller();
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, expected, "{message}");
    message
}

async fn accepted(test: &TestCluster) {
    let (controller, _) = test.controller();
    test.until_ready(&controller, "web").await;
}

#[tokio::test]
async fn the_target_namespace_is_created_if_the_request_says_so() {
    let test = TestCluster::new().await;
    test.request("web", "targetNamespace: other\nvalues: {text: one}").await;
    refused(&test, "InstallFailed").await;
    test.request("web", "targetNamespace: other\nvalues: {text: one}\ninstall: {createNamespace: true}")
        .await;
    accepted(&test).await;
    let id = ObjectId::new("v1", "ConfigMap", "other", "other-web");
    let found = test.cluster.get(&id).await.unwrap();
    assert_eq!(found.unwrap().text(&["data", "text"]), "one");
}

#[tokio::test]
async fn the_history_has_a_limit() {
    let test = TestCluster::new().await;
    for text in ["one", "two", "three", "four"] {
        test.request("web", &format!("maxHistory: 2\nvalues: {{text: {text}}}")).await;
        accepted(&test).await;
    }
    assert_eq!(test.versions("web").await, [(3, Status::Superseded), (4, Status::Deployed)]);
    let history = test.read("web").await.unwrap().status.unwrap().history;
    assert_eq!(history.iter().map(|version| version.number).collect::<Vec<_>>(), [4, 3]);
}

#[tokio::test]
async fn tests_run_by_their_filters() {
    let test = TestCluster::new().await;
    test.request("web", "values: {hook: test}\ntest: {enable: true, filters: [{name: web-hook}]}").await;
    refused(&test, "TestFailed").await;
    let filters = "[{name: web-hook, exclude: true}]";
    test.request(
        "web",
        &format!("values: {{hook: test, text: two}}\ntest: {{enable: true, filters: {filters}}}"),
    )
    .await;
    accepted(&test).await;
}

#[tokio::test]
async fn records_stay_after_an_uninstall_that_keeps_them() {
    let test = TestCluster::new().await;
    test.request("web", "uninstall: {keepHistory: true}\nvalues: {text: one}").await;
    accepted(&test).await;
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    let (controller, _) = test.controller();
    test.reconcile(&controller, "web").await;
    assert!(test.read("web").await.is_none());
    assert_eq!(test.versions("web").await, [(1, Status::Uninstalled)]);
    assert_eq!(test.text("web").await, None);
    test.request("web", "values: {text: again}").await;
    accepted(&test).await;
    assert_eq!(test.text("web").await.as_deref(), Some("again"), "what is left does not block the name");
}

#[tokio::test]
async fn values_of_the_earlier_version_are_kept_if_the_request_says_so() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    accepted(&test).await;
    test.request("web", "values: {other: x}\nupgrade: {preserveValues: true}").await;
    accepted(&test).await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.request("web", "values: {other: y}").await;
    accepted(&test).await;
    assert_eq!(test.text("web").await.as_deref(), Some(""));
}

#[tokio::test]
async fn hooks_can_be_left_out() {
    let test = TestCluster::new().await;
    test.request("web", "values: {hook: pre-install}").await;
    refused(&test, "InstallFailed").await;
    test.request(
        "web",
        "values: {hook: pre-install}\nupgrade: {disableHooks: true}\ninstall: {disableHooks: true}",
    )
    .await;
    accepted(&test).await;
}

#[tokio::test]
async fn a_wait_has_a_limit_names_what_it_waited_for_and_can_be_left_out() {
    let test = TestCluster::new().await;
    test.chart("1.0.0", &[("templates/all.yaml", NEVER_READY)]).await;
    test.request("web", "timeout: 1h\ninstall: {timeout: 1s}").await;
    refused(&test, "InstallFailed").await;
    let error = test.read("web").await.unwrap().status.unwrap().last_error.unwrap();
    assert_eq!(error.step, "install");
    assert!(error.object.starts_with("Deployment default/never"), "{error:?}");
    test.request("web", "upgrade: {disableWait: true}").await;
    accepted(&test).await;
}

/// Failures of pods are reported with their events.
#[tokio::test]
async fn the_events_of_a_failing_pod_are_in_the_status() {
    let test = TestCluster::new().await;
    let template = NEVER_READY.replace("image: b", "image: 'Not A Valid Image'");
    test.chart("1.0.0", &[("templates/all.yaml", &template)]).await;
    test.request("web", "install: {timeout: 5s}").await;
    refused(&test, "InstallFailed").await;
    let error = test.read("web").await.unwrap().status.unwrap().last_error.unwrap();
    assert!(!error.events.is_empty(), "{error:?}");
}

#[tokio::test]
async fn scripts_have_the_permissions_of_the_request() {
    let test = TestCluster::new().await;
    let script = "events.on('pre-render', function(ctx) end)\n";
    let files = [
        ("templates/all.yaml", TEMPLATE),
        ("ext/lua/chart.lua", script),
        ("ext/permissions.yaml", "lua: [network]\n"),
    ];
    test.chart("1.0.0", &files).await;
    test.request("web", "values: {text: one}").await;
    let message = refused(&test, "InstallFailed").await;
    assert!(message.contains("network"), "{message}");
    test.request("web", "values: {text: one}\npermissions: [network]").await;
    accepted(&test).await;
}

#[tokio::test]
async fn failures_are_forgotten_on_request() {
    let test = TestCluster::new().await;
    let spec = "values: {broken: true}\ninstall: {strategy: {name: RemediateOnFailure}}";
    test.request("web", spec).await;
    let (controller, _) = test.controller();
    for _ in 0..2 {
        test.reconcile(&controller, "web").await;
    }
    let failures = async || test.read("web").await.unwrap().status.unwrap().install_failures;
    assert_eq!(test.condition("web", "Stalled").await, "True");
    assert_eq!(failures().await, 1, "nothing more is tried");
    test.annotate("web", &[(RECONCILE_ANNOTATION, "1"), (RESET_ANNOTATION, "1")]).await;
    test.chart(
        "1.0.1",
        &[("templates/all.yaml", &TEMPLATE.replace("if .Values.broken", "if .Values.nothing"))],
    )
    .await;
    test.until_ready(&controller, "web").await;
    assert_eq!(failures().await, 0);
}

#[tokio::test]
async fn a_failed_install_is_uninstalled_before_the_next_try() {
    let test = TestCluster::new().await;
    let remediation =
        "{strategy: {name: RemediateOnFailure}, remediation: {retries: 1, remediateLastFailure: true}}";
    test.request("web", &format!("values: {{text: one, wrong: true}}\ninstall: {remediation}")).await;
    let (controller, _) = test.controller();
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await, None, "the part that was installed is gone");
    assert_eq!(test.versions("web").await, []);
    for _ in 0..2 {
        test.reconcile(&controller, "web").await;
    }
    assert_eq!(test.condition("web", "Stalled").await, "True");
    assert_eq!(test.text("web").await, None);
    test.request("web", &format!("values: {{text: one}}\ninstall: {remediation}")).await;
    test.until_ready(&controller, "web").await;
}

#[tokio::test]
async fn values_are_checked_against_the_schema_unless_that_is_disabled() {
    let test = TestCluster::new().await;
    let schema = r#"{"properties": {"text": {"type": "integer"}}}"#;
    test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE), ("values.schema.json", schema)]).await;
    test.request("web", "values: {text: one}").await;
    let message = refused(&test, "InstallFailed").await;
    assert!(message.contains("text"), "{message}");
    test.request("web", "values: {text: one}\ninstall: {disableSchemaValidation: true}").await;
    accepted(&test).await;
}

#[tokio::test]
async fn fields_of_other_managers_are_taken_over_if_the_request_says_so() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    accepted(&test).await;
    test.patch("v1", "ConfigMap", "web", &json!({"data": {"text": "theirs"}})).await;
    test.request("web", "values: {text: two}").await;
    let message = refused(&test, "UpgradeFailed").await;
    assert!(message.contains("conflict"), "{message}");
    test.request("web", "values: {text: two}\nupgrade: {forceConflicts: true}").await;
    accepted(&test).await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn existing_objects_become_part_of_the_release_if_the_request_says_so() {
    let test = TestCluster::new().await;
    test.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\n").await;
    test.request("web", "values: {text: one}").await;
    refused(&test, "InstallFailed").await;
    test.request("web", "values: {text: one}\ninstall: {takeOwnership: true}").await;
    accepted(&test).await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn objects_are_ready_by_the_expressions_of_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let spec = |text: &str| {
        format!(
            "values: {{text: {text}}}\nhealthCheckExprs:\n- apiVersion: v1\n  kind: ConfigMap\n  \
             failed: data.text == 'bad'\n  current: data.text == 'good'"
        )
    };
    test.request("web", &spec("bad")).await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InstallFailed");
    assert!(message.contains("`data.text == 'bad'` holds"), "{message}");
    test.request("web", &spec("good")).await;
    test.until_ready(&controller, "web").await;
    test.request("web", "healthCheckExprs: [{apiVersion: v1, kind: ConfigMap, current: 'data.text =='}]")
        .await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InvalidSpec");
    assert!(message.contains("spec.healthCheckExprs[0].current"), "{message}");
}
