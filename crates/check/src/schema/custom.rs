//! The schemas of custom resources, from their definitions.

use std::collections::BTreeMap;

use pintle_tree::Node;

use super::Gvk;
use crate::document::{Object, get};

/// A kind that a CRD defines.
#[derive(Clone, Debug)]
pub(super) struct CustomKind {
    /// The OpenAPI schema of its objects.
    pub(super) schema: Node,
}

/// The kinds that CRDs among these objects define.
pub(super) fn kinds<'o>(objects: impl Iterator<Item = &'o Object>) -> BTreeMap<Gvk, CustomKind> {
    let mut kinds = BTreeMap::new();
    for object in objects.filter(|object| object.name.kind == "CustomResourceDefinition") {
        let Some(spec) = object.get(&["spec"]) else { continue };
        let text = |path: &[&str]| get(spec, path).and_then(Node::as_str).unwrap_or_default().to_owned();
        let (group, kind) = (text(&["group"]), text(&["names", "kind"]));
        // `v1beta1` has one version and one schema for all.
        let single = spec.get("version").and_then(Node::as_str);
        let shared = get(spec, &["validation", "openAPIV3Schema"]);
        let versions = spec.get("versions").and_then(Node::as_list).unwrap_or_default();
        let named = versions.iter().filter_map(|version| {
            let own = get(version, &["schema", "openAPIV3Schema"]).or(shared);
            Some((version.get("name")?.as_str()?, own))
        });
        for (version, schema) in named.chain(single.map(|version| (version, shared))) {
            let gvk = Gvk { group: group.clone(), version: version.to_owned(), kind: kind.clone() };
            let schema = schema.cloned().unwrap_or_else(Node::empty_map);
            kinds.entry(gvk).or_insert(CustomKind { schema });
        }
    }
    kinds
}
