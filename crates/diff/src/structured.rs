//! Changes by field: the format `structured`.

use std::io::{self, Write};

use pintle_tree::json::{self, Layout, Writer};
use pintle_tree::{Map, Node, Sink, Walk};

use crate::head::is_blank;
use crate::manifest::Object;
use crate::output::Summary;
use crate::report::{Change, Report};

/// An object of the structured format.
#[derive(Clone, Debug, Default)]
pub(crate) struct StructuredEntry {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
    change: &'static str,
    old_exists: bool,
    new_exists: bool,
    pub(crate) changes: Vec<FieldChange>,
    suppressed: bool,
}

/// What happens to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldChangeKind {
    /// It is new.
    Add,
    /// It disappears.
    Remove,
    /// Its value changes.
    Replace,
}

impl FieldChangeKind {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            FieldChangeKind::Add => "add",
            FieldChangeKind::Remove => "remove",
            FieldChangeKind::Replace => "replace",
        }
    }
}

/// The change of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The path of the map or list that holds the field, such as `spec.template.spec.containers[0]`.
    pub path: String,
    /// The field: a key or an index.
    pub field: String,
    /// What happens to it.
    pub kind: FieldChangeKind,
    /// The old value; nil if there was none.
    pub old: Node,
    /// The new value; nil if there is none.
    pub new: Node,
}

/// Builds the entry of an object; the error says why the fields cannot be compared.
pub(crate) fn entry(
    key: &str,
    change: Change,
    suppressed: bool,
    old: Option<&Object<'_>>,
    new: Option<&Object<'_>>,
) -> Result<StructuredEntry, String> {
    let exists = |object: Option<&Object<'_>>| object.is_some_and(|object| !is_blank(&object.content));
    let mut entry = StructuredEntry {
        change: change.name(),
        old_exists: exists(old),
        new_exists: exists(new),
        suppressed,
        ..StructuredEntry::default()
    };
    let old = read(old).map_err(|error| format!("convert old manifest: {error}"))?;
    let new = read(new).map_err(|error| format!("convert new manifest: {error}"))?;
    entry.describe(key, &[&old, &new]);
    if let (false, Change::Modify, Some(old), Some(new)) = (suppressed, change, &old, &new) {
        entry.changes = field_changes(&Node::Map(old.clone()), &Node::Map(new.clone()))?;
    }
    Ok(entry)
}

/// The message of the YAML library alone: helm-diff does not go through the conversion that has this prefix.
fn message(error: &str) -> String {
    error.trim_start_matches("error converting YAML to JSON: ").to_owned()
}

/// Reads an object; `None` if there is none.
fn read(object: Option<&Object<'_>>) -> Result<Option<Map<Node>>, String> {
    let Some(object) = object.filter(|object| !is_blank(&object.content)) else { return Ok(None) };
    match pintle_yaml::read(&object.content).map_err(|error| message(&error.to_string()))? {
        Node::Nil => Ok(None),
        Node::Map(map) => Ok(Some(map)),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            other.json_type()
        )),
    }
}

impl StructuredEntry {
    fn describe(&mut self, key: &str, objects: &[&Option<Map<Node>>]) {
        let text = |node: Option<&Node>| {
            node.and_then(Node::as_text).map(|text| text.to_str_lossy().into_owned()).unwrap_or_default()
        };
        let set = |target: &mut String, value: String| {
            if target.is_empty() {
                *target = value;
            }
        };
        for object in objects.iter().copied().flatten() {
            set(&mut self.api_version, text(object.get("apiVersion")));
            set(&mut self.kind, text(object.get("kind")));
            let metadata = object.get("metadata");
            set(&mut self.name, text(metadata.and_then(|metadata| metadata.get("name"))));
            set(&mut self.namespace, text(metadata.and_then(|metadata| metadata.get("namespace"))));
        }
        if let Some(summary) = Summary::from_key(key) {
            set(&mut self.kind, summary.kind);
            set(&mut self.name, summary.name);
            set(&mut self.namespace, summary.namespace);
            // From the key only the group is known, without a version.
            set(&mut self.api_version, summary.api);
        }
    }
}

/// The fields in which two trees differ, in the order and with the limits of helm-diff, which walks a JSON merge patch.
///
/// # Errors
/// When items of lists cannot be compared: lists of lists of different lengths, and items of different types.
pub fn field_changes(old: &Node, new: &Node) -> Result<Vec<FieldChange>, String> {
    let mut changes = Vec::new();
    if let Some(patch) = merge_patch(old, new)? {
        Walker { changes: &mut changes }.walk(&mut Vec::new(), &patch, Some(old), Some(new))?;
    }
    Ok(changes)
}

const BAD_DOCUMENT: &str = "invalid JSON Document";

