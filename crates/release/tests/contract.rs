//! The contract of release stores. Each crate with a store includes this file and runs it: in memory, in Secrets,
//! ConfigMaps and custom resources, and in PostgreSQL.

use pintle_release::{
    Lease, Query, RecordPart, ReleaseVersion, Status, Store, StoreError, StoredHook, Summary, Timestamp,
};

/// A version with something in every field that stores keep.
pub(crate) fn version(namespace: &str, name: &str, number: u64, status: Status) -> ReleaseVersion {
    let mut version = ReleaseVersion {
        name: name.into(),
        namespace: namespace.into(),
        number,
        manifest:
            "---\n# Source: app/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
                .into(),
        hooks: vec![StoredHook { name: "h".into(), kind: "Job".into(), ..StoredHook::default() }],
        apply_method: "ssa".into(),
        labels: [("team".to_owned(), "a".to_owned())].into(),
        ..ReleaseVersion::default()
    };
    version.chart.metadata.name = "app".into();
    version.chart.metadata.version = "1.2.3".into();
    version.chart.metadata.app_version = "9".into();
    version.chart.metadata.api_version = "v2".into();
    version.chart.values = Some(Default::default());
    version.info.first_deployed = Some(Timestamp::from_unix(1_700_000_000, 0));
    version.info.last_deployed = Some(Timestamp::from_unix(1_700_000_000 + number as i64, 0));
    version.info.description = "Install complete".into();
    version.info.status = status;
    version.info.notes = "hello\n".into();
    version.info.rollback_revision = Some(number + 2);
    version
}

/// Checks that a writer whose lease was removed or replaced can write nothing.
async fn check_former_holder(store: &dyn Store, version: &ReleaseVersion, former: &Lease) {
    let driver = store.driver();
    let mut stale = version.clone();
    stale.set_status(Status::Failed, "written too late");
    let gone = store.update(&stale, None, Some(former)).await;
    assert!(matches!(gone, Err(StoreError::Modified { .. })), "{driver}: {gone:?}");
    let gone = store.renew(&version.namespace, &version.name, version.number, former).await;
    assert!(matches!(gone, Err(StoreError::Conflict { .. })), "{driver}: {gone:?}");
    // Taken by another, and by the same holder for another operation.
    for now in [
        Lease::new("you", former.since, 30),
        Lease::new(former.holder.as_str(), former.since.plus_seconds(60), 30),
    ] {
        store.update(version, Some(&now), None).await.expect("is there");
        let taken = store.update(&stale, None, Some(former)).await;
        assert!(matches!(taken, Err(StoreError::Modified { .. })), "{driver}: {taken:?}");
        let history = store.history(&version.namespace, &version.name).await.expect("an answer");
        assert_eq!(
            (history[0].status, history[0].lease.as_ref()),
            (version.info.status, Some(&now)),
            "{driver}"
        );
        store.update(version, None, Some(&now)).await.expect("is theirs");
    }
}

