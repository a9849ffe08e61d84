//! How a pod is steered: the annotations `pintle.dev/simulate-…`, which a template passes on to its pods.

use std::time::Duration;

use pintle_time::Duration as GoDuration;
use pintle_tree::{Node, Str};

use crate::api::meta::{at, list_at, text_at};

/// What a pod is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steering {
    /// `simulate-failures`: how many tries fail, or `always`.
    pub(crate) failures: u64,
    /// `simulate-exit-code`: what a failing try ends with.
    pub(crate) exit_code: i64,
    /// `simulate-duration`: how long it takes to end, or to become ready.
    pub(crate) duration: Duration,
    /// `simulate-ready`: `never` for a pod that runs and never is.
    pub(crate) becomes_ready: bool,
    /// `simulate-image`: `missing` for an image that cannot be pulled.
    pub(crate) has_image: bool,
}

impl Steering {
    /// What the annotations of a pod say. What cannot be read counts for nothing, and [`nonsense`] names it.
    pub(crate) fn of(pod: &Node) -> Steering {
        let said = |name: &str| said(pod, name);
        let failures = match said("failures") {
            "always" => u64::MAX,
            text => text.parse().unwrap_or(0),
        };
        let duration = GoDuration::parse(said("duration")).map_or(0, GoDuration::nanoseconds);
        Steering {
            failures,
            exit_code: said("exit-code").parse().ok().filter(|code| *code != 0).unwrap_or(1),
            duration: Duration::from_nanos(u64::try_from(duration).unwrap_or(0)),
            becomes_ready: said("ready") != "never",
            has_image: said("image") != "missing",
        }
    }
}

/// What stands before the names of these annotations.
const PREFIX: &str = "pintle.dev/simulate-";

/// What the annotation `pintle.dev/simulate-…` of a pod says.
pub(super) fn said<'n>(pod: &'n Node, name: &str) -> &'n str {
    text_at(pod, &["metadata", "annotations", &format!("{PREFIX}{name}")])
}

/// What is wrong with the annotations of a pod that were meant to steer it.
pub(super) fn nonsense(pod: &Node) -> Vec<String> {
    let annotations = at(pod, &["metadata", "annotations"]).and_then(Node::as_map);
    let wrong = |(key, value): (&Str, &Node)| {
        let key = key.to_str_lossy();
        let value = value.as_str().unwrap_or_default();
        let wanted = wanted(key.strip_prefix(PREFIX)?, value, pod)?;
        Some(format!("Annotation {key}: {value:?} counts for nothing: {wanted}"))
    };
    annotations.into_iter().flat_map(|annotations| annotations.iter()).filter_map(wrong).collect()
}

/// What an annotation should be instead; none if it is good.
fn wanted(name: &str, value: &str, pod: &Node) -> Option<&'static str> {
    let (is_good, wanted) = match name {
        "failures" => (value == "always" || value.parse::<u64>().is_ok(), "it takes a number, or `always`"),
        "exit-code" => (value.parse::<i64>().is_ok_and(|code| code != 0), "it takes a number that is not 0"),
        "duration" => {
            let nanoseconds = GoDuration::parse(value).map(GoDuration::nanoseconds);
            (nanoseconds.is_ok_and(|nanoseconds| nanoseconds >= 0), "it takes a duration such as `30s`")
        }
        "ready" => (value == "never", "it takes `never`"),
        "image" => (value == "missing", "it takes `missing`"),
        "log" => (true, ""),
        _ => {
            let names =
                ["initContainers", "containers"].iter().flat_map(|kind| list_at(pod, &["spec", *kind]));
            let mut names = names.map(|container| text_at(container, &["name"]));
            match name.strip_prefix("log.") {
                Some(container) => (names.any(|name| name == container), "there is no such container"),
                None => (false, "there is no such annotation"),
            }
        }
    };
    (!is_good).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_steer_and_nonsense_counts_for_nothing() {
        let pod = |text: &str| Steering::of(&pintle_yaml::read(text.as_bytes()).unwrap());
        let steered = pod(
            "metadata: {annotations: {pintle.dev/simulate-failures: '2', pintle.dev/simulate-duration: 30s}}",
        );
        assert_eq!((steered.failures, steered.duration), (2, Duration::from_secs(30)));
        let nonsense = pod(
            "metadata: {annotations: {pintle.dev/simulate-failures: '-1', pintle.dev/simulate-duration: soon, pintle.dev/simulate-exit-code: '0'}}",
        );
        assert_eq!((nonsense.failures, nonsense.duration, nonsense.exit_code), (0, Duration::ZERO, 1));
        assert_eq!(nonsense, pod("{}"));
    }

    #[test]
    fn nonsense_is_named() {
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
        let found = super::nonsense(&pintle_yaml::read(text.as_bytes()).unwrap());
        assert_eq!(
            found,
            [
                r#"Annotation pintle.dev/simulate-duration: "soon" counts for nothing: it takes a duration such as `30s`"#,
                r#"Annotation pintle.dev/simulate-log.mian: "two" counts for nothing: there is no such container"#,
                r#"Annotation pintle.dev/simulate-ready: "no" counts for nothing: it takes `never`"#,
                r#"Annotation pintle.dev/simulate-speed: "9" counts for nothing: there is no such annotation"#,
            ]
        );
    }
}
