//! One name, one owner: which store holds a release, that operations leave it there, and how `adopt` moves it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::future::Future;

use pintle::ops::{
    AdoptRequest, Adopted, DriftRequest, HistoryPrecondition, InstallRequest, ListRequest, RollbackRequest,
    TestRequest, UninstallRequest, UpgradeRequest, drift, history, install, list, rollback, test, uninstall,
    upgrade,
};
use pintle::release::{Status, Summary, VersionRef};
use pintle::{DryRun, Error, LeaseHolder, Session, Silent};

use crate::support::{Driver, TestEnv};

const SUPERSEDED: Status = Status::Superseded;
const DEPLOYED: Status = Status::Deployed;
const FAILED: Status = Status::Failed;

/// A cluster with a release of two versions in a store.
async fn env_with_release(driver: Driver) -> TestEnv {
    let env = TestEnv::new().await;
    let (session, _) = env.session(driver);
    install(&session, &env.upgrade("web", &["text=one"]).target, &mut Silent).await.unwrap();
    upgrade(&session, &env.upgrade("web", &["text=two"]), &mut Silent).await.unwrap();
    env
}

fn back(to: u64, dry_run: DryRun) -> RollbackRequest {
    RollbackRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        to: VersionRef::Number(to),
        dry_run,
        ..RollbackRequest::default()
    }
}

fn away(dry_run: bool) -> UninstallRequest {
    UninstallRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        dry_run,
        ..UninstallRequest::default()
    }
}

fn tests() -> TestRequest {
    TestRequest { name: "web".to_owned(), namespace: "default".to_owned(), ..TestRequest::default() }
}

/// Runs the dry run of every operation that has one.
async fn dry_runs(env: &TestEnv, session: &Session) {
    for dry_run in [DryRun::Client, DryRun::Server] {
        for (name, install_it) in [("web", false), ("web", true), ("new", true)] {
            let request = env.upgrade(name, &["text=three"]);
            let target = InstallRequest { dry_run, create_namespace: true, ..request.target };
            let request = UpgradeRequest { target, install: install_it, max_history: 1, ..request };
            upgrade(session, &request, &mut Silent).await.unwrap();
        }
        for name in ["web", "new"] {
            let request = env.upgrade(name, &["text=three"]).target;
            let namespace = "elsewhere".to_owned();
            let request =
                InstallRequest { dry_run, create_namespace: true, replace: true, namespace, ..request };
            install(session, &request, &mut Silent).await.unwrap();
        }
        rollback(session, &back(1, dry_run), &mut Silent).await.unwrap();
    }
    uninstall(session, &away(true), &mut Silent).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_of_any_command_sends_nothing_that_writes() {
    for owner in Driver::ALL {
        let env = env_with_release(owner).await;
        env.write(
            "crds/thing.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
        );
        let drivers = if owner == Driver::Secrets { vec![Driver::Native, owner] } else { vec![owner] };
        for driver in drivers {
            let (session, gate) = env.session(driver);
            dry_runs(&env, &session).await;
            assert_eq!(gate.writes(), [""; 0], "{owner:?} {driver:?}");
            assert_eq!(env.versions(owner, "web").await, [(1, SUPERSEDED), (2, DEPLOYED)]);
        }
    }
}

#[tokio::test]
async fn a_dry_run_writes_nothing_over_an_operation_whose_client_has_died() {
    for owner in [Driver::Native, Driver::Secrets] {
        let env = env_with_release(owner).await;
        let (session, gate) = env.session(owner);
        gate.leave_unanswered("/configmaps");
        let request = env.upgrade("web", &["text=three"]);
        assert!(dies(upgrade(&session, &request, &mut Silent), gate.stopped()).await);
        let (session, gate) = env.session(Driver::Native);
        dry_runs(&env, &session).await;
        assert_eq!(gate.writes(), [""; 0], "{owner:?}");
        assert_eq!(env.versions(owner, "web").await.last(), Some(&(3, Status::PendingUpgrade)));
    }
}

/// Moves the release to a store.
async fn adopt(session: &Session, to: Driver) -> pintle::Result<Adopted> {
    let (name, namespace) = ("web".to_owned(), "default".to_owned());
    pintle::ops::adopt(session, &AdoptRequest { name, namespace, to: to.store(&session.cluster) }).await
}

#[tokio::test]
async fn every_operation_stays_in_the_store_where_the_release_is() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    let done = upgrade(&session, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
    assert_eq!((done.version.number, done.version.info.status), (3, DEPLOYED));
    rollback(&session, &back(1, DryRun::None), &mut Silent).await.unwrap();
    assert_eq!(env.text("web").await.as_deref(), Some("one"));
    assert_eq!(env.versions(Driver::Native, "web").await, []);
    let versions = env.versions(Driver::Secrets, "web").await;
    assert_eq!(versions, [(1, SUPERSEDED), (2, SUPERSEDED), (3, SUPERSEDED), (4, DEPLOYED)]);
    assert!(env.marker(Driver::Secrets, "web").await.is_none());
    let owners = env.object("v1", "ConfigMap", "web").await.unwrap();
    assert!(owners.at(&["metadata", "ownerReferences"]).is_none(), "Helm's records own nothing");
    uninstall(&session, &away(false), &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Secrets, "web").await, []);
    assert_eq!(env.text("web").await, None);
}

