//! The controller as a whole: watches, work queue, leader election and hand-over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pintle::cluster::Cluster;
use pintle::release::Status;
use pintle_controller::{Candidate, Health, LeaderElection, Options};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{TestCluster, WAITING};

/// A limit that only a broken controller reaches.
const LIMIT: Duration = Duration::from_secs(240);

/// A controller that runs until it is told to stop.
pub(crate) struct Running {
    stop: Arc<Notify>,
    pub(crate) health: Health,
    pub(crate) task: tokio::task::JoinHandle<pintle_controller::Result<()>>,
}

pub(crate) fn start(test: &TestCluster, identity: &str, options: Options) -> Running {
    let cluster = pintle::embedded::cluster(&test.api, "default");
    start_on(cluster, test, identity, options)
}

/// As [`start`], on a connection of the test.
pub(crate) fn start_on(cluster: Cluster, test: &TestCluster, identity: &str, options: Options) -> Running {
    let (health, stop) = (Health::default(), Arc::new(Notify::new()));
    let election = LeaderElection {
        // Replicas that share are tested with the real times, on a clock of their own.
        retry_period: Duration::from_millis(if options.replicas_share { 2000 } else { 50 }),
        ..LeaderElection::new("default", "pintle-controller", identity)
    };
    let options = Options {
        election: Some(election),
        identity: identity.to_owned(),
        cache: test.cache(),
        graceful_shutdown: Duration::ZERO,
        ..options
    };
    let (ended, shared) = (Arc::clone(&stop), health.clone());
    let task = tokio::spawn(async move {
        let log = Arc::new(|_: &pintle_tree::LogLine| {});
        pintle_controller::run(cluster, options, shared, log, async move { ended.notified().await }).await
    });
    Running { stop, health, task }
}

impl Running {
    /// What the controller says to Prometheus.
    pub(crate) fn metrics(&self) -> String {
        self.health.metrics.render()
    }

    /// Asks it to stop.
    pub(crate) fn tell(&self) {
        self.stop.notify_one();
    }

    pub(crate) async fn stop(self) {
        self.stop.notify_one();
        tokio::time::timeout(LIMIT, self.task).await.unwrap().unwrap().unwrap();
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, wait).await.is_ok(), "{what}");
}

#[tokio::test]
async fn requests_are_watched_and_followed() {
    let test = TestCluster::new().await;
    test.request("early", "values: {text: one}").await;
    let running = start(&test, "a", Options { watch_values: true, ..Options::default() });
    until("early is ready", async || test.ready("early").await.0).await;
    assert!(running.health.ready.load(Ordering::Relaxed));
    let values = |text: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: late, namespace: default, labels: {{helm.sh/watch: \"true\"}}}}\ndata: {{values.yaml: 'text: {text}'}}\n"
        )
    };
    test.apply(&values("two")).await;
    test.request("late", "valuesFrom: [{kind: ConfigMap, name: late}]\nreleaseName: later").await;
    until("late is ready", async || test.ready("late").await.0).await;
    test.apply(&values("three")).await;
    until("values are followed", async || test.text("later").await.as_deref() == Some("three")).await;
    test.patch("helm.sh/v3", "HelmRequest", "early", &json!({"spec": {"values": {"text": "changed"}}})).await;
    until("changes are followed", async || test.text("early").await.as_deref() == Some("changed")).await;
    test.delete("helm.sh/v3", "HelmRequest", "early").await;
    until("deletion is followed", async || test.read("early").await.is_none()).await;
    running.stop().await;
}

/// A burst: all at once, each deployed exactly once.
#[tokio::test]
async fn a_burst_of_requests_is_deployed_once_each() {
    let test = TestCluster::new().await;
    let count = std::env::var("PINTLE_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    for number in 0..count {
        test.request(&format!("r{number}"), "values: {text: one}").await;
    }
    let running = start(&test, "a", Options::default());
    for number in 0..count {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
        assert_eq!(test.versions(&name).await, [(1, Status::Deployed)], "{name}");
    }
    running.stop().await;
}

#[tokio::test]
async fn the_next_leader_goes_on_with_an_upgrade_that_was_under_way() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    let first = start(&test, "a", Options::default());
    until("it is installed", async || test.ready("web").await.0).await;
    let second = start(&test, "b", Options::default());
    test.chart("1.1.0", &[("templates/all.yaml", WAITING)]).await;
    test.request("web", "values: {text: two}\ntimeout: 10h").await;
    until("the upgrade is under way", async || {
        test.versions("web").await.last().is_some_and(|(_, status)| *status == Status::PendingUpgrade)
    })
    .await;
    test.chart("1.2.0", &[("templates/all.yaml", crate::support::TEMPLATE)]).await;
    first.stop().await;
    until("the next leader finishes it", async || test.text("web").await.as_deref() == Some("two")).await;
    until("and says so", async || test.ready("web").await.0).await;
    let versions = test.versions("web").await;
    let deployed = versions.iter().filter(|(_, status)| *status == Status::Deployed).count();
    assert_eq!(deployed, 1, "{versions:?}");
    second.stop().await;
}

#[tokio::test]
async fn a_lease_has_one_holder_and_is_taken_over_when_it_expires() {
    let test = TestCluster::new().await;
    let candidate = |identity: &str, seconds: u64| {
        let election = LeaderElection {
            lease_duration: Duration::from_secs(seconds),
            retry_period: Duration::from_millis(20),
            ..LeaderElection::new("default", "election", identity)
        };
        Candidate::new(test.cluster.clone(), election)
    };
    let (mut first, mut second) = (candidate("a", 3600), candidate("b", 1));
    first.acquire().await;
    let held = tokio::time::timeout(Duration::from_millis(200), second.acquire()).await;
    assert!(held.is_err(), "the lease is held, and for an hour");
    first.release().await;
    tokio::time::timeout(LIMIT, second.acquire()).await.expect("a lease that was given up is free");
    // The second one does not renew any more, as if it was killed.
    tokio::time::timeout(LIMIT, first.acquire()).await.expect("the lease expires");
    tokio::time::timeout(LIMIT, second.hold()).await.expect("the second one notices that it lost the lease");
}
