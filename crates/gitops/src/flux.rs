//! Flux: Kustomizations, HelmReleases and their sources, and the objects of Flux Operator.

mod release;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pintle_tree::{Map, Node, ValuePath};

use crate::app::{App, Content};
use crate::discovery::{Discovery, Item, Step, app_of};
use crate::{NoteKind, Place, SourceObject, Variable, Variables, join, parent, secret, substitute};

pub(crate) use release::{helm_release, post_renderers, release_name, release_namespace, values_layers};

const SOURCE: &str = "source.toolkit.fluxcd.io";
/// Switches substitution off for one object, as a label or an annotation.
const OPT_OUT: &str = "kustomize.toolkit.fluxcd.io/substitute";

pub(crate) fn is_kustomization(object: &SourceObject) -> bool {
    object.group() == "kustomize.toolkit.fluxcd.io" && object.kind() == "Kustomization"
}

pub(crate) fn is_instance(object: &SourceObject) -> bool {
    object.group() == "fluxcd.controlplane.io" && object.kind() == "FluxInstance"
}

/// Words in paths that do not tell clusters apart.
const COMMON: [&str; 20] = [
    "clusters",
    "cluster",
    "flux-system",
    "flux",
    "kubernetes",
    "k8s",
    "bootstrap",
    "config",
    "base",
    "apps",
    "app",
    "infrastructure",
    "infra",
    "entrypoint",
    "gitops",
    "manifests",
    "ks",
    "deploy",
    "argocd",
    "kustomizations",
];

/// The name of the cluster whose root is in a folder; empty if the folder says nothing.
pub(crate) fn cluster_of(folder: &str) -> String {
    // What is below `clusters` names one, wherever it is.
    let parts: Vec<&str> = folder.split('/').collect();
    if let Some(at) = parts.iter().position(|part| *part == "clusters")
        && let Some(name) = parts.get(at + 1).filter(|name| !COMMON.contains(name))
    {
        return (*name).to_owned();
    }
    if !parts.iter().any(|part| ["flux-system", "flux"].contains(part)) {
        return String::new();
    }
    let rest: Vec<&str> =
        parts.into_iter().filter(|part| !part.is_empty() && !COMMON.contains(part)).collect();
    rest.join("/")
}

/// The Kustomizations that nothing else makes, with their clusters.
pub(crate) fn roots(discovery: &mut Discovery<'_>) -> Vec<(String, SourceObject)> {
    let all: Vec<SourceObject> = discovery
        .candidates()
        .filter(|object| is_kustomization(object) || is_instance(object))
        .filter_map(|object| if is_instance(object) { instance_root(object) } else { Some(object.clone()) })
        .collect();
    // The files that each of them reads, if its path is as it is written.
    let mut reads: Vec<BTreeSet<String>> = Vec::new();
    for object in &all {
        let path = own_path(discovery, object);
        let built = path.and_then(|path| discovery.build(&path, &Map::new()).ok());
        reads.push(built.map(|built| built.read).unwrap_or_default());
    }
    let file_of = |index: usize| all[index].start().file;
    let made_by_others = |index: usize| {
        reads.iter().enumerate().any(|(other, read)| {
            other != index && file_of(other) != file_of(index) && read.contains(&file_of(index))
        })
    };
    let mut is_root: Vec<bool> = (0..all.len()).map(|index| !made_by_others(index)).collect();
    // Those that only make each other: the first of each circle is a root.
    let mut reached: BTreeSet<usize> = BTreeSet::new();
    for (index, _) in is_root.iter().enumerate().filter(|(_, is_root)| **is_root) {
        reach(index, &all, &reads, &mut reached);
    }
    for (index, is_root) in is_root.iter_mut().enumerate() {
        if !reached.contains(&index) {
            *is_root = true;
            reach(index, &all, &reads, &mut reached);
        }
    }
    let roots = all.into_iter().zip(is_root).filter(|(_, is_root)| *is_root);
    roots.map(|(object, _)| (cluster_of(parent(&object.start().file)), object)).collect()
}

fn reach(from: usize, all: &[SourceObject], reads: &[BTreeSet<String>], reached: &mut BTreeSet<usize>) {
    let mut next = vec![from];
    while let Some(index) = next.pop() {
        if !reached.insert(index) {
            continue;
        }
        let found = (0..all.len()).filter(|other| reads[index].contains(&all[*other].start().file));
        next.extend(found.filter(|other| !reached.contains(other)));
    }
}

