//! `lookup` on the objects of a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pintle_render::Lookup;
use pintle_tree::{Map, Node};

/// What a suite says about a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindProperties {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) namespaced: bool,
    /// The error that every lookup of this kind ends with.
    pub(crate) error: Option<String>,
}

/// The kinds, by `apiVersion/Kind`, and objects of a suite or a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) scheme: BTreeMap<String, KindProperties>,
    pub(crate) objects: Vec<Map<Node>>,
}

impl Lookup for Provider {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Map<Node>, String> {
        let none = KindProperties::default();
        let properties = self.scheme.get(&format!("{api_version}/{kind}")).unwrap_or(&none);
        if let Some(error) = &properties.error {
            return Err(error.clone());
        }
        if let Some(twice) = self.duplicate() {
            return Err(twice);
        }
        let namespace = if properties.namespaced { namespace } else { "" };
        let of_kind = self.objects.iter().filter(|object| resource_of(object) == key(properties));
        if name.is_empty() {
            // The list's resource version: the fake client starts at 1 and counts up with every object of the kind.
            let versions = 1 + of_kind.clone().count();
            let items: Vec<Node> = of_kind
                .filter(|object| namespace.is_empty() || metadata(object, "namespace") == namespace)
                .map(|object| Node::Map(object.clone()))
                .collect();
            return list(properties, kind, items, versions);
        }
        let mut of_name = of_kind
            .filter(|object| metadata(object, "name") == name && metadata(object, "namespace") == namespace);
        Ok(of_name.next().cloned().unwrap_or_default())
    }
}

/// The objects of a suite, and others for what it does not have.
pub(crate) struct First(pub(crate) Provider, pub(crate) Arc<dyn Lookup + Send + Sync>);

impl Lookup for First {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Map<Node>, String> {
        if !self.0.scheme.contains_key(&format!("{api_version}/{kind}")) {
            return self.1.lookup(api_version, kind, namespace, name);
        }
        let found = self.0.lookup(api_version, kind, namespace, name)?;
        if found.is_empty() { self.1.lookup(api_version, kind, namespace, name) } else { Ok(found) }
    }
}

impl Provider {
    /// The error of the fake client about an object that is there twice, such as in the suite and in the test.
    fn duplicate(&self) -> Option<String> {
        let mut seen = BTreeSet::new();
        let twice = self.objects.iter().find(|object| {
            let key = (resource_of(object), metadata(object, "namespace"), metadata(object, "name"));
            !seen.insert(key)
        })?;
        let (group, _, resource) = resource_of(twice);
        let resource = if group.is_empty() { resource } else { format!("{resource}.{group}") };
        Some(format!("{resource} \"{}\" already exists", metadata(twice, "name")))
    }
}

/// A list of objects. The fake client that helm-unittest uses panics on kinds of which it has no object.
fn list(
    properties: &KindProperties,
    kind: &str,
    items: Vec<Node>,
    versions: usize,
) -> Result<Map<Node>, String> {
    if items.is_empty() && properties.resource.is_empty() {
        return Err(format!(
            "coding error: you must register resource to list kind for every resource you're going to LIST when using a dynamic fake client.  {kind} is not in the scheme of the suite"
        ));
    }
    let api_version = match properties.group.as_str() {
        "" => properties.version.clone(),
        group => format!("{group}/{}", properties.version),
    };
    let metadata = Map::from_entries(vec![
        ("continue".into(), Node::from("")),
        ("resourceVersion".into(), Node::from(versions.to_string())),
    ]);
    Ok(Map::from_entries(vec![
        ("apiVersion".into(), Node::from(api_version)),
        ("items".into(), Node::List(items)),
        ("kind".into(), Node::from(format!("{kind}List"))),
        ("metadata".into(), Node::Map(metadata)),
    ]))
}

fn key(properties: &KindProperties) -> (String, String, String) {
    (properties.group.clone(), properties.version.clone(), properties.resource.clone())
}

/// Group, version and resource of an object; the resource is guessed from the kind, as client-go does.
fn resource_of(object: &Map<Node>) -> (String, String, String) {
    let text = |key: &str| object.get(key).and_then(Node::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    (group.to_owned(), version.to_owned(), plural(&text("kind").to_lowercase()))
}

fn plural(kind: &str) -> String {
    if kind.is_empty() || kind.ends_with("endpoints") {
        kind.to_owned()
    } else if kind.ends_with('s') {
        format!("{kind}es")
    } else if let Some(stem) = kind.strip_suffix('y') {
        format!("{stem}ies")
    } else {
        format!("{kind}s")
    }
}

fn metadata<'o>(object: &'o Map<Node>, key: &str) -> &'o str {
    object.get("metadata").and_then(|metadata| metadata.get(key)).and_then(Node::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider() -> Provider {
        let object = crate::document::read(
            b"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: n}, data: {x: 'y'}}",
        );
        let Ok(Node::Map(object)) = object else { panic!("a map") };
        let secret = KindProperties {
            version: "v1".to_owned(),
            resource: "secrets".to_owned(),
            namespaced: true,
            ..KindProperties::default()
        };
        Provider { scheme: [("v1/Secret".to_owned(), secret)].into_iter().collect(), objects: vec![object] }
    }

    #[test]
    fn objects_are_found_by_name_and_namespace() {
        let provider = provider();
        let found = |namespace, name| !provider.lookup("v1", "Secret", namespace, name).unwrap().is_empty();
        assert!(found("n", "a"));
        assert!(!found("m", "a") && !found("n", "b"));
        assert!(provider.lookup("v1", "ConfigMap", "n", "a").unwrap().is_empty());
        let list = provider.lookup("v1", "Secret", "", "").unwrap();
        assert_eq!(list.get("items").and_then(Node::as_list).map(<[Node]>::len), Some(1));
        assert_eq!(list.get("kind"), Some(&Node::from("SecretList")));
        let metadata = list.get("metadata").unwrap();
        assert_eq!(metadata.get("resourceVersion"), Some(&Node::from("2")));
    }

    #[test]
    fn an_object_cannot_be_there_twice() {
        let mut provider = provider();
        provider.objects.extend(provider.objects.clone());
        let error = provider.lookup("v1", "Secret", "n", "a").unwrap_err();
        assert_eq!(error, "secrets \"a\" already exists");
    }
}
