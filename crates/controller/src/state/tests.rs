//! Tests of the state machine: what follows from a request and the history of its release.

use pintle::release::Status;

use super::*;
use crate::request::{DriftMode, HelmRequestSpec, StrategyName};

fn version(status: Status, digest: &str) -> Option<Newest> {
    let digest = (!digest.is_empty()).then(|| digest.to_owned());
    Some(Newest { status, digest, held: false })
}

fn facts(newest: Option<Newest>) -> Facts {
    Facts { newest, desired: "new".to_owned(), ..Facts::default() }
}

fn failed(operation: Operation, count: u32) -> Attempts {
    let mut attempts = Attempts { digest: "new".to_owned(), ..Attempts::default() };
    match operation {
        Operation::Install => attempts.install_failures = count,
        Operation::Upgrade => attempts.upgrade_failures = count,
    }
    attempts
}

fn remediating(retries: i64, last: Option<bool>) -> HelmRequestSpec {
    let mut spec = HelmRequestSpec::default();
    for (strategy, remediation) in [
        (&mut spec.install.release.strategy, &mut spec.install.release.remediation),
        (&mut spec.upgrade.release.strategy, &mut spec.upgrade.release.remediation),
    ] {
        strategy.name = StrategyName::RemediateOnFailure;
        remediation.retries = retries;
        remediation.remediate_last_failure = last;
    }
    spec
}

#[test]
fn the_state_follows_from_the_newest_version() {
    use Status::{
        Deployed, Failed, PendingInstall, PendingRollback, PendingUpgrade, Superseded, Uninstalled,
        Uninstalling,
    };
    for (status, digest, expected) in [
        (Uninstalled, "new", State::Absent),
        (PendingInstall, "new", State::Locked { held: false }),
        (PendingUpgrade, "", State::Locked { held: false }),
        (PendingRollback, "old", State::Locked { held: false }),
        (Uninstalling, "new", State::HalfUninstalled),
        (Deployed, "", State::Unmanaged),
        (Failed, "", State::Unmanaged),
        (Deployed, "old", State::OutOfSync),
        (Failed, "old", State::OutOfSync),
        (Superseded, "new", State::OutOfSync),
        (Failed, "new", State::Failed),
        (Deployed, "new", State::InSync),
    ] {
        assert_eq!(facts(version(status, digest)).state(), expected, "{status:?} {digest}");
    }
    assert_eq!(facts(None).state(), State::Absent);
}

#[test]
fn a_deployed_version_is_tested_and_then_compared() {
    let deployed = |tests, drifted| {
        let newest = version(Status::Deployed, "new");
        Facts { tests, drifted, ..facts(newest) }.state()
    };
    assert_eq!(deployed(Tests::Pending, true), State::Untested);
    assert_eq!(deployed(Tests::Failed, false), State::Failed);
    assert_eq!(deployed(Tests::Passed, true), State::Drifted);
    assert_eq!(deployed(Tests::Unwanted, false), State::InSync);
}

#[test]
fn a_version_that_was_rolled_back_to_is_not_taken_for_one_of_others() {
    let mut attempts = failed(Operation::Upgrade, 1);
    attempts.remediated = true;
    for digest in ["", "old"] {
        let rolled_back = Facts { attempts: attempts.clone(), ..facts(version(Status::Deployed, digest)) };
        assert_eq!(rolled_back.state(), State::RolledBack);
    }
    let changed = Facts { desired: "newer".to_owned(), attempts, ..facts(version(Status::Deployed, "old")) };
    assert_eq!(changed.state(), State::OutOfSync, "another chart or other values are a new try");
}

#[test]
fn each_state_has_its_action() {
    let spec = HelmRequestSpec::default();
    for (newest, expected) in [
        (None, Next::Act(Action::Install)),
        (version(Status::Deployed, ""), Next::Act(Action::Upgrade)),
        (version(Status::Deployed, "old"), Next::Act(Action::Upgrade)),
        (version(Status::PendingUpgrade, "new"), Next::Act(Action::Unlock)),
        (version(Status::Uninstalling, "new"), Next::Act(Action::Uninstall)),
        (version(Status::Deployed, "new"), Next::Done),
    ] {
        assert_eq!(facts(newest.clone()).next(&spec, &[]), expected, "{newest:?}");
    }
    let held = Some(Newest { status: Status::PendingUpgrade, digest: None, held: true });
    assert_eq!(facts(held).next(&spec, &[]), Next::RequeueSoon);
}

#[test]
fn an_action_runs_once_per_reconciliation() {
    let spec = HelmRequestSpec::default();
    assert_eq!(facts(None).next(&spec, &[Action::Install]), Next::RetryLater(Operation::Install));
    let changed_meanwhile = facts(version(Status::Deployed, "old"));
    assert_eq!(changed_meanwhile.next(&spec, &[Action::Upgrade]), Next::RequeueSoon);
}

#[test]
fn an_interrupted_try_is_repeated_whatever_the_policy() {
    let interrupted = facts(version(Status::Failed, "new"));
    for spec in [HelmRequestSpec::default(), remediating(0, None)] {
        assert_eq!(interrupted.next(&spec, &[Action::Unlock]), Next::Act(Action::Upgrade));
    }
}

#[test]
fn failures_are_retried_in_place_for_ever_by_default() {
    let spec = HelmRequestSpec::default();
    let failing = Facts { attempts: failed(Operation::Install, 9), ..facts(version(Status::Failed, "new")) };
    assert_eq!(failing.next(&spec, &[]), Next::Act(Action::Upgrade));
    assert_eq!(failing.next(&spec, &[Action::Upgrade]), Next::RetryLater(Operation::Install));
}

