//! The schemas of custom resources, from their definitions.

use std::collections::BTreeMap;

use pintle_tree::Node;

use super::Gvk;
use crate::document::{Object, get};

const CRD: &str = "CustomResourceDefinition";

/// A kind that a CRD defines.
#[derive(Clone, Debug)]
pub(crate) struct CustomKind {
    /// The OpenAPI schema of its objects.
    pub(super) schema: Node,
}

/// The kinds that an object defines, if it is a CRD, with their schemas.
fn definitions(object: &Object) -> Vec<(Gvk, Option<&Node>)> {
    let spec = object.get(&["spec"]).filter(|_| object.name.kind == CRD);
    let Some(spec) = spec else { return Vec::new() };
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
    let gvk = |version: &str| Gvk { group: group.clone(), version: version.to_owned(), kind: kind.clone() };
    let all = named.chain(single.map(|version| (version, shared)));
    all.map(|(version, schema)| (gvk(version), schema)).collect()
}

/// The kinds that an object defines, if it is a CRD.
pub(crate) fn defined(object: &Object) -> Vec<Gvk> {
    definitions(object).into_iter().map(|(kind, _)| kind).collect()
}

/// The kinds that CRDs among these objects define. Of several definitions the first counts.
pub(crate) fn kinds<'o>(objects: impl Iterator<Item = &'o Object>) -> BTreeMap<Gvk, CustomKind> {
    let mut kinds = BTreeMap::new();
    for (kind, schema) in objects.flat_map(definitions) {
        let schema = || CustomKind { schema: schema.cloned().unwrap_or_else(Node::empty_map) };
        kinds.entry(kind).or_insert_with(schema);
    }
    kinds
}
