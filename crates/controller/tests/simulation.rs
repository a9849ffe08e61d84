//! Seeded simulations of replicas that share the requests: the whole controller on tokio's paused clock, on connections that
//! lose requests, lose answers and are late, while replicas are killed and started.
//!
//! `PINTLE_RING_SEEDS` sets how many seeds are tried, and `PINTLE_RING_SEED` the first one, to repeat a run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::Either;
use kube::client::Body;
use pintle::cluster::Cluster;
use pintle::release::Status;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use tokio::time::Instant;

use crate::process::{Running, start_on};
use crate::replicas::options;
use crate::support::TestCluster;

const REQUESTS: usize = 5;

/// What happens to a request on its way.
enum Fate {
    Passes,
    /// It never arrives.
    Lost,
    /// It arrives, and the answer does not.
    Unanswered,
    /// It arrives later.
    Late(Duration),
}

/// Everything that is random, by the seed.
#[derive(Clone)]
struct Faults {
    random: Arc<Mutex<StdRng>>,
    are_over: Arc<AtomicBool>,
}

impl Faults {
    fn number(&self, limit: u32) -> u32 {
        self.random.lock().unwrap().gen_range(0..limit)
    }

    fn fate(&self, is_watch: bool) -> Fate {
        if self.are_over.load(Ordering::Relaxed) || is_watch {
            return Fate::Passes;
        }
        match self.number(100) {
            0..=2 => Fate::Lost,
            3..=5 => Fate::Unanswered,
            6..=15 => Fate::Late(Duration::from_millis(self.number(2_000).into())),
            16 => Fate::Late(Duration::from_secs(20)),
            _ => Fate::Passes,
        }
    }

    /// A connection on which these happen.
    fn connection(&self, test: &TestCluster) -> Cluster {
        let (api, faults) = (test.api.clone(), self.clone());
        let answer = move |request: http::Request<Body>| {
            let (api, faults) = (api.clone(), faults.clone());
            async move {
                let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
                let unavailable = || {
                    let answer = http::Response::builder().status(503).header("content-type", "text/plain");
                    answer.body(Body::from(b"lost".to_vec())).unwrap().map(Either::Left)
                };
                match faults.fate(is_watch) {
                    Fate::Passes => {}
                    Fate::Lost => return unavailable(),
                    Fate::Unanswered => {
                        let _ = api.handle(request).await;
                        return unavailable();
                    }
                    Fate::Late(time) => tokio::time::sleep(time).await,
                }
                api.handle(request).await.map(Either::Right)
            }
        };
        Cluster::from_service_fn(answer, "default")
    }
}

/// Waits for hours of the paused clock: a request that failed again and again is tried again at its interval, and a record whose
/// holder nobody knows to be dead is free when its lease has expired, which records measure on the real clock.
async fn finally(what: &str, condition: impl AsyncFn() -> bool) {
    for _ in 0..4 * 60 * 60 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{what}");
}

async fn simulate(seed: u64) {
    let test = TestCluster::new().await;
    let faults = Faults {
        random: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))),
        are_over: Arc::new(AtomicBool::new(false)),
    };
    let mut started = 0;
    let mut start = || -> Running {
        started += 1;
        start_on(faults.connection(&test), &test, &format!("r{started}"), options())
    };
    let mut replicas = vec![start(), start(), start()];
    for number in 0..REQUESTS {
        test.request(&format!("r{number}"), "values: {text: one}").await;
    }
    let end = Instant::now() + Duration::from_secs(90);
    let mut change = 0;
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(faults.number(6_000).into())).await;
        let at = faults.number(3) as usize;
        match faults.number(6) {
            0 => {
                let killed = std::mem::replace(&mut replicas[at], start());
                killed.task.abort();
            }
            1 => {
                let stopped = std::mem::replace(&mut replicas[at], start());
                stopped.tell();
            }
            _ => {
                change += 1;
                let name = format!("r{}", faults.number(REQUESTS as u32));
                let patch = json!({"spec": {"values": {"text": format!("v{change}")}}});
                test.patch("helm.sh/v3", "HelmRequest", &name, &patch).await;
            }
        }
        // A replica whose Lease was taken ends, and is started again.
        for replica in &mut replicas {
            if replica.task.is_finished() {
                *replica = start();
            }
        }
    }
    faults.are_over.store(true, Ordering::Relaxed);
    for replica in &mut replicas {
        if replica.task.is_finished() {
            *replica = start();
        }
    }
    for number in 0..REQUESTS {
        let name = format!("r{number}");
        let wanted = test.read(&name).await.unwrap().spec.values["text"].as_str().unwrap().to_owned();
        finally(&format!("seed {seed}: {name}"), async || {
            test.text(&name).await.as_deref() == Some(&wanted) && test.ready(&name).await.0
        })
        .await;
        let versions = test.versions(&name).await;
        let deployed = versions.iter().filter(|(_, status)| *status == Status::Deployed).count();
        let pending = versions.iter().filter(|(_, status)| status.is_pending()).count();
        assert_eq!((deployed, pending), (1, 0), "seed {seed}: {name}: {versions:?}");
    }
    for replica in replicas {
        replica.stop().await;
    }
}

#[test]
fn whatever_happens_every_request_is_finally_deployed_by_one_replica() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("PINTLE_RING_SEED").unwrap_or(1);
    let count = number("PINTLE_RING_SEEDS").unwrap_or(if cfg!(debug_assertions) { 2 } else { 8 });
    for seed in first..first + count {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(simulate(seed));
    }
}
