//! What kustomize knows an object by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_tree::Str;

/// The kinds without a namespace that kustomize knows, with their API versions.
static CLUSTER_KINDS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (api_version, kind) in
        include_str!("cluster_kinds.txt").lines().filter_map(|line| line.rsplit_once('/'))
    {
        kinds.entry(kind).or_default().push(api_version);
    }
    kinds
});

/// Group, version and kind; in a selector, what is empty matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gvk {
    pub(crate) group: Str,
    pub(crate) version: Str,
    pub(crate) kind: Str,
}

impl Gvk {
    pub(crate) fn new(api_version: &Str, kind: &Str) -> Self {
        let bytes = api_version.as_bytes();
        let (group, version) = match bytes.iter().position(|&byte| byte == b'/') {
            Some(at) => (api_version.slice(0..at), api_version.slice(at + 1..bytes.len())),
            None => (Str::default(), api_version.clone()),
        };
        Gvk { group, version, kind: kind.clone() }
    }

    pub(crate) fn is_selected(&self, selector: &Gvk) -> bool {
        let fits = |wanted: &Str, found: &Str| wanted.is_empty() || wanted == found;
        fits(&selector.kind, &self.kind)
            && fits(&selector.group, &self.group)
            && fits(&selector.version, &self.version)
    }

    pub(crate) fn api_version(&self) -> String {
        match self.group.is_empty() {
            true => self.version.to_string(),
            false => format!("{}/{}", self.group, self.version),
        }
    }

    fn is_cluster_scoped(&self) -> bool {
        let versions = self.kind.as_str().and_then(|kind| CLUSTER_KINDS.get(kind));
        versions.is_some_and(|versions| versions.contains(&self.api_version().as_str()))
    }

    /// `Kind.version.group`, as kustomize prints it.
    pub(crate) fn text(&self) -> String {
        let or = |text: &Str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_string() };
        format!(
            "{}.{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]")
        )
    }
}

/// Group, version, kind, name and namespace of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) gvk: Gvk,
    pub(crate) name: Str,
    pub(crate) namespace: Str,
    pub(crate) cluster_scoped: bool,
}

/// What two objects may not share.
pub(crate) type Key = (Gvk, Str, Str);

/// Where objects without a namespace are.
const NO_NAMESPACE: &str = "_non_namespaceable_";

impl Id {
    pub(crate) fn new(gvk: Gvk, name: Str, namespace: Str) -> Self {
        let cluster_scoped = gvk.is_cluster_scoped();
        Id { gvk, name, namespace, cluster_scoped }
    }

    /// The namespace that counts: none and `default` are the same.
    pub(crate) fn effective_namespace(&self) -> Str {
        if self.cluster_scoped {
            NO_NAMESPACE.into()
        } else if self.namespace.is_empty() {
            "default".into()
        } else {
            self.namespace.clone()
        }
    }

    pub(crate) fn key(&self) -> Key {
        (self.gvk.clone(), self.name.clone(), self.effective_namespace())
    }
}

/// `Kind/name`, and the namespace if there is one: how errors name an object.
pub(crate) fn short(id: &Id) -> String {
    match id.namespace.is_empty() {
        true => format!("{}/{}", id.gvk.kind, id.name),
        false => format!("{}/{} in namespace {}", id.gvk.kind, id.name, id.namespace),
    }
}
