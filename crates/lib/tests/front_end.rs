//! What a front end needs: watching, pages, objects, logs, and operations that are cancelled or left to themselves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use pintle::cluster::logs::{LogRange, LogSource};
use pintle::cluster::wait;
use pintle::objects::{HookEvent, ObjectId};
use pintle::ops::{
    LogsRequest, PageRequest, ReleaseChange, UninstallRequest, WatchRequest, install, list_page, logs,
    objects, start, uninstall, upgrade, watch,
};
use pintle::release::{MemoryStore, Status, VersionRef};
use pintle::{Error, LogWriters, ObjectChange, Progress, Silent, Stage, WaitStrategy};

use crate::support::{Driver, TestEnv};

/// A limit that only a broken watch reaches.
const LIMIT: Duration = Duration::from_secs(240);

fn away(name: &str) -> UninstallRequest {
    UninstallRequest { name: name.to_owned(), namespace: "default".to_owned(), ..UninstallRequest::default() }
}

/// Stores are never polled within a test: what arrives was watched.
fn watched() -> WatchRequest {
    WatchRequest { namespace: None, poll_interval: Duration::from_secs(3600) }
}

async fn next(
    changes: &mut (impl futures::Stream<Item = pintle::Result<ReleaseChange>> + Unpin),
) -> ReleaseChange {
    tokio::time::timeout(LIMIT, changes.next()).await.expect("a change arrives").unwrap().unwrap()
}

#[tokio::test]
async fn changes_of_all_stores_in_a_cluster_are_watched() {
    for driver in Driver::ALL {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        // The CRDs of the native store exist from the first release on.
        install(&session, &env.install("old"), &mut Silent).await.unwrap();
        let mut changes = watch(&session, &watched());
        match next(&mut changes).await {
            ReleaseChange::Applied(release) => {
                assert_eq!((release.name.as_str(), release.status), ("old", Status::Deployed));
                assert_eq!(release.store, session.store.driver_word());
            }
            other => panic!("{driver:?}: {other:?}"),
        }
        assert_eq!(next(&mut changes).await, ReleaseChange::Synced, "{driver:?}");
        install(&session, &env.install("new"), &mut Silent).await.unwrap();
        loop {
            match next(&mut changes).await {
                ReleaseChange::Applied(release) if release.status == Status::Deployed => {
                    assert_eq!(release.name, "new", "{driver:?}");
                    break;
                }
                // While it is installed.
                ReleaseChange::Applied(release) => assert_eq!(release.status, Status::PendingInstall),
                other => panic!("{driver:?}: {other:?}"),
            }
        }
        uninstall(&session, &away("old"), &mut Silent).await.unwrap();
        let gone = ReleaseChange::Removed { namespace: "default".to_owned(), name: "old".to_owned() };
        while next(&mut changes).await != gone {}
    }
}

