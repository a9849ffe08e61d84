//! Uninstalling deletes what the release owns, and keeps and reports everything else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use pintle::cluster::WriteParams;
use pintle::objects::ObjectId;
use pintle::ops::{
    InstallRequest, PlanRequest, PlannedAction, RollbackRequest, UninstallRequest,
    check_rollback_description, history, install, plan, rollback, uninstall, upgrade,
};
use pintle::release::{Status, VersionRef};
use pintle::{Error, Progress, Reporter, Session, Silent};

use crate::support::{Driver, Gate, TestEnv};

#[derive(Default)]
struct Lines(Vec<String>);

impl Reporter for Lines {
    fn report(&mut self, progress: Progress) {
        if let Progress::Message(message) = progress {
            self.0.push(message.line.to_string());
        }
    }
}

fn away() -> UninstallRequest {
    UninstallRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        ..UninstallRequest::default()
    }
}

/// Removes the label by which the release owns an object.
async fn disown(session: &Session, name: &str) {
    let id = ObjectId::new("v1", "ConfigMap", "default", name);
    let mut object = session.cluster.get(&id).await.unwrap().unwrap();
    object.set_label("app.kubernetes.io/managed-by", "somebody");
    session.cluster.replace(&object, &WriteParams::default()).await.unwrap();
}

async fn env_with_release(driver: Driver) -> (TestEnv, Session) {
    let env = TestEnv::new().await;
    let (session, _) = env.session(driver);
    install(&session, &env.upgrade("web", &["text=one", "extra=true"]).target, &mut Silent).await.unwrap();
    (env, session)
}

#[tokio::test]
async fn an_object_without_the_owner_s_label_outlives_the_release_and_its_records() {
    for driver in [Driver::Native, Driver::Secrets] {
        let (env, session) = env_with_release(driver).await;
        disown(&session, "web-extra").await;
        let mut lines = Lines::default();
        let request = away();
        let outcome = uninstall(&session, &request, &mut lines).await.unwrap().unwrap();
        assert_eq!(
            lines.0,
            [
                "level=WARN msg=\"skipping delete of resource not owned by this release\" kind=ConfigMap name=web-extra \
              namespace=default release=web"
            ]
        );
        let kept: Vec<&str> = outcome.kept.not_owned.iter().map(|object| object.id.name.as_str()).collect();
        assert_eq!(
            (kept.as_slice(), outcome.kept.not_owned[0].owner.as_ref()),
            (["web-extra"].as_slice(), None)
        );
        assert!(outcome.kept.by_policy.is_empty() && outcome.kept.not_verified.is_empty());
        assert!(env.versions(driver, "web").await.is_empty());
        assert!(env.object("v1", "ConfigMap", "web").await.is_none(), "{driver:?}");
        assert!(
            env.object("v1", "ConfigMap", "web-extra").await.is_some(),
            "{driver:?}: the garbage collector"
        );
    }
}

#[tokio::test]
async fn records_that_are_deleted_later_do_not_take_along_what_was_kept() {
    for driver in [Driver::Native, Driver::Secrets] {
        let (env, session) = env_with_release(driver).await;
        disown(&session, "web-extra").await;
        let request = UninstallRequest { keep_history: true, ..away() };
        uninstall(&session, &request, &mut Silent).await.unwrap().unwrap();
        assert_eq!(env.versions(driver, "web").await, [(1, Status::Uninstalled)]);
        let (session, _) = env.session(driver);
        uninstall(&session, &away(), &mut Silent).await.unwrap().unwrap();
        assert!(env.versions(driver, "web").await.is_empty());
        assert!(env.object("v1", "ConfigMap", "web-extra").await.is_some(), "{driver:?}");
    }
}

