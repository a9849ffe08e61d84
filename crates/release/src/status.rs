//! The status of a release version and the phase of a hook run, with their names in records.

use std::fmt;

/// The status of a release version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Unknown, or a status that this version does not know.
    #[default]
    Unknown,
    /// It is the current version.
    Deployed,
    /// It was uninstalled with `--keep-history`.
    Uninstalled,
    /// A later version replaced it.
    Superseded,
    /// Its deployment failed.
    Failed,
    /// It is being uninstalled.
    Uninstalling,
    /// It is being installed.
    PendingInstall,
    /// It is being upgraded to.
    PendingUpgrade,
    /// It is being rolled back to.
    PendingRollback,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 9] = [
        Status::Unknown,
        Status::Deployed,
        Status::Uninstalled,
        Status::Superseded,
        Status::Failed,
        Status::Uninstalling,
        Status::PendingInstall,
        Status::PendingUpgrade,
        Status::PendingRollback,
    ];

    /// The name in records and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Unknown => "unknown",
            Status::Deployed => "deployed",
            Status::Uninstalled => "uninstalled",
            Status::Superseded => "superseded",
            Status::Failed => "failed",
            Status::Uninstalling => "uninstalling",
            Status::PendingInstall => "pending-install",
            Status::PendingUpgrade => "pending-upgrade",
            Status::PendingRollback => "pending-rollback",
        }
    }

    /// The status with a name.
    pub fn parse(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether an operation is deploying the version.
    pub fn is_pending(self) -> bool {
        matches!(self, Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The phase of a hook's last run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum HookPhase {
    /// The hook never ran.
    #[default]
    Unset,
    /// The hook was started and its result was not recorded.
    Unknown,
    /// The hook is running.
    Running,
    /// The hook succeeded.
    Succeeded,
    /// The hook failed.
    Failed,
    /// A phase that this version does not know.
    Other(String),
}

impl HookPhase {
    /// The name in records; empty when the hook never ran.
    pub fn as_str(&self) -> &str {
        match self {
            HookPhase::Unset => "",
            HookPhase::Unknown => "Unknown",
            HookPhase::Running => "Running",
            HookPhase::Succeeded => "Succeeded",
            HookPhase::Failed => "Failed",
            HookPhase::Other(word) => word,
        }
    }

    /// The phase with a name.
    pub fn parse(word: &str) -> HookPhase {
        match word {
            "" => HookPhase::Unset,
            "Unknown" => HookPhase::Unknown,
            "Running" => HookPhase::Running,
            "Succeeded" => HookPhase::Succeeded,
            "Failed" => HookPhase::Failed,
            other => HookPhase::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for HookPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_its_state() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("weird"), None);
        assert!(Status::PendingRollback.is_pending() && !Status::Uninstalling.is_pending());
    }
}
