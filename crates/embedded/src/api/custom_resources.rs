//! CustomResourceDefinitions and the custom resources that they define.

use std::cmp::Ordering;
use std::sync::Arc;

use pintle_tree::{Node, Str, json};

use super::meta::{at, list_at, map, set, text_at};
use crate::schema::{Additional, Kind, Resource, Schema, Shape, Subresource};
use crate::status::{Status, StatusCause};
use crate::store::Store;
use crate::{decoding, defaulting};

/// The prefix of keys of definitions.
pub(super) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io/";

const METADATA: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The paths of the scale subresource.
#[derive(Clone, Debug, Default)]
pub(super) struct ScalePaths {
    pub(super) spec_replicas: Vec<String>,
    pub(super) status_replicas: Vec<String>,
    pub(super) selector: Vec<String>,
}

/// An additional printer column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) format: String,
    pub(super) description: String,
    pub(super) priority: i64,
    pub(super) path: String,
}

/// One version of a custom resource.
pub(super) struct CustomResource {
    pub(super) resource: Resource,
    pub(super) shape: Shape,
    /// The schema of the storage version, if this is another version.
    pub(super) storage_shape: Option<Shape>,
    pub(super) storage_version: Str,
    /// Whether it is the only version, so that no conversion is needed.
    pub(super) only_version: bool,
    pub(super) served: bool,
    pub(super) stored: bool,
    pub(super) columns: Vec<Column>,
    pub(super) scale: Option<ScalePaths>,
    /// The selectable fields, such as `spec.color`.
    pub(super) selectable: Vec<String>,
}

/// All custom resources.
#[derive(Default)]
pub(super) struct CustomResources {
    kinds: Vec<Arc<CustomResource>>,
}

impl CustomResources {
    /// Reads all definitions from the store.
    pub(super) fn read(store: &Store) -> CustomResources {
        let Ok(listing) = store.list(DEFINITIONS, None, usize::MAX, None, &|_| true) else {
            return CustomResources::default();
        };
        let kinds = listing.objects.iter().flat_map(|object| kinds(&object.node()));
        CustomResources { kinds: kinds.map(Arc::new).collect() }
    }

    /// The served versions.
    pub(super) fn served(&self) -> impl Iterator<Item = &Arc<CustomResource>> {
        self.kinds.iter().filter(|kind| kind.served)
    }

    /// The storage version of each.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Arc<CustomResource>> {
        self.kinds.iter().filter(|kind| kind.stored)
    }
}

fn kinds(definition: &Node) -> Vec<CustomResource> {
    let versions = list_at(definition, &["spec", "versions"]);
    let is_stored = |version: &&Node| version.get("storage").and_then(Node::as_bool) == Some(true);
    let Some(stored) = versions.iter().find(is_stored) else { return Vec::new() };
    let Some(storage_shape) = shape(stored) else { return Vec::new() };
    let storage_version = Str::from(text_at(stored, &["name"]));
    let hash = storage_hash(definition, &storage_version);
    let one = |version: &Node| {
        let stored = is_stored(&version);
        Some(CustomResource {
            resource: resource(definition, version, &hash),
            shape: shape(version)?,
            storage_shape: (!stored).then(|| storage_shape.clone()),
            storage_version: storage_version.clone(),
            // All versions count, not just the served ones: objects may be stored in one that is served no longer.
            only_version: versions.len() == 1,
            served: version.get("served").and_then(Node::as_bool) == Some(true),
            stored,
            columns: list_at(version, &["additionalPrinterColumns"]).iter().map(column).collect(),
            scale: at(version, &["subresources", "scale"]).map(scale_paths),
            selectable: list_at(version, &["selectableFields"]).iter().map(selectable_field).collect(),
        })
    };
    versions.iter().filter_map(one).collect()
}

/// The schema of a version, with `apiVersion`, `kind` and `metadata` added.
fn shape(version: &Node) -> Option<Shape> {
    let mut schema = at(version, &["schema", "openAPIV3Schema"]).cloned().unwrap_or_else(Node::empty_map);
    let text = || map([("type", "string".into())]);
    // These fields are fixed, whatever the definition says of them.
    set(&mut schema, &["type"], "object");
    set(&mut schema, &["properties", "apiVersion"], text());
    set(&mut schema, &["properties", "kind"], text());
    let metadata = map([("$ref", METADATA.into())]);
    set(&mut schema, &["properties", "metadata"], metadata);
    let mut shape = Shape::parse(&schema).ok()?;
    close_schema(&mut shape, 0);
    Some(shape)
}