/// The JSON merge patch between two objects, or two lists of as many objects. `None` if there is nothing to do.
fn merge_patch(old: &Node, new: &Node) -> Result<Option<Node>, String> {
    match (old, new) {
        (Node::List(old), Node::List(new)) => {
            if old.len() != new.len() {
                return Err(BAD_DOCUMENT.to_owned());
            }
            let patches: Result<Vec<Node>, String> =
                old.iter().zip(new).map(|(old, new)| object_patch(old, new).map(Node::Map)).collect();
            patches.map(|patches| Some(Node::List(patches)))
        }
        (Node::List(_), _) | (_, Node::List(_)) => Err("Mismatched JSON Documents".to_owned()),
        _ => {
            let patch = object_patch(old, new)?;
            Ok((!patch.is_empty()).then_some(Node::Map(patch)))
        }
    }
}

fn object_patch(old: &Node, new: &Node) -> Result<Map<Node>, String> {
    static EMPTY: Map<Node> = Map::new();
    fn map(node: &Node) -> Result<&Map<Node>, String> {
        match node {
            Node::Map(map) => Ok(map),
            Node::Nil => Ok(&EMPTY),
            // The messages of evanphx/json-patch, from which helm-diff has its merge patches.
            _ => Err(BAD_DOCUMENT.to_owned()),
        }
    }
    Ok(difference(map(old)?, map(new)?))
}

/// What to set in `old` to get `new`; nil stands for what to remove.
fn difference(old: &Map<Node>, new: &Map<Node>) -> Map<Node> {
    let mut patch = Map::new();
    for (key, value) in new.iter() {
        match (old.get(key), value) {
            (Some(Node::Map(before)), Node::Map(after)) => {
                let inner = difference(before, after);
                if !inner.is_empty() {
                    patch.insert(key.clone(), Node::Map(inner));
                }
            }
            (Some(before), after) if before == after => {}
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(key)) {
        patch.insert(key.clone(), Node::Nil);
    }
    patch
}

struct Walker<'c> {
    changes: &'c mut Vec<FieldChange>,
}

impl Walker<'_> {
    fn walk(
        &mut self,
        tokens: &mut Vec<String>,
        patch: &Node,
        old: Option<&Node>,
        new: Option<&Node>,
    ) -> Result<(), String> {
        let old = old.filter(|node| !node.is_nil());
        let new = new.filter(|node| !node.is_nil());
        match patch {
            Node::Map(fields) => {
                for (key, patch) in fields.iter() {
                    tokens.push(key.to_str_lossy().into_owned());
                    let child = |node: Option<&'_ Node>| node.and_then(|node| node.get(key)).cloned();
                    let (old, new) = (child(old), child(new));
                    self.walk(tokens, patch, old.as_ref(), new.as_ref())?;
                    tokens.pop();
                }
                Ok(())
            }
            Node::List(_) => self.walk_list(tokens, old, new),
            Node::Nil => {
                self.note(tokens, FieldChangeKind::Remove, old, None);
                Ok(())
            }
            _ => {
                match old {
                    None => self.note(tokens, FieldChangeKind::Add, None, new),
                    Some(before) if Some(before) == new => {}
                    Some(_) => self.note(tokens, FieldChangeKind::Replace, old, new),
                }
                Ok(())
            }
        }
    }

    fn walk_list(
        &mut self,
        tokens: &mut Vec<String>,
        old: Option<&Node>,
        new: Option<&Node>,
    ) -> Result<(), String> {
        let items = |node: Option<&Node>| node.and_then(Node::as_list).unwrap_or_default().to_vec();
        let (old, new) = (items(old), items(new));
        for index in 0..old.len().max(new.len()) {
            let item = |items: &[Node]| items.get(index).filter(|item| !item.is_nil()).cloned();
            tokens.push(index.to_string());
            match (item(&old), item(&new)) {
                (Some(before), Some(after)) => self.compare_items(tokens, &before, &after)?,
                (Some(before), None) => self.note(tokens, FieldChangeKind::Remove, Some(&before), None),
                (None, Some(after)) => self.note(tokens, FieldChangeKind::Add, None, Some(&after)),
                (None, None) => {}
            }
            tokens.pop();
        }
        Ok(())
    }

    fn compare_items(&mut self, tokens: &mut Vec<String>, old: &Node, new: &Node) -> Result<(), String> {
        if old == new {
            return Ok(());
        }
        let is_scalar = |node: &Node| !matches!(node, Node::Map(_) | Node::List(_));
        let patch = if is_scalar(old) && is_scalar(new) { None } else { merge_patch(old, new)? };
        match patch {
            None => {
                self.note(tokens, FieldChangeKind::Replace, Some(old), Some(new));
                Ok(())
            }
            Some(patch) => self.walk(tokens, &patch, Some(old), Some(new)),
        }
    }

    fn note(&mut self, tokens: &[String], kind: FieldChangeKind, old: Option<&Node>, new: Option<&Node>) {
        let (field, path) = match tokens.split_last() {
            Some((field, path)) => (field.clone(), format_path(path)),
            None => (String::new(), String::new()),
        };
        let (old, new) = (old.cloned().unwrap_or_default(), new.cloned().unwrap_or_default());
        self.changes.push(FieldChange { path, field, kind, old, new });
    }
}