#[tokio::test]
async fn what_another_release_took_over_is_kept_and_named() {
    let (env, session) = env_with_release(Driver::Native).await;
    env.write("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
    let request = InstallRequest { take_ownership: true, ..env.install("other") };
    install(&session, &request, &mut Silent).await.unwrap();
    let planned = plan(&session, &PlanRequest::Uninstall(Box::new(away())), &mut Silent).await.unwrap();
    let planned: Vec<_> = planned
        .plan
        .objects
        .iter()
        .map(|object| (object.id.name.as_str(), object.action, object.kept_because.as_deref()))
        .collect();
    let because = Some("it belongs to release other in namespace default");
    assert_eq!(planned, [("web", PlannedAction::Keep, because), ("web-extra", PlannedAction::Delete, None)]);
    let outcome = uninstall(&session, &away(), &mut Silent).await.unwrap().unwrap();
    let owner = outcome.kept.not_owned[0].owner.clone();
    assert_eq!(owner, Some(("other".to_owned(), "default".to_owned())));
    assert!(env.object("v1", "ConfigMap", "web").await.is_some());
    assert!(env.object("v1", "ConfigMap", "web-extra").await.is_none());
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_kept_with_the_reason() {
    for driver in [Driver::Native, Driver::Secrets] {
        let (env, _) = env_with_release(driver).await;
        let (session, gate) = env.session(driver);
        gate.refuse_reading("/configmaps/web-extra");
        let mut lines = Lines::default();
        let request = UninstallRequest { dry_run: true, ..away() };
        let dry = uninstall(&session, &request, &mut lines).await.unwrap().unwrap();
        assert!(
            lines.0[0].ends_with("their ownership could not be verified\" release=web count=1"),
            "{:?}",
            lines.0
        );
        assert!(
            lines.0[1].contains("would skip resource (ownership could not be verified)"),
            "{:?}",
            lines.0
        );
        let outcome = uninstall(&session, &away(), &mut Silent).await.unwrap().unwrap();
        assert_eq!(outcome.kept, dry.kept);
        assert!(outcome.kept.not_verified[0].reason.contains("refused"), "{:?}", outcome.kept);
        assert!(env.object("v1", "ConfigMap", "web").await.is_none());
        assert!(env.object("v1", "ConfigMap", "web-extra").await.is_some(), "{driver:?}");
    }
}

/// Refuses to read an object from the moment that a hook runs.
struct RefusedFromTheHook {
    gate: Gate,
    lines: Lines,
}

impl Reporter for RefusedFromTheHook {
    fn report(&mut self, progress: Progress) {
        if matches!(progress, Progress::Readiness(_)) {
            self.gate.refuse_reading("/configmaps/web-extra");
        }
        self.lines.report(progress);
    }
}

#[tokio::test]
async fn undoing_a_failed_install_keeps_what_may_not_be_its_own() {
    let env = TestEnv::new().await;
    let (session, gate) = env.session(Driver::Native);
    let mut request = env.upgrade("web", &["text=one", "extra=true", "hook=post-install"]).target;
    request.rollback_on_failure = true;
    let mut reporter = RefusedFromTheHook { gate, lines: Lines::default() };
    let error = install(&session, &request, &mut reporter).await.unwrap_err();
    assert!(matches!(error, Error::RolledBack { .. }), "{error}");
    let lines = reporter.lines.0.join("\n");
    assert!(
        lines.contains("because ownership could not be verified\" kind=ConfigMap name=web-extra"),
        "{lines}"
    );
    assert!(env.object("v1", "ConfigMap", "web").await.is_none());
    assert!(env.object("v1", "ConfigMap", "web-extra").await.is_some());
}

#[tokio::test]
async fn a_rollback_records_its_description_and_where_it_went() {
    for driver in Driver::ALL {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        install(&session, &env.upgrade("web", &["text=one"]).target, &mut Silent).await.unwrap();
        upgrade(&session, &env.upgrade("web", &["text=two"]), &mut Silent).await.unwrap();
        let mut back = RollbackRequest {
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            to: VersionRef::Number(1),
            description: "é".repeat(256),
            ..RollbackRequest::default()
        };
        rollback(&session, &back, &mut Silent).await.unwrap();
        upgrade(&session, &env.upgrade("web", &["text=three"]), &mut Silent).await.unwrap();
        back.description.clear();
        back.to = VersionRef::Before(1);
        rollback(&session, &back, &mut Silent).await.unwrap();
        let found = history(&session, "default", "web", 0).await.unwrap();
        let found: Vec<_> =
            found.iter().map(|version| (version.rollback_revision, version.description.as_str())).collect();
        let long = "é".repeat(256);
        assert_eq!(
            found,
            [
                (None, "Install complete"),
                (None, "Upgrade complete"),
                (Some(1), long.as_str()),
                (None, "Upgrade complete"),
                (Some(3), "Rollback to 3"),
            ],
            "{driver:?}"
        );
        back.description = "é".repeat(257);
        let error = rollback(&session, &back, &mut Silent).await.unwrap_err();
        assert_eq!(error.to_string(), "description must be 256 characters or less, got 257");
        check_rollback_description(&long).unwrap();
    }
}
