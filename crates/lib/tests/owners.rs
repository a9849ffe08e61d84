//! One name, one owner: which store holds a release, and how releases move from Helm's records into ours.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::future::Future;

use pintle::ops::{
    HistoryPrecondition, InstallRequest, ListRequest, RollbackRequest, TestRequest, UninstallRequest,
    UpgradeRequest, adopt, history, install, list, rollback, test, uninstall, upgrade,
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

#[tokio::test]
async fn a_release_of_helm_is_moved_when_the_operation_has_succeeded() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    let done = upgrade(&session, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
    assert_eq!((done.version.number, done.version.info.status), (3, DEPLOYED));
    assert_eq!(env.versions(Driver::Secrets, "web").await, []);
    let moved = env.versions(Driver::Native, "web").await;
    assert_eq!(moved, [(1, SUPERSEDED), (2, SUPERSEDED), (3, DEPLOYED)]);
    rollback(&session, &back(1, DryRun::None), &mut Silent).await.unwrap();
    assert_eq!(env.text("web").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn a_rollback_moves_a_release_of_helm_and_keeps_as_many_versions_as_it_is_told() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, _) = env.session(Driver::Native);
    let request = RollbackRequest { max_history: 2, ..back(1, DryRun::None) };
    rollback(&session, &request, &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Secrets, "web").await, []);
    assert_eq!(env.versions(Driver::Native, "web").await, [(2, SUPERSEDED), (3, DEPLOYED)]);
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
        let request = UpgradeRequest { max_history: 1, ..env.upgrade("web", sets) };
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
async fn what_cannot_be_moved_stays_with_helm_and_is_upgraded_all_the_same() {
    let env = env_with_release(Driver::Secrets).await;
    let (session, gate) = env.session(Driver::Native);
    gate.misdirect("/customresourcedefinitions/");
    upgrade(&session, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Native, "web").await, []);
    let versions = env.versions(Driver::Secrets, "web").await;
    assert_eq!(versions, [(1, SUPERSEDED), (2, SUPERSEDED), (3, DEPLOYED)]);
    adopt(&session, "default", "web").await.unwrap_err();
    assert_eq!(env.versions(Driver::Secrets, "web").await, versions);
    let (session, _) = env.session(Driver::Native);
    assert_eq!(adopt(&session, "default", "web").await.unwrap(), 3);
    assert_eq!(adopt(&session, "default", "web").await.unwrap(), 0);
}

/// Runs an operation until a write request gets stuck. Returns whether one did.
async fn dies<T>(operation: impl Future<Output = T>, stopped: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        _ = operation => false,
        () = stopped => true,
    }
}

/// Asserts that a release is in one store only, with one deployed version.
async fn is_sound(env: &TestEnv, writes: usize) {
    let (native, helm) =
        (env.versions(Driver::Native, "web").await, env.versions(Driver::Secrets, "web").await);
    assert_eq!(helm, [], "after {writes} writes: {native:?}");
    let numbers: Vec<u64> = native.iter().map(|(number, _)| *number).collect();
    let expected: Vec<u64> = (1..=native.len() as u64).collect();
    assert_eq!(numbers, expected, "after {writes} writes");
    let deployed = native.iter().filter(|(_, status)| *status == DEPLOYED).count();
    assert_eq!((deployed, native.last().unwrap().1), (1, DEPLOYED), "after {writes} writes: {native:?}");
    assert_eq!(env.text("web").await.as_deref(), Some("last"), "after {writes} writes");
}

/// Kills a client that moves a release after each of its writes; then other clients continue.
async fn dying(next: &[Driver], moves_by_upgrade: bool) {
    for writes in 0.. {
        assert!(writes < 200, "it never ends");
        let env = env_with_release(Driver::Secrets).await;
        let (session, gate) = env.session(Driver::Native);
        gate.stop_after(writes);
        let died = match moves_by_upgrade {
            true => {
                let request = env.upgrade("web", &["text=three"]);
                dies(upgrade(&session, &request, &mut Silent), gate.stopped()).await
            }
            false => dies(adopt(&session, "default", "web"), gate.stopped()).await,
        };
        drop(session);
        // The release is complete in at least one store.
        let (session, _) = env.session(Driver::Native);
        let seen = history(&session, "default", "web", 0).await.unwrap();
        assert_eq!(seen[0].number, 1, "after {writes} writes");
        assert!(seen.len() >= 2, "after {writes} writes: {seen:?}");
        let listed = list(&session, &ListRequest::default(), &mut Silent).await.unwrap();
        assert_eq!(listed.len(), 1, "after {writes} writes: {listed:?}");
        let (session, gate) = env.session(Driver::Native);
        let mut request = env.upgrade("web", &["text=last"]);
        request.target.dry_run = DryRun::Server;
        upgrade(&session, &request, &mut Silent).await.unwrap();
        assert_eq!(gate.writes(), [""; 0], "a dry run after {writes} writes");
        for driver in next {
            let (mut session, _) = env.session(*driver);
            // Helm does not know our store.
            session.excluded_stores = Vec::new();
            let last = upgrade(&session, &env.upgrade("web", &["text=last"]), &mut Silent).await;
            // Helm finds nothing of a release that was moved completely.
            assert!(last.is_ok() || *driver == Driver::Secrets, "after {writes} writes: {last:?}");
            if last.is_err() {
                assert_eq!(env.versions(Driver::Secrets, "web").await, [], "after {writes} writes");
            }
        }
        is_sound(&env, writes).await;
        if !died {
            return;
        }
    }
}

#[tokio::test]
async fn an_upgrade_that_dies_while_it_moves_a_release_is_understood_by_the_next() {
    dying(&[Driver::Native], true).await;
}

#[tokio::test]
async fn an_adoption_that_dies_is_understood_by_the_next_command() {
    dying(&[Driver::Native], false).await;
}

#[tokio::test]
async fn where_helm_goes_on_after_a_move_that_died_its_records_count() {
    dying(&[Driver::Secrets, Driver::Native], true).await;
    dying(&[Driver::Secrets, Driver::Native], false).await;
}

#[tokio::test]
async fn while_a_release_is_moved_others_keep_away() {
    let env = env_with_release(Driver::Secrets).await;
    let (moving, gate) = env.session(Driver::Native);
    gate.stop_after(4);
    assert!(dies(adopt(&moving, "default", "web"), gate.stopped()).await);
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
        is_sound(&env, writes).await;
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
            adopt(&session, "default", "web").await.map(drop).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::InOtherStore { .. }), "{owner:?} {driver:?}: {error}");
            assert!(error.to_string().contains("HELM_DRIVER="), "{error}");
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
    // An uninstalled release can be replaced, and is moved with its history.
    let (helm, _) = env.session(Driver::Secrets);
    uninstall(&helm, &UninstallRequest { keep_history: true, ..away(false) }, &mut Silent).await.unwrap();
    install(&session, &request, &mut Silent).await.unwrap_err();
    install(&session, &InstallRequest { replace: true, ..request }, &mut Silent).await.unwrap();
    assert_eq!(env.versions(Driver::Secrets, "web").await, []);
    let versions = env.versions(Driver::Native, "web").await;
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
            assert!(error.to_string().contains("kubectl delete secrets -l owner=helm,name=web"), "{error}");
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