/// Checks what every store must do, in a namespace that has no releases.
pub(crate) async fn check(store: &dyn Store, namespace: &str) {
    let driver = store.driver();
    let query =
        |statuses| Query { statuses, ..Query { namespace: Some(namespace.into()), ..Query::default() } };
    assert!(store.history(namespace, "web").await.expect("an answer").is_empty(), "{driver}");
    assert_eq!(store.get(namespace, "web", 1).await.expect("an answer"), None, "{driver}");
    let lease = Lease::new("me", Timestamp::from_unix(1_700_000_000, 0), 30);
    let mut first = version(namespace, "web", 1, Status::PendingInstall);
    store.create(&first, Some(&lease), None).await.expect("is new");
    let again = store.create(&first, None, None).await;
    assert!(matches!(again, Err(StoreError::Exists { number: 1, .. })), "{driver}: {again:?}");

    let renewed = lease.renewed_at(Timestamp::from_unix(1_700_000_020, 0));
    store.renew(namespace, "web", 1, &renewed).await.expect("is ours");
    let history = store.history(namespace, "web").await.expect("an answer");
    assert_eq!(history[0].lease.as_ref(), Some(&renewed), "{driver}");
    assert_eq!(history[0].rollback_revision, Some(3), "{driver}");
    let latest = store.latest(&query(None)).await.expect("an answer");
    assert_eq!(latest[0].lease.as_ref(), Some(&renewed), "{driver}");
    let other = Lease::new("you", Timestamp::from_unix(1_700_000_020, 0), 30);
    let taken = store.renew(namespace, "web", 1, &other).await;
    assert!(matches!(taken, Err(StoreError::Conflict { .. })), "{driver}: {taken:?}");

    let missing = store.renew(namespace, "web", 7, &other).await;
    assert!(matches!(missing, Err(StoreError::NotFound { .. })), "{driver}: {missing:?}");

    first.hooks[0].last_run.started = Some(Timestamp::from_unix(1_700_000_021, 0));
    store.update(&first, Some(&renewed), Some(&lease)).await.expect("the same lease, renewed");
    first.set_status(Status::Deployed, "Install complete");
    store.update(&first, None, Some(&lease)).await.expect("is ours");
    check_former_holder(store, &first, &lease).await;
    let read = store.get(namespace, "web", 1).await.expect("an answer").expect("is there");
    assert_eq!(ReleaseVersion { id: first.id, ..read }, first, "{driver}");

    first.manifest.push_str("# changed\n");
    first.set_status(Status::Superseded, "Install complete");
    store.update(&first, None, None).await.expect("is there");
    let second = version(namespace, "web", 2, Status::Failed);
    store.create(&second, None, None).await.expect("is new");
    store.create(&version(namespace, "api", 1, Status::Deployed), None, None).await.expect("is new");
    let read = store.get(namespace, "web", 1).await.expect("an answer").expect("is there");
    assert_eq!(ReleaseVersion { id: first.id, ..read }, first, "{driver}");

    for part in [RecordPart::All, RecordPart::WithoutFiles] {
        let newest = store.newest(namespace, "web", part).await.expect("an answer").expect("is there");
        assert_eq!(ReleaseVersion { id: second.id, ..newest }, second, "{driver}: {part:?}");
        assert_eq!(store.newest(namespace, "none", part).await.expect("an answer"), None, "{driver}");
    }

    let names = |found: Vec<Summary>| {
        found
            .iter()
            .map(|one| format!("{}.{}={}", one.name, one.number, one.status))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let latest = names(store.latest(&query(None)).await.expect("an answer"));
    assert_eq!(latest, "api.1=deployed web.2=failed", "{driver}");
    let latest = names(
        store.latest(&query(Some(vec![Status::Superseded, Status::Deployed]))).await.expect("an answer"),
    );
    assert_eq!(latest, "api.1=deployed", "{driver}");
    let all = names(store.list(&query(None)).await.expect("an answer"));
    assert_eq!(all, "api.1=deployed web.1=superseded web.2=failed", "{driver}");
    let selected = Query { selector: "team=a,name=api".into(), ..query(None) };
    assert_eq!(names(store.latest(&selected).await.expect("an answer")), "api.1=deployed", "{driver}");
    assert_eq!(names(store.list(&selected).await.expect("an answer")), "api.1=deployed", "{driver}");

    store.delete(namespace, "web", 2).await.expect("is there");
    let latest = names(store.latest(&query(None)).await.expect("an answer"));
    assert_eq!(latest, "api.1=deployed web.1=superseded", "{driver}");
    for (name, number) in [("web", 1), ("api", 1)] {
        store.delete(namespace, name, number).await.expect("is there");
    }
    let gone = store.delete(namespace, "web", 1).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{driver}: {gone:?}");
    assert!(store.latest(&query(None)).await.expect("an answer").is_empty(), "{driver}");
    let update = store.update(&first, None, None).await;
    assert!(matches!(update, Err(StoreError::NotFound { .. })), "{driver}: {update:?}");
    check_move(store, namespace).await;
}

/// Checks that a release can be moved here, and away again: while that is done it has a lease, and then it leaves nothing
/// but a marker, which is no version, where other programs read the store too.
async fn check_move(store: &dyn Store, namespace: &str) {
    let driver = store.driver();
    let versions = [1, 2].map(|number| version(namespace, "moved", number, Status::Superseded));
    store.import(&versions).await.expect("is new");
    let mut history = store.history(namespace, "moved").await.expect("an answer");
    assert_eq!(history.iter().map(|version| version.number).collect::<Vec<_>>(), [1, 2], "{driver}");
    let lease = Lease::new("me", Timestamp::from_unix(1_700_000_000, 0), 30);
    let mut last = history.pop().expect("two versions");
    last.state = store.set_lease(&last, Some(&lease)).await.expect("is unmodified");
    store.renew(namespace, "moved", 2, &lease).await.expect("is ours");
    let now = store.history(namespace, "moved").await.expect("an answer").pop().expect("is there");
    assert_eq!((now.lease.as_ref(), now.status), (Some(&lease), Status::Superseded), "{driver}");
    store.set_lease(&now, None).await.expect("is unmodified");

    store.leave_marker(&now, "native").await.expect("can be written");
    store.leave_marker(&now, "native").await.expect("can be written again");
    let history = store.history(namespace, "moved").await.expect("an answer");
    assert_eq!((history.len(), history[1].lease.as_ref()), (2, None), "{driver}");
    let has_marker = !matches!(driver, "native" | "Memory");
    let marked = has_marker.then(|| "native".to_owned());
    assert_eq!(store.moved_to(namespace, "moved"), marked, "{driver}");
    let here = Query { namespace: Some(namespace.into()), ..Query::default() };
    assert_eq!(store.latest(&here).await.expect("an answer").len(), 1, "{driver}");
    store.forget(namespace, "moved", &[1, 2]).await.expect("can be deleted");
    store.forget(namespace, "moved", &[1, 2]).await.expect("is gone");
    store.forget(namespace, "moved", &[]).await.expect("nothing is left");
    assert!(store.history(namespace, "moved").await.expect("an answer").is_empty(), "{driver}");
    assert!(!store.has_records(namespace, "moved").await.expect("an answer"), "{driver}");
    assert!(store.list(&here).await.expect("an answer").is_empty(), "{driver}");
    assert!(store.latest(&here).await.expect("an answer").is_empty(), "{driver}");
    for part in [RecordPart::All, RecordPart::WithoutFiles] {
        assert_eq!(store.newest(namespace, "moved", part).await.expect("an answer"), None, "{driver}");
    }
    assert_eq!(store.moved_to(namespace, "moved"), marked, "{driver}");
    store.remove_marker(namespace, "moved").await.expect("can be deleted");
    store.remove_marker(namespace, "moved").await.expect("is gone");
    store.history(namespace, "moved").await.expect("an answer");
    assert_eq!(store.moved_to(namespace, "moved"), None, "{driver}");
    // The name is free again.
    store.import(&versions).await.expect("is new");
    for number in [1, 2] {
        store.delete(namespace, "moved", number).await.expect("is there");
    }
}
