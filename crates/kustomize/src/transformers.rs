//! The transformers that set fields by their specifications: namespace, prefix and suffix, labels, annotations, replicas and
//! images.

use std::collections::BTreeMap;

use pintle_regex::Regex;
use pintle_tree::{Str, ValuePath};

use crate::config::{Config, FieldSpec, Purpose, merge_all, merge_one};
use crate::context::Context;
use crate::error::Error;
use crate::fields::{Missing, visit};
use crate::id::{Gvk, Key, short};
use crate::kustomization::{ImageEntry, Item, LabelEntry, ReplicaEntry};
use crate::object::{ChangeKind, Place};
use crate::resource::Resource;
use crate::value::{Scalar, Tag, Value};

/// Sets the namespace of all objects that have one.
pub(crate) fn namespace(
    context: &Context<'_>,
    config: &Config,
    item: &Item,
    resources: &mut [Resource],
) -> Result<(), Error> {
    context.charge(resources.len())?;
    let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
    for resource in resources.iter() {
        *counts.entry(resource.id().key()).or_default() += 1;
    }
    let namespace: Str = item.text.as_str().into();
    for resource in resources.iter_mut().filter(|resource| !resource.from_helm) {
        let id = resource.id();
        let before = id.key();
        resource.remember();
        if !id.cluster_scoped {
            let spec = FieldSpec::everywhere("metadata/namespace", true);
            set_string(resource, &spec, &namespace, ChangeKind::Namespace, &item.place)?;
        }
        let is_binding = ["RoleBinding", "ClusterRoleBinding"]
            .iter()
            .any(|kind| id.gvk.kind.as_bytes() == kind.as_bytes());
        if is_binding {
            default_subjects(resource, &namespace, &item.place);
        }
        for spec in config.of(Purpose::Namespace) {
            let skipped = match spec.path.as_bytes() {
                b"metadata/namespace" => true,
                b"metadata/name" => resource.top("apiVersion").as_bytes() != b"v1",
                b"subjects/namespace" => {
                    is_binding
                        && ["RoleBinding", "ClusterRoleBinding"]
                            .iter()
                            .any(|kind| spec.gvk.kind.as_bytes() == kind.as_bytes())
                }
                _ => false,
            };
            if !skipped {
                set_string(resource, spec, &namespace, ChangeKind::Namespace, &item.place)?;
            }
        }
        let after = resource.id().key();
        if let Some(count) = counts.get_mut(&before) {
            *count -= 1;
        }
        let count = counts.entry(after).or_default();
        *count += 1;
        if *count != 1 {
            let shown = short(&resource.id());
            return Err(Error::new(format!("namespace transformation produces ID conflict: {shown}"))
                .at(&item.place.file, Some(item.place.line)));
        }
    }
    Ok(())
}

/// Subjects named `default` get the namespace.
fn default_subjects(resource: &mut Resource, namespace: &Str, place: &Place) {
    let Some(Value::List(subjects)) = resource.value.get_mut("subjects") else { return };
    let mut changed = Vec::new();
    for (index, subject) in subjects.iter_mut().enumerate() {
        let Some(map) = subject.as_map_mut() else { continue };
        if map.get("name").is_some_and(|name| name.text().as_bytes() == b"default") {
            map.insert("namespace".into(), Value::string(namespace.clone()));
            changed.push(ValuePath::root().key("subjects").index(index).key("namespace"));
        }
    }
    for path in changed {
        resource.changed(path, ChangeKind::Namespace, place);
    }
}

/// Sets a field to a string wherever a specification says so.
fn set_string(
    resource: &mut Resource,
    spec: &FieldSpec,
    text: &Str,
    kind: ChangeKind,
    place: &Place,
) -> Result<(), Error> {
    let mut changed = Vec::new();
    visit(resource, spec, Missing::Scalar, &mut |value, path| match value {
        Value::Scalar(scalar) => {
            if scalar.text != *text {
                changed.push(path.clone());
            }
            *scalar = Scalar { text: text.clone(), tag: Tag::Quoted };
            Ok(())
        }
        other => Err(format!("wrong node kind: expected scalar but got {}", other.kind_name())),
    })?;
    for path in changed {
        resource.changed(path, kind, place);
    }
    Ok(())
}

