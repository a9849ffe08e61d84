//! Which releases a request may uninstall: those that it installed or adopted, where it did, whatever its status says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle::cluster::{PatchType, WriteParams};
use pintle::objects::ObjectId;
use pintle::release::Status;
use serde_json::json;

use crate::support::{TestCluster, kubeconfig_secret, serve};

#[tokio::test]
async fn a_release_that_was_never_approved_outlives_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.install_by_hand("shop", "mine").await;
    test.request("shop", "approval: Manual\nvalues: {text: theirs}").await;
    test.reconcile(&controller, "shop").await;
    assert_eq!(test.ready("shop").await.1, "AwaitingApproval");
    assert_eq!(test.read("shop").await.unwrap().status.unwrap().release_name, "");
    test.delete_request(&controller, "shop").await;
    assert_eq!(test.versions("shop").await, [(1, Status::Deployed)]);
    assert_eq!(test.text("shop").await.as_deref(), Some("mine"));
}

#[tokio::test]
async fn a_release_that_could_not_be_adopted_outlives_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.install_by_hand("shop", "mine").await;
    // Fails before a version is recorded.
    let patch = "postRenderers: [{patches: [{target: {kind: ConfigMap}, patch: '[{op: remove, path: /data/none}]'}]}]";
    test.request("shop", patch).await;
    test.reconcile(&controller, "shop").await;
    assert_eq!(test.ready("shop").await.1, "UpgradeFailed");
    test.delete_request(&controller, "shop").await;
    assert_eq!(test.versions("shop").await, [(1, Status::Deployed)]);
    // Fails after that.
    test.request("shop", "values: {wrong: true}").await;
    test.reconcile(&controller, "shop").await;
    assert_eq!(test.ready("shop").await.1, "UpgradeFailed");
    assert_eq!(test.versions("shop").await, [(1, Status::Deployed), (2, Status::Failed)]);
    test.delete_request(&controller, "shop").await;
    assert_eq!(test.versions("shop").await.len(), 2);
    assert!(test.text("shop").await.is_some());
}

#[tokio::test]
async fn a_release_of_another_request_outlives_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("first", "releaseName: web\nvalues: {text: one}").await;
    test.until_ready(&controller, "first").await;
    for with_forged_status in [false, true] {
        test.request("second", "releaseName: web\nvalues: {text: two}").await;
        test.reconcile(&controller, "second").await;
        assert_eq!(test.ready("second").await.1, "OwnedByAnotherRequest");
        if with_forged_status {
            let status = json!({"status": {"releaseName": "web", "releaseNamespace": "default"}});
            let id = ObjectId::new("helm.sh/v3", "HelmRequest", "default", "second");
            let params = WriteParams { field_manager: "someone", ..WriteParams::status() };
            let body = serde_json::to_vec(&status).unwrap();
            test.cluster.patch(&id, PatchType::Merge, body, &params).await.unwrap();
        }
        test.delete_request(&controller, "second").await;
        assert_eq!(test.versions("web").await, [(1, Status::Deployed)]);
    }
    test.delete_request(&controller, "first").await;
    assert_eq!(test.versions("web").await, []);
}

#[tokio::test]
async fn a_changed_cluster_uninstalls_the_release_where_it_was() {
    let test = TestCluster::new().await;
    let remote = TestCluster::new().await;
    let (controller, _) = test.controller();
    remote.install_by_hand("web", "unrelated").await;
    test.apply(&kubeconfig_secret("remote", &serve(&remote.api).await)).await;
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nreleaseName: new\nvalues: {text: one}")
        .await;
    test.until_ready(&controller, "web").await;
    assert_eq!(remote.text("web").await.as_deref(), Some("unrelated"), "it was never ours");
    assert_eq!(remote.text("new").await.as_deref(), Some("one"));
    assert_eq!((test.versions("web").await, test.text("web").await), (vec![], None));
    // The other way round, without another name. The release there is found by the Secret that the status names.
    test.install_by_hand("new", "local").await;
    test.request("web", "releaseName: new\napproval: Manual").await;
    test.reconcile(&controller, "web").await;
    assert_eq!((remote.versions("new").await, remote.text("new").await), (vec![], None));
    test.delete_request(&controller, "web").await;
    assert_eq!(test.text("new").await.as_deref(), Some("local"));
    assert_eq!(remote.text("web").await.as_deref(), Some("unrelated"));
}

#[tokio::test]
async fn a_former_release_that_cannot_be_reached_is_named_and_can_be_left() {
    let test = TestCluster::new().await;
    let remote = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.apply(&kubeconfig_secret("remote", &serve(&remote.api).await)).await;
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nvalues: {text: one}").await;
    test.until_ready(&controller, "web").await;
    test.delete("v1", "Secret", "remote").await;
    test.request("web", "values: {text: one}").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "UninstallFailed");
    assert!(
        message.contains("default/web") && message.contains("Secret remote") && message.contains("orphan"),
        "{message}"
    );
    assert_eq!(test.text("web").await, None, "one request does not have two releases");
    test.annotate("web", &[("helm.sh/deletion-policy", "orphan")]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(
        (test.text("web").await.as_deref(), remote.text("web").await.as_deref()),
        (Some("one"), Some("one"))
    );
}

