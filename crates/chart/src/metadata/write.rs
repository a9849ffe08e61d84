//! Writes metadata to trees and YAML, with Go's `omitempty` rules.

use pintle_tree::{Map, Node};

use super::{Dependency, Lock, Maintainer, Metadata, OBJECT_V3, Timestamp, V1, v3};
use crate::error::{Error, Result};

impl Metadata {
    /// The tree for Chart.yaml. A `v1` chart keeps its dependencies in requirements.yaml instead.
    pub fn to_node(&self) -> Node {
        let mut map = self.flat();
        if self.api_version == V1 {
            map.remove("dependencies");
            map.remove("libraries");
        }
        if self.api_version == OBJECT_V3 { v3::unflatten(self, map) } else { Node::Map(map) }
    }

    /// All fields as Go's JSON has them, including dependencies, whatever the API version.
    pub fn to_full_node(&self) -> Node {
        Node::Map(self.flat())
    }

    /// The text of Chart.yaml, keys sorted.
    ///
    /// # Errors
    /// When a string cannot be represented in YAML.
    pub fn to_yaml(&self) -> Result<Vec<u8>> {
        yaml(&self.to_node())
    }

    /// The text that `show chart` prints: that of [`to_yaml`](Self::to_yaml), and for a `v1` chart the dependencies from
    /// its requirements.yaml.
    ///
    /// # Errors
    /// When a string cannot be represented in YAML.
    pub fn to_shown_yaml(&self) -> Result<Vec<u8>> {
        let mut node = self.to_node();
        if self.api_version == V1
            && let Node::Map(map) = &mut node
        {
            insert_list(map, "dependencies", &self.dependencies, Dependency::to_node);
        }
        yaml(&node)
    }

    fn flat(&self) -> Map<Node> {
        let mut map = Map::new();
        for (key, text) in [
            ("name", &self.name),
            ("home", &self.home),
            ("version", &self.version),
            ("description", &self.description),
            ("icon", &self.icon),
            ("apiVersion", &self.api_version),
            ("condition", &self.condition),
            ("tags", &self.tags),
            ("appVersion", &self.app_version),
            ("kubeVersion", &self.kube_version),
            ("type", &self.kind),
        ] {
            insert_text(&mut map, key, text);
        }
        insert_texts(&mut map, "sources", &self.sources);
        insert_texts(&mut map, "keywords", &self.keywords);
        insert_list(&mut map, "maintainers", &self.maintainers, Maintainer::to_node);
        insert_list(&mut map, "dependencies", &self.dependencies, Dependency::to_node);
        insert_list(&mut map, "libraries", &self.libraries, Dependency::to_node);
        if self.deprecated {
            map.insert("deprecated".into(), Node::Bool(true));
        }
        if !self.annotations.is_empty() {
            let annotations =
                self.annotations.iter().map(|(key, text)| (key.into(), Node::from(text.as_str()))).collect();
            map.insert("annotations".into(), Node::Map(annotations));
        }
        map
    }
}

impl Maintainer {
    /// The tree of an entry of `maintainers:`.
    pub fn to_node(&self) -> Node {
        let mut map = Map::new();
        insert_text(&mut map, "name", &self.name);
        insert_text(&mut map, "email", &self.email);
        insert_text(&mut map, "url", &self.url);
        Node::Map(map)
    }
}

impl Dependency {
    /// The tree of an entry of `dependencies:`.
    pub fn to_node(&self) -> Node {
        let mut map = Map::new();
        // These two are not `omitempty` in Go.
        map.insert("name".into(), self.name.as_str().into());
        map.insert("repository".into(), self.repository.as_str().into());
        insert_text(&mut map, "version", &self.version);
        insert_text(&mut map, "condition", &self.condition);
        insert_text(&mut map, "alias", &self.alias);
        insert_texts(&mut map, "tags", &self.tags);
        if self.enabled {
            map.insert("enabled".into(), Node::Bool(true));
        }
        if !self.import_values.is_empty() {
            map.insert("import-values".into(), Node::List(self.import_values.clone()));
        }
        Node::Map(map)
    }
}

impl Lock {
    /// The tree for Chart.lock.
    pub fn to_node(&self) -> Node {
        // Go writes its zero time if there is none.
        let generated = Timestamp::parse(&self.generated).unwrap_or_default();
        let mut map = Map::new();
        map.insert("generated".into(), Node::from(generated.to_string()));
        map.insert("digest".into(), self.digest.as_str().into());
        map.insert(
            "dependencies".into(),
            Node::List(self.dependencies.iter().map(Dependency::to_node).collect()),
        );
        Node::Map(map)
    }

    /// The text of Chart.lock.
    ///
    /// # Errors
    /// When a string cannot be represented in YAML.
    pub fn to_yaml(&self) -> Result<Vec<u8>> {
        yaml(&self.to_node())
    }
}

fn yaml(node: &Node) -> Result<Vec<u8>> {
    pintle_yaml::write(node).map_err(|error| Error::message(error.to_string()))
}

fn insert_text(map: &mut Map<Node>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.into(), text.into());
    }
}

fn insert_texts(map: &mut Map<Node>, key: &str, texts: &[String]) {
    insert_list(map, key, texts, |text| Node::from(text.as_str()));
}

fn insert_list<T>(map: &mut Map<Node>, key: &str, items: &[T], to_node: impl Fn(&T) -> Node) {
    if !items.is_empty() {
        map.insert(key.into(), Node::List(items.iter().map(to_node).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_left_out_and_v1_keeps_dependencies_elsewhere() {
        let mut metadata = Metadata {
            api_version: "v2".into(),
            name: "a".into(),
            dependencies: vec![Dependency { name: "b".into(), ..Dependency::default() }],
            ..Metadata::default()
        };
        let text = String::from_utf8(metadata.to_yaml().expect("can be written")).expect("is text");
        assert_eq!(text, "apiVersion: v2\ndependencies:\n- name: b\n  repository: \"\"\nname: a\n");
        metadata.api_version = "v1".into();
        assert!(metadata.to_node().get("dependencies").is_none());
    }
}