#[tokio::test]
async fn a_rollback_in_helm_s_store_keeps_as_many_versions_as_it_is_told() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    let request = RollbackRequest { max_history: 2, ..back(1, DryRun::None) };
    rollback(&session, &request, &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Secrets, "web").await, [(2, SUPERSEDED), (3, DEPLOYED)]);
}

#[tokio::test]
async fn a_release_moves_between_all_stores_with_its_history_and_keeps_its_objects() {
    for from in Driver::ALL {
        for to in Driver::ALL.into_iter().filter(|to| *to != from) {
            let env = env_with_release(from).await;
            let (session, _) = env.session(from);
            let adopted = adopt(&session, to).await.unwrap();
            assert_eq!((adopted.from.is_some(), adopted.versions), (true, 2), "{from:?} {to:?}");
            assert_eq!(env.versions(from, "web").await, [], "{from:?} {to:?}");
            let two = [(1, SUPERSEDED), (2, DEPLOYED)];
            assert_eq!(env.versions(to, "web").await, two, "{from:?} {to:?}");
            assert_eq!(env.text("web").await.as_deref(), Some("two"), "{from:?} {to:?}");
            // Where Helm would look for the release there is a marker instead, which is no version.
            assert_eq!(env.marker(from, "web").await.is_some(), from != Driver::Native, "{from:?} {to:?}");
            let (session, _) = env.session(to);
            assert_eq!(adopt(&session, to).await.unwrap().from, None, "{from:?} {to:?}");
            upgrade(&session, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
            rollback(&session, &back(1, DryRun::None), &mut Silent).await.unwrap();
            assert_eq!(env.versions(to, "web").await.len(), 4, "{from:?} {to:?}");
            let owned = env.object("v1", "ConfigMap", "web").await.unwrap();
            let owned = owned.at(&["metadata", "ownerReferences"]).is_some();
            assert_eq!(owned, to == Driver::Native, "{from:?} {to:?}");
            // The marker goes when the release comes back.
            adopt(&session, from).await.unwrap();
            assert!(env.marker(from, "web").await.is_none(), "{from:?} {to:?}");
            assert_eq!(env.marker(to, "web").await.is_some(), to != Driver::Native, "{from:?} {to:?}");
            assert_eq!(env.versions(from, "web").await.len(), 4, "{from:?} {to:?}");
            assert_eq!(env.text("web").await.as_deref(), Some("one"), "{from:?} {to:?}");
        }
    }
}

#[tokio::test]
async fn the_marker_goes_when_the_release_is_uninstalled() {
    for keep_history in [false, true] {
        let env = env_with_release(Driver::Secrets).await;
        let (session, _) = env.session(Driver::Native);
        adopt(&session, Driver::Native).await.unwrap();
        let request = UninstallRequest { keep_history, ..away(false) };
        uninstall(&session, &request, &mut Silent).await.unwrap();
        // A name with a history is still taken.
        assert_eq!(env.marker(Driver::Secrets, "web").await.is_some(), keep_history);
        if keep_history {
            uninstall(&session, &away(false), &mut Silent).await.unwrap();
            assert!(env.marker(Driver::Secrets, "web").await.is_none());
        }
    }
}

#[tokio::test]
async fn a_marker_of_a_release_that_is_gone_stops_nobody_who_knows() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    adopt(&session, Driver::Native).await.unwrap();
    env.delete("helm.sh/v3", "Release", "web").await;
    let (session, _) = env.session(Driver::Native);
    let gone = adopt(&session, Driver::Secrets).await.unwrap();
    assert_eq!((gone.from, gone.versions), (None, 0));
    assert!(env.marker(Driver::Secrets, "web").await.is_none());
    let error = adopt(&session, Driver::Secrets).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchRelease { .. }), "{error}");

    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    adopt(&session, Driver::Native).await.unwrap();
    env.delete("helm.sh/v3", "Release", "web").await;
    let (session, _) = env.session(Driver::Secrets);
    install(&session, &env.upgrade("web", &["text=new"]).target, &mut Silent).await.unwrap();
    assert!(env.marker(Driver::Secrets, "web").await.is_none(), "Helm would take it for the newest version");
}

