//! The objects below a path: those of its kustomization, or all manifests if it has none.

use std::collections::BTreeSet;
use std::sync::Arc;

use pintle_kustomize::{LoadRestrictions, Options};
use pintle_tree::{Map, Node};

use crate::document::{is_yaml, read_objects};
use crate::object::Source;
use crate::{Note, NoteKind, Place, Snapshot, SourceObject, join};

/// What was built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    /// The objects.
    pub(crate) objects: Vec<SourceObject>,
    /// The files that were read.
    pub(crate) read: BTreeSet<String>,
    /// What was left out.
    pub(crate) notes: Vec<Note>,
}

/// How deep folders without kustomizations are searched.
const MAX_DEPTH: usize = 60;

impl pintle_kustomize::Files for Snapshot {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        Snapshot::read(self, path)
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<pintle_kustomize::Entry>>, String> {
        if !self.is_folder(folder) {
            return Ok(None);
        }
        let names = self.names(folder).into_iter();
        Ok(Some(names.map(|(name, is_folder)| pintle_kustomize::Entry { name, is_folder }).collect()))
    }
}

/// The kustomization of a folder.
pub(crate) fn kustomization_file(files: &Snapshot, folder: &str) -> Option<String> {
    pintle_kustomize::FILE_NAMES.iter().filter_map(|name| join(folder, name)).find(|path| files.is_file(path))
}

/// Builds what is below a path, with the further fields of `overlay`.
///
/// # Errors
/// When there is no such folder, or something in it cannot be read.
pub(crate) fn build(files: &Snapshot, folder: &str, overlay: &Map<Node>) -> Result<Built, String> {
    let found = files.resolve(folder)?.filter(|folder| files.is_folder(folder));
    let folder = found.ok_or_else(|| format!("there is no folder {folder}"))?;
    let mut built = Built::default();
    let (file, text) = match kustomization_file(files, &folder) {
        Some(file) => {
            let text = files.read(&file)?.map(|text| text.to_vec()).unwrap_or_default();
            built.read.insert(file.clone());
            (file, text)
        }
        None => {
            let mut resources = Vec::new();
            add_resources(files, &folder, "", &mut resources, &mut built.notes, 0);
            let mut own = Map::new();
            own.insert("resources".into(), Node::List(resources.into_iter().map(Node::from).collect()));
            let text = pintle_yaml::write(&own).map_err(|error| error.to_string())?;
            (join(&folder, "kustomization.yaml").unwrap_or_default(), text)
        }
    };
    let lines = text.split(|byte| *byte == b'\n').count();
    let text = with_overlay(&file, text, overlay)?;
    // Flux and Argo CD let kustomizations name any file of the repository.
    let options = Options { load_restrictions: LoadRestrictions::None, ..Options::default() };
    let build = pintle_kustomize::build_with(files, &folder, &file, &text, &options)
        .map_err(|error| in_one_line(&error))?;
    built.read.extend(build.files);
    let object = |object: pintle_kustomize::Object| {
        let Node::Map(body) = object.node.clone() else { return None };
        let place = Place { file: object.origin.file.to_string(), line: object.origin.line };
        let source = Source { place: place.clone(), text: Arc::from(b"".as_slice()), prefix: Vec::new() };
        Some(SourceObject {
            body,
            sources: vec![source],
            built: Some(Arc::new(object)),
            added: Some((file.clone(), lines, place)),
            ..SourceObject::default()
        })
    };
    built.objects = build.objects.into_iter().filter_map(object).collect();
    Ok(built)
}

fn in_one_line(error: &dyn std::error::Error) -> String {
    error.to_string().replace('\n', " ")
}

/// The manifests and kustomizations below a folder, relative to the one that is built.
fn add_resources(
    files: &Snapshot,
    folder: &str,
    below: &str,
    resources: &mut Vec<String>,
    notes: &mut Vec<Note>,
    depth: usize,
) {
    for (name, is_folder) in files.names(folder) {
        let path = join(folder, &name).unwrap_or_default();
        let relative = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if is_folder {
            if name.starts_with('.') || depth > MAX_DEPTH {
                continue;
            }
            match kustomization_file(files, &path) {
                Some(_) => resources.push(relative),
                None => add_resources(files, &path, &relative, resources, notes, depth + 1),
            }
        } else if is_yaml(&name) && !name.ends_with(".json") && !name.starts_with('.') {
            let place = Some(Place { file: path.clone(), line: 1 });
            let text = files.read(&path).ok().flatten().unwrap_or_default();
            match read_objects(&path, &text) {
                Ok(found) if found.is_empty() => {}
                Ok(_) => resources.push(relative),
                Err(error) => notes.push(Note::new(NoteKind::LeftOut, place, error)),
            }
        }
    }
}

/// A kustomization with further fields: after its own text, so that its lines stay where they are, as long as it has none of
/// them.
fn with_overlay(file: &str, text: Vec<u8>, overlay: &Map<Node>) -> Result<Vec<u8>, String> {
    if overlay.is_empty() {
        return Ok(text);
    }
    let mut own = pintle_yaml::read_map(&text).map_err(|error| format!("{file}: {error}"))?;
    let more = pintle_yaml::write(overlay).map_err(|error| error.to_string())?;
    // A text in the style of JSON, or with an end mark, cannot be continued.
    let is_plain =
        !text.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(&text, b"\n...").is_none();
    if is_plain && overlay.keys().all(|key| !own.contains_key(key)) {
        return Ok([text.as_slice(), b"\n", &more].concat());
    }
    for (key, node) in overlay.iter() {
        match (own.get_mut(key), node) {
            (Some(Node::List(items)), Node::List(more)) => items.extend(more.iter().cloned()),
            (Some(Node::Map(map)), Node::Map(more)) => {
                more.iter().for_each(|(key, node)| drop(map.insert(key.clone(), node.clone())));
            }
            _ => drop(own.insert(key.clone(), node.clone())),
        }
    }
    pintle_yaml::write(&own).map_err(|error| error.to_string())
}

/// Kinds without a namespace.
const CLUSTER_KINDS: [&str; 14] = [
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "PersistentVolume",
    "StorageClass",
    "IngressClass",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "ClusterIssuer",
    "ClusterSecretStore",
    "RuntimeClass",
];

/// Sets the namespace of an object, unless its kind has none.
pub(crate) fn set_namespace(object: &mut SourceObject, namespace: &str) {
    if CLUSTER_KINDS.contains(&object.kind()) {
        return;
    }
    if let Some(Node::Map(metadata)) = object.body.get_mut("metadata") {
        metadata.insert("namespace".into(), namespace.into());
    }
}
