//! `HelmRequestSet`: clusters, steps, gates, failures, and whose rights are used.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::Arc;

use pintle::SystemClock;
use pintle::cluster::crds;
use pintle_controller::set::{SetReconciler, SetStatus};
use pintle_controller::{Options, Reconciler};
use serde_json::{Value, json};

use crate::process::{start, until};
use crate::support::{Gate, TestCluster, kubeconfig_secret, serve};

const STEPS: &str = "steps:
- {name: canary, selector: {matchLabels: {ring: canary}}}
- {name: rest, maxConcurrent: 1}";

/// A set and its clusters.
struct TestSet {
    test: TestCluster,
    remotes: Vec<TestCluster>,
    sets: SetReconciler,
    requests: Reconciler,
    gate: Gate,
}

impl TestSet {
    /// Clusters `c0`, `c1` and so on, with Secrets; the first one is the canary.
    async fn new(count: usize) -> TestSet {
        let test = TestCluster::new().await;
        let mut remotes = Vec::new();
        for number in 0..count {
            let remote = TestCluster::new().await;
            test.apply(&kubeconfig_secret(&format!("c{number}"), &serve(&remote.api).await)).await;
            let ring = if number == 0 { "canary" } else { "stable" };
            let labels = json!({"helm.sh/cluster": format!("c{number}"), "ring": ring});
            let patch = json!({"metadata": {"labels": labels}});
            test.patch("v1", "Secret", &format!("c{number}"), &patch).await;
            remotes.push(remote);
        }
        let (cluster, gate) = test.connection();
        let (clock, account) = (Arc::new(SystemClock), "default".to_owned());
        let sets = SetReconciler { cluster, clock, default_service_account: account };
        let (requests, _) = test.controller();
        TestSet { test, remotes, sets, requests, gate }
    }

    /// Applies the set with values of its template, and further lines of its spec.
    async fn set(&self, values: &str, more: &str) {
        let more: String = more.lines().map(|line| format!("  {line}\n")).collect();
        self.test
            .apply(&format!(
                "apiVersion: helm.sh/v3\nkind: HelmRequestSet\nmetadata: {{name: web, namespace: default}}\nspec:\n  clusters: {{secrets: {{}}}}\n  template: {{spec: {{chart: {{archive: {{kind: ConfigMap, name: web-chart}}}}, values: {values}, install: {{strategy: {{name: RemediateOnFailure}}}}}}}}\n{more}"
            ))
            .await;
    }

    async fn reconcile(&self) -> SetStatus {
        self.sets.reconcile("default", "web").await.unwrap();
        self.status().await
    }

    async fn status(&self) -> SetStatus {
        let set = self.test.cluster.get_by_name(&crds::helm_request_sets(), "default", "web").await.unwrap();
        let json: Value = serde_json::from_slice(&set.unwrap().to_json()).unwrap();
        serde_json::from_value(json["status"].clone()).unwrap()
    }

    fn message(status: &SetStatus) -> &str {
        &status.conditions[0].message
    }

    /// Reconciles the request of a cluster.
    async fn work(&self, cluster: usize) {
        self.test.reconcile(&self.requests, &format!("web-c{cluster}")).await;
    }

    /// Whether there is a request for each cluster.
    async fn requests(&self) -> Vec<bool> {
        let mut all = Vec::new();
        for number in 0..self.remotes.len() {
            all.push(self.test.read(&format!("web-c{number}")).await.is_some());
        }
        all
    }

    /// The text of the release in each cluster.
    async fn texts(&self) -> Vec<Option<String>> {
        let mut all = Vec::new();
        for remote in &self.remotes {
            all.push(remote.text("web").await);
        }
        all
    }

    async fn annotate(&self, key: &str, value: &str) {
        let patch = json!({"metadata": {"annotations": {key: value}}});
        self.test.patch("helm.sh/v3", "HelmRequestSet", "web", &patch).await;
    }
}

#[tokio::test]
async fn a_chart_reaches_the_clusters_step_by_step() {
    let set = TestSet::new(3).await;
    set.set("{text: one}", STEPS).await;
    let status = set.reconcile().await;
    assert_eq!((status.clusters, status.updated, set.requests().await), (3, 0, vec![true, false, false]));
    set.reconcile().await;
    assert_eq!(set.requests().await, [true, false, false], "the canary is not ready");
    set.work(0).await;
    set.reconcile().await;
    assert_eq!(set.requests().await, [true, true, false], "one at a time");
    set.work(1).await;
    set.reconcile().await;
    set.work(2).await;
    let status = set.reconcile().await;
    assert_eq!((status.ready, status.conditions[0].status.as_str()), (3, "True"), "{status:?}");
    assert_eq!(set.texts().await, vec![Some("one".to_owned()); 3]);
    // An upgrade takes the same way.
    set.set("{text: two}", STEPS).await;
    let status = set.reconcile().await;
    assert_eq!((status.clusters, status.ready), (3, 0), "what is ready is not what is wanted");
    set.work(0).await;
    set.work(1).await;
    let texts = ["two", "one", "one"].map(|text| Some(text.to_owned()));
    assert_eq!(set.texts().await, texts);
}