/// The kinds whose names get no prefix and no suffix.
fn keeps_its_name(gvk: &Gvk) -> bool {
    match gvk.kind.as_bytes() {
        b"CustomResourceDefinition" | b"Namespace" => true,
        b"APIService" => gvk.group.as_bytes() == b"apiregistration.k8s.io",
        _ => false,
    }
}

/// Adds a prefix or a suffix to names.
pub(crate) fn affix(
    context: &Context<'_>,
    config: &Config,
    purpose: Purpose,
    item: &Item,
    resources: &mut [Resource],
) -> Result<(), Error> {
    context.charge(resources.len())?;
    for resource in resources.iter_mut() {
        let original = resource.original_id();
        if keeps_its_name(&original.gvk) {
            continue;
        }
        for spec in config.of(purpose).iter().filter(|spec| original.gvk.is_selected(&spec.gvk)) {
            if spec.path.as_bytes() == b"metadata/name" {
                let affixes = if purpose == Purpose::NamePrefix {
                    &mut resource.prefixes
                } else {
                    &mut resource.suffixes
                };
                affixes.push(item.text.as_str().into());
                resource.remember();
            }
            let mut changed = Vec::new();
            visit(resource, spec, Missing::Scalar, &mut |value, path| match value {
                Value::Scalar(scalar) => {
                    let text = match purpose {
                        Purpose::NamePrefix => format!("{}{}", item.text, scalar.text),
                        _ => format!("{}{}", scalar.text, item.text),
                    };
                    scalar.set(text);
                    changed.push(path.clone());
                    Ok(())
                }
                other => Err(format!("wrong node kind: expected scalar but got {}", other.kind_name())),
            })?;
            for path in changed {
                resource.changed(path, ChangeKind::Name, &item.place);
            }
        }
    }
    Ok(())
}

/// The fields of an entry of `labels`.
fn label_specs(config: &Config, entry: &LabelEntry) -> Result<Vec<FieldSpec>, Error> {
    let mut specs = entry.fields.clone();
    merge_all(&mut specs, config.of(Purpose::Labels))?;
    if entry.include_selectors {
        merge_all(&mut specs, config.of(Purpose::CommonLabels))?;
        return Ok(specs);
    }
    if entry.include_templates {
        merge_all(&mut specs, config.of(Purpose::TemplateLabels))?;
    }
    if entry.include_claim_templates {
        merge_all(&mut specs, config.of(Purpose::ClaimLabels))?;
    }
    merge_one(&mut specs, &FieldSpec::everywhere("metadata/labels", true))?;
    Ok(specs)
}

/// Applies an entry of `labels`.
pub(crate) fn labels(
    context: &Context<'_>,
    config: &Config,
    entry: &LabelEntry,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let specs =
        label_specs(config, entry).map_err(|error| error.at(&entry.place.file, Some(entry.place.line)))?;
    set_pairs(context, &specs, &entry.pairs, ChangeKind::Label, &entry.place, resources)
}

/// Applies `commonLabels`.
pub(crate) fn common_labels(
    context: &Context<'_>,
    config: &Config,
    entry: &LabelEntry,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let specs = config.of(Purpose::CommonLabels);
    set_pairs(context, specs, &entry.pairs, ChangeKind::Label, &entry.place, resources)
}

/// Applies `commonAnnotations`.
pub(crate) fn annotations(
    context: &Context<'_>,
    config: &Config,
    pairs: &[(Str, Str)],
    place: &Place,
    resources: &mut [Resource],
) -> Result<(), Error> {
    set_pairs(context, config.of(Purpose::CommonAnnotations), pairs, ChangeKind::Annotation, place, resources)
}

