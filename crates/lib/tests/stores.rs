//! The stores in a cluster fulfil the contract of stores, on the embedded cluster. `crates/cluster/tests/stores.rs` runs the
//! same on a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle::cluster::store::{HelmConfigMaps, HelmSecrets, HistoryCache, NativeStore};
use pintle::cluster::{Cluster, Preconditions, PropagationPolicy, WriteParams, crds};
use pintle::embedded::{self, Embedded};
use pintle::objects::{Object, ObjectId};
use pintle::release::{RecordPart, ReleaseVersion, Status, Store, VersionId};

#[path = "../../release/tests/contract.rs"]
mod contract;

#[tokio::test]
async fn every_store_in_a_cluster_fulfils_the_contract() {
    let api = Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let stores: [Arc<dyn Store>; 4] = [
        Arc::new(HelmSecrets::new(cluster.clone())),
        Arc::new(HelmConfigMaps::new(cluster.clone())),
        Arc::new(NativeStore::new(cluster.clone())),
        Arc::new(NativeStore::new(cluster.clone()).with_histories(Arc::default())),
    ];
    for (number, store) in stores.into_iter().enumerate() {
        let namespace = format!("contract-{number}");
        let object = Object::from_id(&ObjectId::new("v1", "Namespace", "", &namespace));
        cluster.create(&object, &WriteParams::default()).await.expect("a namespace");
        contract::check(&*store, &namespace).await;
    }
}

#[tokio::test]
async fn of_all_records_only_the_newest_is_read_unless_it_is_damaged() {
    let api = Embedded::default().open().await.expect("it opens");
    let requests = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (served, seen) = (api.clone(), Arc::clone(&requests));
    let cluster = Cluster::from_service_fn(
        move |request| {
            let accept =
                request.headers().get("accept").and_then(|text| text.to_str().ok()).unwrap_or_default();
            let what = if accept.contains("PartialObjectMetadata") { "heads" } else { "objects" };
            let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            seen.lock().expect("not poisoned").push(format!("{what} {name}"));
            let api = served.clone();
            async move { api.handle(request).await }
        },
        "default",
    );
    let store = HelmSecrets::new(cluster.clone());
    for number in 1..=3 {
        let version = contract::version("default", "web", number, Status::Superseded);
        store.create(&version, None, None).await.expect("is new");
    }
    let newest = async || {
        requests.lock().expect("not poisoned").clear();
        let newest = store.newest("default", "web", RecordPart::WithoutFiles).await.expect("an answer");
        (newest.map(|version| version.number), requests.lock().expect("not poisoned").join(", "))
    };
    let expected = "heads secrets, objects sh.helm.release.v1.web.v3".to_owned();
    assert_eq!(newest().await, (Some(3), expected));
    let id = ObjectId::new("v1", "Secret", "default", "sh.helm.release.v1.web.v3");
    let mut damaged = cluster.get(&id).await.expect("an answer").expect("is there");
    let data = damaged.body_mut().get_mut("data").and_then(|data| data.as_map_mut()).expect("has data");
    data.insert("release".into(), "bm8gcmVjb3Jk".into());
    cluster.replace(&damaged, &WriteParams::default()).await.expect("is there");
    assert_eq!(newest().await.0, Some(2), "as in Helm, which skips what it cannot read");
}

/// The number and status of each version, as a new store with these histories sees them, and how many lists that took.
async fn seen(cluster: &Cluster, lists: &AtomicUsize, histories: &Arc<HistoryCache>) -> (String, usize) {
    let before = lists.load(Ordering::Relaxed);
    let store = NativeStore::new(cluster.clone()).with_histories(Arc::clone(histories));
    let history = store.history("default", "web").await.expect("an answer");
    let text: Vec<String> =
        history.iter().map(|version| format!("{}={}", version.number, version.status)).collect();
    (text.join(" "), lists.load(Ordering::Relaxed) - before)
}

