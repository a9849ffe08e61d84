//! What requests cost that are as they were: counted in requests to the API server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::Either;
use pintle::cluster::Cluster;
use pintle_controller::Options;
use serde_json::json;

use crate::process::{Running, start_on, until};
use crate::support::{TestCluster, WebServer};

/// The requests that a controller sends.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Vec<String>>>);

impl Requests {
    /// Forgets the requests so far.
    fn forget(&self) {
        self.0.lock().unwrap().clear();
    }

    /// The requests other than those for the lease.
    pub(crate) fn all(&self) -> Vec<String> {
        let all = self.0.lock().unwrap().clone();
        all.into_iter().filter(|line| !line.contains("/leases")).collect()
    }

    /// A connection to the cluster of a test whose requests are noted.
    pub(crate) fn connect(&self, test: &TestCluster) -> Cluster {
        let (api, seen) = (test.api.clone(), self.clone());
        Cluster::from_service_fn(
            move |request| {
                let (api, seen) = (api.clone(), seen.clone());
                async move {
                    let accept = request.headers().get("accept").and_then(|value| value.to_str().ok());
                    let is_metadata =
                        accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
                    let what = if is_metadata { " (metadata)" } else { "" };
                    seen.0.lock().unwrap().push(format!("{} {}{what}", request.method(), request.uri()));
                    api.handle(request).await
                }
            },
            "default",
        )
    }
}

/// A number of the metrics of a controller; 0 if it is not there.
fn metric(running: &Running, name: &str) -> u64 {
    let metrics = running.metrics();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    line.map_or(0, |number| number.parse().unwrap())
}

/// How many turns needed nothing.
fn settled(running: &Running) -> u64 {
    metric(running, "pintle_settled_turns_total ")
}

/// How many turns read what they needed, and found the request ready.
fn reconciled(running: &Running) -> u64 {
    metric(running, "pintle_reconcile_duration_seconds_count{outcome=\"ready\"} ")
}

fn watching() -> Options {
    Options { watch_all_values: true, ..Options::default() }
}

const VALUES: &str = "valuesFrom: [{kind: ConfigMap, name: shared}]\ninterval: 1s";

async fn values(test: &TestCluster, text: &str) {
    test.apply(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: shared, namespace: default}}\ndata: {{values.yaml: 'text: {text}'}}\n"
    ))
    .await;
}

#[tokio::test]
async fn turns_of_requests_that_are_as_they_were_ask_nothing() {
    let test = TestCluster::new().await;
    values(&test, "one").await;
    for number in 0..5 {
        test.request(&format!("r{number}"), VALUES).await;
    }
    let requests = Requests::default();
    let running = start_on(requests.connect(&test), &test, "a", watching());
    for number in 0..5 {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
    }
    until("the status is known to the watch", async || settled(&running) > 5).await;
    requests.forget();
    let before = settled(&running);
    until("each had several turns", async || settled(&running) > before + 15).await;
    assert_eq!(requests.all(), Vec::<String>::new());
    values(&test, "two").await;
    for number in 0..5 {
        let name = format!("r{number}");
        until("values are followed", async || test.text(&name).await.as_deref() == Some("two")).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn what_others_did_to_a_release_is_found_at_the_interval() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}\ninterval: 1s").await;
    let running = start_on(Requests::default().connect(&test), &test, "a", watching());
    until("it is ready", async || test.ready("web").await.0).await;
    until("it is settled", async || settled(&running) > 2).await;
    let request = pintle::ops::RollbackRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        to: pintle::release::VersionRef::Number(1),
        ..Default::default()
    };
    pintle::ops::rollback(&test.session(), &request, &mut pintle::Silent).await.unwrap();
    until("the request is the truth again", async || {
        let versions = test.versions("web").await;
        versions.len() == 3 && test.ready("web").await.0
    })
    .await;
    running.stop().await;
}

