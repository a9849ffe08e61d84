//! How a pod is steered: the annotations `pintle.dev/simulate-…`, which a template passes on to its pods.

use std::time::Duration;

use pintle_time::Duration as GoDuration;
use pintle_tree::Node;

use crate::api::meta::text_at;

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
    /// What the annotations of a pod say. What cannot be read counts for nothing.
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

/// What the annotation `pintle.dev/simulate-…` of a pod says.
pub(super) fn said<'n>(pod: &'n Node, name: &str) -> &'n str {
    text_at(pod, &["metadata", "annotations", &format!("pintle.dev/simulate-{name}")])
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
}