#[tokio::test]
async fn histories_that_stores_share_are_never_behind() {
    let api = Embedded::default().open().await.expect("it opens");
    let lists = Arc::new(AtomicUsize::new(0));
    let (served, counted) = (api.clone(), Arc::clone(&lists));
    let cluster = Cluster::from_service_fn(
        move |request| {
            let is_list = request.uri().path().ends_with("/releaseversions");
            counted.fetch_add(usize::from(is_list && *request.method() == "GET"), Ordering::Relaxed);
            let api = served.clone();
            async move { api.handle(request).await }
        },
        "default",
    );
    crds::install(&cluster).await.expect("installed");
    let id = |number: u64, random| Some(VersionId::new(1_700_000_000_000 + number, random));
    let version = |number, status| ReleaseVersion {
        id: id(number, 1),
        ..contract::version("default", "web", number, status)
    };
    let histories = Arc::new(HistoryCache::default());
    let ours = NativeStore::new(cluster.clone()).with_histories(Arc::clone(&histories));
    let others = NativeStore::new(cluster.clone());
    let is = |text: &str, lists: usize| (text.to_owned(), lists);

    assert_eq!(
        seen(&cluster, &lists, &histories).await,
        is("", 0),
        "without a release there is nothing to list"
    );
    ours.create(&version(1, Status::PendingInstall), None, None).await.expect("is new");
    ours.update(&version(1, Status::Deployed), None, None).await.expect("is there");
    assert_eq!(seen(&cluster, &lists, &histories).await, is("1=deployed", 0), "we wrote it");
    ours.create(&version(2, Status::PendingUpgrade), None, None).await.expect("is new");
    ours.update(&version(1, Status::Superseded), None, None).await.expect("is there");
    ours.update(&version(2, Status::Deployed), None, None).await.expect("is there");
    assert_eq!(seen(&cluster, &lists, &histories).await, is("1=superseded 2=deployed", 0));

    others.create(&version(3, Status::Failed), None, None).await.expect("is new");
    let three = "1=superseded 2=deployed 3=failed";
    assert_eq!(seen(&cluster, &lists, &histories).await, is(three, 1), "others changed the release");
    assert_eq!(seen(&cluster, &lists, &histories).await, is(three, 0));
    others.delete("default", "web", 3).await.expect("is there");
    assert_eq!(seen(&cluster, &lists, &histories).await, is("1=superseded 2=deployed", 1));

    // Someone deletes the newest version by hand, so that the release points to nothing.
    let name = format!("web-{}", id(2, 1).expect("an id"));
    let object = ObjectId::new("helm.sh/v3", "ReleaseVersion", "default", &name);
    let deleted = cluster.delete(&object, PropagationPolicy::Background, &Preconditions::default()).await;
    assert!(deleted.expect("an answer"));
    assert_eq!(seen(&cluster, &lists, &histories).await, is("1=superseded", 1));

    // Someone deletes the release. Its versions are no obstacle, however long the garbage collector takes.
    let object = ObjectId::new("helm.sh/v3", "Release", "default", "web");
    let deleted = cluster.delete(&object, PropagationPolicy::Background, &Preconditions::default()).await;
    assert!(deleted.expect("an answer"));
    assert_eq!(seen(&cluster, &lists, &histories).await, is("", 1), "what is left of it is looked for once");
    assert_eq!(seen(&cluster, &lists, &histories).await, is("", 0));
}

/// A pending version that a killed writer left behind is not part of the history, and is deleted with a later version.
#[tokio::test]
async fn of_two_versions_with_one_number_the_pending_one_does_not_count() {
    let api = Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let store = || NativeStore::new(cluster.clone());
    let id = |number: u64| Some(VersionId::new(1_700_000_000_000 + number, 1));
    let version = |number, status| ReleaseVersion {
        id: id(number),
        ..contract::version("default", "web", number, status)
    };
    for number in 1..=2 {
        store().create(&version(number, Status::Superseded), None, None).await.expect("is new");
    }
    let first =
        ObjectId::new("helm.sh/v3", "ReleaseVersion", "default", &format!("web-{}", id(1).expect("an id")));
    let mut left = cluster.get(&first).await.expect("an answer").expect("is there");
    let orphan = format!("web-{}", VersionId::new(1_700_000_000_001, 9));
    left.metadata_mut().insert("name".into(), orphan.as_str().into());
    left.metadata_mut().remove("resourceVersion");
    let status = left.body_mut().get_mut("status").and_then(|status| status.as_map_mut()).expect("a status");
    status.insert("status".into(), "pending-upgrade".into());
    cluster.create(&left, &WriteParams::default()).await.expect("is new");
    let numbers = |history: Vec<pintle::release::Summary>| -> Vec<u64> {
        history.iter().map(|version| version.number).collect()
    };
    let store = store();
    assert_eq!(numbers(store.history("default", "web").await.expect("an answer")), [1, 2]);
    store.create(&version(3, Status::Deployed), None, None).await.expect("is new");
    let orphan = ObjectId::new("helm.sh/v3", "ReleaseVersion", "default", &orphan);
    assert!(cluster.get(&orphan).await.expect("an answer").is_none(), "it goes with the next version");
}

