//! Resources, as in discovery.

use pintle_tree::{Node, Str};

/// A subresource, such as `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// `status`, `scale`, `log` …
    pub name: Str,
    /// The group of the objects that it serves.
    pub group: Str,
    /// The version of these objects; empty for that of the resource.
    pub version: Str,
    /// The kind of these objects.
    pub kind: Str,
    /// The supported verbs.
    pub verbs: Vec<Str>,
}

/// A resource, as in discovery.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Resource {
    /// Empty for the core group.
    pub group: Str,
    /// `v1` …
    pub version: Str,
    /// `Deployment` …
    pub kind: Str,
    /// The kind of lists of it.
    pub list_kind: Str,
    /// `deployments` …
    pub plural: Str,
    /// `deployment` …
    pub singular: Str,
    /// `deploy` …
    pub short_names: Vec<Str>,
    /// `all` …
    pub categories: Vec<Str>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The supported verbs.
    pub verbs: Vec<Str>,
    /// By name.
    pub subresources: Vec<Subresource>,
    /// The name of its OpenAPI definition; may be empty.
    pub definition: Str,
    /// The storage version hash of discovery.
    pub storage_hash: Str,
}

impl Resource {
    /// `v1`, `apps/v1` …
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The plural with its group, as errors name it: `deployments.apps`.
    pub fn qualified_name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The plural, a dot and the group, even an empty one, as in the conditions of a terminating namespace.
    pub fn qualified_name_with_dot(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The subresource `name`.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|part| part.name == *name)
    }

    /// Whether the resource supports `verb`.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|word| *word == *verb)
    }

    /// Parses an entry of the table.
    pub(super) fn read(node: &Node) -> Option<Resource> {
        let text = |key: &str| node.get(key).and_then(Node::as_text).cloned().unwrap_or_default();
        Some(Resource {
            group: text("group"),
            version: text("version"),
            kind: node.get("kind")?.as_text()?.clone(),
            list_kind: Str::from(format!("{}List", text("kind"))),
            plural: node.get("plural")?.as_text()?.clone(),
            singular: text("singular"),
            short_names: words(node, "shortNames"),
            categories: words(node, "categories"),
            namespaced: node.get("namespaced").and_then(Node::as_bool).unwrap_or(false),
            verbs: words(node, "verbs"),
            subresources: list(node, "subresources").iter().filter_map(subresource).collect(),
            definition: text("definition"),
            storage_hash: text("hash"),
        })
    }
}

fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_list).unwrap_or_default()
}

fn words(node: &Node, key: &str) -> Vec<Str> {
    list(node, key).iter().filter_map(|word| word.as_text().cloned()).collect()
}

fn subresource(node: &Node) -> Option<Subresource> {
    let text = |key: &str| node.get(key).and_then(Node::as_text).cloned();
    Some(Subresource {
        name: text("name")?,
        group: text("group").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        kind: text("kind")?,
        verbs: words(node, "verbs"),
    })
}
