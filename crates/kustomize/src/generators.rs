//! `configMapGenerator` and `secretGenerator`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::{Map, Str};

use crate::context::{Context, Location};
use crate::error::Error;
use crate::id::short;
use crate::kustomization::GeneratorEntry;
use crate::object::{ChangeKind, Place};
use crate::resource::{Behavior, Resource};
use crate::source::Document;
use crate::value::{Scalar, Value};

/// The characters of a line of base64 in kustomize's Secrets.
const LINE: usize = 70;

/// Makes the object of a generator.
pub(crate) fn generate(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &GeneratorEntry,
) -> Result<Resource, Error> {
    generate_at(context, location, entry).map_err(|error| error.at(&entry.place.file, Some(entry.place.line)))
}

fn generate_at(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &GeneratorEntry,
) -> Result<Resource, Error> {
    if entry.name.is_empty() {
        return Err(Error::new("a configmap must have a name"));
    }
    let mut object = Map::new();
    object.insert("apiVersion".into(), Value::string("v1"));
    object.insert("kind".into(), Value::string(if entry.is_secret { "Secret" } else { "ConfigMap" }));
    let mut metadata = Map::new();
    metadata.insert("name".into(), Value::string(entry.name.as_str()));
    if !entry.namespace.is_empty() {
        metadata.insert("namespace".into(), Value::string(entry.namespace.as_str()));
    }
    for (field, texts) in [("labels", &entry.options.labels), ("annotations", &entry.options.annotations)] {
        if !texts.is_empty() {
            let texts = texts.iter().map(|(key, text)| (key.clone(), Value::string(text.clone())));
            metadata.insert(field.into(), Value::Map(texts.collect()));
        }
    }
    object.insert("metadata".into(), Value::Map(metadata));
    if entry.is_secret {
        let kind = if entry.secret_type.is_empty() { "Opaque" } else { &entry.secret_type };
        object.insert("type".into(), Value::string(kind));
    }
    let pairs = load_pairs(context, location, entry)?;
    if entry.is_secret {
        let data = pairs.into_iter().map(|(key, text)| (key, Value::string(encode(&text)))).collect();
        object.insert("data".into(), Value::Map(data));
    } else {
        set_data(&mut object, pairs);
    }
    if entry.options.immutable {
        object.insert("immutable".into(), Value::Scalar(Scalar::resolved("true")));
    }
    let document = Document::fixed(entry.place.file.clone(), entry.place.line);
    let mut resource = Resource::new(Value::Map(object), document);
    resource.needs_hash = !entry.options.disable_name_suffix_hash;
    resource.behavior = entry.behavior;
    Ok(resource)
}

/// Text goes to `data`, anything else to `binaryData`.
fn set_data(object: &mut Map<Value>, pairs: Vec<(Str, Vec<u8>)>) {
    for (key, bytes) in pairs {
        let (field, value) = match String::from_utf8(bytes) {
            Ok(text) => ("data", Value::string(text)),
            Err(error) => ("binaryData", Value::string(encode(error.as_bytes()))),
        };
        let data = object.entry_or_insert_with(&field.into(), Value::empty_map);
        if let Some(data) = data.as_map_mut() {
            data.insert(key, value);
        }
    }
}

/// Base64 in lines, if it is longer than one.
fn encode(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    if text.len() < LINE {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / LINE + 1);
    for line in text.as_bytes().chunks(LINE) {
        lines.extend(line.iter().map(|&byte| char::from(byte)));
        lines.push('\n');
    }
    lines
}

fn load_pairs(
    context: &Context<'_>,
    location: &Location<'_>,
    entry: &GeneratorEntry,
) -> Result<Vec<(Str, Vec<u8>)>, Error> {
    let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
    for path in &entry.envs {
        let loaded = context.load(location, path, &entry.place)?;
        pairs.extend(read_env(&loaded.text).map_err(|error| Error::new(format!("{path}: {error}")))?);
    }
    for literal in &entry.literals {
        let (key, text) = literal
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| Error::new(format!("invalid literal source {literal}, expected key=value")))?;
        pairs.push((key.to_owned(), without_quotes(text).as_bytes().to_vec()));
    }
    for source in &entry.files {
        let (key, path) = split_file(source).map_err(Error::new)?;
        let loaded = context.load(location, path, &entry.place)?;
        pairs.push((key.to_owned(), loaded.text.to_vec()));
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some((key, _)) = pairs.iter().find(|(key, _)| !seen.insert(key.clone())) {
        return Err(Error::new(format!("configmap {} illegally repeats the key `{key}`", entry.name)));
    }
    Ok(pairs.into_iter().map(|(key, bytes)| (key.into(), bytes)).collect())
}

/// Removes quotes around a text.
fn without_quotes(text: &str) -> &str {
    let quoted = |quote| text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote);
    if quoted('"') || quoted('\'') { &text[1..text.len() - 1] } else { text }
}

/// Splits `key=path`; without a key it is the name of the file.
fn split_file(source: &str) -> Result<(&str, &str), String> {
    match source.split_once('=') {
        None => Ok((source.rsplit('/').find(|name| !name.is_empty()).unwrap_or(source), source)),
        Some(("", path)) => Err(format!("missing key name for file path {path:?} in source {source:?}")),
        Some((key, "")) => Err(format!("missing file path for key name {key:?} in source {source:?}")),
        Some((_, path)) if path.contains('=') => {
            Err(format!("source {source:?} key name or file path contains '='"))
        }
        Some(pair) => Ok(pair),
    }
}

