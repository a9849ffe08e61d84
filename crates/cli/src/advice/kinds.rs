//! Kinds that the cluster does not serve: removed, misspelt, of another group, or defined by a CRD that is missing.

use pintle::check::{Gvk, known_deprecation};

use super::excerpt::excerpt;
use super::rendered;
use super::subject::Subject;
use crate::failure::Failure;
use crate::suggest::{NameOf, kinds, meant};

/// Improves the failure of an object of a kind that is not served.
pub(super) fn improve(failure: &mut Failure, subject: &Subject, api_version: &str, kind: &str) {
    let (own, hint, key) = explain(api_version, kind);
    failure.own = Some(own);
    failure.excerpt = position(subject, api_version, kind, key);
    failure.hint = Some(hint);
}

/// What is wrong, what to do, and which field of the object is to be changed.
fn explain(api_version: &str, kind: &str) -> (String, String, &'static str) {
    let own = format!("the cluster does not serve {api_version} {kind}");
    if let Some(found) = known_deprecation(api_version, kind) {
        let removed =
            found.removed.map(|(major, minor)| format!(", which Kubernetes {major}.{minor} removed"));
        let hint = match found.replacement {
            Some((api_version, kind)) => format!(
                "write `apiVersion: {api_version}` and `kind: {kind}`; `pintle check --fix` \
                                                  does that where no other field changes"
            ),
            None => "nothing replaces it; remove the object from the chart".to_owned(),
        };
        return (format!("{own}{}", removed.unwrap_or_default()), hint, "apiVersion");
    }
    let known = kinds();
    let elsewhere: Vec<&Gvk> = known.iter().filter(|other| other.kind == kind).collect();
    if elsewhere.iter().any(|other| other.api_version() == api_version) {
        let hint = "Kubernetes has this kind, but this server does not list it: see whether the cluster is healthy, and \
                    whether its version is supported";
        return (own, hint.to_owned(), "kind");
    }
    if let Some(first) = elsewhere.first() {
        return (own, format!("{kind} is in `apiVersion: {}`", first.api_version()), "apiVersion");
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let is_built_in = known.iter().any(|other| other.group == group);
    let same: Vec<&str> = known
        .iter()
        .filter(|other| other.api_version() == api_version)
        .map(|other| other.kind.as_str())
        .collect();
    let all: Vec<&str> = known.iter().map(|other| other.kind.as_str()).collect();
    let near = meant(NameOf::Kind, kind, &same).into_iter().next();
    let near = near.or_else(|| meant(NameOf::Kind, kind, &all).into_iter().next().filter(|_| is_built_in));
    match near {
        Some(near) => (own, format!("did you mean `{near}`?"), "kind"),
        None if is_built_in => {
            (own, format!("{api_version} has no such kind; `kubectl api-resources` shows all"), "kind")
        }
        None => (
            own,
            format!(
                "a CRD of the group {group} defines this kind, and it is not installed: install what brings it first (an \
                 operator, or the `crds` folder of a chart), or make the object conditional: \
                 `{{{{ if .Capabilities.APIVersions.Has \"{api_version}/{kind}\" }}}}`"
            ),
            "kind",
        ),
    }
}

/// The template line that has the field of the first object of a kind.
fn position(subject: &Subject, api_version: &str, kind: &str, key: &str) -> Option<String> {
    let explanation = subject.explanation()?;
    for (file, text) in explanation.rendered_files() {
        let text = String::from_utf8_lossy(text);
        let mut start = 0;
        let lines: Vec<&str> = text.lines().collect();
        for end in (0..=lines.len()).filter(|at| *at == lines.len() || lines[*at].trim_end() == "---") {
            let document = &lines[start..end];
            let value = |key: &str| {
                document.iter().position(|line| line.starts_with(key)).map(|at| {
                    (
                        at,
                        document[at]
                            .split_once(':')
                            .map_or("", |(_, value)| value.trim().trim_matches(['"', '\''])),
                    )
                })
            };
            let (version, found) = (value("apiVersion:"), value("kind:"));
            if version.is_some_and(|(_, text)| text == api_version)
                && found.is_some_and(|(_, text)| text == kind)
            {
                let (at, _) = value(&format!("{key}:"))?;
                let (templates, _) = explanation.explain_text_line(file, start + at + 1)?;
                let written = templates.iter().find(|at| at.template == file).or(templates.last())?;
                let source = rendered::source_line(subject, written)?;
                let column = source.find(": ").map_or(0, |colon| colon + 2);
                return Some(excerpt(&written.template, written.line, column, &source));
            }
            start = end + 1;
        }
    }
    None
}

/// The fields that a built-in kind has at a path such as `spec.template.spec`.
pub(super) fn fields(kind: &str, path: &str) -> Option<Vec<String>> {
    let catalog = pintle::embedded::ApiCatalog::newest();
    let resource = catalog.resources().iter().find(|resource| resource.kind == kind)?;
    let mut schema = catalog.schema(resource)?;
    for key in path.split(['.', '[']).filter(|key| !key.is_empty()) {
        // A number in brackets is an item of a list.
        schema = if key.ends_with(']') { schema.items()? } else { schema.child(key)? };
    }
    Some(schema.fields().map(|(name, _)| name.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(api_version: &str, kind: &str) -> String {
        explain(api_version, kind).1
    }

    #[test]
    fn each_reason_has_its_own_advice() {
        assert!(hint("policy/v1beta1", "PodDisruptionBudget").contains("`apiVersion: policy/v1`"));
        assert!(hint("policy/v1beta1", "PodSecurityPolicy").contains("nothing replaces it"));
        assert_eq!(hint("v1", "Deployment"), "Deployment is in `apiVersion: apps/v1`");
        assert_eq!(hint("apps/v1", "Deploymnt"), "did you mean `Deployment`?");
        assert!(
            hint("monitoring.coreos.com/v1", "ServiceMonitor")
                .contains("CRD of the group monitoring.coreos.com")
        );
    }

    #[test]
    fn fields_are_those_of_the_schema() {
        let spec = fields("Deployment", "spec").expect("a schema");
        assert!(spec.contains(&"replicas".to_owned()) && spec.contains(&"template".to_owned()));
        let container = fields("Deployment", "spec.template.spec.containers[0]").expect("a schema");
        assert!(container.contains(&"image".to_owned()), "{container:?}");
    }
}
