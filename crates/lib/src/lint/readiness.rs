//! Rules for objects that define their own readiness (HIP-0025).

use pintle_cluster::wait::{READINESS_FAILURE, READINESS_SUCCESS, ReadinessExpressions};
use pintle_objects::{Object, split};

use super::Findings;
use super::Severity::Error;

/// Checks the expressions of a rendered template, and that no object has only one of the two annotations.
pub(super) fn check(template: &str, text: &[u8], findings: &mut Findings) {
    for object in split(text).flat_map(Object::read_readable) {
        let (kind, name) = (object.kind(), object.name());
        let has = |key| object.annotation(key).is_some();
        if has(READINESS_SUCCESS) != has(READINESS_FAILURE) {
            let text = format!(
                "{kind} {name} has only one of {READINESS_SUCCESS} and {READINESS_FAILURE}: it has no effect without the other"
            );
            findings.check(Error, template, Err(text));
        }
        if let Err(error) = ReadinessExpressions::from_object(&object) {
            findings.check(Error, template, Err(format!("{kind} {name}: {error}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_needs_both_annotations_and_expressions_that_can_be_understood() {
        let texts = |annotations: &str| -> Vec<String> {
            let text = format!(
                "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, annotations: {{{annotations}}}}}\n"
            );
            let mut findings = Findings::default();
            check("templates/j.yaml", text.as_bytes(), &mut findings);
            findings.messages.iter().map(ToString::to_string).collect()
        };
        let success = "helm.sh/readiness-success: '[\"{.succeeded} == 1\"]'";
        assert!(texts(&format!("{success}, helm.sh/readiness-failure: '{{.failed}} > 0'")).is_empty());
        assert_eq!(
            texts(success),
            [
                "[ERROR] templates/j.yaml: Job j has only one of helm.sh/readiness-success and helm.sh/readiness-failure: it has no effect without the other"
            ]
        );
        assert_eq!(
            texts(&format!("{success}, helm.sh/readiness-failure: '{{.failed}} 0'")),
            [
                "[ERROR] templates/j.yaml: Job j: annotation helm.sh/readiness-failure: `{.failed} 0`: one of ==, !=, <, <=, > and >= must follow the path"
            ]
        );
    }
}