/// Marks objects without known fields as having none: structural schemas allow only the declared fields.
fn close_schema(shape: &mut Shape, depth: usize) {
    shape.closed = true;
    if shape.embedded && !shape.fields.contains_key("metadata") {
        let metadata = map([("$ref", METADATA.into())]);
        if let Ok(metadata) = Shape::parse(&metadata) {
            shape.fields.insert("metadata".into(), metadata);
        }
    }
    // Never reached: `Shape::parse` has a lower limit.
    if depth > 300 {
        return;
    }
    shape.fields.iter_mut().for_each(|(_, field)| close_schema(field, depth + 1));
    if let Some(items) = &mut shape.items {
        close_schema(items, depth + 1);
    }
    if let Additional::Shape(additional) = &mut shape.additional {
        close_schema(additional, depth + 1);
    }
}

fn resource(definition: &Node, version: &Node, hash: &str) -> Resource {
    let name = |key: &str| Str::from(text_at(definition, &["spec", "names", key]));
    let words = |key: &str| {
        list_at(definition, &["spec", "names", key])
            .iter()
            .filter_map(|word| word.as_text().cloned())
            .collect()
    };
    let verbs = |verbs: &[&str]| verbs.iter().map(|verb| Str::from(*verb)).collect::<Vec<Str>>();
    let part = |name: &str, group: &str, version: &str, kind: Str| Subresource {
        name: name.into(),
        group: group.into(),
        version: version.into(),
        kind,
        verbs: verbs(&["get", "patch", "update"]),
    };
    let mut subresources = Vec::new();
    if at(version, &["subresources", "status"]).is_some() {
        subresources.push(part("status", "", "", name("kind")));
    }
    if at(version, &["subresources", "scale"]).is_some() {
        subresources.push(part("scale", "autoscaling", "v1", "Scale".into()));
    }
    Resource {
        group: Str::from(text_at(definition, &["spec", "group"])),
        version: Str::from(text_at(version, &["name"])),
        kind: name("kind"),
        list_kind: name("listKind"),
        plural: name("plural"),
        singular: name("singular"),
        short_names: words("shortNames"),
        categories: words("categories"),
        namespaced: text_at(definition, &["spec", "scope"]) == "Namespaced",
        verbs: verbs(&["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]),
        subresources,
        definition: Str::default(),
        storage_hash: hash.into(),
    }
}

/// The storage version hash of discovery: the real server's digest of group, version and kind.
fn storage_hash(definition: &Node, version: &Str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let group = text_at(definition, &["spec", "group"]);
    let kind = text_at(definition, &["spec", "names", "kind"]);
    let digest = sha2::Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

fn column(node: &Node) -> Column {
    let text = |key: &str| text_at(node, &[key]).to_owned();
    Column {
        name: text("name"),
        kind: text("type"),
        format: text("format"),
        description: text("description"),
        priority: super::meta::number_at(node, &["priority"]).unwrap_or(0),
        path: text("jsonPath"),
    }
}

fn selectable_field(field: &Node) -> String {
    text_at(field, &["jsonPath"]).trim_start_matches('.').to_owned()
}

fn scale_paths(scale: &Node) -> ScalePaths {
    let path = |key: &str| {
        let steps = text_at(scale, &[key]).split('.').filter(|step| !step.is_empty());
        steps.map(str::to_owned).collect::<Vec<String>>()
    };
    ScalePaths {
        spec_replicas: path("specReplicasPath"),
        status_replicas: path("statusReplicasPath"),
        selector: path("labelSelectorPath"),
    }
}

/// Decodes a custom resource: unknown fields are pruned and reported.
pub(super) fn read(schema: Schema<'_>, text: &[u8]) -> Result<decoding::Decoded, Status> {
    let mut object = json::read_exact(text).map_err(|error| Status::bad_request(error.kubernetes_text()))?;
    let mut strict = Vec::new();
    prune(schema, &mut object, "", &mut strict);
    Ok(decoding::Decoded { object, strict })
}

/// Prunes and defaults a converted object by the schema of the storage version.
pub(super) fn prune_for_storage(schema: Schema<'_>, resource: &Resource, object: &mut Node) {
    prune(schema, object, "", &mut Vec::new());
    defaulting::apply_defaults(Kind { resource, schema: Some(schema), custom: true, minor: 0 }, object);
}

/// Removes fields that the schema does not declare.
fn prune(schema: Schema<'_>, node: &mut Node, path: &str, unknown: &mut Vec<String>) {
    match node {
        Node::Map(map) => {
            let keeps = schema.keeps_unknown();
            map.retain(|key, child| {
                let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                let child_schema = schema.child(key);
                if let Some(child_schema) = child_schema {
                    pintle_tree::with_stack(|| prune(child_schema, child, &path, unknown));
                } else if !keeps {
                    unknown.push(format!("unknown field \"{path}\""));
                }
                child_schema.is_some() || keeps
            });
        }
        Node::List(list) => {
            let Some(items) = schema.items() else { return };
            for (index, item) in list.iter_mut().enumerate() {
                pintle_tree::with_stack(|| prune(items, item, &format!("{path}[{index}]"), unknown));
            }
        }
        _ => {}
    }
}

/// Compares versions by priority: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then others by name
/// (`CompareKubeAwareVersionStrings`).
pub(super) fn compare_versions(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (major, rest) = rest.split_at(digits(rest));
    let major = major.parse().ok()?;
    let (stability, minor) = match rest {
        "" => return Some((2, major, 0)),
        rest => rest
            .strip_prefix("beta")
            .map(|minor| (1, minor))
            .or_else(|| rest.strip_prefix("alpha").map(|minor| (0, minor)))?,
    };
    Some((stability, major, minor.parse().ok()?))
}

/// Defaults a definition: omitted names, and `status.storedVersions`.
pub(super) fn default_definition(object: &mut Node) {
    let kind = text_at(object, &["spec", "names", "kind"]).to_owned();
    if text_at(object, &["spec", "names", "singular"]).is_empty() {
        set(object, &["spec", "names", "singular"], kind.to_lowercase());
    }
    if text_at(object, &["spec", "names", "listKind"]).is_empty() {
        set(object, &["spec", "names", "listKind"], format!("{kind}List"));
    }
    if text_at(object, &["spec", "conversion", "strategy"]).is_empty() {
        set(object, &["spec", "conversion"], map([("strategy", "None".into())]));
    }
}

/// Validates a definition.
pub(super) fn validate_definition(object: &Node) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let name = super::meta::meta(object, "name");
    let (plural, group) =
        (text_at(object, &["spec", "names", "plural"]), text_at(object, &["spec", "group"]));
    if name != format!("{plural}.{group}") {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        causes.push(StatusCause::invalid("metadata.name", &name.into(), detail));
    }
    for (field, text) in [("spec.group", group), ("spec.scope", text_at(object, &["spec", "scope"]))] {
        if text.is_empty() {
            causes.push(StatusCause::required(field, ""));
        }
    }
    let versions = list_at(object, &["spec", "versions"]);
    for (index, version) in versions.iter().enumerate() {
        match at(version, &["schema", "openAPIV3Schema"]) {
            None => causes
                .push(StatusCause::required(format!("spec.versions[{index}].schema.openAPIV3Schema"), "")),
            Some(schema) => {
                if let Err(error) = Shape::parse(schema) {
                    let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
                    causes.push(StatusCause::invalid(field, &Node::Nil, &error.to_string()));
                }
            }
        }
    }
    let stored =
        versions.iter().filter(|version| version.get("storage").and_then(Node::as_bool) == Some(true));
    if stored.count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(StatusCause::invalid("spec.versions", &Node::List(versions.to_vec()), detail));
    }
    causes
}

/// The status of a new definition.
pub(super) fn initial_status(object: &Node) -> Node {
    let stored = list_at(object, &["spec", "versions"]).iter();
    let stored = stored.filter(|version| version.get("storage").and_then(Node::as_bool) == Some(true));
    let stored: Vec<Node> = stored.filter_map(|version| version.get("name").cloned()).collect();
    map([
        ("acceptedNames", map([("kind", "".into()), ("plural", "".into())])),
        ("conditions", Node::Nil),
        ("storedVersions", stored.into()),
    ])
}

/// The status of a definition whose resources are served.
pub(super) fn established(object: &Node, now: &str) -> Node {
    let condition = |kind: &str, reason: &str, message: &str| {
        map([
            ("type", kind.into()),
            ("status", "True".into()),
            ("lastTransitionTime", now.into()),
            ("reason", reason.into()),
            ("message", message.into()),
        ])
    };
    let names = at(object, &["spec", "names"]).cloned().unwrap_or_else(Node::empty_map);
    let mut status = at(object, &["status"]).cloned().unwrap_or_else(Node::empty_map);
    set(&mut status, &["acceptedNames"], names);
    set(
        &mut status,
        &["conditions"],
        vec![
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    );
    status
}

/// The schema of a version as it is published in OpenAPI.
pub(super) fn schema_of(definition: &Node, version: &str) -> Option<Node> {
    let versions = list_at(definition, &["spec", "versions"]);
    let version = versions.iter().find(|it| text_at(it, &["name"]) == version)?;
    at(version, &["schema", "openAPIV3Schema"]).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_and_number() {
        let mut versions = ["foo", "v1alpha1", "v1", "v10", "v2beta1", "v1beta2", "bar"];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo"]);
    }
}