#[test]
fn a_failed_install_is_undone_while_there_are_retries() {
    let failing = |count| Facts {
        attempts: failed(Operation::Install, count),
        ..facts(version(Status::Failed, "new"))
    };
    let spec = remediating(1, None);
    assert_eq!(failing(1).next(&spec, &[Action::Install]), Next::Act(Action::Uninstall));
    assert_eq!(failing(2).next(&spec, &[Action::Install]), Next::Stall(StallReason::RetriesExceeded));
    let undone = Facts { attempts: failed(Operation::Install, 1), ..facts(None) };
    assert_eq!(undone.next(&spec, &[]), Next::Act(Action::Install));
    assert_eq!(undone.next(&spec, &[Action::Install, Action::Uninstall]), Next::RequeueSoon);
    let exceeded = Facts { attempts: failed(Operation::Install, 2), ..facts(None) };
    assert_eq!(exceeded.next(&spec, &[]), Next::Stall(StallReason::RetriesExceeded));
    let last = remediating(1, Some(true));
    assert_eq!(failing(2).next(&last, &[Action::Install]), Next::Act(Action::Uninstall));
}

#[test]
fn a_failed_upgrade_is_rolled_back_and_retried() {
    let failing = |count| Facts {
        has_good_version: true,
        attempts: failed(Operation::Upgrade, count),
        ..facts(version(Status::Failed, "new"))
    };
    let spec = remediating(1, None);
    assert_eq!(failing(1).next(&spec, &[Action::Upgrade]), Next::Act(Action::RollBack));
    assert_eq!(failing(2).next(&spec, &[Action::Upgrade]), Next::Act(Action::RollBack), "the last one too");
    assert_eq!(failing(1).next(&remediating(0, None), &[]), Next::Stall(StallReason::RetriesExceeded));
    let mut undone = failing(1);
    undone.newest = version(Status::Deployed, "");
    undone.attempts.remediated = true;
    assert_eq!(undone.next(&spec, &[]), Next::Act(Action::Upgrade));
    undone.attempts.upgrade_failures = 2;
    assert_eq!(undone.next(&spec, &[]), Next::Stall(StallReason::RetriesExceeded));
}

#[test]
fn a_rollback_that_failed_is_tried_again() {
    let halfway = Facts {
        has_good_version: true,
        attempts: failed(Operation::Upgrade, 1),
        ..facts(version(Status::Failed, ""))
    };
    assert_eq!(halfway.next(&remediating(0, Some(true)), &[Action::Unlock]), Next::Act(Action::RollBack));
}

#[test]
fn an_upgrade_that_fails_before_it_writes_a_version_counts_too() {
    let failing = |count| Facts {
        has_good_version: true,
        attempts: failed(Operation::Upgrade, count),
        ..facts(version(Status::Deployed, "old"))
    };
    let spec = HelmRequestSpec::default();
    assert_eq!(failing(1).next(&spec, &[Action::Upgrade]), Next::RetryLater(Operation::Upgrade));
    assert_eq!(failing(1).next(&spec, &[]), Next::Act(Action::Upgrade));
    assert_eq!(failing(1).next(&remediating(0, None), &[]), Next::Stall(StallReason::RetriesExceeded));
}

#[test]
fn drift_is_corrected_reported_or_left_alone() {
    let drifted = Facts { drifted: true, ..facts(version(Status::Deployed, "new")) };
    let mut spec = HelmRequestSpec::default();
    for (mode, expected) in [
        (DriftMode::Disabled, Next::Done),
        (DriftMode::Warn, Next::ReportDrift),
        (DriftMode::Enabled, Next::Act(Action::CorrectDrift)),
    ] {
        spec.drift_detection.mode = mode;
        assert_eq!(drifted.next(&spec, &[]), expected);
    }
}

#[test]
fn a_forced_upgrade_runs_once() {
    let spec = HelmRequestSpec::default();
    let forced = Facts { force: true, ..facts(version(Status::Deployed, "new")) };
    assert_eq!(forced.next(&spec, &[]), Next::Act(Action::Upgrade));
    assert_eq!(forced.next(&spec, &[Action::Upgrade]), Next::Done);
    let absent = Facts { force: true, ..facts(None) };
    assert_eq!(absent.next(&spec, &[]), Next::Act(Action::Install));
}

/// From any facts, a reconciliation ends after a few actions, whatever comes out of them.
#[test]
fn a_reconciliation_always_ends() {
    let mut drifting = remediating(1, None);
    drifting.drift_detection.mode = DriftMode::Enabled;
    let specs = [HelmRequestSpec::default(), remediating(-1, None), remediating(0, Some(true)), drifting];
    let newest: Vec<Option<Newest>> = Status::ALL
        .into_iter()
        .flat_map(|status| ["", "old", "new"].map(|digest| version(status, digest)))
        .chain([None])
        .collect();
    let run = |spec: &HelmRequestSpec, base: &Facts| {
        // The worst outcome: each action leaves the same facts behind.
        let mut taken = Vec::new();
        while let Next::Act(action) = base.next(spec, &taken) {
            taken.push(action);
            assert!(taken.len() <= 4, "{base:?}: {taken:?}");
        }
    };
    for spec in &specs {
        for newest in &newest {
            for count in 0..3 {
                for (force, drifted, tests) in [
                    (false, true, Tests::Passed),
                    (true, false, Tests::Failed),
                    (false, false, Tests::Pending),
                ] {
                    let attempts = failed(Operation::Upgrade, count);
                    run(spec, &Facts { force, drifted, tests, attempts, ..facts(newest.clone()) });
                }
            }
        }
    }
}
