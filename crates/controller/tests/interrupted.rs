//! A controller that is killed at any write request, or stopped in the middle of an operation: the next one goes on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use pintle::release::Status;

use crate::support::{NEVER_READY, TestCluster};

/// Reconciles with a controller that dies at its write request with this number, and returns whether it came to its end
/// before.
async fn killed_after(test: &TestCluster, writes: usize) -> bool {
    let (controller, gate) = test.controller();
    gate.stop_after(writes);
    let request = test.read("web").await.unwrap();
    tokio::select! {
        done = controller.reconcile(request) => {
            done.unwrap();
            true
        }
        () = gate.stopped() => false,
    }
}

/// Runs a scenario once for each write request at which the controller can die.
async fn at_every_write(prepare: impl AsyncFn(&TestCluster), check: impl AsyncFn(&TestCluster, usize)) {
    for writes in 0.. {
        assert!(writes < 60, "a reconciliation does not take that many writes");
        let test = TestCluster::new().await;
        prepare(&test).await;
        let finished = killed_after(&test, writes).await;
        check(&test, writes).await;
        if finished {
            assert!(writes > 3, "the controller was killed at some writes at least");
            return;
        }
    }
}

#[tokio::test]
async fn an_install_converges_wherever_the_controller_was_killed() {
    let prepare = async |test: &TestCluster| test.request("web", "values: {text: one}").await;
    at_every_write(prepare, async |test, writes| {
        let (controller, _) = test.controller();
        test.until_ready(&controller, "web").await;
        assert_eq!(test.text("web").await.as_deref(), Some("one"), "after {writes}");
        let versions = test.versions("web").await;
        assert_eq!(versions.last().unwrap().1, Status::Deployed, "after {writes}: {versions:?}");
        assert!(versions.len() <= 2, "after {writes}: {versions:?}");
        let count = versions.len();
        test.reconcile(&controller, "web").await;
        assert_eq!(test.versions("web").await.len(), count, "after {writes}: nothing is deployed twice");
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_converges_wherever_the_controller_was_killed() {
    let prepare = async |test: &TestCluster| {
        let (controller, _) = test.controller();
        test.request("web", "values: {text: one}").await;
        test.until_ready(&controller, "web").await;
        test.request("web", "values: {text: two}").await;
    };
    at_every_write(prepare, async |test, writes| {
        let (controller, _) = test.controller();
        test.until_ready(&controller, "web").await;
        assert_eq!(test.text("web").await.as_deref(), Some("two"), "after {writes}");
        let versions = test.versions("web").await;
        let deployed = versions.iter().filter(|(_, status)| *status == Status::Deployed).count();
        assert_eq!(deployed, 1, "after {writes}: {versions:?}");
        assert!(versions.len() <= 3, "after {writes}: {versions:?}");
    })
    .await;
}

#[tokio::test]
async fn a_rollback_converges_wherever_the_controller_was_killed() {
    let prepare = async |test: &TestCluster| {
        let (controller, _) = test.controller();
        test.request("web", "values: {text: good}").await;
        test.until_ready(&controller, "web").await;
        test.request(
            "web",
            "values: {text: bad, wrong: true}\nupgrade: {strategy: {name: RemediateOnFailure}, remediation: {retries: 0, remediateLastFailure: true}}",
        )
        .await;
    };
    at_every_write(prepare, async |test, writes| {
        let (controller, _) = test.controller();
        for _ in 0..8 {
            test.reconcile(&controller, "web").await;
        }
        assert_eq!(test.text("web").await.as_deref(), Some("good"), "after {writes}");
        assert_eq!(test.condition("web", "Stalled").await, "True", "after {writes}");
        test.request("web", "values: {text: better}").await;
        test.until_ready(&controller, "web").await;
        assert_eq!(test.text("web").await.as_deref(), Some("better"), "after {writes}");
    })
    .await;
}

#[tokio::test]
async fn an_uninstall_converges_wherever_the_controller_was_killed() {
    let prepare = async |test: &TestCluster| {
        let (controller, _) = test.controller();
        test.request("web", "values: {text: one}").await;
        test.until_ready(&controller, "web").await;
        test.delete("helm.sh/v3", "HelmRequest", "web").await;
    };
    at_every_write(prepare, async |test, writes| {
        let (controller, _) = test.controller();
        for _ in 0..4 {
            if test.read("web").await.is_some() {
                test.reconcile(&controller, "web").await;
            }
        }
        assert!(test.read("web").await.is_none(), "after {writes}");
        assert_eq!(test.text("web").await, None, "after {writes}");
        assert_eq!(test.versions("web").await, [], "after {writes}");
    })
    .await;
}

/// Runs a scenario once for each write request at which a controller can be suspended. Another takes over and converges; when
/// the first is back, what it still sends changes nothing.
async fn away_at_every_write(
    prepare: impl AsyncFn(&TestCluster),
    converge: impl AsyncFn(&TestCluster, &pintle_controller::Reconciler),
) {
    for writes in 0.. {
        assert!(writes < 60, "a reconciliation does not take that many writes");
        let test = TestCluster::new().await;
        prepare(&test).await;
        let (away, gate) = test.controller();
        gate.stop_after(writes);
        let mut reconciliation = Box::pin(away.reconcile(test.read("web").await.unwrap()));
        tokio::select! {
            done = &mut reconciliation => {
                done.unwrap();
                assert!(writes > 3, "the controller was suspended at some writes at least");
                return;
            }
            () = gate.stopped() => {}
        }
        let (next, _) = test.controller();
        converge(&test, &next).await;
        let state = async || {
            let status = test.read("web").await.map(|request| request.status);
            (test.versions("web").await, test.text("web").await, status)
        };
        let before = state().await;
        gate.release();
        // It may fail, because the request is not as it was read, or succeed, because there is nothing left to do.
        let _ = reconciliation.await;
        assert_eq!(state().await, before, "suspended at write {writes}");
    }
}

#[tokio::test]
async fn a_controller_that_was_away_during_an_upgrade_changes_nothing_when_it_is_back() {
    let prepare = async |test: &TestCluster| {
        let (controller, _) = test.controller();
        test.request("web", "values: {text: one}").await;
        test.until_ready(&controller, "web").await;
        test.request("web", "values: {text: two}").await;
    };
    away_at_every_write(prepare, async |test, next| {
        test.until_ready(next, "web").await;
        let versions = test.versions("web").await;
        let deployed = versions.iter().filter(|(_, status)| *status == Status::Deployed).count();
        assert_eq!((deployed, test.text("web").await.as_deref()), (1, Some("two")), "{versions:?}");
    })
    .await;
}

#[tokio::test]
async fn a_controller_that_was_away_during_an_uninstall_changes_nothing_when_it_is_back() {
    let prepare = async |test: &TestCluster| {
        let (controller, _) = test.controller();
        test.request("web", "values: {text: one}").await;
        test.until_ready(&controller, "web").await;
        test.delete("helm.sh/v3", "HelmRequest", "web").await;
    };
    away_at_every_write(prepare, async |test, next| {
        for _ in 0..4 {
            if test.read("web").await.is_some() {
                test.reconcile(next, "web").await;
            }
        }
        assert!(test.read("web").await.is_none());
    })
    .await;
}

/// The status is written last. A request that is deleted before the next controller writes it has a release all the same.
#[tokio::test]
async fn a_release_that_no_status_names_is_uninstalled_with_its_request() {
    let test = TestCluster::new().await;
    test.request("web", "values: {text: one}").await;
    let mut writes = 0;
    while test.versions("web").await.last().is_none_or(|last| last.1 != Status::Deployed) {
        killed_after(&test, writes).await;
        writes += 1;
    }
    assert!(test.read("web").await.unwrap().status.unwrap_or_default().release_name.is_empty());
    test.delete("helm.sh/v3", "HelmRequest", "web").await;
    let (controller, _) = test.controller();
    test.reconcile(&controller, "web").await;
    assert!(test.read("web").await.is_none());
    assert_eq!((test.text("web").await, test.versions("web").await), (None, Vec::new()));
}

/// A graceful stop: the operation is cancelled, recorded as failed, and does not count as a failure of the chart.
#[tokio::test]
async fn a_stopped_operation_is_taken_over_and_does_not_count() {
    let test = TestCluster::new().await;
    let (controller, gate) = test.controller();
    test.chart("1.0.0", &[("templates/all.yaml", NEVER_READY)]).await;
    test.request("web", "timeout: 10h\ninstall: {strategy: {name: RemediateOnFailure}}").await;
    let request = test.read("web").await.unwrap();
    let stop = async {
        while !gate.requests().iter().any(|line| line.contains("/deployments") && !line.starts_with("GET")) {
            tokio::task::yield_now().await;
        }
        controller.cancel.cancel();
    };
    let (done, ()) = tokio::join!(controller.reconcile(request), stop);
    done.unwrap();
    assert_eq!(test.versions("web").await, [(1, Status::Failed)]);
    assert_eq!(test.read("web").await.unwrap().status.unwrap().install_failures, 0);
    test.chart("1.0.1", &[("templates/all.yaml", crate::support::TEMPLATE)]).await;
    let (next, _) = test.controller();
    test.until_ready(&next, "web").await;
}