#[tokio::test]
async fn a_marker_counts_if_the_store_that_it_names_cannot_be_read() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    adopt(&session, Driver::Native).await.unwrap();
    let (mut session, gate) = env.session(Driver::Secrets);
    // A session that does not know the native store, as a user who may not read it.
    session.excluded_stores.clear();
    let request = env.upgrade("web", &["text=new"]);
    let error = install(&session, &request.target, &mut Silent).await.unwrap_err();
    assert!(matches!(error, Error::InOtherStore { .. }), "{error}");
    assert_eq!(gate.writes(), [""; 0]);
    assert_eq!(list(&session, &ListRequest::default(), &mut Silent).await.unwrap(), []);
    assert_eq!(
        history(&session, "default", "web", 0).await.map(drop).unwrap_err().to_string(),
        "release: not found"
    );
}

#[tokio::test]
async fn a_list_of_several_stores_says_which_one_has_a_release() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    install(&session, &env.upgrade("own", &["text=one"]).target, &mut Silent).await.unwrap();
    let listed = list(&session, &ListRequest::default(), &mut Silent).await.unwrap();
    let stores: Vec<_> = listed.iter().map(|release| (release.name.as_str(), release.store)).collect();
    assert_eq!(stores, [("own", "native"), ("web", "secret")]);
}

#[tokio::test]
async fn drift_is_corrected_under_a_lease() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = env_with_release(driver).await;
        env.set_text("web", "by hand").await;
        let request = DriftRequest {
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            correct: true,
            ..DriftRequest::default()
        };
        let (session, gate) = env.session(driver);
        gate.leave_unanswered("/configmaps/web");
        assert!(dies(drift(&session, &request), gate.stopped()).await);
        // While it was correcting, others kept away.
        let (mut other, _) = env.session(driver);
        other.holder = LeaseHolder::new("one who knows nothing of others");
        let error = upgrade(&other, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap_err();
        assert!(matches!(error, Error::Pending { lease: Some(_) }), "{driver:?}: {error}");
        let (session, _) = env.session(driver);
        drift(&session, &request).await.unwrap();
        assert_eq!(env.text("web").await.as_deref(), Some("two"), "{driver:?}");
        assert_eq!(env.versions(driver, "web").await, [(1, SUPERSEDED), (2, DEPLOYED)]);
        upgrade(&other, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
    }
}

