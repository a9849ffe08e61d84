//! Rules for hooks. Helm has none: it accepts any policy and silently ignores unknown ones.

use pintle_chart::Chart;
use pintle_hooks::{Source, UnknownPolicyValue};
use pintle_objects::Order;

use super::Findings;
use super::Severity::Error;
use crate::hook_problems;

/// Checks the hooks of a rendered template of a chart.
pub(super) fn check(chart: &Chart, template: &str, text: &[u8], findings: &mut Findings) {
    let path = format!("{}/{template}", chart.name());
    let files = [(path.as_str(), text)];
    // Other rules report documents that are not objects.
    let Ok(sorted) = pintle_objects::sort(&files, Order::Install) else { return };
    for problem in hook_problems::find(&sorted, Some(chart)) {
        let place = match problem.line {
            0 => template.to_owned(),
            line => format!("{template}:{line}"),
        };
        findings.check(Error, &place, Err(problem.text));
    }
    let by_weights = sorted.manifests.iter().filter(|object| pintle_hooks::is_hook_by_weights(&object.head));
    let by_weights: Vec<_> = by_weights
        .map(|object| pintle_objects::Hook::from_head(object.path, object.content, &object.head))
        .collect();
    for hook in sorted.hooks.iter().chain(&by_weights) {
        match pintle_hooks::read(&Source::from_sorted(hook)) {
            Ok(read) => {
                for word in &read.unknown_policy_values {
                    findings.check(Error, template, Err(unknown_word_message(&read.kind, &read.name, word)));
                }
            }
            // Already reported above, with its line.
            Err(pintle_hooks::Error::Annotations { .. }) if !hook.events.is_empty() => {}
            Err(error) => {
                findings.check(Error, template, Err(error.to_string()));
            }
        }
    }
}

fn unknown_word_message(kind: &str, name: &str, word: &UnknownPolicyValue) -> String {
    let advice = word.likely.map(|likely| format!("; did you mean {likely}?")).unwrap_or_default();
    format!("{kind} {name} has an unknown word in {}: {:?}{advice}", word.annotation, word.word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(annotations: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, annotations: {{helm.sh/hook: 'test,pre-install', {annotations}}}}}\n"
        );
        let mut findings = Findings::default();
        let mut chart = Chart::default();
        chart.metadata.name = "web".into();
        check(&chart, "templates/j.yaml", text.as_bytes(), &mut findings);
        findings.messages.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_that_means_nothing_is_an_error_with_the_likely_word() {
        assert_eq!(
            texts("helm.sh/hook-output-log-policy: 'hook-failed, hook-suceeded'"),
            [
                "[ERROR] templates/j.yaml: Job j has an unknown word in helm.sh/hook-output-log-policy: \"hook-suceeded\"; did you mean hook-succeeded?"
            ]
        );
        assert!(texts("helm.sh/hook-delete-policy: 'hook-failed,before-hook-creation'").is_empty());
    }

    #[test]
    fn weights_that_contradict_the_events_are_an_error() {
        let found = texts("helm.sh/hook-weight: '1,2,3'");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("[ERROR] templates/j.yaml: Job j"), "{found:?}");
    }
}