/// Sets entries of maps wherever the specifications say so.
fn set_pairs(
    context: &Context<'_>,
    specs: &[FieldSpec],
    pairs: &[(Str, Str)],
    kind: ChangeKind,
    place: &Place,
    resources: &mut [Resource],
) -> Result<(), Error> {
    if pairs.is_empty() {
        return Ok(());
    }
    context.charge(resources.len().saturating_mul(pairs.len()))?;
    for resource in resources {
        for spec in specs {
            let mut changed = Vec::new();
            visit(resource, spec, Missing::Map, &mut |value, path| {
                for (key, text) in pairs {
                    let map = match value {
                        Value::Map(map) => map,
                        Value::Scalar(Scalar { tag: Tag::Null, .. }) => return Ok(()),
                        other => {
                            return Err(format!(
                                "wrong node kind: expected map but got {}",
                                other.kind_name()
                            ));
                        }
                    };
                    let old = map.insert(key.clone(), Value::string(text.clone()));
                    if old.is_none_or(|old| old.text() != *text) {
                        changed.push(path.key(key.clone()));
                    }
                }
                Ok(())
            })?;
            for path in changed {
                resource.changed(path, kind, place);
            }
        }
    }
    Ok(())
}

/// Applies an entry of `replicas`.
pub(crate) fn replicas(
    context: &Context<'_>,
    config: &Config,
    entry: &ReplicaEntry,
    resources: &mut [Resource],
) -> Result<(), Error> {
    context.charge(resources.len())?;
    let mut found = false;
    for spec in config.of(Purpose::Replicas) {
        for resource in resources.iter_mut() {
            let fits = |id: crate::id::Id| {
                id.name.as_bytes() == entry.name.as_bytes() && id.gvk.is_selected(&spec.gvk)
            };
            if !resource.all_ids().any(fits) {
                continue;
            }
            found = true;
            let mut changed = Vec::new();
            visit(resource, spec, Missing::Scalar, &mut |value, path| match value {
                Value::Scalar(scalar) => {
                    // A number that was in quotes stays in them.
                    let tag = if scalar.tag == Tag::Quoted && !scalar.text.is_empty() {
                        Tag::Quoted
                    } else {
                        Tag::Int
                    };
                    *scalar = Scalar { text: entry.count.to_string().into(), tag };
                    changed.push(path.clone());
                    Ok(())
                }
                other => Err(format!("wrong node kind: expected scalar but got {}", other.kind_name())),
            })?;
            for path in changed {
                resource.changed(path, ChangeKind::Replicas, &entry.place);
            }
        }
    }
    if !found {
        let message = format!("resource with name {} does not match a config with replicas", entry.name);
        return Err(Error::new(message).at(&entry.place.file, Some(entry.place.line)));
    }
    Ok(())
}

/// Applies an entry of `images`.
pub(crate) fn images(
    context: &Context<'_>,
    config: &Config,
    entry: &ImageEntry,
    resources: &mut [Resource],
) -> Result<(), Error> {
    context.charge(resources.len())?;
    let pattern = format!(
        "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{{}}-]*)?$",
        entry.name
    );
    // A name that is no pattern matches nothing.
    let Ok(pattern) = Regex::compile(&pattern) else { return Ok(()) };
    for resource in resources {
        if resource.top("kind").as_bytes() == b"CustomResourceDefinition" {
            continue;
        }
        let mut changed = Vec::new();
        anywhere(&mut resource.value, &ValuePath::root(), &mut |value, path| {
            set_image(entry, &pattern, value, path, &mut changed)
        })
        .map_err(|error| Error::new(format!("{}: {error}", short(&resource.id()))))?;
        for spec in config.of(Purpose::Images) {
            visit(resource, spec, Missing::Skip, &mut |value, path| {
                set_image(entry, &pattern, value, path, &mut changed)
            })?;
        }
        for path in changed {
            resource.changed(path, ChangeKind::Image, &entry.place);
        }
    }
    Ok(())
}

type SetImage<'s> = dyn FnMut(&mut Value, &ValuePath) -> Result<(), String> + 's;