#[tokio::test]
async fn an_operation_that_fails_leaves_a_release_of_helm_where_it_is() {
    let two = [(1, SUPERSEDED), (2, DEPLOYED)];
    for (sets, recorded) in [
        (&["broken=true"][..], false),
        (&["hook=pre-upgrade"], true),
        (&["wrong=true"], true),
        (&["hook=post-upgrade"], true),
    ] {
        let env = env_with_release(Driver::Secrets).await;
        let (session, _) = env.session(Driver::Native);
        let request = env.upgrade("web", sets);
        upgrade(&session, &request, &mut Silent).await.unwrap_err();
        assert_eq!(env.versions(Driver::Native, "web").await, [], "{sets:?}");
        let mut expected = two.to_vec();
        if recorded {
            expected.push((3, FAILED));
        }
        assert_eq!(env.versions(Driver::Secrets, "web").await, expected, "{sets:?}");
        // The next client continues with it, in either store.
        let (session, _) = env.session(if recorded { Driver::Secrets } else { Driver::Native });
        upgrade(&session, &env.upgrade("web", &["text=four"]), &mut Silent).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_rolled_back_after_a_failure_stays_with_helm() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    let mut request = env.upgrade("web", &["text=three", "hook=post-upgrade"]);
    request.target.rollback_on_failure = true;
    let error = upgrade(&session, &request, &mut Silent).await.unwrap_err();
    assert!(matches!(error, Error::RolledBack { .. }), "{error}");
    assert_eq!(env.text("web").await.as_deref(), Some("two"));
    assert_eq!(env.versions(Driver::Native, "web").await, []);
    let versions = env.versions(Driver::Secrets, "web").await;
    assert_eq!(versions, [(1, SUPERSEDED), (2, SUPERSEDED), (3, FAILED), (4, DEPLOYED)]);
}

#[tokio::test]
async fn what_cannot_be_moved_stays_where_it_is() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, gate) = env.session(Driver::Native);
    gate.misdirect("/customresourcedefinitions/");
    adopt(&session, Driver::Native).await.unwrap_err();
    let versions = [(1, SUPERSEDED), (2, DEPLOYED)];
    assert_eq!(env.versions(Driver::Secrets, "web").await, versions);
    assert!(env.marker(Driver::Secrets, "web").await.is_none());
    // The lease is released, so that the next client need not wait.
    let (mut session, _) = env.session(Driver::Native);
    session.holder = LeaseHolder::new("one who knows nothing of others");
    assert_eq!(adopt(&session, Driver::Native).await.unwrap().versions, 2);
    let (session, gate) = env.session(Driver::Native);
    gate.misdirect("/configmaps");
    adopt(&session, Driver::ConfigMaps).await.unwrap_err();
    assert_eq!(env.versions(Driver::Native, "web").await, versions);
    assert_eq!(env.versions(Driver::ConfigMaps, "web").await, []);
}

/// Runs an operation until a write request gets stuck. Returns whether one did.
async fn dies<T>(operation: impl Future<Output = T>, stopped: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        _ = operation => false,
        () = stopped => true,
    }
}

/// Asserts that a release is in one store only, with one deployed version, and that Helm's other stores have a marker if
/// they had the release.
async fn is_sound(env: &TestEnv, stores: &[Driver], text: &str, case: &str) -> Driver {
    let mut owners = Vec::new();
    for store in stores {
        let versions = env.versions(*store, "web").await;
        if !versions.is_empty() {
            owners.push((*store, versions));
        }
    }
    assert_eq!(owners.len(), 1, "{case}: {owners:?}");
    let (owner, versions) = owners.remove(0);
    let numbers: Vec<u64> = versions.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=versions.len() as u64).collect::<Vec<u64>>(), "{case}");
    let deployed = versions.iter().filter(|(_, status)| *status == DEPLOYED).count();
    assert_eq!((deployed, versions.last().unwrap().1), (1, DEPLOYED), "{case}: {versions:?}");
    assert_eq!(env.text("web").await.as_deref(), Some(text), "{case}");
    assert!(env.marker(owner, "web").await.is_none(), "{case}: Helm could not work on it");
    owner
}

