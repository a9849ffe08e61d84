//! The annotations `pintle.dev/simulate-…` of a pod, which decide how its containers behave.

use std::time::Duration;

use pintle_time::Duration as GoDuration;
use pintle_tree::{Node, Str};

use crate::api::meta::{at, list_at, text_at};

/// How a pod behaves. The default is the success that the chart's author expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Simulation {
    /// `simulate-failures`: how many attempts fail, or `always`.
    pub(crate) failures: u64,
    /// `simulate-exit-code`: the exit code of a failing attempt.
    pub(crate) exit_code: i64,
    /// `simulate-duration`: the time until it exits or becomes ready.
    pub(crate) duration: Duration,
    /// `simulate-ready`: `never` for a pod that runs and is never ready.
    pub(crate) becomes_ready: bool,
    /// `simulate-image`: `missing` for an image that cannot be pulled.
    pub(crate) has_image: bool,
}

impl Simulation {
    /// Reads the annotations of a pod. Values that cannot be parsed are ignored; [`invalid_annotations`] reports
    /// them.
    pub(crate) fn from_annotations(pod: &Node) -> Simulation {
        Simulation {
            failures: FAILURES.parse(pod).unwrap_or(0),
            exit_code: EXIT_CODE.parse(pod).unwrap_or(1),
            duration: DURATION.parse(pod).unwrap_or(Duration::ZERO),
            becomes_ready: READY.parse(pod).unwrap_or(true),
            has_image: IMAGE.parse(pod).unwrap_or(true),
        }
    }
}

const PREFIX: &str = "pintle.dev/simulate-";

/// One annotation and the parser of its values.
struct Annotation<T> {
    name: &'static str,
    /// Parses a value; `None` if it is invalid.
    read: fn(&str) -> Option<T>,
    /// The accepted values, for the message about an invalid one.
    takes: &'static str,
}

impl<T> Annotation<T> {
    fn parse(&self, pod: &Node) -> Option<T> {
        (self.read)(annotation(pod, self.name))
    }
}

const FAILURES: Annotation<u64> = Annotation {
    name: "failures",
    read: |text| if text == "always" { Some(u64::MAX) } else { text.parse().ok() },
    takes: "it takes a number, or `always`",
};
const EXIT_CODE: Annotation<i64> = Annotation {
    name: "exit-code",
    read: |text| text.parse().ok().filter(|code| *code != 0),
    takes: "it takes a number that is not 0",
};
const DURATION: Annotation<Duration> = Annotation {
    name: "duration",
    read: |text| {
        let nanoseconds = GoDuration::parse(text).ok()?.nanoseconds();
        u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
    },
    takes: "it takes a duration such as `30s`",
};
const READY: Annotation<bool> =
    Annotation { name: "ready", read: |text| (text == "never").then_some(false), takes: "it takes `never`" };
const IMAGE: Annotation<bool> = Annotation {
    name: "image",
    read: |text| (text == "missing").then_some(false),
    takes: "it takes `missing`",
};

/// Type-erased [`Annotation`], for one list of all of them.
trait ValidateAnnotation: Sync {
    fn name(&self) -> &'static str;
    /// Returns what is wrong with a value, or `None` if it is valid.
    fn problem(&self, value: &str) -> Option<&'static str>;
}

impl<T> ValidateAnnotation for Annotation<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn problem(&self, value: &str) -> Option<&'static str> {
        (self.read)(value).is_none().then_some(self.takes)
    }
}

static ANNOTATIONS: [&dyn ValidateAnnotation; 5] = [&FAILURES, &EXIT_CODE, &DURATION, &READY, &IMAGE];

pub(super) fn annotation<'n>(pod: &'n Node, name: &str) -> &'n str {
    text_at(pod, &["metadata", "annotations", &format!("{PREFIX}{name}")])
}

/// Returns one message per simulation annotation that is unknown or has an invalid value.
pub(super) fn invalid_annotations(pod: &Node) -> Vec<String> {
    let annotations = at(pod, &["metadata", "annotations"]).and_then(Node::as_map);
    let wrong = |(key, value): (&Str, &Node)| {
        let key = key.to_str_lossy();
        let value = value.as_str().unwrap_or_default();
        let problem = problem(key.strip_prefix(PREFIX)?, value, pod)?;
        Some(format!("Annotation {key}: {value:?} is ignored: {problem}"))
    };
    annotations.into_iter().flat_map(|annotations| annotations.iter()).filter_map(wrong).collect()
}

fn problem(name: &str, value: &str, pod: &Node) -> Option<&'static str> {
    if let Some(annotation) = ANNOTATIONS.iter().find(|annotation| annotation.name() == name) {
        return annotation.problem(value);
    }
    // Every text is a valid log.
    if name == "log" {
        return None;
    }
    let Some(container) = name.strip_prefix("log.") else { return Some("there is no such annotation") };
    let containers = ["initContainers", "containers"].iter().flat_map(|kind| list_at(pod, &["spec", *kind]));
    let mut names = containers.map(|container| text_at(container, &["name"]));
    (!names.any(|name| name == container)).then_some("there is no such container")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_control_the_simulation_and_invalid_ones_are_ignored() {
        let pod = |text: &str| Simulation::from_annotations(&pintle_yaml::read(text.as_bytes()).unwrap());
        let steered = pod(
            "metadata: {annotations: {pintle.dev/simulate-failures: '2', pintle.dev/simulate-duration: 30s}}",
        );
        assert_eq!((steered.failures, steered.duration), (2, Duration::from_secs(30)));
        let invalid = pod(
            "metadata: {annotations: {pintle.dev/simulate-failures: '-1', pintle.dev/simulate-duration: soon, pintle.dev/simulate-exit-code: '0'}}",
        );
        assert_eq!((invalid.failures, invalid.duration, invalid.exit_code), (0, Duration::ZERO, 1));
        assert_eq!(invalid, pod("{}"));
    }

    #[test]
    fn invalid_annotations_are_reported() {
        let text = "
metadata:
  annotations:
    example.com/other: x
    pintle.dev/simulate-duration: soon
    pintle.dev/simulate-failures: '2'
    pintle.dev/simulate-image: missing
    pintle.dev/simulate-log: anything
    pintle.dev/simulate-log.init: one
    pintle.dev/simulate-log.mian: two
    pintle.dev/simulate-ready: 'no'
    pintle.dev/simulate-speed: '9'
spec:
  initContainers: [{name: init}]
  containers: [{name: main}]
";
        let found = super::invalid_annotations(&pintle_yaml::read(text.as_bytes()).unwrap());
        assert_eq!(
            found,
            [
                r#"Annotation pintle.dev/simulate-duration: "soon" is ignored: it takes a duration such as `30s`"#,
                r#"Annotation pintle.dev/simulate-log.mian: "two" is ignored: there is no such container"#,
                r#"Annotation pintle.dev/simulate-ready: "no" is ignored: it takes `never`"#,
                r#"Annotation pintle.dev/simulate-speed: "9" is ignored: there is no such annotation"#,
            ]
        );
    }
}
