//! From the state of a release to the next action, by what the request says about failures.

use super::{Action, Facts, Next, Operation, StallReason, State};
use crate::request::{DriftMode, HelmRequestSpec, Remediation, RemediationStrategy, StrategyName};

impl Facts {
    /// Decides what comes next, after the actions of this reconciliation.
    pub fn next(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
        let state = self.state();
        let once = |action: Action| match taken.contains(&action) {
            false => Next::Act(action),
            true => Next::RequeueSoon,
        };
        let undid = taken.contains(&Action::RollBack) || taken.contains(&Action::Uninstall);
        if undid && state != State::HalfUninstalled {
            return Next::RequeueSoon;
        }
        let is_idle = matches!(
            state,
            State::InSync | State::Untested | State::Drifted | State::Failed | State::RolledBack
        );
        if self.force && is_idle && !taken.contains(&Action::Upgrade) && !taken.contains(&Action::Install) {
            return Next::Act(Action::Upgrade);
        }
        match state {
            State::Absent => self.after_absence(spec, taken),
            State::Unmanaged | State::OutOfSync => self.while_out_of_sync(spec, taken),
            State::Locked { held: true } => Next::RequeueSoon,
            State::Locked { held: false } => once(Action::Unlock),
            State::HalfUninstalled => once(Action::Uninstall),
            State::Untested => once(Action::Test),
            State::Failed => self.after_failure(spec, taken),
            State::RolledBack => self.after_rollback(spec, taken),
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
            true => Next::RequeueSoon,
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

    fn after_rollback(&self, spec: &HelmRequestSpec, taken: &[Action]) -> Next {
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
            Operation::Install => (&spec.install.release.strategy, &spec.install.release.remediation),
            Operation::Upgrade => (&spec.upgrade.release.strategy, &spec.upgrade.release.remediation),
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
