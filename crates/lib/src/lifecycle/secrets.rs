//! Restricts which Secrets and records charts can read, so that read access and network access do not combine into leaking
//! foreign secrets.
//!
//! Templates may look up whatever the user may read, as in Helm. Scripts may read Secrets of the release's namespace,
//! but neither release records nor the requests of others, which hold values. If any chart of the tree may use the network,
//! both scripts and templates are restricted to Secrets and requests of their own release.

use pintle_tree::{Map, Node};

use crate::record_objects::{RECORD_NAME_PREFIX, RELEASE_API_GROUP};

/// The prefix of the types of Secrets that belong to releases: records and plans.
const RELEASE_TYPE_PREFIX: &str = "helm.sh/";

/// Decides which Secrets a chart may read.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretAccess {
    /// The name of the release.
    pub(crate) release: String,
    /// The namespace of the release.
    pub(crate) namespace: String,
    /// Whether any chart of the tree may use the network.
    pub(crate) network: bool,
}

/// A kind whose objects are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtectedKind {
    /// Secrets.
    Secret,
    /// ConfigMaps, because Helm can store release records in them.
    ConfigMap,
    /// The kinds of our API group: records (`Release`, `ReleaseVersion`), and `HelmRequest`, which holds values.
    ReleaseApi,
}

/// Returns the protected kind, if objects of this kind have to be checked.
pub(crate) fn protected_kind(api_version: &str, kind: &str) -> Option<ProtectedKind> {
    match (api_version, kind) {
        ("v1", "Secret") => Some(ProtectedKind::Secret),
        ("v1", "ConfigMap") => Some(ProtectedKind::ConfigMap),
        (api_version, _) if api_version.starts_with(RELEASE_API_GROUP) => Some(ProtectedKind::ReleaseApi),
        _ => None,
    }
}

impl SecretAccess {
    /// Checks whether a script may read an object.
    ///
    /// # Errors
    /// The reason for the refusal, as text for the script.
    #[cfg(feature = "lua")]
    pub(crate) fn check_for_script(&self, kind: ProtectedKind, object: &Map<Node>) -> Result<(), String> {
        if kind == ProtectedKind::Secret && text(object, &["metadata", "namespace"]) != self.namespace {
            return Err("scripts may not read Secrets of other namespaces".to_owned());
        }
        if kind == ProtectedKind::ReleaseApi && !self.is_own(object) {
            return Err("scripts may not read release records and requests of others".to_owned());
        }
        if is_record(kind, object) {
            return Err("scripts may not read release records".to_owned());
        }
        self.check(kind, object)
    }

    /// Checks whether a template may see the result of `lookup`, an object or a list.
    ///
    /// # Errors
    /// The reason for the refusal, as text for the template.
    pub(crate) fn check_for_template(&self, kind: ProtectedKind, found: &Map<Node>) -> Result<(), String> {
        match found.get("items") {
            Some(Node::List(items)) => {
                items.iter().filter_map(Node::as_map).try_for_each(|object| self.check(kind, object))
            }
            _ if found.is_empty() => Ok(()),
            _ => self.check(kind, found),
        }
    }

    fn check(&self, kind: ProtectedKind, object: &Map<Node>) -> Result<(), String> {
        let is_open = kind == ProtectedKind::ConfigMap && !is_record(kind, object);
        if !self.network || self.is_own(object) || is_open {
            return Ok(());
        }
        let name = text(object, &["metadata", "name"]);
        let what = match kind {
            ProtectedKind::ReleaseApi => "release records and requests",
            ProtectedKind::Secret | ProtectedKind::ConfigMap => "Secrets",
        };
        Err(format!(
            "{name} does not belong to the release {}; charts with network access may read no other {what}",
            self.release
        ))
    }

    /// Returns whether the release has made an object. The API server adds no such annotations to records.
    fn is_own(&self, object: &Map<Node>) -> bool {
        let annotation = |name: &str| text(object, &["metadata", "annotations", name]);
        annotation("meta.helm.sh/release-name") == self.release
            && annotation("meta.helm.sh/release-namespace") == self.namespace
    }
}

/// Returns whether an object is a release record.
fn is_record(kind: ProtectedKind, object: &Map<Node>) -> bool {
    match kind {
        ProtectedKind::Secret => text(object, &["type"]).starts_with(RELEASE_TYPE_PREFIX),
        ProtectedKind::ConfigMap => {
            text(object, &["metadata", "labels", "owner"]) == "helm"
                || text(object, &["metadata", "name"]).starts_with(RECORD_NAME_PREFIX)
        }
        ProtectedKind::ReleaseApi => matches!(text(object, &["kind"]), "Release" | "ReleaseVersion"),
    }
}

