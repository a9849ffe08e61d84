//! The states of a release version and of a hook's run, with the words that records use for them.

use std::fmt;

/// The state of a release version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Nobody knows, or the record uses a word that nobody knows.
    #[default]
    Unknown,
    /// It is what runs in the cluster.
    Deployed,
    /// It was uninstalled and its record was kept.
    Uninstalled,
    /// A later version took its place.
    Superseded,
    /// It was not brought up.
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
    /// All states.
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

    /// The word for the state in records and labels.
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

    /// The state that `word` names.
    pub fn parse(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether an operation is bringing the version up.
    pub fn is_pending(self) -> bool {
        matches!(self, Status::PendingInstall | Status::PendingUpgrade | Status::PendingRollback)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How far a hook's last run came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum HookPhase {
    /// The hook never ran.
    #[default]
    Unset,
    /// The hook was started and its end was not seen.
    Unknown,
    /// The hook is running.
    Running,
    /// The hook did its work.
    Succeeded,
    /// The hook failed.
    Failed,
    /// A word of somebody else.
    Other(String),
}

impl HookPhase {
    /// The word for the phase in records; empty when the hook never ran.
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

    /// The phase that `word` names.
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
