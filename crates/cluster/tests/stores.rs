//! The stores against an API server: `PINTLE_E2E_KUBECONFIG` names its configuration, whose context must be
//! `pintle-e2e…`. With `PINTLE_HELM` naming the real Helm, each reads what the other wrote.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pintle_cluster::store::{HelmConfigMaps, HelmSecrets, NativeStore};
use pintle_cluster::{Cluster, Settings, WriteParams};
use pintle_objects::{Object, ObjectId};
use pintle_release::{Lease, ReleaseVersion, Status, Store, StoreError, Timestamp, VersionId};

#[path = "../../release/tests/contract.rs"]
mod contract;

use contract::version;

/// Connects to the test cluster and creates a namespace; `None` when there is no test cluster.
async fn testbed(test: &str) -> Option<(Cluster, String)> {
    let Some(path) = std::env::var_os("PINTLE_E2E_KUBECONFIG") else {
        skipped(test, "PINTLE_E2E_KUBECONFIG");
        return None;
    };
    let text = std::fs::read_to_string(&path).expect("a readable configuration");
    assert!(text.contains("current-context: pintle-e2e"), "only test clusters may be written to");
    let settings =
        Settings { kubeconfig: vec![path.into()], user_agent: "pintle-test".into(), ..Settings::default() };
    let cluster = Cluster::connect(&settings).await.expect("a configuration");
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let namespace = format!("stores-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let object = Object::from_id(&ObjectId::new("v1", "Namespace", "", &namespace));
    cluster.create(&object, &WriteParams::default()).await.expect("a namespace");
    Some((cluster, namespace))
}

fn skipped(test: &str, variable: &str) {
    pintle_testkit::skip(&format!("{test} needs {variable}"));
}

fn stores(cluster: &Cluster) -> Vec<Arc<dyn Store>> {
    vec![
        Arc::new(HelmSecrets::new(cluster.clone())),
        Arc::new(HelmConfigMaps::new(cluster.clone())),
        Arc::new(NativeStore::new(cluster.clone())),
    ]
}

#[tokio::test]
async fn every_store_fulfils_the_contract() {
    let Some((cluster, namespace)) = testbed("every_store_fulfils_the_contract").await else { return };
    for store in stores(&cluster) {
        contract::check(&*store, &namespace).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_writers_one_wins_each_number() {
    let Some((cluster, namespace)) = testbed("of_fifty_writers_one_wins_each_number").await else { return };
    for store in stores(&cluster) {
        for number in 1..=3 {
            let writers = (0..50).map(|writer| {
                // Every writer is a process of its own, with its own cache.
                let store =
                    stores(&cluster).into_iter().find(|one| one.driver() == store.driver()).expect("one");
                let mut version = version(&namespace, "web", number, Status::Deployed);
                version.info.description = format!("by {writer}");
                version.id = Some(VersionId::new(1_700_000_000_000 + number, writer));
                let lease =
                    Lease::new(format!("writer {writer}"), Timestamp::from_unix(1_700_000_000, 0), 30);
                tokio::spawn(async move { (writer, store.create(&version, Some(&lease), None).await) })
            });
            let mut winners = Vec::new();
            for outcome in futures::future::join_all(writers).await {
                match outcome.expect("no panic") {
                    (writer, Ok(())) => winners.push(writer),
                    (_, Err(StoreError::Exists { .. } | StoreError::Conflict { .. })) => {}
                    (writer, Err(error)) => panic!("{} {writer}: {error}", store.driver()),
                }
            }
            assert_eq!(winners.len(), 1, "{}", store.driver());
            let history = store.history(&namespace, "web").await.expect("an answer");
            let last = history.last().expect("a version");
            assert_eq!((history.len() as u64, last.number), (number, number), "{}", store.driver());
            assert_eq!(last.description, format!("by {}", winners[0]), "{}", store.driver());
            let read = store.get(&namespace, "web", number).await.expect("an answer").expect("is there");
            assert_eq!(read.info.description, format!("by {}", winners[0]), "{}", store.driver());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_following_a_version_and_taking_it_away_one_succeeds() {
    let test = "of_following_a_version_and_taking_it_away_one_succeeds";
    let Some((cluster, namespace)) = testbed(test).await else { return };
    for describe in 0..stores(&cluster).len() {
        let store = || stores(&cluster).remove(describe);
        let (driver, mut followed) = (store().driver(), 0);
        for round in 0..20 {
            let name = format!("web{round}");
            let mut first = version(&namespace, &name, 1, Status::Deployed);
            store().create(&first, None, None).await.expect("is new");
            let (upgrader, remover) = (store(), store());
            let seen = upgrader.history(&namespace, &name).await.expect("an answer").remove(0);
            let seen_too = remover.history(&namespace, &name).await.expect("an answer").remove(0);
            let second = version(&namespace, &name, 2, Status::PendingUpgrade);
            let lease = Lease::new("remover", Timestamp::from_unix(1_700_000_000, 0), 30);
            first.set_status(Status::Uninstalling, "Deletion in progress");
            let create = upgrader.create(&second, None, Some(&seen));
            let swap = remover.compare_and_swap(&seen_too, &first, Some(&lease));
            // Each order once, then both concurrently.
            let (created, swapped) = match round {
                0 => (create.await, swap.await),
                1 => {
                    let swapped = swap.await;
                    (create.await, swapped)
                }
                _ => futures::join!(create, swap),
            };
            let history = store().history(&namespace, &name).await.expect("an answer");
            let states: Vec<Status> = history.iter().map(|version| version.status).collect();
            match (created, swapped) {
                (Ok(()), Err(StoreError::Modified { .. } | StoreError::Conflict { .. })) => {
                    assert_eq!(states, [Status::Deployed, Status::PendingUpgrade], "{driver}");
                    assert_eq!(history[0].lease, None, "{driver}");
                    assert_ne!(round, 1, "{driver}: it was taken away first");
                    followed += 1;
                }
                (Err(StoreError::Modified { status, .. }), Ok(state)) => {
                    assert_eq!(status, Some(Status::Uninstalling), "{driver}");
                    assert_ne!(round, 0, "{driver}: it was followed first");
                    assert_eq!(states, [Status::Uninstalling], "{driver}");
                    assert_eq!((&history[0].state, &history[0].lease), (&state, &Some(lease)), "{driver}");
                }
                both => panic!("{driver}: {both:?}"),
            }
        }
        println!("{driver}: {followed} of 20 were followed");
    }
}

#[tokio::test]
async fn a_deleted_version_cannot_be_followed() {
    let test = "a_deleted_version_cannot_be_followed";
    let Some((cluster, namespace)) = testbed(test).await else { return };
    for describe in 0..stores(&cluster).len() {
        let store = || stores(&cluster).remove(describe);
        let (late, driver) = (store(), store().driver());
        let first = version(&namespace, "web", 1, Status::Deployed);
        store().create(&first, None, None).await.expect("is new");
        let seen = late.history(&namespace, "web").await.expect("an answer").remove(0);
        store().delete(&namespace, "web", 1).await.expect("is there");
        // Deleted, and created again by another writer: neither is the state that was read.
        for again in [false, true] {
            if again {
                store().create(&first, None, None).await.expect("is new");
            }
            let second = version(&namespace, "web", 2, Status::PendingUpgrade);
            let followed = late.create(&second, None, Some(&seen)).await;
            let is_refusal =
                matches!(followed, Err(StoreError::Modified { .. } | StoreError::Conflict { .. }));
            assert!(is_refusal, "{driver}: {followed:?}");
            let swapped = late.compare_and_swap(&seen, &first, None).await;
            assert!(swapped.is_err(), "{driver}: {swapped:?}");
            let history = store().history(&namespace, "web").await.expect("an answer");
            assert_eq!(history.len(), usize::from(again), "{driver}");
        }
        store().delete(&namespace, "web", 1).await.expect("is there");
    }
}

#[tokio::test]
async fn what_dead_writers_leave_behind_is_no_obstacle() {
    let Some((cluster, namespace)) = testbed("what_dead_writers_leave_behind_is_no_obstacle").await else {
        return;
    };
    let id = |number: u64, random| Some(VersionId::new(1_700_000_000_000 + number, random));
    let name = |id: Option<VersionId>| format!("web-{}", id.expect("has one"));
    let store = NativeStore::new(cluster.clone());
    let first = ReleaseVersion { id: id(1, 1), ..version(&namespace, "web", 1, Status::Deployed) };
    store.create(&first, None, None).await.expect("is new");
    let kind = |name: &str| ObjectId::new("helm.sh/v3", "ReleaseVersion", &namespace, name);

    // A writer was killed before it moved the pointer: its version is not listed, and is deleted with the next one.
    let mut left = cluster.get(&kind(&name(first.id))).await.expect("an answer").expect("is there");
    let orphan = name(id(2, 9));
    left.metadata_mut().insert("name".into(), orphan.as_str().into());
    left.metadata_mut().remove("resourceVersion");
    left.set_label("version", "2");
    left.body_mut()
        .get_mut("spec")
        .and_then(|spec| spec.as_map_mut())
        .expect("a spec")
        .insert("number".into(), 2_i64.into());
    cluster.create(&left, &WriteParams::default()).await.expect("is new");
    assert_eq!(store.history(&namespace, "web").await.expect("an answer").len(), 1);
    assert_eq!(store.get(&namespace, "web", 2).await.expect("an answer"), None);
    let second = ReleaseVersion { id: id(2, 1), ..version(&namespace, "web", 2, Status::Deployed) };
    store.create(&second, None, None).await.expect("is new");
    assert_eq!(store.history(&namespace, "web").await.expect("an answer").len(), 2);
    assert!(cluster.get(&kind(&orphan)).await.expect("an answer").is_none());

    // A writer was killed while it deleted all versions: the name is free again.
    for version in [&first, &second] {
        cluster
            .delete(
                &kind(&name(version.id)),
                pintle_cluster::PropagationPolicy::Background,
                &pintle_cluster::Preconditions::default(),
            )
            .await
            .expect("an answer");
    }
    let store = NativeStore::new(cluster.clone());
    assert!(store.history(&namespace, "web").await.expect("an answer").is_empty());
    store.create(&first, None, None).await.expect("is new again");
    assert_eq!(store.history(&namespace, "web").await.expect("an answer").len(), 1);
}

#[tokio::test]
async fn large_releases_are_kept_in_pieces() {
    let Some((cluster, namespace)) = testbed("large_releases_are_kept_in_pieces").await else { return };
    let store = NativeStore::new(cluster);
    // Pseudorandom hex digits (xorshift), so that the release stays large when it is compressed.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = String::new();
    while noise.len() < 16 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.push_str(&format!("{state:016x}"));
    }
    let mut version = version(&namespace, "large", 1, Status::Deployed);
    version.manifest = noise;
    store.create(&version, None, None).await.expect("is new");
    let read = NativeStore::new(testbed("").await.expect("still there").0).get(&namespace, "large", 1).await;
    assert!(read.expect("an answer").expect("is there").manifest == version.manifest);
    store.delete(&namespace, "large", 1).await.expect("is there");
}

#[tokio::test]
async fn helm_reads_what_we_write_and_we_what_helm_writes() {
    let test = "helm_reads_what_we_write_and_we_what_helm_writes";
    let Some((cluster, namespace)) = testbed(test).await else { return };
    let Some(program) = std::env::var_os("PINTLE_HELM") else { return skipped(test, "PINTLE_HELM") };
    let kubeconfig = std::env::var_os("PINTLE_E2E_KUBECONFIG").expect("was there a moment ago");
    for (driver, store) in ["secret", "configmap"].into_iter().zip(stores(&cluster)) {
        let helm = |arguments: &[&str]| {
            let output = Command::new(&program)
                .args(arguments)
                .args(["--namespace", &namespace])
                .env("KUBECONFIG", &kubeconfig)
                .env("HELM_DRIVER", driver)
                .output()
                .expect("Helm runs");
            assert!(output.status.success(), "{driver}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        let ours = version(&namespace, "ours", 1, Status::Deployed);
        let lease = Lease::new("me", Timestamp::from_unix(1_700_000_000, 0), 30);
        store.create(&ours, Some(&lease), None).await.expect("is new");
        assert!(helm(&["list"]).contains("app-1.2.3"));
        assert_eq!(helm(&["get", "manifest", "ours"]), format!("{}\n", ours.manifest));
        assert!(helm(&["get", "notes", "ours"]).contains("hello"));
        assert!(helm(&["history", "ours"]).contains("Install complete"));

        let folder = tempfile::tempdir().expect("a folder");
        let chart = folder.path().join("theirs");
        std::fs::create_dir_all(chart.join("templates")).expect("a folder");
        std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: theirs\nversion: 0.1.0\n")
            .expect("a file");
        let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {a: '{{ .Values.a }}'}\n";
        std::fs::write(chart.join("templates/a.yaml"), object).expect("a file");
        let chart = chart.to_str().expect("text");
        let release = format!("theirs-{driver}");
        helm(&["install", &release, chart, "--set", "a=1", "--labels", "team=b"]);
        helm(&["upgrade", &release, chart, "--set", "a=2"]);
        let history = store.history(&namespace, &release).await.expect("an answer");
        let states: Vec<_> =
            history.iter().map(|one| (one.number, one.status, one.chart_name.as_str())).collect();
        assert_eq!(states, [(1, Status::Superseded, "theirs"), (2, Status::Deployed, "theirs")]);
        let read = store.get(&namespace, &release, 2).await.expect("an answer").expect("is there");
        assert_eq!(read.labels.get("team").map(String::as_str), Some("b"));
        assert_eq!(helm(&["get", "manifest", &release]), format!("{}\n", read.manifest));
        store.update(&read, None, None).await.expect("is there");
        assert_eq!(helm(&["get", "manifest", &release]), format!("{}\n", read.manifest));
        helm(&["uninstall", &release]);
        assert!(store.history(&namespace, &release).await.expect("an answer").is_empty());
    }
}