/// `kubectl delete release web --cascade=orphan` leaves versions without an owner. They are no release, and no part of the next
/// release of that name, which deletes them.
#[tokio::test]
async fn versions_that_a_deleted_release_left_are_not_those_of_the_next() {
    for histories in [None, Some(Arc::<HistoryCache>::default())] {
        let api = Embedded::default().open().await.expect("it opens");
        let cluster = embedded::cluster(&api, "default");
        let store = || {
            let store = NativeStore::new(cluster.clone());
            match &histories {
                Some(histories) => store.with_histories(Arc::clone(histories)),
                None => store,
            }
        };
        let add = async |number: u64| {
            let store = store();
            let history = store.history("default", "web").await.expect("an answer");
            let version = contract::version("default", "web", number, Status::Superseded);
            store.create(&version, None, history.last()).await.expect("is new");
        };
        let history = async || {
            let history = store().history("default", "web").await.expect("an answer");
            history.iter().map(|version| version.number).collect::<Vec<u64>>()
        };
        let stored = async || {
            let versions = cluster.list(&crds::release_versions(), "default", &Default::default()).await;
            versions.expect("an answer").len()
        };
        for number in 1..=3 {
            add(number).await;
        }
        let release = ObjectId::new("helm.sh/v3", "Release", "default", "web");
        let deleted = cluster.delete(&release, PropagationPolicy::Orphan, &Preconditions::default()).await;
        deleted.expect("is there");
        assert_eq!(
            (history().await, stored().await),
            (vec![], 3),
            "the versions are left, and are no release"
        );
        let query = pintle::release::Query::for_release("default", "web");
        assert_eq!(store().latest(&query).await.expect("an answer"), []);
        assert_eq!(store().list(&query).await.expect("an answer"), []);
        add(1).await;
        assert_eq!((history().await, stored().await), (vec![1], 1), "what was left is deleted");
    }
}

/// A process that did not see the earlier release does not list its versions when it installs the next one.
#[tokio::test]
async fn versions_of_an_earlier_release_do_not_count_beside_those_of_this_one() {
    let api = Embedded::default().open().await.expect("it opens");
    let cluster = embedded::cluster(&api, "default");
    let earlier = NativeStore::new(cluster.clone());
    let version = |number: u64, status: Status| contract::version("default", "web", number, status);
    for number in 1..=3 {
        let history = earlier.history("default", "web").await.expect("an answer");
        earlier.create(&version(number, Status::Superseded), None, history.last()).await.expect("is new");
    }
    let release = ObjectId::new("helm.sh/v3", "Release", "default", "web");
    let deleted = cluster.delete(&release, PropagationPolicy::Orphan, &Preconditions::default()).await;
    deleted.expect("is there");
    let fresh = || NativeStore::new(cluster.clone()).with_histories(Arc::default());
    for number in 1..=2 {
        let store = fresh();
        let history = store.history("default", "web").await.expect("an answer");
        store.create(&version(number, Status::Deployed), None, history.last()).await.expect("is new");
    }
    let history = fresh().history("default", "web").await.expect("an answer");
    let seen: Vec<_> = history.iter().map(|version| (version.number, version.status)).collect();
    assert_eq!(seen, [(1, Status::Deployed), (2, Status::Deployed)]);
    let left =
        cluster.list(&crds::release_versions(), "default", &Default::default()).await.expect("an answer");
    assert_eq!(left.len(), 2, "the next writer deletes what was left");
}