/// Joins fields with dots, and puts indexes into brackets.
fn format_path(tokens: &[String]) -> String {
    let mut path = String::new();
    for token in tokens.iter().filter(|token| !token.is_empty()) {
        // Keys that consist of digits are shown as indexes, too: in a JSON pointer they look alike.
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{token}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(token);
        }
    }
    path
}

impl Report<'_> {
    /// Writes the changed fields of all objects as JSON.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_structured(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = Writer::new(Layout::Indented { prefix: "", step: "  " }, true);
        self.walk_structured(&mut writer).map_err(io::Error::other)?;
        out.write_all(&writer.into_bytes())?;
        out.write_all(b"\n")
    }

    fn walk_structured(&self, writer: &mut Writer<'_>) -> Result<(), json::Error> {
        writer.begin_list(self.entries.len())?;
        for entry in &self.entries {
            match &entry.structured {
                Some(structured) => structured.walk(writer)?,
                None => {
                    let name = entry.key.clone();
                    StructuredEntry { name, change: entry.change.name(), ..StructuredEntry::default() }
                        .walk(writer)?;
                }
            }
        }
        writer.end_list()
    }
}

impl Walk for StructuredEntry {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.begin_fields(8)?;
        text(sink, "apiVersion", &self.api_version)?;
        text(sink, "kind", &self.kind)?;
        text(sink, "namespace", &self.namespace)?;
        text(sink, "name", &self.name)?;
        text(sink, "changeType", self.change)?;
        sink.key(b"resourceStatus")?;
        sink.begin_fields(2)?;
        sink.key(b"oldExists")?;
        sink.bool(self.old_exists)?;
        sink.key(b"newExists")?;
        sink.bool(self.new_exists)?;
        sink.end_map()?;
        if !self.changes.is_empty() {
            sink.key(b"changes")?;
            sink.begin_list(self.changes.len())?;
            for change in &self.changes {
                change.walk(sink)?;
            }
            sink.end_list()?;
        }
        if self.suppressed {
            sink.key(b"changesSuppressed")?;
            sink.bool(true)?;
        }
        sink.end_map()
    }
}

impl Walk for FieldChange {
    fn walk<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.begin_fields(5)?;
        text(sink, "path", &self.path)?;
        text(sink, "field", &self.field)?;
        text(sink, "change", self.kind.name())?;
        for (key, value) in [("oldValue", &self.old), ("newValue", &self.new)] {
            if !value.is_nil() {
                sink.key(key.as_bytes())?;
                value.walk(sink)?;
            }
        }
        sink.end_map()
    }
}

/// Writes a field unless it is empty.
fn text<S: Sink>(sink: &mut S, key: &str, text: &str) -> Result<(), S::Error> {
    if text.is_empty() {
        return Ok(());
    }
    sink.key(key.as_bytes())?;
    sink.str(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(old: &str, new: &str) -> Result<Vec<String>, String> {
        let read = |text: &str| pintle_yaml::read(text.as_bytes()).expect("good YAML");
        let show = |change: FieldChange| {
            let value = |node: &Node| String::from_utf8(json::write(node).expect("JSON")).expect("text");
            format!(
                "{} {}.{} {} {}",
                change.kind.name(),
                change.path,
                change.field,
                value(&change.old),
                value(&change.new)
            )
        };
        Ok(field_changes(&read(old), &read(new))?.into_iter().map(show).collect())
    }

    #[test]
    fn fields_are_compared_by_path() {
        assert_eq!(
            changes(
                "{a: {b: 1, c: 2}, l: [{k: x, v: 1}, {k: z}], s: [1, 2]}",
                "{a: {b: 1, c: 3, e: {f: g}}, l: [{k: x, v: 2}], s: [1, 3, 4]}"
            )
            .expect("comparable"),
            [
                "replace a.c 2 3",
                "add a.e.f null \"g\"",
                "replace l[0].v 1 2",
                "remove l.1 {\"k\":\"z\"} null",
                "replace s.1 2 3",
                "add s.2 null 4"
            ]
        );
    }

    #[test]
    fn items_of_different_types_cannot_be_compared() {
        assert_eq!(changes("{l: [{a: 1}]}", "{l: [x]}"), Err(BAD_DOCUMENT.to_owned()));
        assert_eq!(changes("{l: [[1]]}", "{l: [[1, 2]]}"), Err(BAD_DOCUMENT.to_owned()));
    }
}