#[tokio::test]
async fn a_kubeconfig_that_leads_to_another_cluster_does_not_orphan_the_release() {
    let test = TestCluster::new().await;
    let (first, second) = (TestCluster::new().await, TestCluster::new().await);
    let (controller, _) = test.controller();
    let servers = [serve(&first.api).await, serve(&second.api).await];
    test.apply(&kubeconfig_secret("remote", &servers[0])).await;
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nvalues: {text: one}").await;
    test.until_ready(&controller, "web").await;
    test.apply(&kubeconfig_secret("remote", &servers[1])).await;
    test.reconcile(&controller, "web").await;
    let (is_ready, reason, message) = test.ready("web").await;
    assert_eq!((is_ready, reason.as_str()), (false, "ClusterChanged"));
    for part in ["default/web", "Secret remote", &servers[0], &servers[1], "helm.sh/deletion-policy: orphan"]
    {
        assert!(message.contains(part), "no {part} in {message}");
    }
    assert_eq!(second.text("web").await, None, "one request does not have two releases");
    // Neither a deletion nor another location forgets it.
    test.request("web", "releaseName: new\nvalues: {text: one}").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert!(reason == "UninstallFailed" && message.contains(&servers[0]), "{reason}: {message}");
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert!(reason == "UninstallFailed" && message.contains(&servers[0]), "{reason}: {message}");
    assert_eq!(first.text("web").await.as_deref(), Some("one"));
    test.apply(&kubeconfig_secret("remote", &servers[0])).await;
    test.reconcile(&controller, "web").await;
    assert!(test.read("web").await.is_none());
    assert_eq!((first.versions("web").await, first.text("web").await), (vec![], None));
}

#[tokio::test]
async fn a_cluster_may_have_another_address_and_a_release_may_be_left_in_another_one() {
    let test = TestCluster::new().await;
    let (first, second) = (TestCluster::new().await, TestCluster::new().await);
    let (controller, _) = test.controller();
    test.apply(&kubeconfig_secret("remote", &serve(&first.api).await)).await;
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nvalues: {text: one}").await;
    test.until_ready(&controller, "web").await;
    // The same cluster at another port.
    test.apply(&kubeconfig_secret("remote", &serve(&first.api).await)).await;
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nvalues: {text: two}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(first.text("web").await.as_deref(), Some("two"));
    test.apply(&kubeconfig_secret("remote", &serve(&second.api).await)).await;
    test.annotate("web", &[("helm.sh/deletion-policy", "orphan")]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(
        (first.text("web").await.as_deref(), second.text("web").await.as_deref()),
        (Some("two"), Some("two"))
    );
}

#[tokio::test]
async fn an_adopted_release_goes_with_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.install_by_hand("shop", "mine").await;
    test.request("shop", "values: {text: theirs}").await;
    test.until_ready(&controller, "shop").await;
    assert_eq!(test.text("shop").await.as_deref(), Some("theirs"));
    test.delete_request(&controller, "shop").await;
    assert_eq!((test.versions("shop").await, test.text("shop").await), (vec![], None));
}

#[tokio::test]
async fn a_request_that_is_renamed_and_deleted_at_once_uninstalls_its_release_only() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.install_by_hand("new", "mine").await;
    test.request("web", "releaseName: old").await;
    test.until_ready(&controller, "web").await;
    test.request("web", "releaseName: new").await;
    test.delete_request(&controller, "web").await;
    assert_eq!(test.versions("old").await, []);
    assert_eq!(test.versions("new").await, [(1, Status::Deployed)]);
}

/// Someone's uninstall was interrupted. To go on with it is up to them.
#[tokio::test]
async fn an_interrupted_uninstall_by_hand_is_not_finished_for_a_release_of_others() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.install_by_hand("shop", "mine").await;
    let store = test.session().store;
    let mut version = store.get("default", "shop", 1).await.unwrap().unwrap();
    version.info.status = Status::Uninstalling;
    store.update(&version, None, None).await.unwrap();
    test.request("shop", "values: {text: theirs}").await;
    test.reconcile(&controller, "shop").await;
    let (_, reason, message) = test.ready("shop").await;
    assert_eq!(reason, "UninstallFailed");
    assert!(message.contains("this request did not install or adopt it"), "{message}");
    assert_eq!(test.text("shop").await.as_deref(), Some("mine"));
}

#[tokio::test]
async fn requests_with_long_names_do_not_share_a_release() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let (one, other) = ("a".repeat(70), "a".repeat(71));
    test.request(&one, "releaseName: web\nvalues: {text: one}").await;
    test.until_ready(&controller, &one).await;
    test.request(&other, "releaseName: web\nvalues: {text: two}").await;
    test.reconcile(&controller, &other).await;
    assert_eq!(test.ready(&other).await.1, "OwnedByAnotherRequest");
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.annotate(&one, &[("helm.sh/deletion-policy", "orphan")]).await;
    test.delete_request(&controller, &one).await;
    test.until_ready(&controller, &other).await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
}

/// An approval is one of objects, and the Secret that holds them is not only ours.
#[tokio::test]
async fn a_frozen_plan_that_was_edited_after_a_failure_needs_another_approval() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "approval: Manual\nvalues: {text: one, wrong: true}").await;
    test.reconcile(&controller, "web").await;
    let approved = test.read("web").await.unwrap().status.unwrap().plan_digest;
    test.annotate("web", &[("helm.sh/approve", &approved)]).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.ready("web").await.1, "InstallFailed");
    let evil = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}\ndata: {text: evil}\n";
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(evil.as_bytes()).unwrap();
    let data = STANDARD.encode(encoder.finish().unwrap());
    test.patch("v1", "Secret", "sh.helm.plan.web", &json!({"data": {"objects.yaml.gz": data}})).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("evil").await, None);
    assert_eq!(test.ready("web").await.1, "AwaitingApproval");
    let planned = test.read("web").await.unwrap().status.unwrap().plan_digest;
    assert_ne!(planned, approved);
}
