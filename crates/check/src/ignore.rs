//! Annotations that exempt objects from rules: ours, and those of kube-linter.

use pintle_tree::Node;

use crate::document::Object;

/// The prefixes of annotations that name a rule; their values are reasons.
const PREFIXES: [&str; 2] = ["ignore-check.pintle.dev/", "ignore-check.kube-linter.io/"];

/// The annotations that exempt an object from all rules.
const ALL: [&str; 2] = ["ignore-check.pintle.dev/all", "kube-linter.io/ignore-all"];

/// Whether an annotation of the object, or of its pods, exempts it from a rule.
pub(crate) fn is_ignored(object: &Object, rule: &str) -> bool {
    let metadata = |path: &[&str]| object.get(path).and_then(Node::as_map);
    let own = metadata(&["metadata", "annotations"]);
    let of_pods = metadata(&["spec", "template", "metadata", "annotations"]);
    own.into_iter().chain(of_pods).any(|annotations| {
        annotations.keys().filter_map(|key| key.as_str()).any(|key| {
            ALL.contains(&key) || PREFIXES.iter().any(|prefix| key.strip_prefix(prefix) == Some(rule))
        })
    })
}
