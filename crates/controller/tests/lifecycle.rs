//! From a request to a release: install, upgrade, values, dependencies, suspension, deletion.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::time::Duration;

use pintle::release::Status;
use pintle_controller::Requeue;
use serde_json::json;

use crate::support::{TEMPLATE, TestCluster};

#[tokio::test]
async fn a_request_becomes_a_release() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.request("web", "values: {text: one}\ninterval: 7m").await;
    let requeue = test.turn(&controller, "web").await;
    assert_eq!(requeue, Requeue(Some(Duration::from_secs(420))));
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    assert_eq!(test.versions("web").await, [(1, Status::Deployed)]);
    let request = test.read("web").await.unwrap();
    let status = request.status.unwrap();
    let (ready, reason, message) = test.ready("web").await;
    assert!(ready, "{message}");
    assert_eq!(reason, "InstallSucceeded");
    assert_eq!(message, "release default/web has version 1 of chart web-1.0.0");
    assert_eq!(status.observed_generation, request.metadata.generation.unwrap());
    assert_eq!(status.history.len(), 1);
    assert_eq!(status.history[0].id, status.current_version);
    assert_eq!(status.inventory[0].id, "default_web__ConfigMap");
    assert!(status.condition("Reconciling").is_none() && status.condition("Stalled").is_none());
    assert_eq!(status.condition("Released").unwrap().status, "True");
    let resource = pintle::cluster::Resource::new("", "v1", "Event", "events");
    let everything = pintle::cluster::ListParams::default();
    let events = test.cluster.list(&resource, "default", &everything).await.unwrap();
    assert!(events.iter().any(|event| event.text(&["reason"]) == "InstallSucceeded"), "{events:?}");
    println!("requests of an install:\n{}", gate.requests().join("\n"));
}

#[tokio::test]
async fn a_release_that_is_as_requested_costs_few_requests_and_no_write() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    let before = gate.requests().len();
    test.turn(&controller, "web").await;
    let requests = gate.requests().split_off(before);
    assert!(requests.iter().all(|line| line.starts_with("GET ")), "{requests:?}");
    assert!(requests.len() <= 3, "{requests:?}");
    assert_eq!(test.versions("web").await.len(), 1);
}

#[tokio::test]
async fn everything_about_a_release_is_done_as_the_service_account() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.request("web", "serviceAccountName: deployer").await;
    test.until_ready(&controller, "web").await;
    let own = ["/helmrequests/", "/events?", "/version", "/api ", "/apis "];
    for line in gate.requests() {
        let is_own = own.iter().any(|part| line.contains(part));
        let as_account = line.ends_with("system:serviceaccount:default:deployer");
        assert!(as_account || is_own, "{line}");
        assert!(!(line.contains("/helmrequests/") && as_account), "{line}");
    }
}

#[tokio::test]
async fn changed_values_and_a_changed_chart_are_upgrades() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    test.request("web", "values: {text: two}").await;
    test.turn(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
    assert_eq!(test.ready("web").await.1, "UpgradeSucceeded");
    test.chart("1.1.0", &[("templates/all.yaml", TEMPLATE)]).await;
    test.turn(&controller, "web").await;
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(status.chart_version, "1.1.0");
    assert_eq!(test.versions("web").await.len(), 3);
}

#[tokio::test]
async fn values_come_from_objects_then_the_request_then_paths() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.apply(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: {values.yaml: 'text: base'}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {name: password, namespace: default}\nstringData: {p: hidden}\n",
    )
    .await;
    test.request("web", "valuesFrom: [{kind: ConfigMap, name: base}]").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("base"));
    test.request("web", "values: {text: inline}\nvaluesFrom: [{kind: ConfigMap, name: base}]").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("inline"));
    let path = "{kind: Secret, name: password, valuesKey: p, targetPath: text}";
    test.request(
        "web",
        &format!("values: {{text: inline}}\nvaluesFrom: [{path}, {{kind: ConfigMap, name: base}}]"),
    )
    .await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("hidden"));
}

#[tokio::test]
async fn a_missing_optional_value_is_forgiven_and_a_missing_key_is_not() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "valuesFrom: [{kind: ConfigMap, name: extra, optional: true}]").await;
    test.until_ready(&controller, "web").await;
    test.apply(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: default}\ndata: {other: x}\n",
    )
    .await;
    test.turn(&controller, "web").await;
    let (ready, reason, message) = test.ready("web").await;
    assert!(!ready);
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("ValuesFailed", "valuesFrom ConfigMap extra has no key `values.yaml`")
    );
    test.request("web", "valuesFrom: [{kind: Secret, name: nowhere}]").await;
    test.turn(&controller, "web").await;
    let message = test.ready("web").await.2;
    assert!(message.contains("Secret nowhere does not exist in namespace default"), "{message}");
}