/// The Kustomization that a FluxInstance makes from its `sync`.
fn instance_root(object: &SourceObject) -> Option<SourceObject> {
    let path = object.at(&["spec", "sync", "path"])?.as_str()?;
    let name = match object.text(&["spec", "sync", "name"]) {
        "" => object.namespace(),
        name => name,
    };
    let text = |text: &str| Node::from(text);
    let map = |entries: Vec<(&str, Node)>| {
        Node::Map(entries.into_iter().map(|(key, node)| (key.into(), node)).collect())
    };
    let source = map(vec![("kind", text("GitRepository")), ("name", text(name))]);
    let body = map(vec![
        ("apiVersion", text("kustomize.toolkit.fluxcd.io/v1")),
        ("kind", text("Kustomization")),
        ("metadata", map(vec![("name", text(name)), ("namespace", text(object.namespace()))])),
        ("spec", map(vec![("path", text(path)), ("sourceRef", source)])),
    ]);
    let Node::Map(body) = body else { return None };
    Some(SourceObject { body, ..object.clone() })
}

/// The path of a Kustomization in this repository.
fn own_path(discovery: &Discovery<'_>, object: &SourceObject) -> Option<String> {
    let path = object.text(&["spec", "path"]);
    if path.contains("${") {
        return None;
    }
    join("", path).filter(|path| discovery.files.is_folder(path))
}

/// The objects of Flux Operator.
pub(crate) fn operator(discovery: &mut Discovery<'_>, item: &Item, kind: &str) -> Step {
    match kind {
        "FluxInstance" => {
            if let Some(object) = instance_root(&item.object) {
                discovery.add_object(&item.cluster, object);
            }
        }
        _ => {
            let text = format!("{kind} {} is not understood; what it makes is left out", item.object.name());
            discovery.note(NoteKind::LeftOut, Some(item.object.start()), text);
        }
    }
    Step::Done
}

/// Whether the source of an object is this repository.
pub(crate) enum SourceOf {
    Own,
    Other(String, String),
}

/// The repository that a reference names.
pub(crate) fn repository(discovery: &Discovery<'_>, item: &Item, reference: &Node) -> SourceOf {
    let text = |key: &str| reference.get(key).and_then(Node::as_str).unwrap_or_default();
    let namespace = match text("namespace") {
        "" => item.object.namespace(),
        namespace => namespace,
    };
    let (kind, name) = (text("kind"), text("name"));
    let Some(found) = discovery.object(&item.cluster, SOURCE, kind, namespace, name) else {
        // The one that Flux was started with is often in the cluster only.
        return SourceOf::Own;
    };
    let url = found.text(&["spec", "url"]);
    if discovery.is_own(url) || (name == "flux-system" && kind != "HelmRepository") {
        return SourceOf::Own;
    }
    let at = |key: &str| found.text(&["spec", "ref", key]);
    let reference =
        ["commit", "tag", "semver", "branch"].iter().map(|key| at(key)).find(|text| !text.is_empty());
    SourceOf::Other(url.to_owned(), reference.unwrap_or("HEAD").to_owned())
}

/// Builds a Kustomization.
pub(crate) fn kustomization(discovery: &mut Discovery<'_>, item: &Item, force: bool) -> Step {
    let object = &item.object;
    let reference = object.at(&["spec", "sourceRef"]).cloned().unwrap_or_default();
    let mut artifact = None;
    match reference.get("kind").and_then(Node::as_str) {
        Some("Bucket") => {
            discovery.add_failed(item, "its source is a Bucket, which is not in the repository");
            return Step::Done;
        }
        Some("ExternalArtifact") => match artifact_path(discovery, item, &reference) {
            Ok(path) => artifact = Some(path),
            Err(reason) if !force => return Step::Waits(reason),
            Err(reason) => {
                discovery.add_failed(item, reason);
                return Step::Done;
            }
        },
        _ => {}
    }
    if let SourceOf::Other(url, _) = repository(discovery, item, &reference) {
        discovery.add_failed(item, format!("its source is another repository, {url}"));
        return Step::Done;
    }
    let variables = match variables(discovery, item, force) {
        Ok(variables) => Arc::new(variables),
        Err(reason) if !force => return Step::Waits(reason),
        Err(reason) => {
            discovery.add_failed(item, reason);
            return Step::Done;
        }
    };
    let path = artifact.unwrap_or_else(|| object.text(&["spec", "path"]).to_owned());
    let Some(path) = join("", &path) else {
        discovery.add_failed(item, format!("its path {path} leads out of the repository"));
        return Step::Done;
    };
    let built = match discovery.build(&path, &overlay(object)) {
        Ok(built) => built,
        Err(error) => {
            discovery.add_failed(item, error);
            return Step::Done;
        }
    };
    let mut found = built.objects;
    let place = object.place(&["spec"].iter().fold(ValuePath::root(), |path, key| path.key(*key)));
    for object in &mut found {
        secret::close(object);
        if let (Some((_, _, added)), Some(place)) = (&mut object.added, &place) {
            added.clone_from(place);
        }
    }
    if let Err(reason) = substitute_all(discovery, item, &variables, &mut found) {
        discovery.add_failed(item, reason);
        return Step::Done;
    }
    let app = App {
        depends_on: depends_on(object, "Kustomization"),
        ..app_of(item, Content::Objects(found.clone()))
    };
    if discovery.add_app(app) {
        for object in found {
            discovery.add_object(&item.cluster, object);
        }
    }
    Step::Done
}

