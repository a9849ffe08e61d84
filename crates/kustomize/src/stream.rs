//! Texts with objects, split and checked as kustomize does.

use std::borrow::Cow;
use std::sync::Arc;

use pintle_tree::{Segment, ValuePath};

use crate::error::Error;
use crate::resource::Resource;
use crate::source::{Document, Position};
use crate::value::{self, Value};

/// The objects of a text, each with its document.
pub(crate) fn read_objects(
    file: &Arc<str>,
    text: &Arc<[u8]>,
    position: Position,
) -> Result<Vec<Resource>, Error> {
    let malformed = |error: String, line| Error::new(error).at(file, line);
    // Carriage returns before line feeds go; lines stay what they are.
    let text: Arc<[u8]> = match without_returns(text) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(text) => text.into(),
    };
    let ranges = split(&text).map_err(|(error, line)| malformed(error, Some(in_file(position, line))))?;
    let single = ranges.len() == 1;
    let mut found = Vec::new();
    let (mut counted, mut before) = (0, 0);
    for range in ranges {
        before += text[counted..range.start].iter().filter(|&&byte| byte == b'\n').count();
        counted = range.start;
        let first = 1 + before;
        let value = value::read(&text[range.clone()]).map_err(|error| {
            let line = first + error.line.map_or(0, |line| line.saturating_sub(1));
            malformed(error.message, Some(in_file(position, line)))
        })?;
        if value.is_null() {
            continue;
        }
        let document = Document::new(file.clone(), text.clone(), range).after(before).at(position);
        expand(value, document, single, &mut found);
    }
    let mut objects = Vec::with_capacity(found.len());
    for (value, document) in found {
        check(value, document, &mut objects)?;
    }
    Ok(expand_lists(objects))
}

/// The line in the file of a line of a text.
fn in_file(position: Position, line: usize) -> usize {
    match position {
        Position::Whole => line,
        Position::After(lines) => lines + line,
        Position::Line(fixed) => fixed,
    }
}

/// A list that is the only document is replaced by its items at once.
fn expand(value: Value, document: Document, single: bool, found: &mut Vec<(Value, Document)>) {
    let kind = value.get("kind").map(Value::text).unwrap_or_default();
    let unwraps = single && (kind.as_bytes() == b"List" || kind.as_bytes() == b"ResourceList");
    match value {
        Value::Map(mut map) if unwraps && map.contains_key("items") => {
            if let Some(Value::List(items)) = map.remove("items") {
                for (index, item) in items.into_iter().enumerate() {
                    found.push((item, document.inside(item_path(index))));
                }
            }
        }
        value => found.push((value, document)),
    }
}

fn item_path(index: usize) -> ValuePath {
    ValuePath::root().key("items").with(Segment::Index(index))
}

fn check(value: Value, document: Document, objects: &mut Vec<Resource>) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    let problem = |message: &str, document: &Document| {
        Error::new(message).at(&document.file, Some(document.first_line()))
    };
    if value.as_map().is_none() {
        return Err(problem(&format!("an object is a map, not a {}", value.kind_name()), &document));
    }
    let kind = value.get("kind").map(Value::text).unwrap_or_default();
    if kind.is_empty() {
        return Err(problem("missing kind in object", &document));
    }
    let name = value.get("metadata").and_then(|metadata| metadata.get("name"));
    let named = name.is_some_and(|name| !name.is_empty() && !name.text().is_empty());
    if !named && !kind.as_bytes().ends_with(b"List") {
        return Err(problem(&format!("missing metadata.name in object of kind {kind}"), &document));
    }
    objects.push(Resource::new(value, document));
    Ok(())
}

/// Replaces lists by their items, which go to the end as kustomize puts them there.
fn expand_lists(objects: Vec<Resource>) -> Vec<Resource> {
    let mut queue: std::collections::VecDeque<Resource> = objects.into();
    let mut expanded = Vec::with_capacity(queue.len());
    while let Some(mut object) = queue.pop_front() {
        let is_list = object.top("kind").as_bytes().ends_with(b"List");
        let items = object.value.as_map_mut().filter(|_| is_list).and_then(|map| map.remove("items"));
        match items {
            None => expanded.push(object),
            Some(Value::List(items)) => {
                for (index, item) in items.into_iter().enumerate().filter(|(_, item)| !item.is_empty()) {
                    let document = object.source.as_ref().map(|source| source.inside(item_path(index)));
                    queue.extend(document.map(|document| Resource::new(item, document)));
                }
            }
            Some(_) => {}
        }
    }
    expanded
}

fn without_returns(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.windows(2).any(|pair| pair == b"\r\n") {
        return Cow::Borrowed(text);
    }
    let mut clean = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            clean.push(byte);
        }
    }
    Cow::Owned(clean)
}

/// The documents between lines that begin with `---`; only a comment may follow on such a line.
fn split(text: &[u8]) -> Result<Vec<std::ops::Range<usize>>, (String, usize)> {
    let mut ranges = Vec::new();
    let (mut start, mut line_start, mut line) = (0, 0, 1);
    while line_start < text.len() {
        let end = text[line_start..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(text.len(), |at| line_start + at);
        let content = &text[line_start..end];
        // The first line is no separator, and neither is the last without a line break.
        if line_start > 0 && end < text.len() && content.starts_with(b"---") {
            let after = content[3..].trim_ascii();
            if !after.is_empty() && !after.starts_with(b"#") {
                let shown = String::from_utf8_lossy(content.trim_ascii()).into_owned();
                return Err((format!("invalid document separator: {shown}"), line));
            }
            ranges.push(start..line_start);
            start = end + 1;
        }
        line_start = end + 1;
        line += 1;
    }
    if !text.is_empty() {
        ranges.push(start.min(text.len())..text.len());
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let objects =
            read_objects(&"f".into(), &Arc::from(text.as_bytes()), Position::Whole).expect("objects");
        objects.iter().map(|object| format!("{}:{}", object.name(), object.origin.line)).collect()
    }

    #[test]
    fn documents_and_lists_become_objects_with_their_lines() {
        let text = "---\n# c\nkind: A\nmetadata: {name: a}\n---\n---\nkind: XList\nitems:\n- {kind: B, metadata: {name: b}}\n- kind: C\n  metadata: {name: c}\n--- # d\nkind: D\nmetadata: {name: d}\n";
        assert_eq!(names(text), ["a:3", "d:13", "b:9", "c:10"]);
        assert_eq!(names("kind: List\nitems:\n- {kind: B, metadata: {name: b}}\n"), ["b:3"]);
    }

    #[test]
    fn what_is_no_object_is_an_error_with_its_line() {
        let problem = |text: &str| {
            let error = read_objects(&"f".into(), &Arc::from(text.as_bytes()), Position::Whole)
                .expect_err("no object");
            error.to_string()
        };
        assert_eq!(problem("a: 1\n---\nb: 2\n"), "f:1: missing kind in object");
        assert_eq!(problem("\nkind: A\n"), "f:2: missing metadata.name in object of kind A");
        assert_eq!(problem("kind: A\n--- b\nx: 1\n"), "f:2: invalid document separator: --- b");
        assert!(problem("a: [\n").starts_with("f:"));
    }
}
