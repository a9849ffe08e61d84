//! Replicas that share the requests: several controllers on one embedded cluster, with the real times of the protocol on
//! tokio's paused clock.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::time::Duration;

use pintle::release::Status;
use pintle_controller::Options;
use serde_json::json;
use tokio::time::Instant;

use crate::process::{Running, start_on, until};
use crate::support::{Gate, TEMPLATE, TestCluster, WAITING};

/// A replica with what it sends.
pub(crate) struct Replica {
    pub(crate) running: Running,
    pub(crate) gate: Gate,
}

pub(crate) fn options() -> Options {
    Options { replicas_share: true, ..Options::default() }
}

fn replica(test: &TestCluster, identity: &str) -> Replica {
    let (cluster, gate) = test.connection();
    Replica { running: start_on(cluster, test, identity, options()), gate }
}

impl Replica {
    /// A metric of the ring.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.running.health.metrics.render();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("pintle_ring_{name} ")));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// Whether it has written to a request.
    fn handles(&self, request: &str) -> bool {
        let path = format!("/helmrequests/{request}/status");
        self.gate.requests().iter().any(|line| line.starts_with("PATCH") && line.contains(&path))
    }
}

/// Waits until these replicas own all slots.
async fn shared(replicas: &[&Replica]) {
    until("all slots are owned", async || {
        let owned: f64 = replicas.iter().map(|replica| replica.metric("slots")).sum();
        owned == 1024.0 && replicas.iter().all(|replica| replica.metric("slots") > 0.0)
    })
    .await;
}

async fn deployed_once(test: &TestCluster, name: &str) {
    let versions = test.versions(name).await;
    let deployed = versions.iter().filter(|(_, status)| *status == Status::Deployed).count();
    let pending = versions.iter().filter(|(_, status)| status.is_pending()).count();
    assert_eq!((deployed, pending), (1, 0), "{name}: {versions:?}");
}

#[tokio::test(start_paused = true)]
async fn replicas_share_the_requests_and_each_is_deployed_once() {
    let test = TestCluster::new().await;
    let replicas = ["a", "b", "c"].map(|identity| replica(&test, identity));
    shared(&replicas.each_ref()).await;
    for replica in &replicas {
        assert!(replica.metric("slots") <= 376.0, "{}", replica.metric("slots"));
    }
    for number in 0..40 {
        test.request(&format!("r{number}"), "values: {text: one}").await;
    }
    for number in 0..40 {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
        assert_eq!(test.versions(&name).await, [(1, Status::Deployed)], "{name}");
        assert_eq!(replicas.iter().filter(|replica| replica.handles(&name)).count(), 1, "{name}");
    }
    let works = |replica: &Replica| (0..40).any(|number| replica.handles(&format!("r{number}")));
    assert!(replicas.iter().all(works), "all of them work");
    for replica in replicas {
        replica.running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_replica_was_doing_is_finished_by_another_within_18_seconds() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    let (first, second) = (replica(&test, "a"), replica(&test, "b"));
    shared(&[&first, &second]).await;
    until("it is installed", async || test.ready("web").await.0).await;
    test.chart("1.1.0", &[("templates/all.yaml", WAITING)]).await;
    let before = (first.gate.requests().len(), second.gate.requests().len());
    test.request("web", "values: {text: two}\ntimeout: 10h").await;
    until("the upgrade is under way", async || {
        test.versions("web").await.last().is_some_and(|(_, status)| *status == Status::PendingUpgrade)
    })
    .await;
    let acts = |replica: &Replica, since: usize| {
        replica.gate.requests()[since..]
            .iter()
            .any(|line| line.contains("releaseversions") && line.starts_with("POST"))
    };
    assert!(acts(&first, before.0) != acts(&second, before.1), "one of them acts");
    let (dies, lives) = if acts(&first, before.0) { (first, second) } else { (second, first) };
    test.chart("1.2.0", &[("templates/all.yaml", TEMPLATE)]).await;
    let killed = Instant::now();
    dies.running.task.abort();
    until("the other one goes on", async || {
        lives.metric("slots") == 1024.0
            && test.versions("web").await.iter().all(|(_, status)| !status.is_pending())
    })
    .await;
    assert!(killed.elapsed() <= Duration::from_millis(18_500), "{:?}", killed.elapsed());
    assert!(killed.elapsed() >= Duration::from_secs(10), "not before its Lease has expired");
    until("it is deployed", async || test.text("web").await.as_deref() == Some("two")).await;
    until("and says so", async || test.ready("web").await.0).await;
    deployed_once(&test, "web").await;
    lives.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_gives_its_idle_requests_away_within_a_second() {
    let test = TestCluster::new().await;
    for number in 0..20 {
        test.request(&format!("r{number}"), "values: {text: one}").await;
    }
    let (first, second) = (replica(&test, "a"), replica(&test, "b"));
    shared(&[&first, &second]).await;
    for number in 0..20 {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
    }
    let asked = Instant::now();
    first.running.tell();
    until("the other one has all", async || second.metric("slots") == 1024.0).await;
    assert!(asked.elapsed() <= Duration::from_secs(1), "{:?}", asked.elapsed());
    for number in 0..20 {
        let name = format!("r{number}");
        test.patch("helm.sh/v3", "HelmRequest", &name, &json!({"spec": {"values": {"text": "two"}}})).await;
        until(&name, async || test.text(&name).await.as_deref() == Some("two")).await;
        deployed_once(&test, &name).await;
    }
    first.running.stop().await;
    second.running.stop().await;
}

/// Three replicas are replaced one after the other, and a request changes all the time.
#[tokio::test(start_paused = true)]
async fn a_rolling_update_leaves_no_request_alone_for_long() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: v0}").await;
    let mut replicas: Vec<Replica> = ["a", "b", "c"].into_iter().map(|name| replica(&test, name)).collect();
    shared(&replicas.iter().collect::<Vec<_>>()).await;
    for round in 1..=3 {
        let next = replica(&test, &format!("next-{round}"));
        replicas.remove(0).running.stop().await;
        replicas.push(next);
        let text = format!("v{round}");
        test.patch("helm.sh/v3", "HelmRequest", "web", &json!({"spec": {"values": {"text": text}}})).await;
        let begin = Instant::now();
        until(&text, async || test.text("web").await.as_deref() == Some(&text)).await;
        assert!(begin.elapsed() <= Duration::from_secs(5), "{round}: {:?}", begin.elapsed());
    }
    shared(&replicas.iter().collect::<Vec<_>>()).await;
    deployed_once(&test, "web").await;
    for replica in replicas {
        replica.running.stop().await;
    }
}

