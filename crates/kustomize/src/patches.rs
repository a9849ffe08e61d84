//! `patches`, `patchesStrategicMerge` and `patchesJson6902`.

use std::sync::Arc;

use crate::context::{Context, Loaded, Location};
use crate::difference::{differences, in_patch};
use crate::error::Error;
use crate::id::short;
use crate::json_patch;
use crate::kustomization::{Item, PatchEntry};
use crate::merge::Merger;
use crate::object::{ChangeKind, Place};
use crate::resource::Resource;
use crate::select::Selector;
use crate::source::{Document, Position};
use crate::stream;
use crate::value::Value;

/// How many nodes the copies of a JSON patch may have.
const COPIED: usize = 200_000;

/// The text of a patch.
struct Text {
    loaded: Loaded,
    position: Position,
}

/// Applies `patchesStrategicMerge`.
pub(crate) fn apply_strategic(
    context: &Context<'_>,
    location: &Location<'_>,
    items: &[Item],
    resources: &mut Vec<Resource>,
) -> Result<(), Error> {
    let mut patches = Vec::new();
    for item in items {
        let inline = Loaded { file: item.place.file.clone(), text: Arc::from(item.text.as_bytes()) };
        let read = stream::read_objects(&inline.file, &inline.text, Position::Line(item.place.line));
        // A text that is a path is YAML too, but no object.
        match read {
            Ok(found) => patches.extend(found.into_iter().map(|patch| (patch, &item.place))),
            Err(_) => {
                let loaded = context.load(location, item.text.trim_end(), &item.place)?;
                let found = stream::read_objects(&loaded.file, &loaded.text, Position::Whole)?;
                patches.extend(found.into_iter().map(|patch| (patch, &item.place)));
            }
        }
    }
    for (patch, place) in patches {
        let at = only_target(resources, &patch).map_err(|error| error.at(&place.file, Some(place.line)))?;
        merge_into(context, &mut resources[at], &patch, false, false)?;
        drop_empty(resources);
    }
    check_unique(resources)
}

/// Applies an entry of `patches`.
pub(crate) fn apply(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &PatchEntry,
    resources: &mut Vec<Resource>,
) -> Result<(), Error> {
    apply_entry(context, location, entry, resources)
        .map_err(|error| error.at(&entry.place.file, Some(entry.place.line)))
}

fn apply_entry(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &PatchEntry,
    resources: &mut Vec<Resource>,
) -> Result<(), Error> {
    let text = text_of(context, location, entry, entry.patch.trim())?;
    let strategic = stream::read_objects(&text.loaded.file, &text.loaded.text, text.position);
    let json = read_json(&text.loaded.text).ok().filter(json_patch::looks_like_patch);
    match (strategic, json) {
        (Err(problem), None) => Err(Error::new(format!(
            "the patch is neither a strategic merge patch nor a JSON patch: {}",
            problem.message()
        ))
        .at(&text.loaded.file, problem.line())),
        (Ok(patches), _) => merge_all(context, entry, patches, resources),
        (Err(_), Some(node)) => {
            let operations = json_patch::parse(&node).map_err(Error::new)?;
            apply_operations(context, entry, &text, &operations, true, resources)
        }
    }
}

/// Applies an entry of `patchesJson6902`.
pub(crate) fn apply_json(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &PatchEntry,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let mut apply = || -> Result<(), Error> {
        if entry.target.as_ref().is_none_or(|target| target.name.is_empty()) {
            return Err(Error::new("must specify the target name"));
        }
        let text = text_of(context, location, entry, &entry.patch)?;
        let node = read_json(&text.loaded.text).map_err(Error::new)?;
        let operations = json_patch::parse(&node).map_err(Error::new)?;
        if operations.is_empty() {
            return Err(Error::new("the patch appears to be empty"));
        }
        apply_operations(context, entry, &text, &operations, false, resources)
    };
    apply().map_err(|error| error.at(&entry.place.file, Some(entry.place.line)))
}

/// Reads the text of a JSON patch: what begins with a bracket is JSON, anything else YAML.
fn read_json(text: &[u8]) -> Result<pintle_tree::Node, String> {
    if text.starts_with(b"[") {
        return pintle_tree::json::read_exact(text).map_err(|error| error.to_string());
    }
    pintle_yaml::read_exact(text).map_err(|error| error.to_string())
}

fn text_of(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &PatchEntry,
    inline: &str,
) -> Result<Text, Error> {
    match (inline.is_empty(), entry.path.is_empty()) {
        (true, true) => Err(Error::new("must specify one of patch and path")),
        (false, false) => Err(Error::new("patch and path can't be set at the same time")),
        (false, true) => {
            let loaded = Loaded { file: entry.place.file.clone(), text: Arc::from(inline.as_bytes()) };
            Ok(Text { loaded, position: entry.position })
        }
        (true, false) => {
            Ok(Text { loaded: context.load(location, &entry.path, &entry.place)?, position: Position::Whole })
        }
    }
}

