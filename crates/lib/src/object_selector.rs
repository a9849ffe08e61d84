//! Selects objects as kustomize does, for rules that a user writes about the objects of a release.

use std::collections::BTreeMap;

use pintle_objects::Object;
use pintle_regex::Regex;
use pintle_release::Selector;
use pintle_tree::Node;

/// What a user writes to select objects. Fields that are not set match every object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectPatterns {
    /// A regular expression that must match the whole API group; the same holds for those below.
    pub group: Option<String>,
    /// For the API version.
    pub version: Option<String>,
    /// For the kind.
    pub kind: Option<String>,
    /// For the name.
    pub name: Option<String>,
    /// For the namespace.
    pub namespace: Option<String>,
    /// A selector of labels, such as `app=web,tier in (a,b)`.
    pub labels: Option<String>,
    /// A selector of annotations.
    pub annotations: Option<String>,
}

/// Selects objects by [`ObjectPatterns`].
#[derive(Clone, Debug, Default)]
pub struct ObjectSelector {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Selector,
    annotations: Selector,
}

/// How large a pattern may be. Names have 253 characters at most, and there may be many patterns.
const MAX_STATES: u64 = 4_000;

impl ObjectSelector {
    /// Compiles patterns.
    ///
    /// # Errors
    /// Which of them is wrong, and why.
    pub fn new(patterns: &ObjectPatterns) -> Result<ObjectSelector, String> {
        let regex = |field: &str, pattern: &Option<String>| match pattern.as_deref() {
            None | Some("") => Ok(None),
            Some(pattern) => {
                let compiled = Regex::compile_within(format!("^(?:{pattern})$"), MAX_STATES);
                compiled.map(Some).map_err(|error| format!("{field}: {error}"))
            }
        };
        let selector = |field: &str, text: &Option<String>| {
            Selector::parse(text.as_deref().unwrap_or_default()).map_err(|error| format!("{field}: {error}"))
        };
        Ok(ObjectSelector {
            group: regex("group", &patterns.group)?,
            version: regex("version", &patterns.version)?,
            kind: regex("kind", &patterns.kind)?,
            name: regex("name", &patterns.name)?,
            namespace: regex("namespace", &patterns.namespace)?,
            labels: selector("labelSelector", &patterns.labels)?,
            annotations: selector("annotationSelector", &patterns.annotations)?,
        })
    }

    /// Whether an object is selected.
    pub fn matches(&self, object: &Object) -> bool {
        let id = object.id();
        let is = |pattern: &Option<Regex>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(text.as_bytes()))
        };
        is(&self.group, &id.group)
            && is(&self.version, &id.version)
            && is(&self.kind, &id.kind)
            && is(&self.name, &id.name)
            && is(&self.namespace, &id.namespace)
            && (self.labels.is_empty() || self.labels.matches(&texts(object, "labels")))
            && (self.annotations.is_empty() || self.annotations.matches(&texts(object, "annotations")))
    }
}

fn texts(object: &Object, field: &str) -> BTreeMap<String, String> {
    let Some(Node::Map(map)) = object.at(&["metadata", field]) else { return BTreeMap::new() };
    map.iter().filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_takes_megabytes_is_refused() {
        let named = |name: &str| ObjectPatterns { name: Some(name.to_owned()), ..ObjectPatterns::default() };
        assert!(ObjectSelector::new(&named("[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")).is_ok());
        let error = ObjectSelector::new(&named(r"(\pL{100}){10}")).expect_err("it is too large");
        assert!(error.starts_with("name: "), "{error}");
    }

    fn matches(patterns: ObjectPatterns) -> bool {
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-a, namespace: prod, labels: {tier: x}}\n";
        let objects = Object::read_manifest(text.as_bytes(), "test").expect("valid");
        ObjectSelector::new(&patterns).expect("valid").matches(&objects[0])
    }

    #[test]
    fn patterns_match_whole_names_and_all_must_match() {
        let some = |text: &str| Some(text.to_owned());
        assert!(matches(ObjectPatterns::default()));
        assert!(matches(ObjectPatterns { kind: some("Deployment|StatefulSet"), ..Default::default() }));
        assert!(!matches(ObjectPatterns { kind: some("Deploy"), ..Default::default() }));
        assert!(matches(ObjectPatterns { name: some("web-.*"), group: some("apps"), ..Default::default() }));
        assert!(matches(ObjectPatterns { labels: some("tier in (x,y)"), ..Default::default() }));
        assert!(!matches(ObjectPatterns { labels: some("tier=y"), name: some(".*"), ..Default::default() }));
        assert!(matches(ObjectPatterns { annotations: some("!note"), ..Default::default() }));
    }

    #[test]
    fn wrong_patterns_are_named() {
        let wrong = ObjectPatterns { name: Some("(".to_owned()), ..Default::default() };
        assert!(ObjectSelector::new(&wrong).is_err_and(|error| error.starts_with("name: ")));
        let wrong = ObjectPatterns { labels: Some("a in".to_owned()), ..Default::default() };
        assert!(ObjectSelector::new(&wrong).is_err_and(|error| error.starts_with("labelSelector: ")));
    }
}
