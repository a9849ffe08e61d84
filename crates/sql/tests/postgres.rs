//! The store against a real PostgreSQL: `PINTLE_E2E_POSTGRES` is the connection string of a database for tests.

use std::sync::atomic::{AtomicU32, Ordering};

use pintle_release::{Lease, Query, ReleaseVersion, Status, Store, StoreError, Timestamp};
use pintle_sql::SqlStore;

#[path = "../../release/tests/contract.rs"]
mod contract;

/// Connects to the test database, with a namespace of its own.
async fn testbed(test: &str) -> Option<(SqlStore, String)> {
    let Ok(address) = std::env::var("PINTLE_E2E_POSTGRES") else {
        pintle_testkit::skip(&format!("{test} needs PINTLE_E2E_POSTGRES"));
        return None;
    };
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let namespace = format!("sql-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    Some((SqlStore::connect(&address).await.expect("a database"), namespace))
}

fn version(namespace: &str, name: &str, number: u64, status: Status) -> ReleaseVersion {
    let mut version = ReleaseVersion {
        name: name.into(),
        namespace: namespace.into(),
        number,
        labels: [("team".to_owned(), "a".to_owned())].into(),
        ..ReleaseVersion::default()
    };
    version.chart.metadata.name = "app".into();
    version.chart.metadata.version = "1.2.3".into();
    version.info.last_deployed = Some(Timestamp::from_unix(1_700_000_000, 0));
    version.info.status = status;
    version
}

#[tokio::test]
async fn the_database_fulfils_the_contract_of_stores() {
    let Some((store, namespace)) = testbed("the_database_fulfils_the_contract_of_stores").await else {
        return;
    };
    contract::check(&store, &namespace).await;
}

#[tokio::test]
async fn the_database_keeps_what_it_is_given() {
    let Some((store, namespace)) = testbed("the_database_keeps_what_it_is_given").await else { return };
    let here = Query { namespace: Some(namespace.clone()), ..Query::default() };
    let lease = Lease::new("me", Timestamp::from_unix(1_700_000_000, 0), 30);
    let mut first = version(&namespace, "web", 1, Status::PendingInstall);
    // A body that listing must not need.
    first.manifest = (0..40_000_u64).map(|number| (number * number).to_string()).collect();
    store.create(&first, Some(&lease), None).await.expect("is new");
    assert!(matches!(store.create(&first, None, None).await, Err(StoreError::Exists { number: 1, .. })));

    let renewed = lease.renewed_at(Timestamp::from_unix(1_700_000_020, 0));
    store.renew(&namespace, "web", 1, &renewed).await.expect("is ours");
    let history = store.history(&namespace, "web").await.expect("an answer");
    assert_eq!(history[0].lease.as_ref(), Some(&renewed));
    let other = Lease::new("you", Timestamp::from_unix(1_700_000_020, 0), 30);
    assert!(matches!(store.renew(&namespace, "web", 1, &other).await, Err(StoreError::Conflict { .. })));
    assert!(matches!(store.renew(&namespace, "web", 7, &other).await, Err(StoreError::NotFound { .. })));

    first.set_status(Status::Superseded, "Install complete");
    store.update(&first, None, None).await.expect("is there");
    assert_eq!(store.get(&namespace, "web", 1).await.expect("an answer"), Some(first.clone()));
    assert_eq!(store.history(&namespace, "web").await.expect("an answer")[0].lease, None);

    store.create(&version(&namespace, "web", 10, Status::Failed), None, None).await.expect("is new");
    store.create(&version(&namespace, "api", 1, Status::Deployed), None, None).await.expect("is new");
    let names = |found: Vec<pintle_release::Summary>| {
        found.iter().map(|one| format!("{}.{}", one.name, one.number)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(store.latest(&here).await.expect("an answer")), "api.1 web.10");
    let deployed = Query { statuses: Some(vec![Status::Deployed, Status::Superseded]), ..here.clone() };
    assert_eq!(names(store.latest(&deployed).await.expect("an answer")), "api.1");
    assert_eq!(names(store.list(&deployed).await.expect("an answer")), "api.1 web.1");
    let selected = Query { selector: "team=a,version=10".into(), ..here.clone() };
    assert_eq!(names(store.list(&selected).await.expect("an answer")), "web.10");
    assert_eq!(names(store.history(&namespace, "web").await.expect("an answer")), "web.1 web.10");

    for (name, number) in [("web", 1), ("web", 10), ("api", 1)] {
        store.delete(&namespace, name, number).await.expect("is there");
    }
    assert!(matches!(store.delete(&namespace, "web", 1).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(store.update(&first, None, None).await, Err(StoreError::NotFound { .. })));
    assert!(store.list(&here).await.expect("an answer").is_empty());
}

#[tokio::test]
async fn of_many_writers_one_wins() {
    let Some((_, namespace)) = testbed("of_many_writers_one_wins").await else { return };
    let writers = (0..20).map(|_| async {
        let (store, _) = testbed("of_many_writers_one_wins").await.expect("still there");
        store.create(&version(&namespace, "web", 1, Status::Deployed), None, None).await.is_ok()
    });
    let won = futures::future::join_all(writers).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
}

#[tokio::test]
async fn an_absent_database_is_an_error_with_a_message() {
    let error = SqlStore::connect("host=127.0.0.1 port=1 user=me sslmode=disable").await;
    let error = error.expect_err("nobody listens there").to_string();
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test]
async fn of_following_a_version_and_taking_it_away_one_succeeds() {
    let test = "of_following_a_version_and_taking_it_away_one_succeeds";
    let Some((store, namespace)) = testbed(test).await else { return };
    let (other, _) = testbed(test).await.expect("still there");
    for round in 0..20 {
        let name = format!("web{round}");
        let mut first = version(&namespace, &name, 1, Status::Deployed);
        store.create(&first, None, None).await.expect("is new");
        let seen = store.history(&namespace, &name).await.expect("an answer").remove(0);
        let second = version(&namespace, &name, 2, Status::PendingUpgrade);
        first.set_status(Status::Uninstalling, "Deletion in progress");
        let follow = store.create(&second, None, Some(&seen));
        let (followed, swapped) = futures::join!(follow, other.compare_and_swap(&seen, &first, None));
        let history = store.history(&namespace, &name).await.expect("an answer");
        let states: Vec<Status> = history.iter().map(|version| version.status).collect();
        match (followed, swapped) {
            (Ok(()), Err(StoreError::Conflict { number: 2, .. })) => {
                assert_eq!(states, [Status::Deployed, Status::PendingUpgrade]);
            }
            (Err(StoreError::Modified { status: Some(Status::Uninstalling), .. }), Ok(state)) => {
                assert_eq!(states, [Status::Uninstalling]);
                assert_eq!(history[0].state, state);
            }
            both => panic!("{both:?}"),
        }
        for version in history {
            store.delete(&namespace, &name, version.number).await.expect("is there");
        }
    }
}