/// `PINTLE_REQUESTS=1000 cargo test -p pintle-controller --test it idle::a_controller -- --nocapture` shows the counts for more.
#[tokio::test]
#[allow(clippy::print_stderr, reason = "the figures are for people")]
async fn a_controller_that_starts_reads_lists_and_no_releases() {
    let test = TestCluster::new().await;
    values(&test, "one").await;
    let count: u64 = std::env::var("PINTLE_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    for number in 0..count {
        test.request(&format!("r{number}"), &VALUES.replace("1s", "1h")).await;
    }
    let requests = Requests::default();
    let first = start_on(requests.connect(&test), &test, "a", watching());
    for number in 0..count {
        let name = format!("r{number}");
        until(&name, async || test.ready(&name).await.0).await;
    }
    first.stop().await;
    eprintln!("{count} installs: {} requests", requests.all().len());
    let requests = Requests::default();
    let unwatched = Options { watch_records: false, ..Options::default() };
    let without = start_on(requests.connect(&test), &test, "x", unwatched);
    until("all were looked at", async || reconciled(&without) >= count).await;
    without.stop().await;
    eprintln!("{count} requests seen first, without watches: {} requests", requests.all().len());
    let requests = Requests::default();
    let second = start_on(requests.connect(&test), &test, "b", watching());
    until("all were looked at", async || settled(&second) >= count).await;
    let all = requests.all();
    eprintln!("{count} requests seen first, with watches: {} requests", all.len());
    // Requests come in pages of 500.
    let pages = usize::try_from(count / 500).unwrap();
    assert!(all.len() <= 12 + pages, "discovery, five lists and five watches for {count} requests: {all:#?}");
    let whole = |line: &&String| !line.ends_with(" (metadata)") && !line.contains("/helmrequests?");
    let whole: Vec<&String> = all.iter().filter(whole).collect();
    assert_eq!(whole, ["GET /api", "GET /apis"], "only metadata of what requests depend on is read");
    requests.forget();
    // A change while nobody looked is found by the next controller.
    second.stop().await;
    test.patch("helm.sh/v3", "HelmRequest", "r7", &json!({"spec": {"values": {"text": "own"}}})).await;
    values(&test, "two").await;
    let third = start_on(requests.connect(&test), &test, "c", watching());
    until("its own values win", async || test.text("r7").await.as_deref() == Some("own")).await;
    until("the others follow", async || test.text("r8").await.as_deref() == Some("two")).await;
    third.stop().await;
}

#[tokio::test]
async fn an_account_that_may_not_watch_is_no_failure() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}\ninterval: 1s").await;
    let api = test.api.clone();
    let refused = Arc::new(Mutex::new(0));
    let count = Arc::clone(&refused);
    let cluster = Cluster::from_service_fn(
        move |request| {
            let (api, count) = (api.clone(), Arc::clone(&count));
            async move {
                let path = request.uri().path();
                if ["/apis/helm.sh/v3/releases", "/apis/helm.sh/v3/releaseversions", "/api/v1/secrets"]
                    .contains(&path)
                {
                    *count.lock().unwrap() += 1;
                    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"});
                    let answer =
                        http::Response::builder().status(403).header("content-type", "application/json");
                    return answer
                        .body(Either::Left(kube::client::Body::from(status.to_string().into_bytes())))
                        .unwrap();
                }
                api.handle(request).await.map(Either::Right)
            }
        },
        "default",
    );
    let running = start_on(cluster, &test, "a", watching());
    until("it is ready", async || test.ready("web").await.0).await;
    test.patch("helm.sh/v3", "HelmRequest", "web", &json!({"spec": {"values": {"text": "two"}}})).await;
    until("changes are followed", async || test.text("web").await.as_deref() == Some("two")).await;
    assert!(*refused.lock().unwrap() > 0);
    assert_eq!(settled(&running), 0, "without the watch nothing is known");
    running.stop().await;
}

/// One index for all requests of a repository, asked for conditionally.
#[tokio::test]
async fn a_repository_is_asked_once_for_all_its_charts() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let web = WebServer::start().await;
    let mut index = "apiVersion: v1\nentries:\n".to_owned();
    for number in 0..8 {
        let files = [("templates/all.yaml", crate::support::TEMPLATE)];
        let archive = test.archive(&format!("1.0.{number}"), &files);
        web.put(&format!("/web-1.0.{number}.tgz"), "application/gzip", archive);
        index.push_str(&format!(
            "  chart{number}:\n  - {{apiVersion: v2, name: chart{number}, version: 1.0.{number}, urls: [web-1.0.{number}.tgz]}}\n"
        ));
    }
    web.put("/index.yaml", "application/yaml", index);
    for number in 0..8 {
        let name = format!("r{number}");
        test.request_for(&name, &format!("{{repository: '{}', name: chart{number}}}", web.url()), "").await;
        test.until_ready(&controller, &name).await;
    }
    assert_eq!(web.requests("/index.yaml"), 1);
    test.annotate("r0", &[("helm.sh/reconcile-requested-at", "now")]).await;
    test.reconcile(&controller, "r0").await;
    assert_eq!(web.requests("/index.yaml"), 2, "who asks for it gets what the server has now");
}

/// Waiting needs no worker: with a single one, ten releases wait at once, and an eleventh is installed meanwhile.
#[tokio::test]
async fn releases_that_wait_hold_no_worker() {
    let test = TestCluster::new().await;
    test.chart("1.0.0", &[("templates/all.yaml", crate::support::WAITING)]).await;
    for number in 0..10 {
        test.request(&format!("slow{number}"), "timeout: 10h").await;
    }
    let running = start_on(
        Requests::default().connect(&test),
        &test,
        "a",
        Options { concurrent: 1, ..Options::default() },
    );
    until("all of them wait", async || {
        let mut pending = 0;
        for number in 0..10 {
            pending += test.versions(&format!("slow{number}")).await.len();
        }
        pending == 10
    })
    .await;
    test.chart("1.1.0", &[("templates/all.yaml", crate::support::TEMPLATE)]).await;
    test.request("quick", "values: {text: one}").await;
    until("another is installed meanwhile", async || test.ready("quick").await.0).await;
    tokio::time::timeout(Duration::from_secs(120), running.stop()).await.unwrap();
}
