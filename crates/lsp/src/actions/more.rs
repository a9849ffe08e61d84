//! Changes of single actions and blocks, and entries of schemas.

use std::ops::Range;

use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};

use super::Action;
use crate::analysis::Analysis;
use crate::outline::{Id, Outline};
use crate::project::{FileId, FileKind};
use crate::rename::Edits;
use crate::shape::{Segment, Shape};
use crate::thing::Thing;

/// An action that writes one selector, perhaps through functions.
struct Written {
    /// The commands of its pipeline.
    commands: Vec<NodeId>,
    /// The selector.
    selector: NodeId,
}

impl Analysis {
    /// The action at an offset, if it starts with a selector that is a value.
    fn written_at(&self, tree: &SyntaxTree, offset: usize) -> Option<Written> {
        let node = tree.node_at(offset);
        let action = tree.ancestors(node).find(|node| tree.kind(*node) == NodeKind::Action)?;
        let pipe = tree.child(action, NodeKind::Pipeline)?;
        let commands: Vec<NodeId> = tree.children(pipe).collect();
        let first = commands.first().filter(|first| tree.kind(**first) == NodeKind::Command)?;
        let words: Vec<NodeId> = tree.children(*first).collect();
        let [selector] = words.as_slice() else { return None };
        (tree.kind(*selector) == NodeKind::Selector).then_some(Written { commands, selector: *selector })
    }

    /// The path of the value that a selector reads, if it is one value.
    fn value_path(&self, file: FileId, selector: NodeId) -> Option<(u16, Vec<Segment>)> {
        match self.types_of(file, selector).shapes() {
            [Shape::Values(instance, path)] if !path.is_empty() => Some((*instance, path.to_vec())),
            _ => None,
        }
    }

    /// Has a chart fail with a message if a value is missing.
    pub(super) fn require(&self, file: FileId, offset: usize) -> Option<Action> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref()?;
        let Written { commands, selector } = self.written_at(tree, offset)?;
        let (_, path) = self.value_path(file, selector)?;
        if calls(tree, &commands, &["required", "default"]) {
            return None;
        }
        let shown = crate::values::path_text(&path).replace(['"', '\\'], "");
        let start = tree.range(selector).start;
        let edit = (start..start, format!("required \"{shown} must be set\" "));
        let edits = Edits::from([(file, vec![edit])]);
        Some(Action { title: "Require the value".to_owned(), kind: "refactor.rewrite", edits })
    }

    /// Gives a value that may be missing a default.
    pub(super) fn default(&self, file: FileId, offset: usize) -> Option<Action> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref()?;
        let Written { commands, selector } = self.written_at(tree, offset)?;
        let (instance, path) = self.value_path(file, selector)?;
        if calls(tree, &commands, &["required", "default"]) {
            return None;
        }
        let known = self.places(instance, &path).into_iter().find_map(|place| self.scalar_text(place));
        let literal = match known {
            Some(text) if is_literal(&text) => text,
            Some(text) if !text.contains(['"', '\\']) => format!("\"{}\"", text.trim_matches('\'')),
            _ => "\"\"".to_owned(),
        };
        let end = tree.range(selector).end;
        let edits = Edits::from([(file, vec![(end..end, format!(" | default {literal}"))])]);
        Some(Action { title: format!("Use {literal} as the default"), kind: "refactor.rewrite", edits })
    }

    /// `indent` behind blanks indents the first line twice; `{{- … | nindent` does not depend on where it stands. Offered where
    /// the text stays the same.
    pub(super) fn nindent(&self, file: FileId, offset: usize) -> Option<Action> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref()?;
        let node = tree.node_at(offset);
        let action = tree.ancestors(node).find(|node| tree.kind(*node) == NodeKind::Action)?;
        let pipe = tree.child(action, NodeKind::Pipeline)?;
        let last = tree.children(pipe).last()?;
        let word = tree.children(last).next().filter(|word| tree.text_of(*word) == b"indent")?;
        let range = tree.range(action);
        let line = text.lines.line_range(&text.text, text.lines.line(range.start));
        if !text.text[line.start..range.start].trim().is_empty() || line.start == 0 {
            return None;
        }
        let mut edits = vec![(tree.range(word), "nindent".to_owned())];
        if text.text[range.clone()].starts_with("{{-") {
            return None;
        }
        edits.push((range.start..range.start + 2, "{{-".to_owned()));
        if !text.text[range.start + 2..].starts_with(char::is_whitespace) {
            edits[1].1.push(' ');
        }
        let edits = Edits::from([(file, edits)]);
        self.prove(&edits).ok()?;
        Some(Action { title: "Use `nindent`".to_owned(), kind: "refactor.rewrite", edits })
    }

    /// A block becomes a definition and a call of it.
    pub(super) fn block_to_define(&self, file: FileId, offset: usize) -> Option<Action> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref()?;
        let around = tree.ancestors(tree.node_at(offset));
        let clause = around.into_iter().find(|node| tree.kind(*node) == NodeKind::Opening)?;
        let block = tree.parent(clause).filter(|block| tree.kind(*block) == NodeKind::Block)?;
        // Definitions are at the top of a file only.
        if tree.parent(block) != Some(NodeId::ROOT) || !tree.errors().is_empty() {
            return None;
        }
        let (inner, range) = (tree.inner_range(clause), tree.range(clause));
        let name = tree.range(tree.template_name(block)?);
        let context = text.text[name.end..inner.end].trim();
        let body = &text.text[range.end..tree.range(block).end];
        let (open, close) = (&text.text[range.start..inner.start], &text.text[inner.end..range.end]);
        let name = &text.text[name];
        let new = format!("{open} define {name} {close}{body}{{{{ template {name} {context} }}}}");
        let new = new.replace("{{  define", "{{ define").replace("{{-  define", "{{- define");
        let edits = Edits::from([(file, vec![(tree.range(block), new)])]);
        self.prove(&edits).ok()?;
        let title = "Split into `define` and `template`".to_owned();
        Some(Action { title, kind: "refactor.rewrite", edits })
    }

    /// Replaces a text of a line, as a finding proposes it.
    pub(crate) fn fix(&self, file: FileId, line: usize, from: &str, to: &str) -> Option<Action> {
        let text = &self.project.file(file).text;
        let range = text.lines.line_range(&text.text, line);
        let content = &text.text[range.clone()];
        let at =
            content.find(from).filter(|at| !from.is_empty() && !content[at + from.len()..].contains(from))?;
        let start = range.start + at;
        let edits = Edits::from([(file, vec![(start..start + from.len(), to.to_owned())])]);
        Some(Action { title: format!("Replace `{from}` with `{to}`"), kind: "quickfix", edits })
    }

    /// Adds a value to values.schema.json, with the type that it has.
    pub(super) fn add_to_schema(&self, file: FileId, offset: usize) -> Option<Action> {
        let source = self.project.file(file);
        if source.kind != FileKind::Values {
            return None;
        }
        let (_, Thing::Value { values, .. }) = self.thing_at(file, offset)? else { return None };
        let outline = source.text.outline.as_ref()?;
        let id = outline.at(offset)?;
        let keys: Vec<String> = outline.path(id).into_iter().collect::<Option<_>>()?;
        let (instance, path) = values.first()?;
        let known = self.schema_keys(*instance, &path[..path.len().checked_sub(1)?]);
        if known.iter().any(|(name, _)| Some(name) == keys.last()) {
            return None;
        }
        let schema = self.project.file_named(source.chart, "values.schema.json")?;
        let target = self.project.file(schema);
        target.path.as_ref()?;
        let kind = json_type(outline, id, &source.text.text);
        let edit = property(target.text.outline.as_ref()?, &target.text.text, &keys, kind)?;
        let edits = Edits::from([(schema, vec![edit])]);
        let title = format!("Add `{}` to values.schema.json", keys.join("."));
        Some(Action { title, kind: "quickfix", edits })
    }
}

