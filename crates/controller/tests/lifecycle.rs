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
    let requeue = test.reconcile(&controller, "web").await;
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

/// With a thousand releases, each request to the API server is sent a thousand times.
#[tokio::test]
async fn an_install_and_an_upgrade_take_few_requests() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    // What is shared by all requests, such as discovery, is read with the first.
    test.request("first", "values: {text: one}").await;
    test.until_ready(&controller, "first").await;
    for (spec, expected) in [("values: {text: one}", 14), ("values: {text: two}", 15)] {
        test.request("web", spec).await;
        let before = gate.requests().len();
        test.reconcile(&controller, "web").await;
        assert!(test.ready("web").await.0);
        let sent = &gate.requests()[before..];
        assert!(sent.len() <= expected, "{} requests:\n{}", sent.len(), sent.join("\n"));
    }
}

#[tokio::test]
async fn a_release_that_is_as_requested_costs_few_requests_and_no_write() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    let before = gate.requests().len();
    test.reconcile(&controller, "web").await;
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
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
    assert_eq!(test.ready("web").await.1, "UpgradeSucceeded");
    test.chart("1.1.0", &[("templates/all.yaml", TEMPLATE)]).await;
    test.reconcile(&controller, "web").await;
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
    test.reconcile(&controller, "web").await;
    let (ready, reason, message) = test.ready("web").await;
    assert!(!ready);
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("ValuesFailed", "valuesFrom ConfigMap extra has no key `values.yaml`")
    );
    test.request("web", "valuesFrom: [{kind: Secret, name: nowhere}]").await;
    test.reconcile(&controller, "web").await;
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
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(None));
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    let before = gate.requests().len();
    test.reconcile(&controller, "web").await;
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
    assert_eq!(test.reconcile(&controller, "web").await, Requeue(Some(Duration::from_secs(30))));
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
    test.reconcile(&controller, "web").await;
    assert_eq!(test.ready("web").await.1, "DependencyNotReady");
    test.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n").await;
    test.until_ready(&controller, "web").await;
}

#[tokio::test]
async fn a_dependency_cycle_is_named_and_ends_when_it_is_broken() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("a", "dependsOn: [{name: b}]").await;
    // An empty namespace means that of the request.
    test.request("b", "dependsOn: [{name: c, namespace: \"\"}]").await;
    test.request("c", "dependsOn: [{name: a}]").await;
    test.reconcile(&controller, "a").await;
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
    test.reconcile(&controller, "second").await;
    let (_, reason, message) = test.ready("second").await;
    assert_eq!(reason, "OwnedByAnotherRequest");
    assert!(message.starts_with("release web belongs to HelmRequest default/first"), "{message}");
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.annotate("first", &[("helm.sh/deletion-policy", "orphan")]).await;
    test.delete("helm.sh/v3", "HelmRequest", "first").await;
    test.reconcile(&controller, "first").await;
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
    test.reconcile(&controller, "web").await;
    let versions = test.versions("web").await;
    assert_eq!(versions, [(1, Status::Superseded), (2, Status::Superseded), (3, Status::Deployed)]);
    test.reconcile(&controller, "web").await;
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
    test.reconcile(&controller, "web").await;
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
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 1, "force counts only with a request to reconcile");
    test.annotate("web", &[("helm.sh/reconcile-requested-at", "1")]).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 2);
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 2);
    assert_eq!(test.read("web").await.unwrap().status.unwrap().last_handled_force_at, "1");
}

#[tokio::test]
async fn an_upgrade_waits_for_the_approval_of_its_digest() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "approval: Manual\nvalues: {text: one}").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await, None);
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(test.ready("web").await.1, "AwaitingApproval");
    assert_eq!(
        status.plan_summary,
        "install web to web-1.0.0: 1 to create, 0 to change, 0 to delete, 0 hooks"
    );
    assert_eq!(status.plan_objects, ["create ConfigMap/default/web"]);
    test.annotate("web", &[("helm.sh/approve", &status.plan_digest)]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    test.request("web", "approval: Manual\nvalues: {text: two}").await;
    test.reconcile(&controller, "web").await;
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
    test.reconcile(&controller, "web").await;
    assert_eq!(test.condition("web", "Drifted").await, "True");
    let status = test.read("web").await.unwrap().status.unwrap();
    assert_eq!(status.drift[0].object, "ConfigMap/default/web");
    assert_eq!(status.drift[0].fields, ["/data/text"]);
    assert_eq!(status.drift[0].managers, ["someone"]);
    assert!(test.ready("web").await.0, "a report is no failure");
    let ignore = "ignore: [{paths: [/data/text], target: {kind: ConfigMap}}]";
    test.request("web", &format!("values: {{text: one}}\ndriftDetection: {{mode: enabled, {ignore}}}")).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("changed"));
    assert_eq!(test.condition("web", "Drifted").await, "False");
    test.request("web", "values: {text: one}\ndriftDetection: {mode: enabled}").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    assert_eq!(test.versions("web").await.len(), 1, "a correction is no new version");
    test.delete("v1", "ConfigMap", "web").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"), "what was deleted is there again");
    assert_eq!(test.condition("web", "Drifted").await, "False");
}