#[tokio::test]
async fn values_differ_by_cluster() {
    let set = TestSet::new(2).await;
    let values = "values:\n- {when: \"cluster.labels['ring'] == 'canary'\", values: {text: early}}";
    set.set("{text: one}", values).await;
    set.reconcile().await;
    set.work(0).await;
    set.work(1).await;
    assert_eq!(set.texts().await, [Some("early".to_owned()), Some("one".to_owned())]);
}

#[tokio::test]
async fn a_failure_pauses_the_roll_out_until_it_is_accepted_or_tried_again() {
    let set = TestSet::new(3).await;
    set.set("{broken: true}", STEPS).await;
    set.reconcile().await;
    set.work(0).await;
    let status = set.reconcile().await;
    assert_eq!(status.paused.as_deref(), Some("1 of 3 clusters failed"));
    assert_eq!(status.failing[0].cluster, "c0");
    assert!(status.failing[0].message.contains("broken on purpose"), "{:?}", status.failing);
    assert_eq!(set.requests().await, [true, false, false]);
    set.annotate("helm.sh/retry-requested-at", "1").await;
    assert_eq!(set.reconcile().await.updated, 1);
    let retried = set.test.read("web-c0").await.unwrap();
    assert_eq!(retried.annotation("helm.sh/reset-requested-at"), "1");
    set.work(0).await;
    assert!(set.reconcile().await.paused.is_some(), "it failed again");
    set.annotate("helm.sh/resume-requested-at", "1").await;
    let status = set.reconcile().await;
    assert_eq!((status.paused, status.tolerated_failures), (None, 1));
    assert_eq!(set.requests().await, [true, true, false]);
    // Another revision begins anew.
    set.set("{text: good}", STEPS).await;
    let status = set.reconcile().await;
    assert_eq!((status.paused, status.tolerated_failures, status.failed), (None, 0, 0));
    set.work(0).await;
    assert_eq!(set.texts().await[0].as_deref(), Some("good"));
}

#[tokio::test]
async fn a_step_waits_for_its_gate() {
    let set = TestSet::new(2).await;
    let gate = "steps:\n- {name: canary, selector: {matchLabels: {ring: canary}}, gate: {approval: true, expression: \"status.history.size() > 0\"}}";
    set.set("{text: one}", gate).await;
    set.reconcile().await;
    set.work(0).await;
    let status = set.reconcile().await;
    assert_eq!(TestSet::message(&status), "step canary is done and waits for an approval");
    assert_eq!(set.requests().await, [true, false]);
    let needed = status.approval_needed.unwrap();
    set.annotate("helm.sh/approve-step", "another/canary").await;
    assert!(set.reconcile().await.approval_needed.is_some());
    set.annotate("helm.sh/approve-step", &needed).await;
    set.reconcile().await;
    assert_eq!(set.requests().await, [true, true]);
    set.set("{text: two}", gate).await;
    set.reconcile().await;
    set.work(0).await;
    assert!(set.reconcile().await.approval_needed.is_some(), "an approval is for one revision");
    let gate = gate.replace("approval: true, ", "bakeTime: 1h, ");
    set.set("{text: two}", &gate).await;
    set.reconcile().await;
    let status = set.reconcile().await;
    assert!(TestSet::message(&status).starts_with("step canary is done, and is watched for "), "{status:?}");
    let gate = gate.replace("bakeTime: 1h, ", "").replace("> 0", "> 99");
    set.set("{text: two}", &gate).await;
    let status = set.reconcile().await;
    assert_eq!(
        TestSet::message(&status),
        "step canary is done, but `status.history.size() > 99` does not hold for web-c0"
    );
}

