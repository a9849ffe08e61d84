//! Hooks: objects with a `helm.sh/hook` annotation, which run at events of a release instead of being applied.

use pintle_tree::{Map, Str};

use crate::head::{Head, HeadMetadata};

/// The annotation that makes an object a hook.
const HOOK: &str = "helm.sh/hook";
/// The annotation that orders hooks of one event.
const WEIGHT: &str = "helm.sh/hook-weight";
/// The annotation for when a hook's object is deleted.
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// The annotation for when a hook's log is shown.
const OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// An event of a release at which hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEvent {
    /// Before anything is installed.
    PreInstall,
    /// After everything is installed.
    PostInstall,
    /// Before anything is deleted.
    PreDelete,
    /// After everything is deleted.
    PostDelete,
    /// Before anything is upgraded.
    PreUpgrade,
    /// After everything is upgraded.
    PostUpgrade,
    /// Before anything is rolled back.
    PreRollback,
    /// After everything is rolled back.
    PostRollback,
    /// When the release is tested.
    Test,
}

impl HookEvent {
    /// All events.
    pub const ALL: [HookEvent; 9] = [
        HookEvent::PreInstall,
        HookEvent::PostInstall,
        HookEvent::PreDelete,
        HookEvent::PostDelete,
        HookEvent::PreUpgrade,
        HookEvent::PostUpgrade,
        HookEvent::PreRollback,
        HookEvent::PostRollback,
        HookEvent::Test,
    ];

    /// The name in annotations and release records.
    pub fn as_str(self) -> &'static str {
        match self {
            HookEvent::PreInstall => "pre-install",
            HookEvent::PostInstall => "post-install",
            HookEvent::PreDelete => "pre-delete",
            HookEvent::PostDelete => "post-delete",
            HookEvent::PreUpgrade => "pre-upgrade",
            HookEvent::PostUpgrade => "post-upgrade",
            HookEvent::PreRollback => "pre-rollback",
            HookEvent::PostRollback => "post-rollback",
            HookEvent::Test => "test",
        }
    }

    /// Parses an event name; `test-success` is Helm 2's name for `test`.
    pub fn parse(word: &str) -> Option<HookEvent> {
        match word {
            "test-success" => Some(HookEvent::Test),
            _ => HookEvent::ALL.into_iter().find(|event| event.as_str() == word),
        }
    }
}

/// An object that runs at events instead of being applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook<'a> {
    /// The name of the object.
    pub name: Str,
    /// The kind of the object.
    pub kind: Str,
    /// The rendered file.
    pub path: &'a str,
    /// The document.
    pub manifest: &'a [u8],
    /// The events.
    pub events: Vec<HookEvent>,
    /// Its order among the hooks of one event, lowest first.
    pub weight: i64,
    /// When its object is deleted: the lower-cased annotation values, known or not.
    pub delete_policies: Vec<String>,
    /// When its log is shown: the lower-cased annotation values, known or not.
    pub output_log_policies: Vec<String>,
}

impl<'a> Hook<'a> {
    /// Creates a hook from the head of a document, without its events.
    pub fn from_head(path: &'a str, manifest: &'a [u8], head: &Head) -> Hook<'a> {
        let nothing = HeadMetadata::default();
        let metadata = head.metadata.as_ref().unwrap_or(&nothing);
        Hook {
            name: metadata.name.clone(),
            kind: head.kind.clone(),
            path,
            manifest,
            events: Vec::new(),
            weight: weight(&metadata.annotations),
            delete_policies: word_list(&metadata.annotations, DELETE_POLICY),
            output_log_policies: word_list(&metadata.annotations, OUTPUT_LOG_POLICY),
        }
    }
}

/// Whether a document is a hook, by its annotations.
pub(crate) enum Classification<'a> {
    /// An ordinary object.
    NotAHook,
    /// A hook.
    Hook(Hook<'a>),
    /// A hook for an event that Helm does not know, with its annotation. Helm drops such an object.
    Unknown(Hook<'a>, String),
}

/// Classifies a document by its head.
pub(crate) fn classify<'a>(path: &'a str, manifest: &'a [u8], head: &Head) -> Classification<'a> {
    let Some(metadata) = &head.metadata else { return Classification::NotAHook };
    let Some(words) = metadata.annotations.get(HOOK) else { return Classification::NotAHook };
    let words = words.to_str_lossy();
    // An empty word, as after a trailing comma, is an unknown event.
    let events: Option<Vec<HookEvent>> =
        words.split(',').map(|word| HookEvent::parse(&normal(word))).collect();
    // One unknown event is enough, even beside known ones.
    let hook = Hook::from_head(path, manifest, head);
    match events {
        Some(events) => Classification::Hook(Hook { events, ..hook }),
        None => Classification::Unknown(hook, words.into_owned()),
    }
}

/// The weight; anything that is not a number counts as 0.
fn weight(annotations: &Map<Str>) -> i64 {
    annotations.get(WEIGHT).and_then(Str::as_str).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The comma-separated values of an annotation; empty if it is absent.
fn word_list(annotations: &Map<Str>, name: &str) -> Vec<String> {
    match annotations.get(name) {
        Some(list) => list.to_str_lossy().split(',').map(normal).collect(),
        None => Vec::new(),
    }
}

/// A value without surrounding whitespace, in lower case. Go lower-cases rune by rune: one never becomes two.
fn normal(word: &str) -> String {
    word.trim().chars().filter_map(|character| character.to_lowercase().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(annotations: &[(&str, &str)]) -> Head {
        let annotations =
            annotations.iter().map(|(name, value)| (Str::from(*name), Str::from(*value))).collect();
        Head {
            api_version: "v1".into(),
            kind: "Job".into(),
            metadata: Some(HeadMetadata { name: "j".into(), annotations }),
        }
    }

    #[test]
    fn words_are_trimmed_and_lowered() {
        let head =
            head(&[(HOOK, " Pre-Install ,TEST-success"), (DELETE_POLICY, "Hook-Failed, x"), (WEIGHT, "+7")]);
        let Classification::Hook(hook) = classify("p", b"", &head) else { panic!("expected a hook") };
        assert_eq!(hook.events, [HookEvent::PreInstall, HookEvent::Test]);
        assert_eq!(hook.delete_policies, ["hook-failed", "x"]);
        assert_eq!(hook.weight, 7);
        assert!(hook.output_log_policies.is_empty());
    }

    #[test]
    fn one_unknown_event_drops_the_object() {
        let head = head(&[(HOOK, "pre-install,crd-install")]);
        assert!(
            matches!(classify("p", b"", &head), Classification::Unknown(_, words) if words == "pre-install,crd-install")
        );
    }

    #[test]
    fn a_weight_that_is_no_number_is_zero() {
        for text in ["", "x", "1.5", "99999999999999999999", " 1"] {
            assert_eq!(
                weight(&head(&[(WEIGHT, text)]).metadata.expect("has metadata").annotations),
                0,
                "{text}"
            );
        }
    }
}
