//! Chart.yaml as a Kubernetes object (`apiVersion: helm.sh/v3`), converted to and from the flat form.
//!
//! Frequently used fields are labels (chart, version, appVersion), everything else is in `data:`.

use pintle_tree::{Map, Node, Str};

use super::{Metadata, OBJECT_V3};

/// Converts the object form to the flat form of `v2`, so that one decoder serves both.
pub(super) fn flatten(object: &Node) -> Result<Node, String> {
    match object.get("kind").and_then(Node::as_str) {
        Some("Chart") => {}
        _ => return Err(format!("a chart with apiVersion {OBJECT_V3} must have kind Chart")),
    }
    let mut flat = Map::new();
    if let Some(data) = object.get("data").and_then(Node::as_map) {
        for (key, value) in data.iter() {
            flat.insert(key.clone(), value.clone());
        }
    }
    flat = rename(&flat);
    flat.insert("apiVersion".into(), OBJECT_V3.into());
    let metadata = object.get("metadata");
    let label =
        |name: &str| metadata.and_then(|metadata| metadata.get("labels")).and_then(|labels| labels.get(name));
    for (field, from) in [("name", "chart"), ("version", "version"), ("appVersion", "appVersion")] {
        if let Some(value) = label(from) {
            flat.insert(field.into(), value.clone());
        }
    }
    if !flat.contains_key("name")
        && let Some(name) = metadata.and_then(|metadata| metadata.get("name")).and_then(Node::as_str)
    {
        let version = flat.get("version").and_then(Node::as_str).unwrap_or_default();
        // The proposal names the object `<chart>-<version>`.
        let bare = name.strip_suffix(version).and_then(|name| name.strip_suffix('-')).unwrap_or(name);
        let bare = Node::from(bare);
        flat.insert("name".into(), bare);
    }
    if let Some(annotations) = metadata.and_then(|metadata| metadata.get("annotations")) {
        flat.insert("annotations".into(), annotations.clone());
    }
    Ok(Node::Map(flat))
}

/// The proposal calls dependencies `requirements`; both names are accepted.
pub(super) fn rename_requirements(root: &Node) -> Node {
    root.as_map().map_or_else(|| root.clone(), |map| Node::Map(rename(map)))
}

fn rename(map: &Map<Node>) -> Map<Node> {
    let renamed = |key: &Str| match key.as_str() {
        Some("requirements") if !map.contains_key("dependencies") => "dependencies".into(),
        Some("library") if !map.contains_key("libraries") => "libraries".into(),
        _ => key.clone(),
    };
    map.iter().map(|(key, value)| (renamed(key), value.clone())).collect()
}

/// Converts flat fields back to the object form.
pub(super) fn unflatten(metadata: &Metadata, mut flat: Map<Node>) -> Node {
    let mut labels = Map::new();
    for (label, field) in [("chart", "name"), ("version", "version"), ("appVersion", "appVersion")] {
        if let Some(value) = flat.remove(field) {
            labels.insert(label.into(), value);
        }
    }
    labels.insert("heritage".into(), "helm".into());
    flat.remove("apiVersion");
    let mut head = Map::new();
    head.insert("name".into(), Node::from(format!("{}-{}", metadata.name, metadata.version)));
    head.insert("labels".into(), Node::Map(labels));
    if let Some(annotations) = flat.remove("annotations") {
        head.insert("annotations".into(), annotations);
    }
    let mut object = Map::new();
    object.insert("apiVersion".into(), OBJECT_V3.into());
    object.insert("kind".into(), "Chart".into());
    object.insert("metadata".into(), Node::Map(head));
    object.insert("data".into(), Node::Map(flat));
    Node::Map(object)
}

#[cfg(test)]
mod tests {
    use super::super::Draft;

    const TEXT: &str = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: mine-0.1.0\n  labels:\n    version: 0.1.0\n    \
                        appVersion: 3.6\ndata:\n  description: d\n  requirements: [{name: x, repository: r}]\n";

    #[test]
    fn the_object_form_folds_to_the_same_fields_and_back() {
        let mut draft = Draft::default();
        draft.read_chart_file(TEXT.as_bytes()).expect("a good file");
        let metadata = draft.validate().expect("a good chart");
        assert_eq!((metadata.name.as_str(), metadata.version.as_str()), ("mine", "0.1.0"));
        assert_eq!((metadata.app_version.as_str(), metadata.description.as_str()), ("3.6", "d"));
        assert_eq!(metadata.dependencies[0].name, "x");

        let written = metadata.to_yaml().expect("can be written");
        let mut again = Draft::default();
        again.read_chart_file(&written).expect("a good file");
        assert_eq!(again.validate().expect("a good chart"), metadata);
    }

    #[test]
    fn the_kind_must_be_chart() {
        let error =
            Draft::default().read_chart_file(b"apiVersion: helm.sh/v3\nkind: Pod\n").expect_err("no chart");
        assert!(error.to_string().contains("must have kind Chart"));
    }
}