/// The lines of an env file. Without `=` the value is empty.
fn read_env(text: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "the file is not UTF-8".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut pairs = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line).trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        pairs.push((key.to_owned(), value.as_bytes().to_vec()));
    }
    Ok(pairs)
}

/// Adds a generated object to those that are there, or merges it into one.
pub(crate) fn absorb(resources: &mut Vec<Resource>, mut new: Resource) -> Result<(), Error> {
    let id = new.id();
    let key = id.key();
    let place = new.origin.clone();
    let fail = |message: String| Err(Error::new(message).at(&place.file, Some(place.line)));
    let matching: Vec<usize> = resources
        .iter()
        .enumerate()
        .filter(|(_, resource)| resource.all_ids().any(|id| id.key() == key))
        .map(|(at, _)| at)
        .collect();
    match (matching.as_slice(), new.behavior) {
        ([], Behavior::Create) => {
            resources.push(new);
            Ok(())
        }
        ([], _) => fail(format!("{} does not exist; cannot merge or replace", short(&id))),
        ([_], Behavior::Create) => fail(format!("{} exists; behavior must be merge or replace", short(&id))),
        ([at], behavior) => {
            let old = resources[*at].clone();
            merge_metadata(&mut new, &old);
            if behavior == Behavior::Merge {
                merge_data(&mut new, &old);
            }
            for path in crate::difference::differences(&old.value, &new.value) {
                new.changes.push(crate::object::Change {
                    path,
                    kind: ChangeKind::Generator,
                    place: place.clone(),
                });
            }
            resources[*at] = new;
            Ok(())
        }
        _ => fail(format!("found multiple objects that could accept merge of {}", short(&id))),
    }
}

/// What is known about the old object stays, and its metadata unless the new one has its own.
fn merge_metadata(new: &mut Resource, old: &Resource) {
    for field in ["labels", "annotations"] {
        let mut texts = old.texts(field);
        for (key, text) in new.texts(field) {
            match texts.iter_mut().find(|(old, _)| *old == key) {
                Some(entry) => entry.1 = text,
                None => texts.push((key, text)),
            }
        }
        new.set_texts(field, texts);
    }
    let (name, namespace) = (old.name(), old.namespace());
    new.set_name(&name);
    new.set_namespace(&namespace);
    new.previous.clone_from(&old.previous);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    // Both have to want the hash.
    new.needs_hash &= old.needs_hash;
    new.behavior = old.behavior;
    new.origin = Place { ..old.origin.clone() };
    new.source.clone_from(&old.source);
    new.changes.clone_from(&old.changes);
}

/// The data of both; the new one wins.
fn merge_data(new: &mut Resource, old: &Resource) {
    let mut old_value = old.value.clone();
    if new.top("kind").as_bytes() == b"Secret" {
        encode_string_data(&mut old_value);
    }
    for field in ["data", "binaryData"] {
        let mut merged: Map<Value> = Map::new();
        for value in [&old_value, &new.value] {
            let entries = value.get(field).and_then(Value::as_map).into_iter().flat_map(Map::iter);
            for (key, value) in entries {
                merged.insert(key.clone(), value.clone());
            }
        }
        let Some(map) = new.value.as_map_mut() else { return };
        map.remove(field);
        for (key, value) in merged {
            let target = if field == "data" { "data" } else { field };
            let data = map.entry_or_insert_with(&target.into(), Value::empty_map);
            if let Some(data) = data.as_map_mut() {
                data.insert(key, Value::string(value.text()));
            }
        }
    }
}

/// Moves `stringData` of a Secret to its data, as the API server does.
fn encode_string_data(value: &mut Value) {
    let Some(map) = value.as_map_mut() else { return };
    let Some(Value::Map(strings)) = map.remove("stringData") else { return };
    let data = map.entry_or_insert_with(&"data".into(), Value::empty_map);
    if data.is_null() {
        *data = Value::empty_map();
    }
    if let Some(data) = data.as_map_mut() {
        for (key, text) in strings {
            data.insert(key, Value::string(encode(text.text().as_bytes())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_is_written_in_lines() {
        assert_eq!(encode(b"abc"), "YWJj");
        let long = encode(&[b'x'; 60]);
        assert_eq!(long.lines().map(str::len).collect::<Vec<_>>(), [70, 10]);
        assert!(long.ends_with('\n'));
    }

    #[test]
    fn env_files_may_have_comments_and_keys_without_values() {
        let pairs = read_env("\u{feff}A=1\r\n# c\n  B\n\nC=x=y \n".as_bytes()).expect("pairs");
        let shown: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{key}:{}", String::from_utf8_lossy(value))).collect();
        assert_eq!(shown, ["A:1", "B:", "C:x=y "]);
    }

    #[test]
    fn files_have_the_key_that_is_given_or_their_name() {
        assert_eq!(split_file("a/b.txt"), Ok(("b.txt", "a/b.txt")));
        assert_eq!(split_file("k=a/b.txt"), Ok(("k", "a/b.txt")));
        assert!(split_file("=a").is_err() && split_file("k=").is_err() && split_file("a=b=c").is_err());
    }
}