#[tokio::test]
async fn a_suspended_request_is_left_alone_until_it_is_resumed() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    test.request("web", "values: {text: two}\nsuspend: true").await;
    assert_eq!(test.turn(&controller, "web").await, Requeue(None));
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    let before = gate.requests().len();
    test.turn(&controller, "web").await;
    assert_eq!(gate.requests().len(), before, "nothing is even read");
    test.request("web", "values: {text: two}\nsuspend: false").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_request_waits_for_what_it_depends_on() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "dependsOn: [{name: db}]").await;
    assert_eq!(test.turn(&controller, "web").await, Requeue(Some(Duration::from_secs(30))));
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "DependencyNotReady");
    assert_eq!(message, "dependency HelmRequest default/db is not ready: it does not exist");
    assert_eq!(test.text("web").await, None);
    test.request("db", "values: {text: db}").await;
    test.until_ready(&controller, "db").await;
    test.until_ready(&controller, "web").await;
    assert!(test.text("web").await.is_some());
}

#[tokio::test]
async fn a_request_waits_for_an_object_of_any_kind() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "dependsOn: [{apiVersion: v1, kind: ConfigMap, name: settings}]").await;
    test.turn(&controller, "web").await;
    assert_eq!(test.ready("web").await.1, "DependencyNotReady");
    test.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n").await;
    test.until_ready(&controller, "web").await;
}

#[tokio::test]
async fn a_dependency_cycle_is_named_and_ends_when_it_is_broken() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("a", "dependsOn: [{name: b}]").await;
    test.request("b", "dependsOn: [{name: c}]").await;
    test.request("c", "dependsOn: [{name: a}]").await;
    test.turn(&controller, "a").await;
    let (_, reason, message) = test.ready("a").await;
    assert_eq!(reason, "DependencyCycle");
    assert_eq!(message, "these requests wait for each other: default/a → default/b → default/c → default/a");
    assert_eq!(test.condition("a", "Stalled").await, "True");
    test.request("c", "dependsOn: []").await;
    for name in ["c", "b", "a"] {
        test.until_ready(&controller, name).await;
    }
    assert_eq!(test.condition("a", "Stalled").await, "");
}

#[tokio::test]
async fn changing_the_release_name_replaces_the_release() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "releaseName: old").await;
    test.until_ready(&controller, "web").await;
    test.request("web", "releaseName: new").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.versions("old").await, []);
    assert_eq!(test.text("old").await, None);
    assert_eq!(test.versions("new").await, [(1, Status::Deployed)]);
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(status.release_name, "new");
    assert_eq!(status.history.len(), 1);
}

#[tokio::test]
async fn a_release_of_someone_else_is_adopted_and_one_of_another_request_is_not() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("first", "releaseName: web\nvalues: {text: one}").await;
    test.until_ready(&controller, "first").await;
    test.request("second", "releaseName: web\nvalues: {text: two}").await;
    test.turn(&controller, "second").await;
    let (_, reason, message) = test.ready("second").await;
    assert_eq!(reason, "OwnedByAnotherRequest");
    assert!(message.starts_with("release web belongs to HelmRequest default/first"), "{message}");
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.annotate("first", &[("helm.sh/deletion-policy", "orphan")]).await;
    test.delete("helm.sh/v3", "HelmRequest", "first").await;
    test.turn(&controller, "first").await;
    assert!(test.read("first").await.is_none());
    assert_eq!(test.text("web").await.as_deref(), Some("one"), "the release was left as it is");
    test.until_ready(&controller, "second").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_version_made_by_hand_is_upgraded_over() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    let store = std::sync::Arc::new(pintle::cluster::store::NativeStore::new(test.cluster.clone()));
    let session = pintle::Session::new(test.cluster.clone(), store);
    let back = pintle::ops::RollbackRequest {
        name: "web".into(),
        namespace: "default".into(),
        to: pintle::release::VersionRef::Number(1),
        ..Default::default()
    };
    pintle::ops::rollback(&session, &back, &mut pintle::Silent).await.unwrap();
    test.turn(&controller, "web").await;
    let versions = test.versions("web").await;
    assert_eq!(versions, [(1, Status::Superseded), (2, Status::Superseded), (3, Status::Deployed)]);
    test.turn(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 3, "once is enough");
}