/// Returns the string at a path, or an empty one.
fn text<'a>(map: &'a Map<Node>, path: &[&str]) -> &'a str {
    let (last, above) = path.split_last().expect("paths are not empty");
    let map = above.iter().try_fold(map, |map, name| map.get(*name)?.as_map());
    map.and_then(|map| map.get(*last)).and_then(Node::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Map<Node> {
        pintle_yaml::read_map(text.as_bytes()).expect("a map")
    }

    fn guard(network: bool) -> SecretAccess {
        SecretAccess { release: "demo".into(), namespace: "apps".into(), network }
    }

    const OWN: &str = "{type: Opaque, metadata: {name: a, namespace: apps, annotations: {\
                       meta.helm.sh/release-name: demo, meta.helm.sh/release-namespace: apps}}}";
    const NEIGHBOUR: &str = "{type: Opaque, metadata: {name: b, namespace: apps}}";
    const FAR: &str = "{type: Opaque, metadata: {name: c, namespace: kube-system}}";
    const RECORD: &str =
        "{type: helm.sh/release.v1, metadata: {name: d, namespace: apps, labels: {owner: helm}}}";

    const PLAN: &str = "{type: helm.sh/plan, metadata: {name: sh.helm.plan.x, namespace: apps}}";
    const REQUEST: &str = "{kind: HelmRequest, metadata: {name: e, namespace: apps}}";
    const OWN_REQUEST: &str = "{kind: HelmRequest, metadata: {name: f, namespace: apps, annotations: {\
                               meta.helm.sh/release-name: demo, meta.helm.sh/release-namespace: apps}}}";
    const FORGED: &str = "{kind: Release, metadata: {name: demo, namespace: apps, annotations: {\
                          meta.helm.sh/release-name: demo, meta.helm.sh/release-namespace: apps}}}";

    #[test]
    fn every_kind_of_our_group_is_protected() {
        for kind in ["HelmRequest", "Release", "ReleaseVersion", "Later"] {
            assert_eq!(protected_kind("helm.sh/v3", kind), Some(ProtectedKind::ReleaseApi), "{kind}");
        }
        assert_eq!(protected_kind("apps/v1", "Deployment"), None);
        assert_eq!(protected_kind("nothelm.sh/v3", "Release"), None);
    }

    #[test]
    fn scripts_see_secrets_of_the_namespace_and_with_the_network_only_their_own() {
        for (kind, text, plain, networked) in [
            (ProtectedKind::Secret, OWN, true, true),
            (ProtectedKind::Secret, NEIGHBOUR, true, false),
            (ProtectedKind::Secret, FAR, false, false),
            (ProtectedKind::Secret, RECORD, false, false),
            (ProtectedKind::ConfigMap, FAR, true, true),
            (ProtectedKind::ConfigMap, RECORD, false, false),
            (ProtectedKind::Secret, PLAN, false, false),
            (ProtectedKind::ReleaseApi, REQUEST, false, false),
            (ProtectedKind::ReleaseApi, OWN_REQUEST, true, true),
            (ProtectedKind::ReleaseApi, FORGED, false, false),
        ] {
            assert_eq!(guard(false).check_for_script(kind, &secret(text)).is_ok(), plain, "{text}");
            assert_eq!(guard(true).check_for_script(kind, &secret(text)).is_ok(), networked, "{text}");
        }
    }

    #[test]
    fn templates_see_what_helm_shows_them_unless_a_chart_may_use_the_network() {
        let check =
            |network, found: &Map<Node>| guard(network).check_for_template(ProtectedKind::Secret, found);
        let all = secret(&format!("{{items: [{OWN}, {NEIGHBOUR}]}}"));
        let own = secret(&format!("{{items: [{OWN}]}}"));
        for found in [&all, &own, &secret(FAR), &secret(RECORD), &Map::new()] {
            assert!(check(false, found).is_ok());
        }
        assert!(check(true, &own).is_ok() && check(true, &Map::new()).is_ok());
        let reason = check(true, &all).expect_err("one is not its own");
        assert!(reason.starts_with("b does not belong to the release demo"), "{reason}");
    }
}
