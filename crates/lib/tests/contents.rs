//! Charts that versions and releases of a namespace share, in the records of the native store: nothing is lost, whoever dies or
//! meets whom at which request, and nothing is left.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::sync::{Arc, Mutex};

use pintle::cluster::store::{HelmSecrets, HistoryCache, NativeStore};
use pintle::cluster::{Cluster, ListParams, Resource, WriteParams, crds};
use pintle::embedded::{Api, Embedded};
use pintle::objects::Object;
use pintle::release::{ReleaseVersion, Status, Store as _, Timestamp, VersionId};
use tokio::sync::{Notify, watch};

const LABEL: &str = "helm.sh/chart-content";

/// Text of so many bytes that hardly gets smaller, the same for each seed.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 90).unwrap())
    };
    (0..bytes).map(|_| next()).collect()
}

/// A version of a release. Those with the same seed have the same chart.
fn version(name: &str, number: u64, seed: u64) -> ReleaseVersion {
    let mut version = ReleaseVersion {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        number,
        id: Some(VersionId::new(1_700_000_000_000 + number, seed.into())),
        manifest: format!("kind: ConfigMap\nmetadata: {{name: {name}-{number}}}\n"),
        ..ReleaseVersion::default()
    };
    version.info.status = Status::Deployed;
    version.info.last_deployed =
        Some(Timestamp::from_unix(1_700_000_000 + i64::try_from(number).unwrap(), 0));
    version.chart.metadata.name = "web".to_owned();
    version.chart.metadata.version = "1.0.0".to_owned();
    version.chart.metadata.description = noise(seed, 40_000);
    version
}

/// Holds requests back.
#[derive(Clone, Default)]
struct Gate {
    seen: Arc<Mutex<Vec<String>>>,
    left: Arc<Mutex<Option<usize>>>,
    stopped: Arc<Notify>,
    is_open: Arc<watch::Sender<bool>>,
}

