//! The state machine: from facts about a release to the next action. Pure, so that every transition is a line of a table.
//!
//! The state is determined again after every action. Each kind of action runs at most once per reconciliation, and undoing a
//! failure ends it, so that every reconciliation terminates.

mod next;
#[cfg(test)]
mod tests;

use pintle::release::Status;

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
    RolledBack,
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
    /// Reconcile again soon: someone else is working on it, or a failure was undone.
    RequeueSoon,
    /// Wait until the plan is approved.
    AwaitApproval,
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
                _ if self.was_rolled_back() => State::RolledBack,
                // A rollback that failed or was interrupted; it has the labels of the version it copies.
                Status::Failed if self.failures(Operation::Upgrade) > 0 => State::Failed,
                _ => State::Unmanaged,
            };
        };
        let is_wanted = *digest == self.desired;
        match newest.status {
            Status::Failed if is_wanted => State::Failed,
            _ if !is_wanted && self.was_rolled_back() => State::RolledBack,
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

    /// Whether the release is the result of a rollback. A rollback copies an earlier version with its labels, so that it
    /// does not count as made by the controller; only the status records it.
    fn was_rolled_back(&self) -> bool {
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
}