#[tokio::test]
async fn a_deleted_request_uninstalls_its_release() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "").await;
    test.until_ready(&controller, "web").await;
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    assert!(test.read("web").await.is_some(), "the finalizer keeps it");
    test.turn(&controller, "web").await;
    assert!(test.read("web").await.is_none());
    assert_eq!(test.text("web").await, None);
    assert_eq!(test.versions("web").await, []);
}

#[tokio::test]
async fn an_upgrade_can_be_forced_once() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "").await;
    test.until_ready(&controller, "web").await;
    test.annotate("web", &[("helm.sh/force-requested-at", "1")]).await;
    test.turn(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 1, "force counts only with a request to reconcile");
    test.annotate("web", &[("helm.sh/reconcile-requested-at", "1")]).await;
    test.turn(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 2);
    test.turn(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 2);
    assert_eq!(test.read("web").await.unwrap().status.unwrap().last_handled_force_at, "1");
}

#[tokio::test]
async fn an_upgrade_waits_for_the_approval_of_its_digest() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "approval: Manual\nvalues: {text: one}").await;
    test.turn(&controller, "web").await;
    assert_eq!(test.text("web").await, None);
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(test.ready("web").await.1, "AwaitingApproval");
    assert_eq!(status.plan_summary, "install web to web-1.0.0");
    test.annotate("web", &[("helm.sh/approve", &status.plan_digest)]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.request("web", "approval: Manual\nvalues: {text: two}").await;
    test.turn(&controller, "web").await;
    assert_eq!(
        test.text("web").await.as_deref(),
        Some("one"),
        "an old approval is no approval of something else"
    );
}

#[tokio::test]
async fn crds_are_upgraded_if_the_request_says_so() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let crd = |short: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {{kind: Thing, plural: things, singular: thing, listKind: ThingList, shortNames: [{short}]}}\n  versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}\n"
        )
    };
    let names = || async {
        let id = pintle::objects::ObjectId::new(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            "things.example.com",
        );
        let object = test.cluster.get(&id).await.unwrap().unwrap();
        format!("{:?}", object.at(&["spec", "names", "shortNames"]).unwrap())
    };
    test.chart("1.0.0", &[("templates/all.yaml", TEMPLATE), ("crds/thing.yaml", &crd("one"))]).await;
    test.request("web", "").await;
    test.until_ready(&controller, "web").await;
    assert!(names().await.contains("one"));
    test.chart("1.1.0", &[("templates/all.yaml", TEMPLATE), ("crds/thing.yaml", &crd("two"))]).await;
    test.until_ready(&controller, "web").await;
    assert!(names().await.contains("one"), "as Helm, an upgrade leaves CRDs alone by default");
    test.request("web", "upgrade: {crds: Apply}\nvalues: {text: again}").await;
    test.until_ready(&controller, "web").await;
    assert!(names().await.contains("two"));
}

#[tokio::test]
async fn changes_by_others_are_reported_corrected_or_ignored() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: one}\ndriftDetection: {mode: warn}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.condition("web", "Drifted").await, "False");
    test.patch("v1", "ConfigMap", "web", &json!({"data": {"text": "changed"}})).await;
    test.turn(&controller, "web").await;
    assert_eq!(test.condition("web", "Drifted").await, "True");
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(status.drift[0].object, "ConfigMap/default/web");
    assert_eq!(status.drift[0].fields, ["/data/text"]);
    assert_eq!(status.drift[0].managers, ["someone"]);
    assert!(test.ready("web").await.0, "a report is no failure");
    let ignore = "ignore: [{paths: [/data/text], target: {kind: ConfigMap}}]";
    test.request("web", &format!("values: {{text: one}}\ndriftDetection: {{mode: enabled, {ignore}}}")).await;
    test.turn(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("changed"));
    assert_eq!(test.condition("web", "Drifted").await, "False");
    test.request("web", "values: {text: one}\ndriftDetection: {mode: enabled}").await;
    test.turn(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    assert_eq!(test.versions("web").await.len(), 1, "a correction is no new version");
    test.delete("v1", "ConfigMap", "web").await;
    test.turn(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"), "what was deleted is there again");
    assert_eq!(test.condition("web", "Drifted").await, "False");
}