fn merge_all(
    context: &Context<'_>,
    entry: &PatchEntry,
    patches: Vec<Resource>,
    resources: &mut Vec<Resource>,
) -> Result<(), Error> {
    let (name, kind) = (entry.allow_name_change, entry.allow_kind_change);
    let Some(target) = &entry.target else {
        for patch in patches {
            let at = only_target(resources, &patch)?;
            merge_into(context, &mut resources[at], &patch, name, kind)?;
            drop_empty(resources);
        }
        return Ok(());
    };
    let [patch] = patches.as_slice() else {
        if patches.is_empty() {
            return Ok(());
        }
        let message = "multiple strategic merge patches in one `patches` entry cannot have a `target`";
        return Err(Error::new(message));
    };
    let selector = Selector::compile(target).map_err(Error::new)?;
    context.charge(resources.len())?;
    for resource in resources.iter_mut().filter(|resource| selector.selects(resource)) {
        // The patch is for whatever is selected: its own group and version do not count.
        let mut patch = patch.clone();
        if let (Some(map), Some(version)) = (patch.value.as_map_mut(), resource.value.get("apiVersion")) {
            map.insert("apiVersion".into(), version.clone());
        }
        // kustomize copies these as texts on its way, so that a null becomes the text `null`.
        for field in ["labels", "annotations"] {
            let texts = patch.texts(field);
            patch.set_texts(field, texts);
        }
        merge_into(context, resource, &patch, name, kind)?;
    }
    drop_empty(resources);
    check_unique(resources)
}

/// The object that a patch without a target is for.
fn only_target(resources: &[Resource], patch: &Resource) -> Result<usize, Error> {
    let id = patch.id();
    let key = id.key();
    let mut found =
        resources.iter().enumerate().filter(|(_, resource)| resource.all_ids().any(|id| id.key() == key));
    let no = |what: &str| Error::new(format!("{what} for patch {}", short(&id)));
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (None, _) => Err(no("no matching object")),
        (Some(_), Some(_)) => Err(no("multiple matching objects")),
    }
}

/// Merges a patch into an object.
fn merge_into(
    context: &Context<'_>,
    resource: &mut Resource,
    patch: &Resource,
    allow_name_change: bool,
    allow_kind_change: bool,
) -> Result<(), Error> {
    let (name, namespace, kind) = (resource.name(), resource.namespace(), resource.top("kind"));
    if allow_name_change || allow_kind_change {
        resource.remember();
    }
    context.charge(1 + resource.value.size() / 1024)?;
    let before = std::mem::replace(&mut resource.value, Value::null());
    let types = context.types.borrow().clone();
    let mut merger = Merger { types: types.get(), work: context.work_left() };
    let merged = merger.merge(before.clone(), patch.value.clone());
    let left = merger.work;
    context.set_work_left(left);
    let merged = merged.map_err(|error| {
        Error::new(format!("patching {}: {error}", short(&patch.id())))
            .at(&patch.origin.file, Some(patch.origin.line))
    })?;
    resource.value = merged.unwrap_or_else(Value::null);
    context.check_size(resource)?;
    if resource.value.is_empty() {
        return Ok(());
    }
    if !allow_kind_change {
        resource.set_kind(&kind);
    }
    if !allow_name_change {
        resource.set_name(&name);
    }
    resource.set_namespace(&namespace);
    for path in differences(&before, &resource.value) {
        let at = in_patch(&path, &resource.value, &patch.value);
        let line = patch.source.as_ref().map_or(patch.origin.line, |source| source.line_of(&at));
        let place = Place { file: patch.origin.file.clone(), line };
        resource.changed(path, ChangeKind::Patch, &place);
    }
    Ok(())
}

fn apply_operations(
    context: &Context<'_>,
    entry: &PatchEntry,
    text: &Text,
    operations: &[json_patch::Operation],
    remembers: bool,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let target = entry.target.as_ref().ok_or_else(|| Error::new("must specify a target for a JSON patch"))?;
    let selector = Selector::compile(target).map_err(Error::new)?;
    let range = 0..text.loaded.text.len();
    let document = Document::new(text.loaded.file.clone(), text.loaded.text.clone(), range).at(text.position);
    context.charge(resources.len())?;
    for resource in resources.iter_mut().filter(|resource| selector.selects(resource)) {
        context.charge(1 + resource.value.size() / 1024)?;
        let shown = short(&resource.id());
        if remembers {
            resource.remember();
        }
        let fail = |error: String| Error::new(format!("{shown}: {error}"));
        let mut node = resource.value.to_node().map_err(fail)?;
        let changed = json_patch::apply(&mut node, operations, COPIED).map_err(fail)?;
        resource.value = Value::from_json(&node);
        context.check_size(resource)?;
        for (index, path) in changed {
            let line = document.line_of(&pintle_tree::ValuePath::root().index(index));
            resource.changed(path, ChangeKind::Patch, &Place { file: text.loaded.file.clone(), line });
        }
    }
    Ok(())
}

/// Removes objects that a patch deleted.
pub(crate) fn drop_empty(resources: &mut Vec<Resource>) {
    resources.retain(|resource| !resource.value.is_empty());
}

/// Refuses two objects with the same id.
pub(crate) fn check_unique(resources: &[Resource]) -> Result<(), Error> {
    let mut seen = std::collections::BTreeSet::new();
    for resource in resources {
        let id = resource.id();
        if !seen.insert(id.key()) {
            return Err(Error::new(format!(
                "may not add resource with an already registered id: {}",
                short(&id)
            )));
        }
    }
    Ok(())
}