impl Gate {
    async fn before(&self, line: String) {
        self.seen.lock().unwrap().push(line);
        let is_over = match &mut *self.left.lock().unwrap() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if is_over {
            self.stopped.notify_one();
            let _ = self.is_open.subscribe().wait_for(|open| *open).await;
        }
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

struct Env {
    api: Api,
    cluster: Cluster,
}

impl Env {
    async fn new() -> Env {
        let api = Embedded::default().open().await.unwrap();
        let cluster = pintle::embedded::cluster(&api, "default");
        crds::install(&cluster).await.unwrap();
        Env { api, cluster }
    }

    /// The store of a process of its own.
    fn store(&self) -> NativeStore {
        NativeStore::new(self.cluster.clone())
    }

    /// The store of a process that stops before the request after so many.
    fn gated(&self, left: Option<usize>) -> (NativeStore, Gate) {
        let gate = Gate { left: Arc::new(Mutex::new(left)), ..Gate::default() };
        let (api, passed) = (self.api.clone(), gate.clone());
        let cluster = Cluster::from_service_fn(
            move |request| {
                let (api, gate) = (api.clone(), passed.clone());
                async move {
                    gate.before(format!("{} {}", request.method(), request.uri())).await;
                    api.handle(request).await
                }
            },
            "default",
        );
        (NativeStore::new(cluster), gate)
    }

    async fn create(&self, version: &ReleaseVersion) {
        self.store().create(version, None, None).await.unwrap();
    }

    /// Whether a version can be read whole, by somebody who knows nothing.
    async fn is_whole(&self, expected: &ReleaseVersion) -> bool {
        let read = self.store().get("default", &expected.name, expected.number).await;
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", expected.name));
        read.is_some_and(|read| read.chart == expected.chart && read.manifest == expected.manifest)
    }

    async fn secrets(&self, labels: &str) -> Vec<Object> {
        let secrets = Resource::new("", "v1", "Secret", "secrets");
        self.cluster.list(&secrets, "default", &ListParams::labels(labels)).await.unwrap()
    }

    /// How many charts are kept by their content.
    async fn contents(&self) -> usize {
        self.secrets(LABEL).await.len()
    }
}

#[tokio::test]
async fn versions_and_releases_of_a_namespace_share_a_chart() {
    let env = Env::new().await;
    let all: Vec<_> =
        ["web", "api", "db"].iter().flat_map(|name| (1..=5).map(|number| version(name, number, 7))).collect();
    for version in &all {
        env.create(version).await;
    }
    env.create(&version("other", 1, 8)).await;
    for version in &all {
        assert!(env.is_whole(version).await);
    }
    assert_eq!(env.contents().await, 2, "one for each chart");
    let bytes = |secrets: &[Object]| -> usize { secrets.iter().map(|secret| secret.to_json().len()).sum() };
    let all_bytes = bytes(&env.secrets("").await);
    let of_charts = bytes(&env.secrets(LABEL).await);
    // Sixteen versions, which had a chart each.
    assert!(all_bytes < of_charts * 2, "{all_bytes} bytes of payload, of which {of_charts} are charts");
    // Without the last version, the chart goes, too; the others stay.
    env.store().delete("default", "other", 1).await.unwrap();
    assert_eq!(env.contents().await, 1);
    for number in 1..=5 {
        env.store().delete("default", "web", number).await.unwrap();
    }
    assert!(env.is_whole(&all[14]).await);
    for (name, number) in
        all.iter().map(|version| (&version.name, version.number)).filter(|(name, _)| *name != "web")
    {
        env.store().delete("default", name, number).await.unwrap();
    }
    assert_eq!(env.secrets("").await, [], "nothing is left");
}

#[tokio::test]
async fn the_second_of_many_costs_one_small_request() {
    let env = Env::new().await;
    env.create(&version("first", 1, 7)).await;
    let (store, gate) = env.gated(None);
    let store = store.with_histories(Arc::new(HistoryCache::default()));
    store.create(&version("second", 1, 7), None, None).await.unwrap();
    let of_content = |line: &&String| line.contains("/secrets/helm-chart-");
    let before = gate.requests();
    assert_eq!(before.iter().filter(of_content).count(), 1, "{before:#?}");
    store.create(&version("third", 1, 7), None, None).await.unwrap();
    let after = gate.requests();
    assert_eq!(after.iter().filter(of_content).count(), 2, "it is looked at, and not written: {after:#?}");
    for name in ["first", "second", "third"] {
        assert!(env.is_whole(&version(name, 1, 7)).await);
    }
}

/// A writer that is held up at any request, while the last other version with its chart is deleted.
#[tokio::test]
async fn a_writer_that_is_slow_at_any_request_loses_nothing_to_a_sweeper() {
    for requests in 0..40 {
        let env = Env::new().await;
        env.create(&version("old", 1, 7)).await;
        let (store, gate) = env.gated(Some(requests));
        let wanted = version("new", 1, 7);
        let writing = tokio::spawn({
            let wanted = wanted.clone();
            async move { store.create(&wanted, None, None).await }
        });
        let was_held = tokio::select! {
            () = gate.stopped.notified() => true,
            () = async { while !writing.is_finished() { tokio::task::yield_now().await; } } => false,
        };
        env.store().delete("default", "old", 1).await.unwrap();
        gate.is_open.send_replace(true);
        *gate.left.lock().unwrap() = None;
        writing.await.unwrap().unwrap();
        assert!(env.is_whole(&wanted).await, "held up after {requests} requests");
        env.store().delete("default", "new", 1).await.unwrap();
        assert_eq!(env.secrets("").await, [], "{requests}");
        if !was_held {
            return;
        }
    }
    panic!("it never ends");
}

/// A sweeper that is held up or killed at any request, while somebody writes a version with the chart.
#[tokio::test]
async fn a_sweeper_that_is_slow_or_dies_at_any_request_takes_nothing_from_a_writer() {
    for is_killed in [false, true] {
        for requests in 0..40 {
            let env = Env::new().await;
            env.create(&version("old", 1, 7)).await;
            let (store, gate) = env.gated(Some(requests));
            let sweeping = tokio::spawn(async move { store.delete("default", "old", 1).await });
            let was_held = tokio::select! {
                () = gate.stopped.notified() => true,
                () = async { while !sweeping.is_finished() { tokio::task::yield_now().await; } } => false,
            };
            let wanted = version("new", 1, 7);
            env.create(&wanted).await;
            if is_killed && was_held {
                sweeping.abort();
                let _ = sweeping.await;
            } else {
                gate.is_open.send_replace(true);
                *gate.left.lock().unwrap() = None;
                let _ = sweeping.await.unwrap();
            }
            assert!(env.is_whole(&wanted).await, "killed: {is_killed}, after {requests} requests");
            // Whatever a killed one left goes with the last release.
            let _ = env.store().delete("default", "old", 1).await;
            env.store().delete("default", "new", 1).await.unwrap();
            assert_eq!(env.contents().await, 0, "killed: {is_killed}, after {requests} requests");
            if !was_held {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_writer_that_dies_at_any_request_leaves_nothing_that_stays() {
    for requests in 0..40 {
        let env = Env::new().await;
        let (store, gate) = env.gated(Some(requests));
        let writing = tokio::spawn(async move { store.create(&version("web", 1, 7), None, None).await });
        let was_held = tokio::select! {
            () = gate.stopped.notified() => true,
            () = async { while !writing.is_finished() { tokio::task::yield_now().await; } } => false,
        };
        writing.abort();
        let _ = writing.await;
        if was_held {
            // The next writer takes the place of the dead one.
            let next =
                ReleaseVersion { id: Some(VersionId::new(1_700_000_000_009, 9)), ..version("web", 1, 8) };
            let store = env.store();
            let seen = store.history("default", "web").await.unwrap();
            if seen.is_empty() {
                store.create(&next, None, None).await.unwrap();
                assert!(env.is_whole(&next).await, "{requests}");
            }
        }
        env.store().delete("default", "web", 1).await.unwrap();
        assert_eq!(env.contents().await, 0, "{requests}");
        if !was_held {
            return;
        }
    }
    panic!("it never ends");
}

/// What somebody else wrote under that name is not relied on.
#[tokio::test]
async fn a_secret_with_other_content_is_not_shared() {
    let env = Env::new().await;
    env.create(&version("first", 1, 7)).await;
    let content = env.secrets(LABEL).await.remove(0);
    env.store().delete("default", "first", 1).await.unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {}, namespace: default}}\ndata: {{payload: aGVsbG8=}}\n",
        content.name()
    );
    for object in Object::read_manifest(text.as_bytes(), "test").unwrap() {
        env.cluster.create(&object, &WriteParams::default()).await.unwrap();
    }
    let wanted = version("second", 1, 7);
    env.create(&wanted).await;
    assert!(env.is_whole(&wanted).await);
}

/// Older definitions of the kind drop the field that says where the chart is.
#[tokio::test]
async fn with_an_older_definition_the_chart_stays_in_the_payload() {
    let env = Env::new().await;
    let begin =
        crds::RELEASE_VERSION.find("                  chart:\n                    type: object\n").unwrap();
    let end = begin + crds::RELEASE_VERSION[begin..].find("              objects:").unwrap();
    let older = format!("{}{}", &crds::RELEASE_VERSION[..begin], &crds::RELEASE_VERSION[end..]);
    for definition in Object::read_manifest(older.as_bytes(), "test").unwrap() {
        env.cluster.apply(&definition, true, &WriteParams::default()).await.unwrap();
    }
    let wanted = version("web", 1, 7);
    env.create(&wanted).await;
    assert!(env.is_whole(&wanted).await);
    assert_eq!(env.contents().await, 0);
}

/// Records that were written before charts were shared are read, and moves to Helm's store and back keep everything.
#[tokio::test]
async fn a_release_with_a_shared_chart_moves_to_helm_s_store_and_back() {
    let env = Env::new().await;
    let (first, second) = (version("web", 1, 7), version("web", 2, 7));
    env.create(&first).await;
    env.create(&second).await;
    let helm = HelmSecrets::new(env.cluster.clone());
    let mut moved = Vec::new();
    for number in [1, 2] {
        moved.push(env.store().get("default", "web", number).await.unwrap().unwrap());
    }
    helm.import(&moved).await.unwrap();
    env.store().forget("default", "web", &[1, 2]).await.unwrap();
    assert_eq!(env.contents().await, 0, "the chart went with the records");
    let read = helm.get("default", "web", 2).await.unwrap().unwrap();
    assert_eq!(read.chart, second.chart, "Helm's record has all of it");
    env.store().import(&moved).await.unwrap();
    assert!(env.is_whole(&first).await && env.is_whole(&second).await);
    assert_eq!(env.contents().await, 1);
}