/// Visits the images of all containers and init containers, wherever they are.
fn anywhere(value: &mut Value, path: &ValuePath, set: &mut SetImage<'_>) -> Result<(), String> {
    match value {
        Value::Map(map) => {
            for (key, field) in map.iter_mut() {
                let inner = path.key(key.clone());
                anywhere(field, &inner, set)?;
                let Value::List(items) = field else { continue };
                if !matches!(key.as_bytes(), b"containers" | b"initContainers") {
                    continue;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    match item {
                        Value::Map(map) => {
                            if let Some(image) = map.get_mut("image") {
                                set(image, &inner.index(index).key("image"))?;
                            }
                        }
                        item if item.is_null() => {}
                        other => {
                            return Err(format!(
                                "wrong node kind: expected map but got {}",
                                other.kind_name()
                            ));
                        }
                    }
                }
            }
            Ok(())
        }
        Value::List(items) => {
            items.iter_mut().enumerate().try_for_each(|(index, item)| anywhere(item, &path.index(index), set))
        }
        Value::Scalar(_) => Ok(()),
    }
}

fn set_image(
    entry: &ImageEntry,
    pattern: &Regex,
    value: &mut Value,
    path: &ValuePath,
    changed: &mut Vec<ValuePath>,
) -> Result<(), String> {
    let scalar = match value {
        Value::Scalar(scalar) => scalar,
        other => return Err(format!("wrong node kind: expected scalar but got {}", other.kind_name())),
    };
    if scalar.tag == Tag::Null && scalar.text.is_empty() || !pattern.is_match(scalar.text.as_bytes()) {
        return Ok(());
    }
    let text = scalar.text.to_str_lossy().into_owned();
    let new = new_image(entry, &text);
    if new != text {
        changed.push(path.clone());
    }
    scalar.set(new);
    Ok(())
}

fn new_image(entry: &ImageEntry, old: &str) -> String {
    let (name, mut tag, mut digest) = split_image(old);
    let name = if entry.new_name.is_empty() { name } else { &entry.new_name };
    match (entry.new_tag.is_empty(), entry.digest.is_empty()) {
        (false, false) => (tag, digest) = (entry.new_tag.clone(), entry.digest.clone()),
        (false, true) => (tag, digest) = (entry.new_tag.clone(), String::new()),
        (true, false) => (tag, digest) = (String::new(), entry.digest.clone()),
        (true, true) if !entry.tag_suffix.is_empty() => {
            tag.push_str(&entry.tag_suffix);
            digest.clear();
        }
        (true, true) => {}
    }
    let mut new = name.to_owned();
    if !tag.is_empty() {
        new = format!("{new}:{tag}");
    }
    if !digest.is_empty() {
        new = format!("{new}@{digest}");
    }
    new
}

/// Splits an image into name, tag and digest. A colon before the first slash belongs to the registry.
fn split_image(image: &str) -> (&str, String, String) {
    let start = image.find('/').unwrap_or(0);
    let after = |letter| image[start..].find(letter).map(|at| start + at);
    match (after(':'), after('@')) {
        (None, None) => (image, String::new(), String::new()),
        (Some(colon), Some(at)) if colon < at => {
            (&image[..colon], image[colon + 1..at].to_owned(), image[at + 1..].to_owned())
        }
        (_, Some(at)) => (&image[..at], String::new(), image[at + 1..].to_owned()),
        (Some(colon), None) => (&image[..colon], image[colon + 1..].to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(new_name: &str, new_tag: &str, digest: &str, tag_suffix: &str) -> ImageEntry {
        ImageEntry {
            name: "x".to_owned(),
            new_name: new_name.to_owned(),
            new_tag: new_tag.to_owned(),
            tag_suffix: tag_suffix.to_owned(),
            digest: digest.to_owned(),
            place: Place { file: "f".into(), line: 1 },
        }
    }

    #[test]
    fn images_get_new_names_tags_and_digests() {
        for (image, new, expected) in [
            ("a", entry("b", "", "", ""), "b"),
            ("r:5000/a:1", entry("", "2", "", ""), "r:5000/a:2"),
            ("a:1@sha256:x", entry("", "2", "", ""), "a:2"),
            ("a:1", entry("", "", "sha256:y", ""), "a@sha256:y"),
            ("a:1@sha256:x", entry("", "2", "sha256:y", ""), "a:2@sha256:y"),
            ("a:1@sha256:x", entry("", "", "", "-s"), "a:1-s"),
            ("a@sha256:x", entry("b", "", "", ""), "b@sha256:x"),
        ] {
            assert_eq!(new_image(&new, image), expected, "{image}");
        }
    }
}