#[tokio::test]
async fn a_cluster_that_leaves_loses_its_release_or_keeps_it() {
    for (more, left) in [("", None), ("onRemoval: Orphan", Some("one".to_owned()))] {
        let set = TestSet::new(2).await;
        set.set("{text: one}", more).await;
        set.reconcile().await;
        set.work(0).await;
        set.work(1).await;
        let unlabelled = json!({"metadata": {"labels": {"helm.sh/cluster": null}}});
        set.test.patch("v1", "Secret", "c1", &unlabelled).await;
        set.reconcile().await;
        set.work(1).await;
        assert_eq!(set.requests().await, [true, false]);
        assert_eq!(set.texts().await, [Some("one".to_owned()), left]);
        // A selector that selects nothing is a mistake rather than a wish.
        set.test.patch("v1", "Secret", "c0", &unlabelled).await;
        let status = set.reconcile().await;
        assert!(TestSet::message(&status).contains("nothing is deleted"), "{status:?}");
        assert_eq!(set.requests().await, [true, false]);
    }
}

#[tokio::test]
async fn a_set_has_the_rights_of_its_service_account_only() {
    let set = TestSet::new(1).await;
    set.set("{text: one}", "serviceAccountName: deployer").await;
    set.reconcile().await;
    let deployer = "system:serviceaccount:default:deployer";
    for line in set.gate.requests() {
        let is_own = line.contains("/helmrequestsets/web") || !line.contains("/namespaces/default/");
        assert!(is_own || line.ends_with(deployer), "{line}");
    }
    let tenant = deployer.to_owned();
    set.gate.forbid(move |user, _, path| user == tenant && path.ends_with("/secrets"));
    let status = set.reconcile().await;
    assert!(TestSet::message(&status).starts_with("cannot list the Secrets of clusters: "), "{status:?}");
    assert_eq!(set.requests().await, [true], "nothing is deleted because of that");
    // A request of somebody else is not taken over.
    set.gate.forbid(|_, _, _| false);
    set.test.delete("helm.sh/v3", "HelmRequest", "web-c0").await;
    set.test.request("web-c0", "suspend: true").await;
    let status = set.reconcile().await;
    assert!(TestSet::message(&status).ends_with("it exists, and is not of this set"), "{status:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_set_is_in_its_status() {
    let set = TestSet::new(1).await;
    for (more, message) in [
        ("values: [{when: '1 +', values: {}}]", "spec.values[0].when: "),
        ("maxUnavailable: many", "spec.maxUnavailable: `many` is no percentage such as 25%"),
        ("steps: [{name: a, gate: {bakeTime: soon}}]", "spec.steps[0].gate: bakeTime: "),
    ] {
        set.set("{}", more).await;
        let status = set.reconcile().await;
        assert!(TestSet::message(&status).starts_with(message), "{status:?}");
        assert_eq!(set.requests().await, [false]);
    }
}

#[tokio::test]
async fn clusters_of_cluster_api_are_selected_by_their_labels() {
    let set = TestSet::new(1).await;
    set.test
        .apply("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: clusters.cluster.x-k8s.io}\nspec:\n  group: cluster.x-k8s.io\n  scope: Namespaced\n  names: {kind: Cluster, plural: clusters, singular: cluster, listKind: ClusterList}\n  versions:\n  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n")
        .await;
    for (name, env) in [("blue", "prod"), ("green", "test")] {
        set.test
            .apply(&format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: default, labels: {{env: {env}}}}}\n"
            ))
            .await;
    }
    set.test.apply(&kubeconfig_secret("blue-kubeconfig", &serve(&set.remotes[0].api).await)).await;
    set.set("{text: one}", "").await;
    let clusters = json!({"secrets": null, "clusterAPI": {"selector": {"matchLabels": {"env": "prod"}}}});
    set.test.patch("helm.sh/v3", "HelmRequestSet", "web", &json!({"spec": {"clusters": clusters}})).await;
    let status = set.reconcile().await;
    assert_eq!(status.clusters, 1, "{status:?}");
    set.test.reconcile(&set.requests, "web-blue").await;
    assert_eq!(set.texts().await, [Some("one".to_owned())]);
}

/// The whole controller: watches, requests and sets.
#[tokio::test]
async fn a_controller_rolls_a_set_out_and_follows_its_changes() {
    let set = TestSet::new(2).await;
    set.set("{text: one}", STEPS).await;
    let options = Options {
        request_sets: true,
        addresses: pintle_controller::AddressRules::any(),
        ..Options::default()
    };
    let running = start(&set.test, "a", options);
    let has = async |text: &str| set.texts().await == vec![Some(text.to_owned()); 2];
    until("all clusters have it", async || has("one").await).await;
    set.set("{text: two}", STEPS).await;
    until("all clusters have the change", async || has("two").await).await;
    until("the set says so", async || set.status().await.ready == 2).await;
    running.stop().await;
}
