//! An object while it is built.

use std::sync::Arc;

use pintle_tree::{Map, Str, ValuePath};

use crate::error::Error;
use crate::id::{Gvk, Id};
use crate::object::{Change, ChangeKind, Object, Place};
use crate::source::Document;
use crate::value::{Scalar, Value};

/// What a generated object does to one that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Behavior {
    #[default]
    Create,
    Merge,
    Replace,
}

/// A name that an object had.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Previous {
    pub(crate) namespace: Str,
    pub(crate) name: Str,
    pub(crate) kind: Str,
}

/// An object with what kustomize remembers about it.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) value: Value,
    pub(crate) origin: Place,
    pub(crate) source: Option<Arc<Document>>,
    pub(crate) changes: Vec<Change>,
    pub(crate) previous: Vec<Previous>,
    pub(crate) prefixes: Vec<Str>,
    pub(crate) suffixes: Vec<Str>,
    pub(crate) needs_hash: bool,
    pub(crate) behavior: Behavior,
    pub(crate) from_helm: bool,
}

impl Resource {
    pub(crate) fn new(value: Value, document: Document) -> Self {
        let origin = Place { file: document.file.clone(), line: document.first_line() };
        Resource {
            value,
            origin,
            source: Some(Arc::new(document)),
            changes: Vec::new(),
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            needs_hash: false,
            behavior: Behavior::Create,
            from_helm: false,
        }
    }

    /// The text of a field at the top.
    pub(crate) fn top(&self, field: &str) -> Str {
        self.value.get(field).map(Value::text).unwrap_or_default()
    }

    fn meta(&self, field: &str) -> Str {
        let value = self.value.get("metadata").and_then(|metadata| metadata.get(field));
        value.filter(|value| !value.is_empty()).map(Value::text).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> Str {
        self.meta("name")
    }

    pub(crate) fn namespace(&self) -> Str {
        self.meta("namespace")
    }

    pub(crate) fn gvk(&self) -> Gvk {
        Gvk::new(&self.top("apiVersion"), &self.top("kind"))
    }

    /// The id as it is now.
    pub(crate) fn id(&self) -> Id {
        Id::new(self.gvk(), self.name(), self.namespace())
    }

    /// The ids that it had.
    pub(crate) fn previous_ids(&self) -> impl Iterator<Item = Id> {
        let gvk = if self.previous.is_empty() { Gvk::default() } else { self.gvk() };
        self.previous.iter().map(move |previous| {
            let gvk = Gvk { kind: previous.kind.clone(), ..gvk.clone() };
            Id::new(gvk, previous.name.clone(), previous.namespace.clone())
        })
    }

    /// The first id that it had.
    pub(crate) fn original_id(&self) -> Id {
        self.previous_ids().next().unwrap_or_else(|| self.id())
    }

    /// The ids that it had and has.
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = Id> {
        self.previous_ids().chain(std::iter::once_with(|| self.id()))
    }

    /// Remembers the id before it changes.
    pub(crate) fn remember(&mut self) {
        let id = self.id();
        let namespace = id.effective_namespace();
        self.previous.push(Previous { namespace, name: id.name, kind: id.gvk.kind });
    }

    /// Sets the name as kustomize does, without a tag.
    pub(crate) fn set_name(&mut self, name: &Str) {
        if let Some(metadata) = self.value.map_at("metadata") {
            set_text(metadata, "name", name);
        }
    }

    pub(crate) fn set_namespace(&mut self, namespace: &Str) {
        let Some(metadata) = self.value.map_at("metadata") else { return };
        if namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            set_text(metadata, "namespace", namespace);
        }
    }

    pub(crate) fn set_kind(&mut self, kind: &Str) {
        if let Some(map) = self.value.as_map_mut() {
            set_text(map, "kind", kind);
        }
    }

    /// `labels` or `annotations` as texts.
    pub(crate) fn texts(&self, field: &str) -> Vec<(Str, Str)> {
        let map = self.value.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_map);
        map.into_iter().flat_map(Map::iter).map(|(key, value)| (key.clone(), value.text())).collect()
    }

    /// Sets `labels` or `annotations`; all values become strings, and an empty map is left out.
    pub(crate) fn set_texts(&mut self, field: &str, texts: Vec<(Str, Str)>) {
        let Some(metadata) = self.value.map_at("metadata") else { return };
        metadata.remove(field);
        if !texts.is_empty() {
            let entries = texts.into_iter().map(|(key, text)| (key, Value::string(text))).collect();
            metadata.insert(field.into(), Value::Map(entries));
        }
    }

    pub(crate) fn changed(&mut self, path: ValuePath, kind: ChangeKind, place: &Place) {
        self.changes.push(Change { path, kind, place: place.clone() });
    }

    /// The object as it is printed.
    pub(crate) fn finish(self) -> Result<Object, Error> {
        let node = self.value.to_node().map_err(|error| {
            Error::new(format!("{}: {error}", crate::id::short(&self.id())))
                .at(&self.origin.file, Some(self.origin.line))
        })?;
        Ok(Object { node, origin: self.origin, source: self.source, changes: self.changes })
    }
}

/// Sets a field of a map to a text without a tag. What was not there is written in quotes if it needs them.
fn set_text(map: &mut Map<Value>, field: &str, text: &Str) {
    match map.get_mut(field) {
        Some(Value::Scalar(scalar)) => scalar.set(text.clone()),
        Some(other) => *other = Value::Scalar(Scalar::resolved(text.clone())),
        None => drop(map.insert(field.into(), Value::string(text.clone()))),
    }
}
