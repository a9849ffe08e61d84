//! What happens when operations fail: retries, remediation, tests, and deletion that does not succeed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::time::Duration;

use pintle::release::Status;
use pintle_controller::Requeue;

use crate::support::{TEMPLATE, TestCluster};

const REMEDIATE: &str = "strategy: {name: RemediateOnFailure}";

#[tokio::test]
async fn a_failed_install_is_retried_in_place_after_the_retry_interval() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request(
        "web",
        "values: {wrong: true}\ninstall: {strategy: {name: RetryOnFailure, retryInterval: 3m}}",
    )
    .await;
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(Some(Duration::from_secs(180))));
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InstallFailed");
    assert!(message.contains("700000"), "{message}");
    assert_eq!(test.condition("web", "Reconciling").await, "True");
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!((status.install_failures, status.last_error.unwrap().step.as_str()), (1, "install"));
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await, [(1, Status::Failed), (2, Status::Failed)]);
    test.request("web", "values: {text: fine}").await;
    test.reconcile(&controller, "web").await;
    assert!(test.ready("web").await.0);
    assert_eq!(test.read("web").await.unwrap().status.unwrap().failures, 0);
}

#[tokio::test]
async fn a_chart_that_does_not_render_leaves_no_version_and_counts() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", &format!("values: {{broken: true}}\ninstall: {{{REMEDIATE}}}")).await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InstallFailed");
    assert!(message.contains("broken on purpose"), "{message}");
    assert_eq!(test.versions("web").await, []);
    assert_eq!(test.condition("web", "Stalled").await, "True");
    test.reconcile(&controller, "web").await;
    assert_eq!(
        test.read("web").await.unwrap().status.unwrap().install_failures,
        1,
        "stalled is not tried again"
    );
    let token = [("helm.sh/reconcile-requested-at", "1"), ("helm.sh/reset-requested-at", "1")];
    test.annotate("web", &token).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.read("web").await.unwrap().status.unwrap().install_failures, 1, "tried anew");
}

#[tokio::test]
async fn a_failed_upgrade_is_rolled_back_and_stalls_after_its_retries() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: good}").await;
    test.until_ready(&controller, "web").await;
    let upgrade = format!("upgrade: {{{REMEDIATE}, remediation: {{retries: 1}}}}");
    test.request("web", &format!("values: {{text: bad, wrong: true}}\n{upgrade}")).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("good"), "rolled back");
    assert_eq!(test.condition("web", "Remediated").await, "True");
    assert_eq!(test.ready("web").await.1, "UpgradeFailed");
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("good"), "rolled back again");
    test.reconcile(&controller, "web").await;
    assert_eq!(test.condition("web", "Stalled").await, "True");
    let count = test.versions("web").await.len();
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), count, "nothing more is tried");
    test.request("web", "values: {text: better}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("better"));
}

#[tokio::test]
async fn a_failing_test_hook_fails_the_release() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {hook: test}\ntest: {enable: true}").await;
    test.reconcile(&controller, "web").await;
    let (ready, reason, message) = test.ready("web").await;
    assert!(!ready);
    assert_eq!(reason, "TestFailed");
    assert!(message.contains("web-hook"), "{message}");
    assert_eq!(test.condition("web", "TestSuccess").await, "False");
    assert_eq!(test.condition("web", "Released").await, "True");
    test.request("web", "values: {hook: test, text: x}\ntest: {enable: true, ignoreFailures: true}").await;
    test.until_ready(&controller, "web").await;
    let options = "upgrade: {remediation: {ignoreTestFailures: true}}\ntest: {enable: true}";
    test.request("web", &format!("values: {{hook: test, text: y}}\n{options}")).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.condition("web", "TestSuccess").await, "False");
    test.request("web", "values: {hook: test, failures: '0'}\ntest: {enable: true}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.condition("web", "TestSuccess").await, "True");
}

#[tokio::test]
async fn the_log_of_a_failed_hook_is_in_the_status() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {hook: pre-install}").await;
    test.reconcile(&controller, "web").await;
    let error = test.read("web").await.unwrap().status.unwrap().last_error.unwrap();
    assert!(error.hook_logs.iter().any(|line| line.ends_with("the disk is full")), "{error:?}");
}

#[tokio::test]
async fn a_failing_pre_delete_hook_keeps_the_request_until_it_is_orphaned() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {hook: pre-delete}").await;
    test.until_ready(&controller, "web").await;
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(Some(Duration::from_secs(1))));
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(Some(Duration::from_secs(2))));
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "UninstallFailed");
    assert!(message.contains("helm.sh/deletion-policy: orphan"), "{message}");
    assert!(test.text("web").await.is_some());
    test.annotate("web", &[("helm.sh/deletion-policy", "orphan")]).await;
    test.reconcile(&controller, "web").await;
    assert!(test.read("web").await.is_none());
    assert!(test.text("web").await.is_some(), "the release is left as it is");
}

#[tokio::test]
async fn an_invalid_request_stalls_and_says_why() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.apply("apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {name: web, namespace: default}\nspec: {chart: {name: web}}\n").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "InvalidSpec");
    assert_eq!(message, "spec.chart: set exactly one of repository, url and archive");
    assert_eq!(test.condition("web", "Stalled").await, "True");
    test.request("often", "interval: 0s").await;
    test.reconcile(&controller, "often").await;
    assert_eq!(test.ready("often").await.2, "spec.interval: it must be at least 1s");
}

#[tokio::test]
async fn the_payload_of_the_release_may_be_deleted_under_the_controller() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    let secrets = pintle::cluster::Resource::new("", "v1", "Secret", "secrets");
    let listed =
        test.cluster.list(&secrets, "default", &pintle::cluster::ListParams::default()).await.unwrap();
    assert!(!listed.is_empty());
    for secret in listed {
        test.delete("v1", "Secret", secret.name()).await;
    }
    test.reconcile(&controller, "web").await;
    assert!(test.ready("web").await.0, "nothing to do needs no payload");
    test.request("web", "values: {text: two}").await;
    test.reconcile(&controller, "web").await;
    let (ready, reason, message) = test.ready("web").await;
    assert!(!ready && reason == "UpgradeFailed" && !message.is_empty(), "{reason}: {message}");
    test.delete("helm.sh/v3", "Release", "web").await;
    test.request("web", "values: {text: two}\ninstall: {takeOwnership: true}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_chart_that_is_missing_is_an_error_until_it_is_there() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.delete("v1", "ConfigMap", "web-chart").await;
    test.request("web", "").await;
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(Some(Duration::from_secs(1))));
    assert_eq!(
        test.reconcile(&controller, "web").await,
        Requeue(Some(Duration::from_secs(2))),
        "it backs off"
    );
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "ChartFailed");
    assert_eq!(message, "ConfigMap web-chart, which holds the chart, does not exist in namespace default");
    test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE)]).await;
    test.until_ready(&controller, "web").await;
}