/// It can neither read nor write, and does not know that others have gone on.
#[tokio::test(start_paused = true)]
async fn a_replica_that_is_cut_off_stops_before_another_acts_for_it() {
    let test = TestCluster::new().await;
    let (first, second) = (replica(&test, "a"), replica(&test, "b"));
    shared(&[&first, &second]).await;
    for number in 0..20 {
        test.request(&format!("r{number}"), "values: {text: one}").await;
    }
    for number in 0..20 {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
    }
    let cut = Instant::now();
    first.gate.forbid(|_, _, _| true);
    until("the other one has all", async || second.metric("slots") == 1024.0).await;
    assert!(cut.elapsed() <= Duration::from_millis(18_500), "{:?}", cut.elapsed());
    let silent_since = first.gate.requests().len();
    for number in 0..20 {
        let name = format!("r{number}");
        test.patch("helm.sh/v3", "HelmRequest", &name, &json!({"spec": {"values": {"text": "two"}}})).await;
        until(&name, async || test.text(&name).await.as_deref() == Some("two")).await;
        deployed_once(&test, &name).await;
    }
    let writes = first.gate.requests()[silent_since..].iter().filter(|line| !line.starts_with("GET")).count();
    assert_eq!(writes, 0, "it did not try to write anything");
    first.gate.forbid(|_, _, _| false);
    // Its Lease is another's by now: the process ends, and is started again.
    assert!(first.running.task.await.unwrap().is_ok());
    second.running.stop().await;
}

/// Nobody is to blame, so nobody loses anything.
#[tokio::test(start_paused = true)]
async fn an_outage_of_the_api_server_moves_nothing() {
    let test = TestCluster::new().await;
    let (first, second) = (replica(&test, "a"), replica(&test, "b"));
    shared(&[&first, &second]).await;
    let before = [&first, &second].map(|replica| (replica.metric("slots"), replica.metric("epoch")));
    for replica in [&first, &second] {
        replica.gate.forbid(|_, _, _| true);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    test.request("web", "values: {text: one}").await;
    for replica in [&first, &second] {
        replica.gate.forbid(|_, _, _| false);
    }
    until("they go on", async || test.ready("web").await.0).await;
    let after = [&first, &second].map(|replica| (replica.metric("slots"), replica.metric("epoch")));
    assert_eq!(before, after);
    first.running.stop().await;
    second.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_deleted_or_damaged_is_made_again() {
    let test = TestCluster::new().await;
    let (first, second) = (replica(&test, "a"), replica(&test, "b"));
    shared(&[&first, &second]).await;
    let epoch = first.metric("epoch");
    test.delete("coordination.k8s.io/v1", "Lease", "pintle-controller-ring").await;
    until("there is a new one", async || first.metric("epoch") > epoch).await;
    shared(&[&first, &second]).await;
    let damage = json!({"metadata": {"annotations": {"helm.sh/ring-table": "{}"}}});
    let epoch = first.metric("epoch");
    test.patch("coordination.k8s.io/v1", "Lease", "pintle-controller-ring", &damage).await;
    until("there is a new one", async || first.metric("epoch") > epoch).await;
    shared(&[&first, &second]).await;
    test.request("web", "values: {text: one}").await;
    until("requests are handled", async || test.ready("web").await.0).await;
    first.running.stop().await;
    second.running.stop().await;
}