/// What is deployed after an approval is what was approved, even if the chart renders something else each time.
#[tokio::test]
async fn an_approved_plan_is_executed_as_it_was_shown() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let random =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: '{{ randAlphaNum 20 }}'}\n";
    test.chart("1.0.0", &[("templates/all.yaml", random)]).await;
    test.request("web", "approval: Manual").await;
    test.reconcile(&controller, "web").await;
    let first = test.read("web").await.unwrap().status.unwrap().plan_digest;
    test.reconcile(&controller, "web").await;
    let second = test.read("web").await.unwrap().status.unwrap().plan_digest;
    assert_eq!(first, second, "the plan is frozen");
    test.annotate("web", &[("helm.sh/approve", "something else")]).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await, None);
    // The change in the cluster results in another plan, so the approval does not apply.
    test.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: default}}\ndata: {text: other}\n").await;
    test.annotate("web", &[("helm.sh/approve", &first)]).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("other"), "it is not the plan that was approved");
    let third = test.read("web").await.unwrap().status.unwrap().plan_digest;
    assert_ne!(first, third);
    test.delete("v1", "ConfigMap", "web").await;
    test.until_ready(&controller, "web").await;
    let deployed = test.text("web").await.unwrap();
    assert_eq!(deployed.len(), 20);
    test.delete("v1", "ConfigMap", "web").await;
    test.annotate("web", &[("helm.sh/reconcile-requested-at", "1"), ("helm.sh/force-requested-at", "1")])
        .await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await, Some(deployed), "a second try deploys the same objects");
}

#[tokio::test]
async fn rendered_objects_are_patched_and_images_and_metadata_set() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: {containers: [{name: a, image: 'nginx:1'}]}\n";
    test.chart("1.0.0", &[("templates/all.yaml", template)]).await;
    let spec = "\
commonMetadata: {labels: {team: blue}}
postRenderers:
- patches: [{target: {kind: Deployment}, patch: 'spec: {revisionHistoryLimit: 3}'}]
  images: [{name: nginx, newName: mirror.example.com/nginx, newTag: '2'}]";
    test.request("web", spec).await;
    test.until_ready(&controller, "web").await;
    let id = pintle::objects::ObjectId::new("apps/v1", "Deployment", "default", "web");
    let object = test.cluster.get(&id).await.unwrap().unwrap();
    assert_eq!(object.label("team"), Some("blue"));
    assert_eq!(object.int(&["spec", "revisionHistoryLimit"]), Some(3));
    let text = String::from_utf8(object.to_json()).unwrap();
    assert!(text.contains("mirror.example.com/nginx:2"), "{text}");
    test.request("web", &spec.replace("blue", "red")).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.cluster.get(&id).await.unwrap().unwrap().label("team"), Some("red"));
    assert_eq!(test.versions("web").await.len(), 2, "a change of post-renderers is an upgrade");
}

#[tokio::test]
async fn records_are_kept_in_the_storage_namespace() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: records}\n").await;
    test.request("web", "storageNamespace: records\nvalues: {text: one}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    assert_eq!(test.versions("web").await, [], "nothing in the namespace of the release");
    let stored = async || {
        let store = pintle::cluster::store::NativeStore::new(test.cluster.clone());
        pintle::release::Store::history(&store, "records", "web").await.unwrap().len()
    };
    assert_eq!(stored().await, 1);
    test.request("web", "storageNamespace: records\nvalues: {text: two}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!((test.text("web").await.as_deref(), stored().await), (Some("two"), 2));
    test.request("web", "values: {text: two}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(
        (test.versions("web").await.len(), stored().await),
        (1, 0),
        "another storage namespace is another release"
    );
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.text("web").await, None);
}

#[tokio::test]
async fn a_dependency_can_be_ready_by_an_expression() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let spec =
        "dependsOn: [{apiVersion: v1, kind: ConfigMap, name: gate, readyExpr: 'dep.data.open == \"yes\"'}]";
    test.request("web", spec).await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.ready("web").await.1, "DependencyNotReady");
    let gate = |open: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: gate, namespace: default}}\ndata: {{open: '{open}'}}\n"
        )
    };
    test.apply(&gate("no")).await;
    test.reconcile(&controller, "web").await;
    let (_, _, message) = test.ready("web").await;
    assert!(message.ends_with("readyExpr `dep.data.open == \"yes\"` is false"), "{message}");
    test.apply(&gate("yes")).await;
    test.until_ready(&controller, "web").await;
    test.request("other", &spec.replace("yes", "\" =")).await;
    test.reconcile(&controller, "other").await;
    assert_eq!(test.ready("other").await.1, "InvalidSpec");
}

