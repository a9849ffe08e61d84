//! The state machine: from facts about a release to the next action. Pure, so that every transition is a line of a table.
//!
//! The state is determined anew after every action. An action of one kind runs once per turn, and undoing a failure ends
//! the turn, so that a turn always ends.

use pintle::release::Status;

use crate::request::{DriftMode, HelmRequestSpec, Remediation, RemediationStrategy, StrategyName};

/// What is known about the newest version of the release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newest {
    /// Its status.
    pub status: Status,
    /// The digest of chart and values with which the controller made this version for this request; `None` if someone
    /// else made it.
    pub digest: Option<String>,
    /// Whether the holder of its lease is alive.
    pub held: bool,
}

/// What happened to the chart and values that were tried last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Their digest.
    pub digest: String,
    /// Failed installs.
    pub install_failures: u32,
    /// Failed upgrades.
    pub upgrade_failures: u32,
    /// Whether the last failure was undone.
    pub remediated: bool,
}

/// The tests of the newest version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tests {
    /// They are not wanted, or do not count.
    #[default]
    Unwanted,
    /// They have not run.
    Pending,
    /// They passed.
    Passed,
    /// They failed.
    Failed,
}

/// The facts that a state is determined from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The newest version, if there is a release.
    pub newest: Option<Newest>,
    /// Whether an earlier version was deployed once, so that there is something to roll back to.
    pub has_good_version: bool,
    /// The digest of the chart and values that are wanted.
    pub desired: String,
    /// What happened so far.
    pub attempts: Attempts,
    /// The tests.
    pub tests: Tests,
    /// Whether live objects differ from the release.
    pub drifted: bool,
    /// Whether an upgrade was asked for although nothing changed.
    pub force: bool,
}

/// The state of a release, compared with its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no release.
    Absent,
    /// There is a release that the controller did not make, or that someone else changed.
    Unmanaged,
    /// Someone is working on it, or died while doing so.
    Locked {
        /// Whether whoever works on it is alive.
        held: bool,
    },
    /// An uninstall was interrupted.
    HalfUninstalled,
    /// Chart or values differ.
    OutOfSync,
    /// Its tests have not run.
    Untested,
    /// The last try of these chart and values failed.
    Failed,
    /// The last try of these chart and values failed and was undone.
    Undone,
    /// Others changed its objects.
    Drifted,
    /// It is as requested.
    InSync,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Install the release.
    Install,
    /// Upgrade the release.
    Upgrade,
    /// Mark an abandoned operation as failed.
    Unlock,
    /// Run the tests.
    Test,
    /// Undo a failed upgrade by a rollback.
    RollBack,
    /// Undo a failed install or upgrade, or finish an interrupted uninstall.
    Uninstall,
    /// Undo changes by others.
    CorrectDrift,
}

impl Action {
    /// The name in messages and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Install => "install",
            Action::Upgrade => "upgrade",
            Action::Unlock => "unlock",
            Action::Test => "test",
            Action::RollBack => "rollback",
            Action::Uninstall => "uninstall",
            Action::CorrectDrift => "correct-drift",
        }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do this and determine the state again.
    Act(Action),
    /// The release is as requested.
    Done,
    /// Others have changed it, and that is only reported.
    ReportDrift,
    /// Try again when the retry interval of the failed operation has passed.
    RetryLater(Operation),
    /// Look again soon: someone else is working on it, or a failure was undone.
    LookAgain,
    /// Nothing more is tried until the request changes.
    Stall(StallReason),
}

/// Which options apply to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Those of an install.
    Install,
    /// Those of an upgrade.
    Upgrade,
}

/// Why nothing more is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallReason {
    /// It failed as often as it may.
    RetriesExceeded,
    /// There is no version to roll back to.
    MissingRollbackTarget,
}

impl StallReason {
    /// The reason of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            StallReason::RetriesExceeded => "RetriesExceeded",
            StallReason::MissingRollbackTarget => "MissingRollbackTarget",
        }
    }
}

