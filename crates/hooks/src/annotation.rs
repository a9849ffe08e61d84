//! The hook annotations, and the names of events in them.

use pintle_objects::{Head, HookEvent, Object};
use pintle_tree::{Map, Node, Str};
use pintle_yaml::decode::number_text;

use crate::error::Problem;
use crate::view::{Tree, View};
use crate::weight::event_weights;

/// Makes an object a hook and lists its events.
pub const HOOK: &str = "helm.sh/hook";
/// The weight: one for all events, or a list with one per event.
pub const WEIGHT: &str = "helm.sh/hook-weight";
/// The weights by event: `pre-install=-5,post-install=5`.
pub const WEIGHTS: &str = "helm.sh/hook-weights";
/// When the hook's object is deleted.
pub const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// When the hook's log is shown.
pub const LOG_POLICY: &str = "helm.sh/hook-output-log-policy";
/// `unmanaged` lets the hook's object outlive its release.
pub const POLICY: &str = "helm.sh/hook-policy";
/// How long the hook may take, such as `10m`.
pub(crate) const TIMEOUT: &str = "helm.sh/hook-timeout";
/// Anything but `true` disables the environment variables.
pub const ENV: &str = "helm.sh/hook-env";
/// Anything but `true` keeps the name when splitting.
pub const NAME_SUFFIX: &str = "helm.sh/hook-name-suffix";

/// The hook annotations of one object, unparsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// [`HOOK`].
    pub hook: Option<String>,
    /// [`WEIGHT`].
    pub weight: Option<String>,
    /// [`WEIGHTS`].
    pub weights: Option<String>,
    /// [`DELETE_POLICY`].
    pub delete_policy: Option<String>,
    /// [`LOG_POLICY`].
    pub log_policy: Option<String>,
    /// [`POLICY`].
    pub policy: Option<String>,
    /// The annotation `helm.sh/hook-timeout`.
    pub timeout: Option<String>,
    /// [`ENV`].
    pub env: Option<String>,
    /// [`NAME_SUFFIX`].
    pub name_suffix: Option<String>,
}

impl Annotations {
    /// Reads the annotations of an object. Numbers and booleans are converted to text, as in Helm.
    pub fn from_object(object: &Object) -> Self {
        Annotations::from_view(Tree::of(object))
    }

    /// As [`Annotations::from_object`], for any [`View`].
    pub(crate) fn from_view<'v>(object: impl View<'v>) -> Self {
        let Some(entries) = object.at(&["metadata", "annotations"]).filter(|entries| entries.is_map()) else {
            return Annotations::default();
        };
        Annotations::from_lookup(|key| entries.get(key).and_then(View::scalar).as_ref().and_then(text))
    }

    /// Reads the annotations from the head of a document.
    pub fn from_head(head: &Head) -> Self {
        let Some(metadata) = &head.metadata else { return Annotations::default() };
        let entries: &Map<Str> = &metadata.annotations;
        Annotations::from_lookup(|key| entries.get(key).map(Str::to_string))
    }

    fn from_lookup(look: impl Fn(&str) -> Option<String>) -> Self {
        Annotations {
            hook: look(HOOK),
            weight: look(WEIGHT),
            weights: look(WEIGHTS),
            delete_policy: look(DELETE_POLICY),
            log_policy: look(LOG_POLICY),
            policy: look(POLICY),
            timeout: look(TIMEOUT),
            env: look(ENV),
            name_suffix: look(NAME_SUFFIX),
        }
    }

    /// Whether the object uses an annotation, or a form of one, that Helm does not know.
    pub fn is_extended(&self) -> bool {
        self.weights.is_some()
            || self.env.is_some()
            || self.name_suffix.is_some()
            || self.weight.as_ref().is_some_and(|weight| weight.contains(','))
    }

    /// All that is wrong with the events and weights. Some of it is refused by operations, the rest is tolerated as in Helm:
    /// an object with an unknown event is neither installed nor run, an event that is named twice runs twice, and a single
    /// weight that is not a number counts as 0.
    pub fn problems(&self) -> Vec<Problem> {
        if self.hook.is_none() && self.weights.is_none() {
            return Vec::new();
        }
        let problems = self.hook.as_deref().map(event_problems).unwrap_or_default();
        if !problems.is_empty() {
            return problems;
        }
        event_weights(self, EventVocabulary::Native).err().into_iter().collect()
    }

    /// Whether containers may get environment variables.
    pub fn allows_env(&self) -> bool {
        is_true_or_absent(self.env.as_deref())
    }

    /// Whether splitting adds the event to the name.
    pub fn allows_suffix(&self) -> bool {
        is_true_or_absent(self.name_suffix.as_deref())
    }

    /// Whether the object outlives its release.
    pub fn is_unmanaged(&self) -> bool {
        self.policy.as_ref().is_some_and(|policy| normalize(policy) == UNMANAGED)
    }
}