/// Whether a pipeline calls one of some functions.
fn calls(tree: &SyntaxTree, commands: &[NodeId], names: &[&str]) -> bool {
    let first = |command: &NodeId| tree.children(*command).next().map(|word| tree.text_of(word));
    commands.iter().filter_map(first).any(|word| names.iter().any(|name| name.as_bytes() == word))
}

/// Whether a scalar of YAML is written in the same way in a template.
fn is_literal(text: &str) -> bool {
    let number = !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    let leading = text.len() > 1 && text.starts_with('0');
    number && !leading
        || matches!(text, "true" | "false")
        || text.len() > 1 && text.starts_with('"') && text.ends_with('"') && !text.contains('\\')
}

/// The type of a value, in the words of JSON schemas.
fn json_type(outline: &Outline, id: Id, text: &str) -> &'static str {
    if outline.is_list(id) {
        return "array";
    }
    if outline.is_map(id) || text[outline.node(id).value.clone()].starts_with('{') {
        return "object";
    }
    let value = &text[outline.node(id).value.clone()];
    match pintle_yaml::read(value.as_bytes()) {
        Ok(pintle_tree::Node::Bool(_)) => "boolean",
        Ok(node) if node.as_str().is_some() => "string",
        Ok(pintle_tree::Node::Nil) | Err(_) => "",
        Ok(_) if value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => "integer",
        Ok(_) => "number",
    }
}

/// The edit that adds a property to a schema, with those above it that are missing.
fn property(outline: &Outline, text: &str, keys: &[String], kind: &str) -> Option<(Range<usize>, String)> {
    let mut at = outline.documents().next()?;
    let mut depth = 0;
    let properties = |at: Id| outline.find(at, &[Some("properties")]).first().copied();
    while let Some(next) =
        keys.get(depth).and_then(|key| outline.find(properties(at)?, &[Some(key)]).first().copied())
    {
        (at, depth) = (next, depth + 1);
    }
    let missing = keys.get(depth..).filter(|missing| !missing.is_empty())?;
    let leaf = if kind.is_empty() { "{}".to_owned() } else { format!("{{\"type\": \"{kind}\"}}") };
    let mut new = String::new();
    for (index, key) in missing.iter().enumerate().rev() {
        let below = if index + 1 == missing.len() {
            leaf.clone()
        } else {
            format!("{{\"type\": \"object\", \"properties\": {{{new}}}}}")
        };
        new = format!("{}: {below}", json_string(key)?);
    }
    let (node, empty, new) = match properties(at) {
        Some(map) => (map, outline.node(map).children.is_empty(), new),
        None => (at, outline.node(at).children.is_empty(), format!("\"properties\": {{{new}}}")),
    };
    // Behind the brace, where it is the first.
    let from = match outline.node(node).kind {
        crate::outline::Kind::Document => 0,
        _ => outline.node(node).value.start,
    };
    let brace = from + text[from..].find('{')? + 1;
    let end = if empty { "" } else { ", " };
    Some((brace..brace, format!("{new}{end}")))
}

fn json_string(text: &str) -> Option<String> {
    serde_json::to_string(text).ok()
}