#[tokio::test]
async fn a_release_can_be_in_another_cluster() {
    let test = TestCluster::new().await;
    let remote = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "kubeConfig: {secretRef: {name: remote}}\nvalues: {text: there}").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(test.ready("web").await.2, "kubeConfig Secret remote: it does not exist");
    let secret = |text: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: remote, namespace: default}}\nstringData: {{value: {}}}\n",
            serde_json::to_string(text).unwrap()
        )
    };
    let server = crate::support::serve(&remote.api).await;
    let kubeconfig = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {user}}}]\n"
        )
    };
    test.apply(&secret(&kubeconfig("{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}}")))
        .await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "KubeConfigFailed");
    assert!(message.contains("the kubeconfig has `exec`, which is not allowed here"), "{message}");
    test.apply(&secret(&kubeconfig("{token: t}"))).await;
    test.until_ready(&controller, "web").await;
    assert_eq!((test.text("web").await, remote.text("web").await.as_deref()), (None, Some("there")));
    assert_eq!((test.versions("web").await.len(), remote.versions("web").await.len()), (0, 1));
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(remote.text("web").await, None);
}

/// Two hundred edits by others: what may change is left alone, the rest is undone, and nothing is undone twice.
#[tokio::test]
async fn drift_is_corrected_without_fights() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    let template = "{{ range until 100 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-{{ . }}\n  labels: {tier: '{{ mod . 2 }}'}\ndata: {a: '1', b: '1'}\n{{ end }}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec: {containers: [{name: a, image: b}]}\n";
    test.chart("1.0.0", &[("templates/all.yaml", template)]).await;
    let ignore = "ignore: [{paths: [/data/b], target: {kind: Config.*, labelSelector: 'tier in (1)'}}]";
    test.request("web", &format!("driftDetection: {{mode: enabled, {ignore}}}")).await;
    test.until_ready(&controller, "web").await;
    for number in 0..100 {
        let name = format!("web-{number}");
        test.patch("v1", "ConfigMap", &name, &json!({"data": {"a": "2"}})).await;
        test.patch("v1", "ConfigMap", &name, &json!({"data": {"b": "2"}})).await;
    }
    test.scale_as_autoscaler("web", 4).await;
    test.reconcile(&controller, "web").await;
    let data = async |number: usize| {
        let id = pintle::objects::ObjectId::new("v1", "ConfigMap", "default", &format!("web-{number}"));
        let object = test.cluster.get(&id).await.unwrap().unwrap();
        (object.text(&["data", "a"]).to_owned(), object.text(&["data", "b"]).to_owned())
    };
    assert_eq!(data(0).await, ("1".to_owned(), "1".to_owned()));
    assert_eq!(data(1).await, ("1".to_owned(), "2".to_owned()), "the ignored field stays");
    let id = pintle::objects::ObjectId::new("apps/v1", "Deployment", "default", "web");
    let replicas = async || test.cluster.get(&id).await.unwrap().unwrap().int(&["spec", "replicas"]);
    assert_eq!(replicas().await, Some(4), "the autoscaler decides");
    let is_correction = |line: &&String| {
        line.starts_with("PATCH") && !line.contains("dryRun") && !line.contains("helmrequests")
    };
    let before = gate.requests().iter().filter(is_correction).count();
    for _ in 0..3 {
        test.reconcile(&controller, "web").await;
    }
    assert_eq!(gate.requests().iter().filter(is_correction).count(), before, "nothing is corrected twice");
    assert_eq!((replicas().await, test.condition("web", "Drifted").await.as_str()), (Some(4), "False"));
}

#[tokio::test]
async fn a_release_stays_in_the_store_where_it_is() {
    use pintle::release::Store;
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    test.request("web", "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    let native = std::sync::Arc::new(pintle::cluster::store::NativeStore::new(test.cluster.clone()));
    let session = pintle::Session::new(test.cluster.clone(), native);
    let secrets = std::sync::Arc::new(pintle::cluster::store::HelmSecrets::new(test.cluster.clone()));
    let (name, namespace) = ("web".to_owned(), "default".to_owned());
    let request = pintle::ops::AdoptRequest { name, namespace, to: secrets.clone() };
    pintle::ops::adopt(&session, &request).await.unwrap();
    let (controller, _) = test.controller();
    test.request("web", "values: {text: two}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("two"));
    assert_eq!(test.versions("web").await, []);
    let history = secrets.history("default", "web").await.unwrap();
    assert_eq!(history.iter().map(|version| version.number).collect::<Vec<_>>(), [1, 2]);
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    test.reconcile(&controller, "web").await;
    assert_eq!(secrets.history("default", "web").await.unwrap(), []);
    assert_eq!(test.text("web").await, None);
}