/// Kills a client that moves a release after each of its writes, and calls `next` on what it left.
async fn dying(from: Driver, to: Driver, next: impl AsyncFn(TestEnv, String)) {
    for writes in 0.. {
        assert!(writes < 200, "it never ends");
        let env = env_with_release(from).await;
        let case = format!("{from:?} to {to:?} after {writes} writes");
        let (session, gate) = env.session(from);
        gate.stop_after(writes);
        let died = dies(adopt(&session, to), gate.stopped()).await;
        drop(session);
        // The release is complete in at least one store, and its objects are where they were.
        let mut complete = false;
        for store in [from, to] {
            complete |= env.versions(store, "web").await == [(1, SUPERSEDED), (2, DEPLOYED)];
        }
        assert!(complete, "{case}");
        assert_eq!(env.text("web").await.as_deref(), Some("two"), "{case}");
        next(env, case).await;
        if !died {
            return;
        }
    }
}

#[tokio::test]
async fn an_adoption_that_dies_is_finished_by_repeating_it() {
    for (from, to) in [
        (Driver::Secrets, Driver::Native),
        (Driver::Native, Driver::Secrets),
        (Driver::ConfigMaps, Driver::Secrets),
    ] {
        dying(from, to, async |env: TestEnv, case: String| {
            let (session, _) = env.session(Driver::Native);
            adopt(&session, to).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(is_sound(&env, &[from, to], "two", &case).await, to, "{case}");
            assert_eq!(env.marker(from, "web").await.is_some(), from != Driver::Native, "{case}");
            if from == Driver::Native || to == Driver::Native {
                let release = env.object("helm.sh/v3", "Release", "web").await;
                assert_eq!(release.is_some(), to == Driver::Native, "{case}");
            }
            let (session, _) = env.session(to);
            let request = env.upgrade("web", &["text=last"]);
            upgrade(&session, &request, &mut Silent).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(is_sound(&env, &[from, to], "last", &case).await, to, "{case}");
        })
        .await;
    }
}

#[tokio::test]
async fn an_adoption_that_dies_can_be_undone() {
    for (from, to) in [(Driver::Secrets, Driver::Native), (Driver::Native, Driver::Secrets)] {
        dying(from, to, async |env: TestEnv, case: String| {
            let (session, _) = env.session(Driver::Native);
            adopt(&session, from).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(is_sound(&env, &[from, to], "two", &case).await, from, "{case}");
        })
        .await;
    }
}

#[tokio::test]
async fn an_adoption_that_dies_is_understood_by_every_command() {
    for (from, to) in [(Driver::Secrets, Driver::Native), (Driver::Native, Driver::Secrets)] {
        dying(from, to, async |env: TestEnv, case: String| {
            let (session, gate) = env.session(Driver::Native);
            let seen = history(&session, "default", "web", 0).await.unwrap();
            assert_eq!(seen.len(), 2, "{case}: {seen:?}");
            let listed = list(&session, &ListRequest::default(), &mut Silent).await.unwrap();
            assert_eq!(listed.len(), 1, "{case}: {listed:?}");
            let mut request = env.upgrade("web", &["text=last"]);
            request.target.dry_run = DryRun::Server;
            upgrade(&session, &request, &mut Silent).await.unwrap();
            assert_eq!(gate.writes(), [""; 0], "{case}: a dry run");
            request.target.dry_run = DryRun::None;
            upgrade(&session, &request, &mut Silent).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            is_sound(&env, &[from, to], "last", &case).await;
        })
        .await;
    }
}

