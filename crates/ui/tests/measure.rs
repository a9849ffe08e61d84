//! How long answers take, and how much memory: `PINTLE_MEASURE=yes cargo test -p pintle-ui -- --nocapture measure`.

use std::sync::Arc;
use std::time::Instant;

use pintle::release::{MemoryStore, ReleaseVersion, Status, Store as _, Timestamp};
use serde_json::json;

use crate::support::{Running, session};

/// Measuring takes minutes, and says nothing while other tests run.
fn is_wanted() -> bool {
    option_env!("PINTLE_MEASURE").is_some()
}

/// The memory of this process in megabytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_plans_and_explanations_are_measured() {
    if !is_wanted() {
        return;
    }
    let server = Running::start().await;
    server.install("shop", "web", "replicas: 2").await;
    let base = server.session.store.get("shop", "web", 1).await.unwrap().unwrap();
    for count in [500_u64, 10_000] {
        let known = server.get("/api/v1/releases?limit=1").await["total"].as_u64().unwrap();
        for number in known..count {
            let version = ReleaseVersion {
                name: format!("release-{number}"),
                namespace: "shop".to_owned(),
                number: 1,
                info: pintle::release::Info {
                    status: Status::Deployed,
                    last_deployed: Some(Timestamp::from_unix(1_700_000_000, 0)),
                    ..base.info.clone()
                },
                ..base.clone()
            };
            server.session.store.create(&version, None, None).await.unwrap();
        }
        let began = Instant::now();
        let page = server.get("/api/v1/releases?limit=200").await;
        let list = began.elapsed();
        let began = Instant::now();
        let mut events = server.events("/api/v1/releases/watch").await;
        let synced = events.until("synced").await;
        println!(
            "{count}: page {list:?}, watch synced {:?} ({} / {synced}), {} MB with the cluster",
            began.elapsed(),
            page["total"],
            memory()
        );
    }
    let mut plans = Vec::new();
    for replicas in 0..20 {
        let began = Instant::now();
        let body = json!({"operation": "upgrade", "namespace": "shop", "name": "web", "values": format!("replicas: {replicas}")});
        assert_eq!(server.post("/api/v1/plans", &body).await.status, 200);
        plans.push(began.elapsed());
    }
    plans.sort();
    let mut lines = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        server.get("/api/v1/releases/shop/web/explain?line=templates/web.yaml:8").await;
        lines.push(began.elapsed());
    }
    lines.sort();
    println!(
        "plan p50 {:?} p95 {:?}; explanation p50 {:?} p95 {:?}",
        plans[10], plans[19], lines[10], lines[19]
    );
    server.stop().await;
}

/// The server alone: the releases are in a store that holds nothing but summaries of a kind.
#[tokio::test(flavor = "multi_thread")]
async fn memory_of_a_list_is_measured() {
    if !is_wanted() {
        return;
    }
    let mut session = session().await;
    let store = MemoryStore::new();
    for number in 0..10_000 {
        let version = ReleaseVersion {
            name: format!("release-{number}"),
            namespace: format!("team-{}", number % 50),
            number: 1,
            info: pintle::release::Info { status: Status::Deployed, ..pintle::release::Info::default() },
            ..ReleaseVersion::default()
        };
        store.create(&version, None, None).await.unwrap();
    }
    session.store = Arc::new(store);
    session.other_stores.clear();
    let before = memory();
    let server = Running::of(session, |_| {}).await;
    let mut streams = Vec::new();
    for tabs in 1..=4 {
        let mut events = server.events("/api/v1/releases/watch").await;
        events.until("synced").await;
        streams.push(events);
        println!("{tabs} tabs: {} MB more than {before} MB", memory().saturating_sub(before));
    }
    server.stop().await;
}