/// The only value of [`POLICY`].
pub(crate) const UNMANAGED: &str = "unmanaged";

fn is_true_or_absent(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().eq_ignore_ascii_case("true"))
}

/// The problems of a list of events.
fn event_problems(list: &str) -> Vec<Problem> {
    if list.trim().is_empty() {
        return vec![Problem::NoEvent];
    }
    let (mut problems, mut events): (Vec<Problem>, Vec<&str>) = (Vec::new(), Vec::new());
    for word in list.split(',') {
        match EventVocabulary::Native.event(word) {
            _ if word.trim().is_empty() => problems.push(Problem::EmptyEntry),
            Ok(event) if events.contains(&event) => {
                problems.push(Problem::DuplicateEvent { event: event.to_owned() });
            }
            Ok(event) => events.push(event),
            Err(problem) => problems.push(problem),
        }
    }
    problems.dedup();
    problems
}

/// A scalar as Helm converts it to text.
fn text(node: &Node) -> Option<String> {
    match node {
        // Go decodes null into "", so an annotation without a value counts as present and empty.
        Node::Nil => Some(String::new()),
        Node::Bool(value) => Some(value.to_string()),
        Node::Int(value) => Some(value.to_string()),
        Node::Float(value) => Some(number_text(*value)),
        Node::Str(text) => Some(text.to_string()),
        Node::List(_) | Node::Map(_) => None,
    }
}

/// Trims and lowercases a value.
pub(crate) fn normalize(word: &str) -> String {
    word.trim().to_lowercase()
}

/// The event names that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventVocabulary {
    /// Helm's, in any case.
    Native,
    /// Those of the filter, which become part of object names: only the exact spelling.
    Filter,
}

/// All names. The last two are deprecated names for `test`: Helm still accepts the first of them, and drops hooks
/// with the second, which the filter leaves to Helm.
const FILTER: [&str; 11] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
    "test-success",
    "test-failure",
];

const NATIVE: &[&str] = FILTER.split_at(10).0;

/// The current names, one per event.
pub const EVENT_NAMES: &[&str] = FILTER.split_at(9).0;