impl Facts {
    /// Determines the state.
    pub fn state(&self) -> State {
        let Some(newest) = &self.newest else { return State::Absent };
        match newest.status {
            Status::Uninstalled => return State::Absent,
            Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback => {
                return State::Locked { held: newest.held };
            }
            Status::Uninstalling if newest.held => return State::Locked { held: true },
            Status::Uninstalling => return State::HalfUninstalled,
            _ => {}
        }
        let Some(digest) = &newest.digest else {
            return match newest.status {
                _ if self.was_undone() => State::Undone,
                // A rollback that failed or was interrupted; it has the labels of the version it copies.
                Status::Failed if self.failures(Operation::Upgrade) > 0 => State::Failed,
                _ => State::Unmanaged,
            };
        };
        let is_wanted = *digest == self.desired;
        match newest.status {
            Status::Failed if is_wanted => State::Failed,
            _ if !is_wanted && self.was_undone() => State::Undone,
            Status::Deployed if is_wanted => self.deployed_state(),
            _ => State::OutOfSync,
        }
    }

    fn deployed_state(&self) -> State {
        match self.tests {
            Tests::Pending => State::Untested,
            Tests::Failed => State::Failed,
            Tests::Unwanted | Tests::Passed if self.drifted => State::Drifted,
            Tests::Unwanted | Tests::Passed => State::InSync,
        }
    }

    /// Whether the release is what a rollback has left. A rollback copies an earlier version with its labels, which say
    /// that it is not the version that the controller made; only the status knows.
    fn was_undone(&self) -> bool {
        self.attempts.remediated
            && self.attempts.digest == self.desired
            && self.failures(Operation::Upgrade) > 0
    }

    /// How often these chart and values failed.
    fn failures(&self, operation: Operation) -> u32 {
        match operation {
            _ if self.attempts.digest != self.desired => 0,
            Operation::Install => self.attempts.install_failures,
            Operation::Upgrade => self.attempts.upgrade_failures,
        }
    }

    /// Decides what comes next, after the actions of this turn.
    pub fn next(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let state = self.state();
        let once = |action: Action| match taken.contains(&action) {
            false => Next::Act(action),
            true => Next::LookAgain,
        };
        let undid = taken.contains(&Action::RollBack) || taken.contains(&Action::Uninstall);
        if undid && state != State::HalfUninstalled {
            return Next::LookAgain;
        }
        let is_idle =
            matches!(state, State::InSync | State::Untested | State::Drifted | State::Failed | State::Undone);
        if self.force && is_idle && !taken.contains(&Action::Upgrade) && !taken.contains(&Action::Install) {
            return Next::Act(Action::Upgrade);
        }
        match state {
            State::Absent => self.after_absence(spec, taken),
            State::Unmanaged | State::OutOfSync => self.while_out_of_sync(spec, taken),
            State::Locked { held: true } => Next::LookAgain,
            State::Locked { held: false } => once(Action::Unlock),
            State::HalfUninstalled => once(Action::Uninstall),
            State::Untested => once(Action::Test),
            State::Failed => self.after_failure(spec, taken),
            State::Undone => self.after_undoing(spec, taken),
            State::Drifted => match spec.drift_detection.mode {
                DriftMode::Enabled => once(Action::CorrectDrift),
                DriftMode::Warn => Next::ReportDrift,
                DriftMode::Disabled => Next::Done,
            },
            State::InSync => Next::Done,
        }
    }

    fn after_absence(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let failures = self.failures(Operation::Install).max(self.failures(Operation::Upgrade));
        let policy = Policy::of(spec, Operation::Install);
        if failures > 0 && policy.strategy == StrategyName::RemediateOnFailure && !policy.may_retry(failures)
        {
            return Next::Stall(StallReason::RetriesExceeded);
        }
        match taken.contains(&Action::Install) {
            true => Next::RetryLater(Operation::Install),
            false => Next::Act(Action::Install),
        }
    }

    /// Chart or values differ. An upgrade that failed before it wrote a version leaves this state too.
    fn while_out_of_sync(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let failures = self.failures(Operation::Upgrade);
        let policy = Policy::of(spec, Operation::Upgrade);
        if failures > 0 && policy.strategy == StrategyName::RemediateOnFailure && !policy.may_retry(failures)
        {
            return Next::Stall(StallReason::RetriesExceeded);
        }
        match taken.contains(&Action::Upgrade) {
            false => Next::Act(Action::Upgrade),
            true if failures > 0 => Next::RetryLater(Operation::Upgrade),
            true => Next::LookAgain,
        }
    }