/// Where the path of a Kustomization comes from, if its source is a part of the repository that an ArtifactGenerator copies. Paths
/// within the part are taken to lead to the same files in the repository.
fn artifact_path(discovery: &Discovery<'_>, item: &Item, reference: &Node) -> Result<String, String> {
    let name = reference.get("name").and_then(Node::as_str).unwrap_or_default();
    let missing = || format!("no ArtifactGenerator in the repository makes the ExternalArtifact {name}");
    let generators = discovery.objects_in(&item.cluster, "source.extensions.fluxcd.io", "ArtifactGenerator");
    let is_it = |artifact: &&Node| artifact.get("name").and_then(Node::as_str) == Some(name);
    let artifact =
        generators.flat_map(|it| it.list(&["spec", "artifacts"])).find(is_it).ok_or_else(missing)?;
    let path = join("", item.object.text(&["spec", "path"])).ok_or_else(missing)?;
    for copy in artifact.get("copy").and_then(Node::as_list).unwrap_or_default() {
        let text = |key: &str| copy.get(key).and_then(Node::as_str).unwrap_or_default();
        let from = text("from")
            .split_once('/')
            .map_or("", |(_, rest)| rest)
            .trim_end_matches("**")
            .trim_end_matches('/');
        let to = text("to").trim_start_matches("@artifact").trim_matches('/');
        let rest = match to {
            "" => Some(path.as_str()),
            to => path.strip_prefix(to).filter(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        let found = rest.and_then(|rest| join(from, rest)).filter(|path| discovery.files.is_folder(path));
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err(format!("the ExternalArtifact {name} has no folder {path}"))
}

/// The apps that an object names in `dependsOn`.
pub(crate) fn depends_on(object: &SourceObject, kind: &str) -> Vec<String> {
    let names = object.list(&["spec", "dependsOn"]).iter().map(|item| {
        let text = |key: &str| item.get(key).and_then(Node::as_str).unwrap_or_default();
        let namespace = match text("namespace") {
            "" => object.namespace(),
            namespace => namespace,
        };
        format!("{kind} {namespace}/{}", text("name"))
    });
    names.collect()
}

/// The fields of a Kustomization that kustomize executes.
fn overlay(object: &SourceObject) -> Map<Node> {
    let mut overlay = Map::new();
    let spec = |key: &str| object.at(&["spec", key]).filter(|node| !node.is_nil()).cloned();
    for (key, name) in [
        ("components", "components"),
        ("targetNamespace", "namespace"),
        ("namePrefix", "namePrefix"),
        ("nameSuffix", "nameSuffix"),
        ("patches", "patches"),
        ("images", "images"),
    ] {
        if let Some(node) = spec(key) {
            overlay.insert(name.into(), node);
        }
    }
    if let Some(Node::Map(common)) = spec("commonMetadata") {
        if let Some(labels) = common.get("labels") {
            let label = Map::from_entries(vec![("pairs".into(), labels.clone())]);
            overlay.insert("labels".into(), Node::List(vec![Node::Map(label)]));
        }
        if let Some(annotations) = common.get("annotations") {
            overlay.insert("commonAnnotations".into(), annotations.clone());
        }
    }
    overlay
}

/// The variables of a Kustomization. Later sources win over earlier ones, and those written down over all.
fn variables(discovery: &mut Discovery<'_>, item: &Item, force: bool) -> Result<Variables, String> {
    let object = &item.object;
    let mut variables = Variables::new();
    for reference in object.list(&["spec", "postBuild", "substituteFrom"]) {
        let text = |key: &str| reference.get(key).and_then(Node::as_str).unwrap_or_default();
        let is_optional = reference.get("optional").and_then(Node::as_bool) == Some(true);
        let (kind, name) = (text("kind"), text("name"));
        match discovery.object(&item.cluster, "", kind, object.namespace(), name) {
            Some(found) => add_variables(found, &mut variables),
            None if is_optional && force => {}
            None if is_optional => return Err(format!("{kind} {name} may still be found")),
            None => {
                return Err(format!(
                    "{kind} {name} in namespace {} is not in the repository",
                    object.namespace()
                ));
            }
        }
    }
    let own = object.at(&["spec", "postBuild", "substitute"]).and_then(Node::as_map);
    for (name, node) in own.into_iter().flat_map(Map::iter) {
        let path: ValuePath =
            ["spec", "postBuild", "substitute"].iter().fold(ValuePath::root(), |path, key| path.key(*key));
        let place = object.place(&path.key(name.clone()));
        variables.insert(name.to_string(), Variable { value: scalar(node), place, is_secret: false });
    }
    Ok(variables)
}

fn add_variables(found: &SourceObject, variables: &mut Variables) {
    let is_secret = found.kind() == "Secret";
    for key in secret::keys(found) {
        let value = secret::data(found, &key).unwrap_or_default();
        let value = String::from_utf8_lossy(&value).into_owned();
        let place = found.place(&ValuePath::root().key("data").key(key.clone()));
        variables.insert(key, Variable { value, place, is_secret });
    }
}

/// A scalar as text.
pub(crate) fn scalar(node: &Node) -> String {
    match node {
        Node::Str(text) => text.to_str_lossy().into_owned(),
        Node::Nil => String::new(),
        other => String::from_utf8_lossy(&pintle_tree::json::write(other).unwrap_or_default()).into_owned(),
    }
}

fn substitute_all(
    discovery: &mut Discovery<'_>,
    item: &Item,
    variables: &Arc<Variables>,
    objects: &mut [SourceObject],
) -> Result<(), String> {
    let always = item.object.text(&["spec", "postBuild", "substituteStrategy"]) == "Always";
    if variables.is_empty() && !always {
        return Ok(());
    }
    let mut unset: BTreeMap<String, Place> = BTreeMap::new();
    for object in objects {
        let is_out = |field: &str| object.text(&["metadata", field, OPT_OUT]) == "disabled";
        if is_out("labels") || is_out("annotations") {
            continue;
        }
        let text = pintle_yaml::write(&object.body).map_err(|error| error.to_string())?;
        if memchr::memchr(b'$', &text).is_none() {
            continue;
        }
        let at = |error: String| format!("{} {} ({}): {error}", object.kind(), object.name(), object.start());
        let found = substitute(&String::from_utf8_lossy(&text), variables).map_err(&at)?;
        let read = pintle_yaml::read_exact(found.text.as_bytes()).map_err(|error| at(error.to_string()))?;
        let Node::Map(body) = read else { return Err(at("it is no object after substitution".to_owned())) };
        for name in found.unset {
            unset.entry(name).or_insert_with(|| object.start());
        }
        let mut uses = Vec::new();
        add_uses(&Node::Map(std::mem::take(&mut object.body)), &ValuePath::root(), &mut uses, 0);
        let used = found.used.iter().filter_map(|name| Some((name.clone(), variables.get(name)?.clone())));
        let used: Variables = used.collect();
        object.body = body;
        object.variables = Arc::new(used);
        object.uses = Arc::new(uses);
    }
    for (name, place) in unset {
        let text = format!(
            "variable {name} of Kustomization {} is not set and has no default; Flux refuses that since 2.9",
            item.object.name()
        );
        discovery.note(NoteKind::LeftOut, Some(place), text);
    }
    Ok(())
}

const MAX_DEPTH: usize = 60;

/// The texts of a tree that use variables, with their names.
fn add_uses(node: &Node, at: &ValuePath, uses: &mut Vec<(ValuePath, Vec<String>)>, depth: usize) {
    match node {
        Node::Str(text) => {
            let text = text.to_str_lossy();
            let names: Vec<String> =
                text.match_indices("${").map(|(start, _)| name_at(&text[start + 2..])).collect();
            if !names.is_empty() {
                uses.push((at.clone(), names));
            }
        }
        Node::List(items) if depth < MAX_DEPTH => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| add_uses(item, &at.index(index), uses, depth + 1));
        }
        Node::Map(map) if depth < MAX_DEPTH => {
            map.iter().for_each(|(key, node)| add_uses(node, &at.key(key.clone()), uses, depth + 1));
        }
        _ => {}
    }
}

fn name_at(text: &str) -> String {
    text.chars().take_while(|character| character.is_ascii_alphanumeric() || *character == '_').collect()
}
