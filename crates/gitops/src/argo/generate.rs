//! The generators of ApplicationSets that need nothing but the repository.

use pintle_tree::{Map, Node};

use super::template;
use super::{list, text};
use crate::discovery::Discovery;
use crate::{NoteKind, SourceObject, parent, secret};

/// The most Applications of one ApplicationSet.
const MAX_GENERATED: usize = 10_000;

/// The Applications that an ApplicationSet makes.
pub(super) fn applications(
    discovery: &mut Discovery<'_>,
    set: &SourceObject,
) -> Result<Vec<SourceObject>, String> {
    let go = set.at(&["spec", "goTemplate"]).and_then(Node::as_bool) == Some(true);
    let strict = set
        .list(&["spec", "goTemplateOptions"])
        .iter()
        .any(|option| option.as_str() == Some("missingkey=error"));
    let template = set.at(&["spec", "template"]).cloned().unwrap_or_default();
    let patch = set.text(&["spec", "templatePatch"]);
    let mut made = Vec::new();
    let mut problems = Vec::new();
    for generator in set.list(&["spec", "generators"]) {
        let generated = match generate(discovery, generator, go, 0) {
            Ok(generated) => generated,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        for parameters in generated {
            let body = match go {
                true => template::go(&template, &parameters, strict, 0)?,
                false => template::fast(&template, &parameters, 0),
            };
            let Node::Map(mut body) = body else { return Err("its template is no object".to_owned()) };
            if !patch.is_empty() {
                body = patched(body, patch, &parameters)?;
            }
            body.insert("apiVersion".into(), "argoproj.io/v1alpha1".into());
            body.insert("kind".into(), "Application".into());
            if let Some(Node::Map(metadata)) = body.get_mut("metadata") {
                let namespace = Node::from(set.namespace());
                metadata.insert("namespace".into(), namespace);
            }
            made.push(application(set, body));
        }
    }
    for problem in &problems {
        let text = format!("a generator of ApplicationSet {} is not resolved: {problem}", set.name());
        discovery.note(NoteKind::LeftOut, Some(set.start()), text);
    }
    match made.len() > MAX_GENERATED {
        true => Err(format!("it makes more than {MAX_GENERATED} Applications")),
        false => Ok(made),
    }
}

/// An Application whose fields are below `spec.template` of the set.
fn application(set: &SourceObject, body: Map<Node>) -> SourceObject {
    let sources = set
        .sources
        .iter()
        .map(|source| crate::object::Source { prefix: vec!["spec", "template"], ..source.clone() });
    SourceObject { body, sources: sources.collect(), ..SourceObject::default() }
}

fn patched(body: Map<Node>, patch: &str, parameters: &Map<Node>) -> Result<Map<Node>, String> {
    let text = template::go_text(patch, parameters)?;
    let over = pintle_yaml::read_exact(text.as_bytes()).map_err(|error| format!("templatePatch: {error}"))?;
    match over {
        Node::Map(over) => Ok(pintle_tree::merge::merge(body, over)),
        Node::Nil => Ok(body),
        _ => Err("templatePatch is no object".to_owned()),
    }
}

/// How deep generators may be nested.
const MAX_DEPTH: usize = 4;

/// The sets of parameters of a generator.
fn generate(
    discovery: &Discovery<'_>,
    generator: &Node,
    go: bool,
    depth: usize,
) -> Result<Vec<Map<Node>>, String> {
    if depth > MAX_DEPTH {
        return Err("generators are nested too deeply".to_owned());
    }
    let Some(map) = generator.as_map() else { return Err("a generator is no object".to_owned()) };
    let mut found = Vec::new();
    for (kind, node) in map.iter() {
        found = match kind.as_str().unwrap_or_default() {
            "list" => elements(node, go)?,
            "git" => git(discovery, node, go)?,
            "clusters" => clusters(discovery, node),
            "matrix" => matrix(discovery, node, go, depth)?,
            "merge" => merge(discovery, node, go, depth)?,
            "selector" | "template" => continue,
            other => return Err(format!("`{other}` needs an answer from outside of the repository")),
        };
    }
    let selector = map.get("selector").cloned().unwrap_or_default();
    found.retain(|parameters| selects(&selector, &|key| lookup(parameters, key)));
    Ok(found)
}

fn lookup(parameters: &Map<Node>, key: &str) -> Option<String> {
    let mut node = parameters.get(key);
    if node.is_none() {
        let mut parts = key.split('.');
        let first = parameters.get(parts.next()?);
        node = parts.try_fold(first?, |node, part| node.get(part));
    }
    node.map(crate::flux::scalar)
}

/// Whether a label selector chooses something.
fn selects(selector: &Node, value: &dyn Fn(&str) -> Option<String>) -> bool {
    let labels = selector.get("matchLabels").and_then(Node::as_map);
    let equal = labels.into_iter().flat_map(Map::iter);
    let equal = equal.into_iter().all(|(key, wanted)| value(&key.to_string()).as_deref() == wanted.as_str());
    equal
        && list(selector, &["matchExpressions"]).iter().all(|expression| {
            let found = value(text(expression, &["key"]));
            let values: Vec<&str> = list(expression, &["values"]).iter().filter_map(Node::as_str).collect();
            let is_in = found.as_deref().is_some_and(|found| values.contains(&found));
            match text(expression, &["operator"]) {
                "In" => is_in,
                "NotIn" => !is_in,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

fn elements(node: &Node, go: bool) -> Result<Vec<Map<Node>>, String> {
    let mut found: Vec<Map<Node>> = Vec::new();
    for element in list(node, &["elements"]).iter().filter_map(Node::as_map) {
        found.push(element.clone());
    }
    let text = text(node, &["elementsYaml"]);
    if !text.is_empty() {
        if text.contains("{{") {
            return Err("`elementsYaml` with a template is not understood".to_owned());
        }
        let items =
            pintle_yaml::read_list(text.as_bytes()).map_err(|error| format!("elementsYaml: {error}"))?;
        found.extend(items.iter().filter_map(Node::as_map).cloned());
    }
    let _ = go;
    Ok(found)
}

fn git(discovery: &Discovery<'_>, node: &Node, go: bool) -> Result<Vec<Map<Node>>, String> {
    let url = text(node, &["repoURL"]);
    if !discovery.is_own(url) {
        return Err(format!("its files are in another repository, {url}"));
    }
    let values = node.get("values").and_then(Node::as_map);
    let mut found = Vec::new();
    for folder in folders(discovery, list(node, &["directories"])) {
        let mut parameters = Map::new();
        add_path(&mut parameters, &folder, go);
        found.push(parameters);
    }
    let mut excluded: Vec<&str> = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    for entry in list(node, &["files"]) {
        match super::flag(entry, &["exclude"]) {
            true => excluded.push(text(entry, &["path"])),
            false => paths.extend(template::expand(discovery.files, text(entry, &["path"]))),
        }
    }
    paths.retain(|path| !excluded.iter().any(|pattern| template::matches(pattern, path)));
    paths.sort();
    paths.dedup();
    for path in paths {
        let content = discovery.files.read(&path)?.unwrap_or_default();
        let read = pintle_yaml::read_exact(&content).map_err(|error| format!("{path}: {error}"))?;
        let several = match read {
            Node::List(items) => items,
            one => vec![one],
        };
        for item in several {
            let mut parameters = item.as_map().cloned().unwrap_or_default();
            add_path(&mut parameters, parent(&path), go);
            if let Some(Node::Map(about)) = parameters.get_mut("path") {
                let name = path.rsplit('/').next().unwrap_or_default();
                about.insert("filename".into(), name.into());
            }
            found.push(parameters);
        }
    }
    for parameters in &mut found {
        add_values(parameters, values, go)?;
    }
    Ok(found)
}

/// `values` of a generator, which may use its parameters.
fn add_values(parameters: &mut Map<Node>, values: Option<&Map<Node>>, go: bool) -> Result<(), String> {
    let Some(values) = values else { return Ok(()) };
    let node = Node::Map(values.clone());
    let done = match go {
        true => template::go(&node, parameters, false, 0)?,
        false => template::fast(&node, parameters, 0),
    };
    parameters.insert("values".into(), done);
    Ok(())
}

fn folders(discovery: &Discovery<'_>, entries: &[Node]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (path, _) in discovery.files.entries() {
        let mut folder = parent(path);
        while !folder.is_empty() && !all.iter().rev().take(64).any(|known| known == folder) {
            all.push(folder.to_owned());
            folder = parent(folder);
        }
    }
    all.sort();
    all.dedup();
    let is_chosen = |folder: &String| {
        let matching =
            |entry: &&Node| template::matches(text(entry, &["path"]).trim_end_matches('/'), folder);
        let chosen =
            entries.iter().filter(|entry| !super::flag(entry, &["exclude"])).any(|entry| matching(&entry));
        let excluded =
            entries.iter().filter(|entry| super::flag(entry, &["exclude"])).any(|entry| matching(&entry));
        // Hidden folders are never chosen.
        chosen && !excluded && !folder.split('/').any(|part| part.starts_with('.'))
    };
    all.into_iter().filter(is_chosen).collect()
}

fn add_path(parameters: &mut Map<Node>, folder: &str, go: bool) {
    let basename = folder.rsplit('/').next().unwrap_or_default();
    let normalized: String = basename
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() || character == '-' || character == '.' {
                character.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let segments = folder.split('/').map(Node::from).collect();
    if go {
        let mut path = Map::new();
        path.insert("path".into(), folder.into());
        path.insert("basename".into(), basename.into());
        path.insert("basenameNormalized".into(), normalized.into());
        path.insert("segments".into(), Node::List(segments));
        parameters.insert("path".into(), Node::Map(path));
        return;
    }
    parameters.insert("path".into(), folder.into());
    parameters.insert("path.path".into(), folder.into());
    parameters.insert("path.basename".into(), basename.into());
    parameters.insert("path.basenameNormalized".into(), normalized.into());
    for (index, segment) in folder.split('/').enumerate() {
        parameters.insert(format!("path[{index}]").into(), segment.into());
    }
}

/// The clusters that Secrets describe; without any, the one that Argo CD runs in.
fn clusters(discovery: &Discovery<'_>, node: &Node) -> Vec<Map<Node>> {
    let selector = node.get("selector").cloned().unwrap_or_default();
    let label = "argocd.argoproj.io/secret-type";
    let known = discovery.objects_of("", "Secret").chain(&discovery.settings.clusters);
    let described = known.filter(|secret| secret.text(&["metadata", "labels", label]) == "cluster");
    let mut found: Vec<Map<Node>> = Vec::new();
    for object in described {
        let value = |key: &str| match key {
            "argocd.argoproj.io/secret-type" => Some("cluster".to_owned()),
            key => Some(object.text(&["metadata", "labels", key]).to_owned()).filter(|text| !text.is_empty()),
        };
        if selects(&selector, &value) {
            found.push(cluster(object, node));
        }
    }
    if selector.as_map().is_none_or(Map::is_empty) {
        let mut local = Map::new();
        local.insert("name".into(), "in-cluster".into());
        local.insert("nameNormalized".into(), "in-cluster".into());
        local.insert("server".into(), "https://kubernetes.default.svc".into());
        let _ = add_values(&mut local, node.get("values").and_then(Node::as_map), true);
        found.push(local);
    }
    found
}

fn cluster(object: &SourceObject, node: &Node) -> Map<Node> {
    let data = |key: &str| {
        let bytes = secret::data(object, key).unwrap_or_default();
        Node::from(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut parameters = Map::new();
    parameters.insert("name".into(), data("name"));
    parameters.insert("nameNormalized".into(), data("name"));
    parameters.insert("server".into(), data("server"));
    let mut metadata = Map::new();
    for field in ["labels", "annotations"] {
        let found = object.at(&["metadata", field]).cloned().unwrap_or(Node::empty_map());
        for (key, value) in found.as_map().into_iter().flat_map(Map::iter) {
            parameters.insert(format!("metadata.{field}.{key}").into(), value.clone());
        }
        metadata.insert(field.into(), found);
    }
    parameters.insert("metadata".into(), Node::Map(metadata));
    let _ = add_values(&mut parameters, node.get("values").and_then(Node::as_map), true);
    parameters
}

fn matrix(discovery: &Discovery<'_>, node: &Node, go: bool, depth: usize) -> Result<Vec<Map<Node>>, String> {
    let [first, second] = list(node, &["generators"]) else {
        return Err("a matrix has not two generators".to_owned());
    };
    let mut found = Vec::new();
    for outer in generate(discovery, first, go, depth + 1)? {
        // The second generator may use the parameters of the first.
        let second = match go {
            true => template::go(second, &outer, false, 0)?,
            false => template::fast(second, &outer, 0),
        };
        for inner in generate(discovery, &second, go, depth + 1)? {
            found.push(pintle_tree::merge::merge(outer.clone(), inner));
            if found.len() > MAX_GENERATED {
                return Err(format!("a matrix makes more than {MAX_GENERATED} sets of parameters"));
            }
        }
    }
    Ok(found)
}

fn merge(discovery: &Discovery<'_>, node: &Node, go: bool, depth: usize) -> Result<Vec<Map<Node>>, String> {
    let keys: Vec<&str> = list(node, &["mergeKeys"]).iter().filter_map(Node::as_str).collect();
    let mut generators = list(node, &["generators"]).iter();
    let first = generators.next().ok_or("a merge has no generators")?;
    let mut found = generate(discovery, first, go, depth + 1)?;
    for generator in generators {
        let over = generate(discovery, generator, go, depth + 1)?;
        for parameters in &mut found {
            let same = |other: &&Map<Node>| {
                keys.iter()
                    .all(|key| lookup(other, key).is_some() && lookup(other, key) == lookup(parameters, key))
            };
            if let Some(other) = over.iter().find(same).cloned() {
                *parameters = pintle_tree::merge::merge(std::mem::take(parameters), other);
            }
        }
    }
    Ok(found)
}