    fn after_failure(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let operation = if self.has_good_version { Operation::Upgrade } else { Operation::Install };
        let has_tried = taken.contains(&Action::Install) || taken.contains(&Action::Upgrade);
        // A retry in place of a failed install is an upgrade, so both count.
        let failures = self.failures(Operation::Install).max(self.failures(Operation::Upgrade));
        let policy = Policy::of(spec, operation);
        // An interrupted try did not fail by itself.
        if failures == 0 || policy.strategy == StrategyName::RetryOnFailure {
            return if has_tried { Next::RetryLater(operation) } else { Next::Act(Action::Upgrade) };
        }
        if !policy.may_retry(failures) && !policy.undoes_last() {
            return Next::Stall(StallReason::RetriesExceeded);
        }
        match operation {
            Operation::Install => Next::Act(Action::Uninstall),
            Operation::Upgrade if policy.remediation.strategy == RemediationStrategy::Uninstall => {
                Next::Act(Action::Uninstall)
            }
            Operation::Upgrade if self.has_good_version => Next::Act(Action::RollBack),
            Operation::Upgrade => Next::Stall(StallReason::MissingRollbackTarget),
        }
    }

    fn after_undoing(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let policy = Policy::of(spec, Operation::Upgrade);
        let may_retry = policy.strategy == StrategyName::RetryOnFailure
            || policy.may_retry(self.failures(Operation::Upgrade));
        match may_retry {
            false => Next::Stall(StallReason::RetriesExceeded),
            true if taken.contains(&Action::Upgrade) => Next::RetryLater(Operation::Upgrade),
            true => Next::Act(Action::Upgrade),
        }
    }
}

/// What the request says about failures of an operation.
struct Policy<'a> {
    strategy: StrategyName,
    remediation: &'a Remediation,
    operation: Operation,
}

impl<'a> Policy<'a> {
    fn of(spec: &'a HelmRequestSpec, operation: Operation) -> Policy<'a> {
        let (strategy, remediation) = match operation {
            Operation::Install => (&spec.install.strategy, &spec.install.remediation),
            Operation::Upgrade => (&spec.upgrade.strategy, &spec.upgrade.remediation),
        };
        Policy { strategy: strategy.name, remediation, operation }
    }

    fn may_retry(&self, failures: u32) -> bool {
        self.remediation.retries < 0 || i64::from(failures) <= self.remediation.retries
    }

    /// Whether the last failure is undone too. As in Flux, an upgrade that was retried is undone by default, and an
    /// install is not.
    fn undoes_last(&self) -> bool {
        let usual = self.operation == Operation::Upgrade && self.remediation.retries > 0;
        self.remediation.remediate_last_failure.unwrap_or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (&mut spec.install.strategy, &mut spec.install.remediation),
            (&mut spec.upgrade.strategy, &mut spec.upgrade.remediation),
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
            let rolled_back =
                Facts { attempts: attempts.clone(), ..facts(version(Status::Deployed, digest)) };
            assert_eq!(rolled_back.state(), State::Undone);
        }
        let changed =
            Facts { desired: "newer".to_owned(), attempts, ..facts(version(Status::Deployed, "old")) };
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
        assert_eq!(facts(held).next(&spec, &[]), Next::LookAgain);
    }

    #[test]
    fn an_action_runs_once_per_turn() {
        let spec = HelmRequestSpec::default();
        assert_eq!(facts(None).next(&spec, &[Action::Install]), Next::RetryLater(Operation::Install));
        let changed_meanwhile = facts(version(Status::Deployed, "old"));
        assert_eq!(changed_meanwhile.next(&spec, &[Action::Upgrade]), Next::LookAgain);
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
        let failing =
            Facts { attempts: failed(Operation::Install, 9), ..facts(version(Status::Failed, "new")) };
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
        assert_eq!(undone.next(&spec, &[Action::Install, Action::Uninstall]), Next::LookAgain);
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
        assert_eq!(
            failing(2).next(&spec, &[Action::Upgrade]),
            Next::Act(Action::RollBack),
            "the last one too"
        );
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

    /// From any facts, a turn ends after a few actions, whatever comes out of them.
    #[test]
    fn a_turn_always_ends() {
        let mut drifting = remediating(1, None);
        drifting.drift_detection.mode = DriftMode::Enabled;
        let specs = [HelmRequestSpec::default(), remediating(-1, None), remediating(0, Some(true)), drifting];
        let newest: Vec<Option<Newest>> = Status::ALL
            .into_iter()
            .flat_map(|status| ["", "old", "new"].map(|digest| version(status, digest)))
            .chain([None])
            .collect();
        let turns = |spec: &HelmRequestSpec, base: &Facts| {
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
                        turns(spec, &Facts { force, drifted, tests, attempts, ..facts(newest.clone()) });
                    }
                }
            }
        }
    }
}