#[tokio::test]
async fn where_helm_goes_on_after_a_move_that_died_its_records_count() {
    for (from, to) in [(Driver::Secrets, Driver::Native), (Driver::Native, Driver::Secrets)] {
        dying(from, to, async |env: TestEnv, case: String| {
            let has_newest = env.versions(Driver::Secrets, "web").await.last() == Some(&(2, DEPLOYED));
            // Where there is a marker Helm refuses.
            if has_newest && env.marker(Driver::Secrets, "web").await.is_none() {
                let (mut session, _) = env.session(Driver::Secrets);
                // Helm does not know our store.
                session.excluded_stores = Vec::new();
                let request = env.upgrade("web", &["text=helm"]);
                upgrade(&session, &request, &mut Silent).await.unwrap();
            }
            let (session, _) = env.session(Driver::Native);
            let request = env.upgrade("web", &["text=last"]);
            upgrade(&session, &request, &mut Silent).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            is_sound(&env, &[from, to], "last", &case).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_move_that_died_between_other_stores_is_refused_with_the_command_that_finishes_it() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, gate) = env.session(Driver::Secrets);
    // The lease, and both versions.
    gate.stop_after(3);
    assert!(dies(adopt(&session, Driver::ConfigMaps), gate.stopped()).await);
    let (session, _) = env.session(Driver::Native);
    let error = upgrade(&session, &env.upgrade("web", &["text=last"]), &mut Silent).await.unwrap_err();
    assert!(matches!(error, Error::MoveInterrupted { .. }), "{error}");
    assert!(error.to_string().contains("in Helm's Secrets and in Helm's ConfigMaps"), "{error}");
}

#[tokio::test]
async fn while_a_release_is_moved_others_keep_away() {
    let env = env_with_release(Driver::Secrets).await;
    let (moving, gate) = env.session(Driver::Native);
    gate.stop_after(4);
    assert!(dies(adopt(&moving, Driver::Native), gate.stopped()).await);
    let request = env.upgrade("web", &["text=three"]);
    for driver in [Driver::Native, Driver::Secrets] {
        let (mut session, gate) = env.session(driver);
        session.holder = LeaseHolder::new("one who knows nothing of others");
        for error in [
            upgrade(&session, &request, &mut Silent).await.map(drop).unwrap_err(),
            rollback(&session, &back(1, DryRun::None), &mut Silent).await.map(drop).unwrap_err(),
            uninstall(&session, &away(false), &mut Silent).await.map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Pending { lease: Some(_) }), "{driver:?}: {error}");
        }
        assert_eq!(gate.writes(), [""; 0], "{driver:?}");
    }
}

#[tokio::test]
async fn a_first_install_that_dies_at_any_write_can_be_carried_on() {
    for writes in 0..200 {
        let env = TestEnv::new().await;
        let (session, gate) = env.session(Driver::Native);
        gate.stop_after(writes);
        let request = env.upgrade("web", &["text=last"]);
        let died = dies(install(&session, &request.target, &mut Silent), gate.stopped()).await;
        let (session, _) = env.session(Driver::Native);
        let request = UpgradeRequest { install: true, ..request };
        upgrade(&session, &request, &mut Silent).await.unwrap_or_else(|error| panic!("{writes}: {error}"));
        is_sound(&env, &[Driver::Native], "last", &writes.to_string()).await;
        if !died {
            return;
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn a_name_that_another_store_has_is_taken_in_every_command() {
    for (owner, driver) in [
        (Driver::Native, Driver::Secrets),
        (Driver::Native, Driver::ConfigMaps),
        (Driver::Secrets, Driver::ConfigMaps),
        (Driver::ConfigMaps, Driver::Secrets),
        (Driver::ConfigMaps, Driver::Native),
    ] {
        let env = env_with_release(owner).await;
        let (session, gate) = env.session(driver);
        let request = env.upgrade("web", &["text=three"]);
        let or_install = UpgradeRequest { install: true, ..request.clone() };
        let errors = [
            install(&session, &request.target, &mut Silent).await.map(drop).unwrap_err(),
            upgrade(&session, &request, &mut Silent).await.map(drop).unwrap_err(),
            upgrade(&session, &or_install, &mut Silent).await.map(drop).unwrap_err(),
            rollback(&session, &back(1, DryRun::None), &mut Silent).await.map(drop).unwrap_err(),
            uninstall(&session, &away(false), &mut Silent).await.map(drop).unwrap_err(),
            test(&session, &tests(), &mut Silent).await.map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::InOtherStore { .. }), "{owner:?} {driver:?}: {error}");
            assert!(error.to_string().contains(" and not "), "{error}");
        }
        assert_eq!(gate.writes(), [""; 0], "{owner:?} {driver:?}");
    }
}

#[tokio::test]
async fn an_install_over_a_release_of_helm_is_refused() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, gate) = env.session(Driver::Native);
    let request = env.upgrade("web", &["text=three"]).target;
    for replace in [false, true] {
        let request = InstallRequest { replace, ..request.clone() };
        let error = install(&session, &request, &mut Silent).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "release name check failed: cannot reuse a name that is still in use: it is stored in Helm's Secrets"
        );
    }
    assert_eq!(gate.writes(), [""; 0]);
    // An uninstalled release can be replaced, and stays where its history is.
    let (helm, _) = env.session(Driver::Secrets);
    uninstall(&helm, &UninstallRequest { keep_history: true, ..away(false) }, &mut Silent).await.unwrap();
    install(&session, &request, &mut Silent).await.unwrap_err();
    install(&session, &InstallRequest { replace: true, ..request }, &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Native, "web").await, []);
    let versions = env.versions(Driver::Secrets, "web").await;
    assert_eq!(versions, [(1, SUPERSEDED), (2, SUPERSEDED), (3, DEPLOYED)]);
}