#[tokio::test]
async fn a_release_in_another_store_of_the_session_is_watched() {
    let env = TestEnv::new().await;
    let (native, _) = env.session(Driver::Native);
    let (helm, _) = env.session(Driver::Secrets);
    install(&native, &env.install("ours"), &mut Silent).await.unwrap();
    let mut changes = watch(&native, &watched());
    while next(&mut changes).await != ReleaseChange::Synced {}
    install(&helm, &env.install("helms"), &mut Silent).await.unwrap();
    loop {
        if let ReleaseChange::Applied(release) = next(&mut changes).await
            && release.status == Status::Deployed
        {
            assert_eq!((release.name.as_str(), release.store), ("helms", "secret"));
            break;
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_watched_is_polled() {
    let env = TestEnv::new().await;
    let (mut session, _) = env.session(Driver::Native);
    (session.store, session.other_stores) = (Arc::new(MemoryStore::new()), Vec::new());
    session.excluded_stores = Vec::new();
    let poll_interval = Duration::from_millis(5);
    let mut changes = watch(&session, &WatchRequest { poll_interval, ..WatchRequest::default() });
    assert_eq!(next(&mut changes).await, ReleaseChange::Synced);
    install(&session, &env.install("web"), &mut Silent).await.unwrap();
    loop {
        if let ReleaseChange::Applied(release) = next(&mut changes).await
            && release.status == Status::Deployed
        {
            break;
        }
    }
    // What does not change is not reported again, however often it is read.
    let quiet = tokio::time::timeout(Duration::from_millis(50), changes.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test]
async fn a_page_begins_after_the_last_release_of_the_one_before() {
    for driver in Driver::ALL {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        for name in ["a", "b", "c", "d", "e"] {
            install(&session, &env.install(name), &mut Silent).await.unwrap();
        }
        upgrade(&session, &env.upgrade("b", &["text=two"]), &mut Silent).await.unwrap();
        let names = |page: &pintle::ops::ReleasePage| -> Vec<(String, u64)> {
            page.releases.iter().map(|release| (release.name.clone(), release.number)).collect()
        };
        let mut request = PageRequest { limit: 2, ..PageRequest::default() };
        let first = list_page(&session, &request).await.unwrap();
        assert_eq!(names(&first), [("a".to_owned(), 1), ("b".to_owned(), 2)], "{driver:?}");
        assert_eq!((first.total, first.releases[0].chart_name.as_str()), (5, "web"));
        // What is before the page may come and go.
        uninstall(&session, &away("a"), &mut Silent).await.unwrap();
        request.after = first.next;
        let second = list_page(&session, &request).await.unwrap();
        assert_eq!(names(&second), [("c".to_owned(), 1), ("d".to_owned(), 1)], "{driver:?}");
        request.after = second.next;
        let last = list_page(&session, &request).await.unwrap();
        assert_eq!((names(&last), last.next, last.total), (vec![("e".to_owned(), 1)], None, 4));
        let found = PageRequest {
            filter: "^[bc]$".to_owned(),
            selector: "version=2".to_owned(),
            statuses: vec![Status::Deployed],
            ..PageRequest::default()
        };
        assert_eq!(names(&list_page(&session, &found).await.unwrap()), [("b".to_owned(), 2)], "{driver:?}");
    }
}

#[tokio::test]
async fn objects_have_their_readiness_pods_and_events() {
    let env = TestEnv::new().await;
    let (session, _) = env.session(Driver::Native);
    let target = env.upgrade("web", &["text=one", "extra=true", "never=true"]).target;
    install(&session, &target, &mut Silent).await.unwrap();
    env.delete("v1", "ConfigMap", "web-extra").await;
    let found = objects(&session, "default", "web", &VersionRef::Current).await.unwrap();
    let status = |kind: &str, name: &str| {
        found.iter().find(|object| object.id.kind == kind && object.id.name == name).unwrap()
    };
    assert_eq!(status("ConfigMap", "web").readiness.status, wait::Status::Current);
    assert_eq!(status("ConfigMap", "web-extra").readiness.status, wait::Status::NotFound);
    let deployment = status("Deployment", "web");
    assert_ne!(deployment.readiness.status, wait::Status::Current);
    assert!(deployment.live.is_some());
    let [pod] = deployment.pods.as_slice() else { panic!("{deployment:?}") };
    assert_eq!(pod.containers, ["a"]);
    assert!(pod.reason.as_deref().is_some_and(|reason| !reason.is_empty()), "{pod:?}");
}

/// A writer whose text the test sees.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const TALKING: &str = "apiVersion: v1
kind: Pod
metadata: {name: talks, annotations: {pintle.dev/simulate-log: spoken}}
spec:
  restartPolicy: Never
  containers: [{name: one, image: x}, {name: two, image: x}]
";

#[tokio::test]
async fn logs_of_a_release_go_to_a_writer_for_each_container() {
    let env = TestEnv::new().await;
    env.write("templates/pod.yaml", TALKING);
    let (session, _) = env.session(Driver::Native);
    let mut target = env.install("web");
    target.deploy.wait = WaitStrategy::Watcher;
    install(&session, &target, &mut Silent).await.unwrap();
    let texts = Arc::new(Mutex::new(Vec::<(String, Shared)>::new()));
    let opened = Arc::clone(&texts);
    let mut writers = LogWriters::new(move |namespace, pod, container| {
        let text = Shared::default();
        opened.lock().unwrap().push((format!("{namespace}/{pod}/{container}"), text.clone()));
        Box::new(text)
    });
    let mut request = LogsRequest {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        range: LogRange { follow: true, ..LogRange::default() },
        ..LogsRequest::default()
    };
    let mut sink = |source: &LogSource, bytes: &[u8]| writers.write(source, bytes);
    assert_eq!(logs(&session, &request, &mut sink).await.unwrap(), []);
    let mut written: Vec<(String, Vec<u8>)> = texts
        .lock()
        .unwrap()
        .iter()
        .map(|(name, text)| (name.clone(), text.0.lock().unwrap().clone()))
        .collect();
    written.sort();
    let names: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["default/talks/one", "default/talks/two"]);
    assert!(written.iter().all(|(_, text)| text.starts_with(b"spoken")), "{written:?}");
    request.object = Some(ObjectId::new("v1", "Pod", "default", "other"));
    let error = logs(&session, &request, &mut |_: &LogSource, _: &[u8]| ()).await.unwrap_err().to_string();
    assert!(error.contains("release web has no object"), "{error}");
}

#[tokio::test]
async fn an_operation_that_is_cancelled_leaves_the_others_of_its_session_alone() {
    let env = TestEnv::new().await;
    let (session, gate) = env.session(Driver::Native);
    gate.leave_unanswered("/configmaps");
    let target = env.install("slow");
    let slow = start(&session, move |session, mut progress| async move {
        install(&session, &target, &mut progress).await
    });
    let mut progress = slow.progress();
    gate.stopped().await;
    let target = env.install("web");
    let other = start(&session, move |session, mut progress| async move {
        install(&session, &target, &mut progress).await
    });
    slow.cancel();
    assert!(matches!(slow.outcome().await.unwrap_err(), Error::Cancelled));
    let mut applied = false;
    while let Some(progress) = progress.next().await {
        applied |= progress == Progress::Stage(Stage::Applying);
    }
    assert!(applied, "the stream has what happened, and an end");
    assert_eq!(other.outcome().await.unwrap().info.status, Status::Deployed);
    assert_eq!(env.versions(Driver::Native, "slow").await, [(1, Status::Failed)]);
}

#[tokio::test]
async fn cancelling_the_session_stops_what_was_started_from_it() {
    let env = TestEnv::new().await;
    let (session, _) = env.session(Driver::Native);
    let mut target = env.upgrade("slow", &["never=true"]).target;
    target.deploy.wait = WaitStrategy::Watcher;
    let slow = start(&session, move |session, mut progress| async move {
        install(&session, &target, &mut progress).await
    });
    session.cancel.cancel();
    let ended = tokio::time::timeout(LIMIT, slow.outcome()).await.expect("it ends");
    assert!(matches!(ended.unwrap_err(), Error::Cancelled));
}

#[tokio::test]
async fn an_operation_that_nobody_follows_ends_by_itself() {
    let env = TestEnv::new().await;
    let (session, _) = env.session(Driver::Native);
    let mut changes = watch(&session, &WatchRequest { poll_interval: Duration::from_millis(5), ..watched() });
    let target = env.install("web");
    start(
        &session,
        move |session, mut progress| async move { install(&session, &target, &mut progress).await },
    )
    .detach();
    loop {
        if let ReleaseChange::Applied(release) = next(&mut changes).await
            && release.status == Status::Deployed
        {
            break;
        }
    }
}

#[tokio::test]
async fn the_progress_of_an_operation_is_one_stream_in_order() {
    let env = TestEnv::new().await;
    let (session, _) = env.session(Driver::Native);
    let mut target = env.upgrade("web", &["text=one", "wrong=true", "hook=pre-install"]).target;
    let mut seen = Vec::new();
    let outcome = install(&session, &target, &mut |progress| seen.push(progress)).await;
    outcome.unwrap_err();
    let stages = |seen: &[Progress]| -> Vec<Stage> {
        seen.iter()
            .filter_map(|progress| match progress {
                Progress::Stage(stage) => Some(*stage),
                _ => None,
            })
            .collect()
    };
    // The Job of the hook fails.
    assert_eq!(stages(&seen), [Stage::Loading, Stage::Rendering, Stage::Hooks(HookEvent::PreInstall)]);
    uninstall(&session, &away("web"), &mut Silent).await.unwrap();
    target.values = env.upgrade("web", &["text=one", "wrong=true"]).target.values;
    seen.clear();
    install(&session, &target, &mut |progress| seen.push(progress)).await.unwrap_err();
    assert_eq!(stages(&seen), [Stage::Loading, Stage::Rendering, Stage::Applying]);
    let created = |progress: &Progress| match progress {
        Progress::Applied(applied) => {
            applied.id.kind == "ConfigMap" && applied.change == ObjectChange::Created
        }
        _ => false,
    };
    let failed = |progress: &Progress| match progress {
        Progress::Failed { id, reason } => id.kind == "Service" && reason.contains("700000"),
        _ => false,
    };
    assert!(seen.iter().any(created) && seen.iter().any(failed), "{seen:?}");
    seen.clear();
    uninstall(&session, &away("web"), &mut |progress| seen.push(progress)).await.unwrap();
    let deleted = |progress: &Progress| match progress {
        Progress::Applied(applied) => {
            applied.id.kind == "ConfigMap" && applied.change == ObjectChange::Deleted
        }
        _ => false,
    };
    assert!(seen.iter().any(deleted), "{seen:?}");
}
