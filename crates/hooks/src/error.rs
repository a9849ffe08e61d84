//! Errors of hooks.

use pintle_objects::ObjectError;
use pintle_tree::suggest::suggest;

use crate::annotation::{Annotations, HOOK, WEIGHTS};

/// The result of this crate's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a hook is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is not a YAML map.
    #[error("cannot read the hook {name} of {path}: {problem}")]
    Document {
        /// The name of the hook.
        name: String,
        /// The rendered file it comes from.
        path: String,
        /// The parser's error.
        problem: ObjectError,
    },
    /// The annotations contradict each other.
    #[error("{kind} {name}{} has invalid hook annotations: {problem}", file_suffix(path))]
    Annotations {
        /// The kind of the hook.
        kind: String,
        /// The name of the hook.
        name: String,
        /// The rendered file it comes from; empty when unknown.
        path: String,
        /// The problem.
        problem: Problem,
    },
    /// The hook is an empty list. The message is Helm's.
    #[error("object not found, skipping delete: no objects visited")]
    NoObjects,
    /// The hook has no name. The message is Helm's.
    #[error("resource name may not be empty")]
    NoName,
    /// The hook is not a valid Kubernetes object. The message is Helm's.
    #[error("unable to build kubernetes object for {occasion} hook {path}: {reason}")]
    Build {
        /// The event, or `deleting` where Helm detects it before the hook runs.
        occasion: &'static str,
        /// The rendered file it comes from.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Splitting a hook would create a second object with the same name.
    #[error("splitting {kind} {name} would make a second {kind} named {new}")]
    Collision {
        /// The kind of the hook.
        kind: String,
        /// The name of the hook.
        name: String,
        /// The conflicting name.
        new: String,
    },
}

fn file_suffix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in {path}") }
}

/// A problem with the annotations of a hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// `helm.sh/hook` names no event.
    #[error("`helm.sh/hook` is empty")]
    NoEvent,
    /// An unknown event.
    #[error("`{word}` is not a hook event; {}", event_advice(word, known))]
    UnknownEvent {
        /// The unknown name.
        word: String,
        /// The known events.
        known: &'static [&'static str],
    },
    /// An entry of a list of events is empty, for which Helm drops the hook.
    #[error("`helm.sh/hook` has an empty entry, as after a comma at its end")]
    EmptyEntry,
    /// An event is listed twice.
    #[error("the event `{event}` is named twice")]
    DuplicateEvent {
        /// The event.
        event: String,
    },
    /// A weight is not an integer.
    #[error("the weight `{text}` in `{annotation}` is not a 32-bit integer")]
    NoNumber {
        /// The annotation that holds the weight.
        annotation: &'static str,
        /// The invalid weight.
        text: String,
    },
    /// The number of weights does not match the number of events.
    #[error("`{annotation}` has {weights} weights for {events} events")]
    Count {
        /// The annotation that holds the weights.
        annotation: &'static str,
        /// How many weights there are.
        weights: usize,
        /// How many events there are.
        events: usize,
    },
    /// `helm.sh/hook-weights` mixes named and positional weights.
    #[error("`helm.sh/hook-weights` mixes `event=weight` with bare weights, as in `{entry}`")]
    Mixed {
        /// The first entry of the other form.
        entry: String,
    },
    /// `helm.sh/hook-weights` has an event that `helm.sh/hook` does not list.
    #[error("`helm.sh/hook-weights` has a weight for `{event}`, which `helm.sh/hook` does not name")]
    ForeignEvent {
        /// The event.
        event: String,
    },
    /// Without `helm.sh/hook`, `helm.sh/hook-weights` must name the events.
    #[error("`helm.sh/hook-weights` without `helm.sh/hook` must name events, as in `pre-install=5`")]
    NoNames,
}

fn event_advice(word: &str, known: &[&'static str]) -> String {
    match suggest(word, known) {
        Some(likely) => format!("did you mean `{likely}`?"),
        None => format!("the events are {}", known.join(", ")),
    }
}

impl Problem {
    /// The annotation that has the problem.
    pub fn annotation(&self, annotations: &Annotations) -> &'static str {
        match self {
            Problem::NoEvent | Problem::EmptyEntry => HOOK,
            Problem::NoNumber { annotation, .. } | Problem::Count { annotation, .. } => annotation,
            Problem::Mixed { .. } | Problem::ForeignEvent { .. } | Problem::NoNames => WEIGHTS,
            Problem::UnknownEvent { word: event, .. } | Problem::DuplicateEvent { event } => {
                // The problem says which event, but it can be named in either annotation.
                let in_hook = annotations.hook.as_ref().is_some_and(|list| list.contains(event.as_str()));
                if in_hook { HOOK } else { WEIGHTS }
            }
        }
    }
}
