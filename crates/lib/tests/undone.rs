//! Operations that fail or are cancelled with rollback on failure: the rollback runs to completion.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use pintle::ops::{RollbackRequest, history, install, rollback, upgrade};
use pintle::release::{Status, VersionRef};
use pintle::{Cancel, Error, Progress, Reporter, Silent, WaitStrategy};

use crate::support::{Driver, TestEnv};

/// Cancels when an object that is not ready is reported, up to `times` times, because the operation is waiting then.
struct Impatient {
    cancel: Cancel,
    times: usize,
    /// Whether a rollback was running, each time.
    undoing: Vec<bool>,
}

impl Impatient {
    fn new(cancel: &Cancel, times: usize) -> Impatient {
        Impatient { cancel: cancel.clone(), times, undoing: Vec::new() }
    }
}

impl Reporter for Impatient {
    fn report(&mut self, progress: Progress) {
        let Progress::Readiness(progress) = progress else { return };
        let undoing = self.cancel.is_rolling_back();
        // Once for the operation, and once for its rollback.
        if !progress.ready && self.undoing.len() < self.times && self.undoing.last() != Some(&undoing) {
            self.undoing.push(undoing);
            self.cancel.cancel();
        }
    }
}

#[tokio::test]
async fn an_upgrade_that_is_cancelled_is_rolled_back_to_the_end() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        install(&session, &env.upgrade("web", &["text=one"]).target, &mut Silent).await.unwrap();
        let mut request = env.upgrade("web", &["text=two", "never=true"]);
        request.target.rollback_on_failure = true;
        let mut reporter = Impatient::new(&session.cancel, 1);
        let error = upgrade(&session, &request, &mut reporter).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "release web failed, and has been rolled back due to rollback-on-failure being set: context canceled"
        );
        assert_eq!(reporter.undoing, [false]);
        let versions = env.versions(driver, "web").await;
        let expected = [(1, Status::Superseded), (2, Status::Failed), (3, Status::Deployed)];
        assert_eq!(versions, expected, "{driver:?}");
        assert_eq!(env.text("web").await.as_deref(), Some("one"));
        assert!(env.object("apps/v1", "Deployment", "web").await.is_none());
    }
}

#[tokio::test]
async fn an_install_that_is_cancelled_is_uninstalled_to_the_end() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        let mut request = env.upgrade("web", &["text=one", "never=true"]).target;
        request.rollback_on_failure = true;
        let mut reporter = Impatient::new(&session.cancel, 1);
        let error = install(&session, &request, &mut reporter).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "release web failed, and has been uninstalled due to rollback-on-failure being set: context canceled"
        );
        assert_eq!(env.versions(driver, "web").await, [], "{driver:?}");
        assert_eq!(env.text("web").await, None);
    }
}

#[tokio::test]
async fn a_second_cancellation_ends_the_undoing_and_the_record_says_so() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        // The version that is rolled back to does not become ready either.
        let first = env.upgrade("web", &["text=one", "never=true"]).target;
        install(&session, &first, &mut Silent).await.unwrap();
        let mut request = env.upgrade("web", &["text=two", "never=true"]);
        request.target.rollback_on_failure = true;
        let mut reporter = Impatient::new(&session.cancel, 2);
        let error = upgrade(&session, &request, &mut reporter).await.unwrap_err();
        assert!(matches!(error, Error::RollbackFailed { .. }), "{error}");
        assert_eq!(reporter.undoing, [false, true]);
        let (session, _) = env.session(driver);
        let versions = history(&session, "default", "web", 0).await.unwrap();
        let last = versions.last().unwrap();
        assert_eq!((last.number, last.status), (3, Status::Failed), "{driver:?}");
        assert!(last.description.contains("context canceled"), "{}", last.description);
    }
}

#[tokio::test]
async fn what_a_cancelled_upgrade_made_is_cleaned_up_even_if_the_answer_never_came() {
    for driver in [Driver::Native, Driver::Secrets] {
        let env = TestEnv::new().await;
        let (session, _) = env.session(driver);
        install(&session, &env.upgrade("web", &["text=one"]).target, &mut Silent).await.unwrap();
        let (session, gate) = env.session(driver);
        gate.leave_unanswered("/configmaps/web-extra");
        let mut request = env.upgrade("web", &["text=two", "extra=true"]);
        request.cleanup_on_fail = true;
        let cancel = session.cancel.clone();
        let mut silent = Silent;
        let (outcome, ()) = tokio::join!(upgrade(&session, &request, &mut silent), async {
            gate.stopped().await;
            cancel.cancel();
        });
        assert!(matches!(outcome.unwrap_err(), Error::Cancelled));
        assert!(env.object("v1", "ConfigMap", "web-extra").await.is_none(), "{driver:?}");
        assert_eq!(env.versions(driver, "web").await.last(), Some(&(2, Status::Failed)));
    }
}

#[tokio::test]
async fn a_rollback_that_is_cancelled_cleans_up_what_it_made() {
    let env = TestEnv::new().await;
    let (session, _) = env.session(Driver::Native);
    install(&session, &env.upgrade("web", &["text=one", "extra=true"]).target, &mut Silent).await.unwrap();
    upgrade(&session, &env.upgrade("web", &["text=two"]), &mut Silent).await.unwrap();
    assert!(env.object("v1", "ConfigMap", "web-extra").await.is_none());
    let (session, gate) = env.session(Driver::Native);
    gate.leave_unanswered("/configmaps/web-extra");
    let mut request = RollbackRequest {
        name: "web".to_owned(),
        namespace: "default".to_owned(),
        to: VersionRef::Number(1),
        cleanup_on_fail: true,
        ..RollbackRequest::default()
    };
    request.deploy.wait = WaitStrategy::Watcher;
    let cancel = session.cancel.clone();
    let mut silent = Silent;
    let (outcome, ()) = tokio::join!(rollback(&session, &request, &mut silent), async {
        gate.stopped().await;
        cancel.cancel();
    });
    assert!(matches!(outcome.unwrap_err(), Error::Cancelled));
    assert!(env.object("v1", "ConfigMap", "web-extra").await.is_none());
}
