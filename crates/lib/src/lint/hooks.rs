//! Rules for hooks. Helm has none: it accepts any policy and silently ignores unknown ones.

use pintle_hooks::{Source, UnknownPolicyValue};
use pintle_objects::Order;

use super::Findings;
use super::Severity::Error;

/// Checks the hooks of a rendered template.
pub(super) fn check(template: &str, text: &[u8], findings: &mut Findings) {
    let files = [(template, text)];
    // Other rules report documents that are not objects.
    let Ok(sorted) = pintle_objects::sort(&files, Order::Install) else { return };
    for hook in &sorted.hooks {
        match pintle_hooks::read(&Source::from_sorted(hook)) {
            Ok(read) => {
                for word in &read.unknown_policy_values {
                    findings.check(Error, template, Err(unknown_word_message(&read.kind, &read.name, word)));
                }
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                findings.check(Error, template, Err(format!("{error}{}", cause.unwrap_or_default())));
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
        check("templates/j.yaml", text.as_bytes(), &mut findings);
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
