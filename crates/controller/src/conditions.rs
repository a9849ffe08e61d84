//! Conditions by the API conventions: `Ready` is always there, `Reconciling` and `Stalled` only while they are true, and
//! the time changes only with the status.

use crate::request::{Condition, HelmRequestStatus};

/// Whether the release is as requested.
pub(crate) const READY: &str = "Ready";
/// Something is being done.
pub(crate) const RECONCILING: &str = "Reconciling";
/// Nothing more is tried until the request changes.
pub(crate) const STALLED: &str = "Stalled";
/// Whether the last install or upgrade succeeded.
pub(crate) const RELEASED: &str = "Released";
/// Whether the tests passed.
pub(crate) const TEST_SUCCESS: &str = "TestSuccess";
/// Whether the last failure was undone.
pub(crate) const REMEDIATED: &str = "Remediated";
/// Whether others changed objects of the release.
pub(crate) const DRIFTED: &str = "Drifted";

/// The longest message of a condition, in bytes; the API allows more, but longer ones are not readable.
pub(crate) const MAX_MESSAGE: usize = 4096;

impl HelmRequestStatus {
    /// Sets a condition for a generation.
    pub fn set_condition(&mut self, kind: &str, status: bool, reason: &str, message: &str, at: (i64, &str)) {
        let (generation, now) = at;
        let status = if status { "True" } else { "False" };
        let new = Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            observed_generation: generation,
            last_transition_time: now.to_owned(),
            reason: reason.to_owned(),
            message: truncated(message, MAX_MESSAGE),
        };
        match self.conditions.iter_mut().find(|condition| condition.kind == kind) {
            Some(old) => {
                let since = match old.status == new.status {
                    true => std::mem::take(&mut old.last_transition_time),
                    false => new.last_transition_time.clone(),
                };
                *old = Condition { last_transition_time: since, ..new };
            }
            None => self.conditions.push(new),
        }
    }

    /// Removes a condition.
    pub fn remove_condition(&mut self, kind: &str) {
        self.conditions.retain(|condition| condition.kind != kind);
    }

    /// A condition.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether a condition is true.
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == "True")
    }
}

/// The beginning of a text, cut between characters.
pub(crate) fn truncated(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_changes_with_its_status_only() {
        let mut status = HelmRequestStatus::default();
        status.set_condition(READY, false, "InstallFailed", "no", (1, "t1"));
        status.set_condition(READY, false, "UpgradeFailed", "still no", (2, "t2"));
        let ready = status.condition(READY).expect("set").clone();
        assert_eq!((ready.last_transition_time.as_str(), ready.reason.as_str()), ("t1", "UpgradeFailed"));
        assert_eq!(ready.observed_generation, 2);
        status.set_condition(READY, true, "UpgradeSucceeded", "yes", (2, "t3"));
        assert_eq!(status.condition(READY).expect("set").last_transition_time, "t3");
        status.remove_condition(READY);
        assert!(status.conditions.is_empty());
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(truncated("äöü", 3), "ä…");
        assert_eq!(truncated("äöü", 6), "äöü");
    }
}
