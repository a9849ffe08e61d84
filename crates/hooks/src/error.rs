//! What can be wrong with a hook, and the words for it.

use pintle_objects::ObjectError;

use crate::annotation::{Annotations, HOOK, WEIGHTS};

/// A result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a hook cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is no YAML, or no map.
    #[error("cannot read the hook {name} of {path}")]
    Document {
        /// The name of the hook.
        name: String,
        /// The rendered file it comes from.
        path: String,
        /// What the reader said.
        #[source]
        source: ObjectError,
    },
    /// The annotations contradict themselves.
    #[error("the annotations of {kind} {name}{} are wrong", place(path))]
    Annotations {
        /// The kind of the hook.
        kind: String,
        /// The name of the hook.
        name: String,
        /// The rendered file it comes from; empty when that is not known.
        path: String,
        /// What is wrong.
        #[source]
        source: Problem,
    },
    /// The hook is to run and is an empty list.
    #[error("object not found, skipping delete: no objects visited")]
    NoObjects,
    /// The hook is to run and has no name.
    #[error("resource name may not be empty")]
    NoName,
    /// The hook is to run and is no Kubernetes object. The text is Helm's.
    #[error("unable to build kubernetes object for {occasion} hook {path}: {reason}")]
    Build {
        /// The event, or `deleting` where Helm notices before the hook runs.
        occasion: &'static str,
        /// The rendered file it comes from.
        path: String,
        /// What it lacks.
        reason: String,
    },
    /// A hook that is split would get the name of another object.
    #[error("splitting {kind} {name} would make a second {kind} named {new}")]
    Collision {
        /// The kind of the hook.
        kind: String,
        /// The name of the hook.
        name: String,
        /// The name that is taken.
        new: String,
    },
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in {path}") }
}

/// What is wrong with the annotations of a hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// `helm.sh/hook` names no event.
    #[error("`helm.sh/hook` is empty")]
    NoEvent,
    /// A word is no event.
    #[error("`{word}` is no hook event; the events are {}", known.join(", "))]
    UnknownEvent {
        /// The word.
        word: String,
        /// The words that are events.
        known: &'static [&'static str],
    },
    /// An event is named twice.
    #[error("the event `{event}` is named twice")]
    DuplicateEvent {
        /// The event.
        event: String,
    },
    /// A weight is no whole number.
    #[error("the weight `{text}` in `{annotation}` is no whole number of 32 bits")]
    NoNumber {
        /// The annotation that holds the weight.
        annotation: &'static str,
        /// What stands for the weight.
        text: String,
    },
    /// There are more or fewer weights than events.
    #[error("`{annotation}` has {weights} weights for {events} events")]
    Count {
        /// The annotation that holds the weights.
        annotation: &'static str,
        /// How many weights there are.
        weights: usize,
        /// How many events there are.
        events: usize,
    },
    /// `helm.sh/hook-weights` has both forms.
    #[error("`helm.sh/hook-weights` mixes `event=weight` with bare weights, as in `{entry}`")]
    Mixed {
        /// The first entry of the other form.
        entry: String,
    },
    /// `helm.sh/hook-weights` weighs an event at which the hook does not run.
    #[error("`helm.sh/hook-weights` has a weight for `{event}`, which `helm.sh/hook` does not name")]
    ForeignEvent {
        /// The event.
        event: String,
    },
    /// Without `helm.sh/hook`, the events come from `helm.sh/hook-weights`, which names none.
    #[error("`helm.sh/hook-weights` without `helm.sh/hook` must name events, as in `pre-install=5`")]
    NoNames,
}

impl Problem {
    /// The annotation that has the problem.
    pub(crate) fn annotation(&self, annotations: &Annotations) -> &'static str {
        match self {
            Problem::NoEvent => HOOK,
            Problem::NoNumber { annotation, .. } | Problem::Count { annotation, .. } => annotation,
            Problem::Mixed { .. } | Problem::ForeignEvent { .. } | Problem::NoNames => WEIGHTS,
            Problem::UnknownEvent { word: event, .. } | Problem::DuplicateEvent { event } => {
                let here = annotations.hook.as_ref().is_some_and(|list| list.contains(event.as_str()));
                if here { HOOK } else { WEIGHTS }
            }
        }
    }
}
