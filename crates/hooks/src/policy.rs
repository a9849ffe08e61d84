//! Hook policies: when the object is deleted, when its log is shown, and unknown values.

use pintle_tree::LogLine;
use pintle_tree::suggest::suggest;

use crate::annotation::{DELETE_POLICY, LOG_POLICY, POLICY, UNMANAGED};

/// When the object of a hook is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletePolicy {
    /// Before the hook runs again; the default.
    BeforeHookCreation,
    /// After the hook succeeded.
    Succeeded,
    /// After the hook failed.
    Failed,
}

impl DeletePolicy {
    /// All policies.
    pub const ALL: [DeletePolicy; 3] =
        [DeletePolicy::BeforeHookCreation, DeletePolicy::Succeeded, DeletePolicy::Failed];

    /// The value in annotations and records.
    pub fn as_str(self) -> &'static str {
        match self {
            DeletePolicy::BeforeHookCreation => "before-hook-creation",
            DeletePolicy::Succeeded => "hook-succeeded",
            DeletePolicy::Failed => "hook-failed",
        }
    }

    /// The policy with a name.
    pub fn parse(word: &str) -> Option<Self> {
        DeletePolicy::ALL.into_iter().find(|policy| policy.as_str() == word)
    }

    /// Parses policies. An empty list means [`DeletePolicy::BeforeHookCreation`]; unknown values are ignored, but
    /// suppress that default, as in Helm.
    pub fn parse_list(words: &[String]) -> Vec<Self> {
        if words.is_empty() {
            return vec![DeletePolicy::BeforeHookCreation];
        }
        words.iter().filter_map(|word| DeletePolicy::parse(word)).collect()
    }
}

/// When the log of a hook is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogPolicy {
    /// After the hook succeeded.
    Succeeded,
    /// After the hook failed.
    Failed,
}

impl LogPolicy {
    /// All policies.
    pub const ALL: [LogPolicy; 2] = [LogPolicy::Succeeded, LogPolicy::Failed];

    /// The value in annotations and records.
    pub fn as_str(self) -> &'static str {
        match self {
            LogPolicy::Succeeded => "hook-succeeded",
            LogPolicy::Failed => "hook-failed",
        }
    }

    /// The policy with a name.
    pub fn parse(word: &str) -> Option<Self> {
        LogPolicy::ALL.into_iter().find(|policy| policy.as_str() == word)
    }
}

/// An unknown policy value. Lint reports an error, an operation a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicyValue {
    /// The annotation.
    pub annotation: &'static str,
    /// The value.
    pub word: String,
    /// The value that was probably meant.
    pub likely: Option<&'static str>,
}

impl UnknownPolicyValue {
    /// The warning, for a hook found at `path`.
    pub fn warning(&self, path: &str) -> LogLine {
        let advice = self.likely.map(|likely| format!(", did you mean {likely}?")).unwrap_or_default();
        let text = format!("unknown word in {}: {}{advice}", self.annotation, self.word);
        LogLine::warn(text, vec![("path", path.to_owned())])
    }
}

/// All unknown policy values, in the order of the arguments.
pub(crate) fn unknown_policy_values(
    delete: &[String],
    log: &[String],
    policy: Option<&str>,
) -> Vec<UnknownPolicyValue> {
    let delete_words = DeletePolicy::ALL.map(DeletePolicy::as_str);
    let log_words = LogPolicy::ALL.map(LogPolicy::as_str);
    let mut unknown = Vec::new();
    let mut note = |annotation, words: &[String], known: &[&'static str]| {
        for word in words.iter().filter(|word| !known.contains(&word.as_str())) {
            unknown.push(UnknownPolicyValue { annotation, word: word.clone(), likely: suggest(word, known) });
        }
    };
    note(DELETE_POLICY, delete, &delete_words);
    note(LOG_POLICY, log, &log_words);
    note(POLICY, &policy.map(crate::annotation::normalize).into_iter().collect::<Vec<_>>(), &[UNMANAGED]);
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn no_word_means_before_creation_and_an_empty_word_means_nothing() {
        assert_eq!(DeletePolicy::parse_list(&[]), [DeletePolicy::BeforeHookCreation]);
        assert!(DeletePolicy::parse_list(&words(&[""])).is_empty());
        assert_eq!(DeletePolicy::parse_list(&words(&["x", "hook-failed"])), [DeletePolicy::Failed]);
    }

    #[test]
    fn the_likely_policy_is_suggested() {
        for (word, expected) in [
            ("hook-suceeded", Some("hook-succeeded")),
            ("succeeded", Some("hook-succeeded")),
            ("failed", Some("hook-failed")),
            ("before-creation", Some("before-hook-creation")),
            ("never", None),
            ("", None),
        ] {
            assert_eq!(suggest(word, &DeletePolicy::ALL.map(DeletePolicy::as_str)), expected, "{word}");
        }
        assert_eq!(suggest(&"hook-failed".repeat(100_000), &["hook-failed"]), None);
    }

    #[test]
    fn unknown_policies_become_warnings() {
        let unknown =
            unknown_policy_values(&words(&["hook-failed"]), &words(&["hook-suceeded"]), Some("managed"));
        let lines: Vec<String> = unknown.iter().map(|word| word.warning("c/t.yaml").to_string()).collect();
        assert_eq!(
            lines,
            [
                "level=WARN msg=\"unknown word in helm.sh/hook-output-log-policy: hook-suceeded, did you mean \
                 hook-succeeded?\" path=c/t.yaml",
                "level=WARN msg=\"unknown word in helm.sh/hook-policy: managed, did you mean unmanaged?\" \
                 path=c/t.yaml",
            ]
        );
    }
}