impl EventVocabulary {
    /// Parses an event. Natively `test-success` is an alias of `test`.
    pub(crate) fn event(self, word: &str) -> Result<&'static str, Problem> {
        let (found, known): (_, &'static [&'static str]) = match self {
            EventVocabulary::Native => (HookEvent::parse(&normalize(word)).map(HookEvent::as_str), NATIVE),
            EventVocabulary::Filter => (FILTER.into_iter().find(|known| *known == word.trim()), &FILTER),
        };
        found.ok_or_else(|| Problem::UnknownEvent { word: word.trim().to_owned(), known })
    }

    /// Parses a comma-separated list of events. Empty entries, such as after a trailing comma, are ignored.
    pub(crate) fn events(self, list: &str) -> Result<Vec<&'static str>, Problem> {
        let mut events = Vec::new();
        for word in list.split(',').filter(|word| !word.trim().is_empty()) {
            let event = self.event(word)?;
            // Helm would run such a hook twice; with weights per event it would be unclear which counts.
            if events.contains(&event) {
                return Err(Problem::DuplicateEvent { event: event.to_owned() });
            }
            events.push(event);
        }
        if events.is_empty() { Err(Problem::NoEvent) } else { Ok(events) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_takes_events_only_as_they_are_spelled() {
        assert_eq!(EventVocabulary::Filter.events("pre-install,"), Ok(vec!["pre-install"]));
        assert_eq!(EventVocabulary::Filter.events(" , "), Err(Problem::NoEvent));
        for word in ["Pre-Install", "crd-install"] {
            let problem = EventVocabulary::Filter.events(word).expect_err("no such event");
            assert!(problem.to_string().starts_with(&format!("`{word}` is not a hook event; ")), "{problem}");
        }
        assert_eq!(EventVocabulary::Native.events("Pre-Install"), Ok(vec!["pre-install"]));
    }

    #[test]
    fn an_event_named_twice_is_a_problem() {
        let twice = |event: &str| Err(Problem::DuplicateEvent { event: event.into() });
        assert_eq!(EventVocabulary::Filter.events("test,pre-install,test"), twice("test"));
        assert_eq!(EventVocabulary::Native.events("test,test-success"), twice("test"));
        assert_eq!(EventVocabulary::Filter.events("test,test-success"), Ok(vec!["test", "test-success"]));
    }

    #[test]
    fn every_problem_of_a_hook_is_found_and_misspelt_events_are_recognized() {
        let problems = |hook: Option<&str>, weight: Option<&str>, weights: Option<&str>| -> Vec<String> {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let annotations = Annotations {
                hook: text(hook),
                weight: text(weight),
                weights: text(weights),
                ..Annotations::default()
            };
            annotations.problems().iter().map(ToString::to_string).collect()
        };
        assert_eq!(problems(Some("tset"), None, None), ["`tset` is not a hook event; did you mean `test`?"]);
        assert_eq!(
            problems(Some("pre-instal, post-intsall,test"), Some("1"), None),
            [
                "`pre-instal` is not a hook event; did you mean `pre-install`?",
                "`post-intsall` is not a hook event; did you mean `post-install`?",
            ]
        );
        assert_eq!(problems(Some("test,test-success"), None, None), ["the event `test` is named twice"]);
        assert_eq!(
            problems(Some("test,"), None, None),
            ["`helm.sh/hook` has an empty entry, as after a comma at its end"]
        );
        assert_eq!(problems(Some(" "), None, None), ["`helm.sh/hook` is empty"]);
        assert!(
            problems(Some("never"), None, None)[0]
                .starts_with("`never` is not a hook event; the events are ")
        );
        assert_eq!(
            problems(Some("test"), None, Some("zzz")),
            ["the weight `zzz` in `helm.sh/hook-weights` is not a 32-bit integer"]
        );
        assert_eq!(
            problems(Some("test"), Some("high"), None),
            ["the weight `high` in `helm.sh/hook-weight` is not a 32-bit integer"]
        );
        assert!(problems(Some("Test, PRE-INSTALL"), Some("1,-2"), None).is_empty());
        assert!(problems(None, Some("x"), None).is_empty(), "not a hook");
    }

    #[test]
    fn both_vocabularies_hold_every_event_of_helm() {
        for event in HookEvent::ALL {
            assert!(NATIVE.contains(&event.as_str()) && FILTER.contains(&event.as_str()));
        }
    }

    #[test]
    fn only_the_additions_make_a_hook_extended() {
        let plain = Annotations {
            weight: Some("x".into()),
            policy: Some("unmanaged".into()),
            ..Annotations::default()
        };
        assert!(!plain.is_extended() && plain.is_unmanaged() && plain.allows_env());
        for extended in [
            Annotations { weight: Some("1,2".into()), ..Annotations::default() },
            Annotations { weights: Some(String::new()), ..Annotations::default() },
            Annotations { env: Some("No".into()), ..Annotations::default() },
            Annotations { name_suffix: Some("true".into()), ..Annotations::default() },
        ] {
            assert!(extended.is_extended(), "{extended:?}");
            assert_eq!(extended.allows_env(), extended.env.is_none());
        }
    }
}