#[tokio::test]
async fn a_name_that_two_stores_have_is_changed_by_nobody() {
    let env = env_with_release(Driver::Secrets).await;
    let (mut native, _) = env.session(Driver::Native);
    let others = std::mem::take(&mut native.other_stores);
    let request = InstallRequest { take_ownership: true, ..env.upgrade("web", &["text=three"]).target };
    install(&native, &request, &mut Silent).await.unwrap();
    native.other_stores = others;
    let request = env.upgrade("web", &["text=four"]);
    for session in [native, env.session(Driver::Secrets).0] {
        for error in [
            upgrade(&session, &request, &mut Silent).await.map(drop).unwrap_err(),
            uninstall(&session, &away(false), &mut Silent).await.map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::DuplicateRelease { .. }), "{error}");
            assert!(error.to_string().contains("and only one can own it"), "{error}");
        }
    }
    assert_eq!(env.text("web").await.as_deref(), Some("three"));
}

#[tokio::test]
async fn a_replacement_that_cannot_be_rendered_leaves_the_record_of_the_uninstalled_release() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = env_with_release(driver).await;
        let (session, _) = env.session(driver);
        uninstall(&session, &UninstallRequest { keep_history: true, ..away(false) }, &mut Silent)
            .await
            .unwrap();
        let request = env.upgrade("web", &["broken=true"]).target;
        install(&session, &InstallRequest { replace: true, ..request }, &mut Silent).await.unwrap_err();
        let versions = env.versions(driver, "web").await;
        assert_eq!(versions, [(1, SUPERSEDED), (2, Status::Uninstalled)], "{driver:?}");
    }
}

#[tokio::test]
async fn an_uninstall_leaves_a_release_whose_versions_do_not_satisfy_its_precondition() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = env_with_release(driver).await;
        let (session, gate) = env.session(Driver::Native);
        let only = |versions: usize| {
            let check = move |history: &[Summary]| match history.len() == versions {
                true => Ok(()),
                false => Err(format!("it has {} versions", history.len())),
            };
            UninstallRequest { precondition: Some(HistoryPrecondition::new(check)), ..away(false) }
        };
        let error = uninstall(&session, &only(1), &mut Silent).await.unwrap_err();
        assert_eq!(error.to_string(), "release web is left as it is: it has 2 versions");
        assert_eq!(gate.writes(), [""; 0]);
        uninstall(&session, &only(2), &mut Silent).await.unwrap();
        assert_eq!(env.versions(driver, "web").await, []);
    }
}
