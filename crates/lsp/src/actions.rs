//! Changes that are offered for a place.

mod more;

use std::ops::Range;

use pintle_gotmpl::syntax::NodeKind;

use crate::analysis::Analysis;
use crate::outline::{Kind, Outline};
use crate::project::{FileId, FileKind};
use crate::rename::Edits;
use crate::shape::Segment;
use crate::thing::Thing;

/// A change that is offered.
pub(crate) struct Action {
    pub(crate) title: String,
    /// The kind of the protocol.
    pub(crate) kind: &'static str,
    pub(crate) edits: Edits,
}

impl Analysis {
    /// What is offered at an offset.
    pub(crate) fn actions(&self, file: FileId, offset: usize) -> Vec<Action> {
        let found = [
            self.add_value(file, offset),
            self.quote(file, offset),
            self.require(file, offset),
            self.default(file, offset),
            self.nindent(file, offset),
            self.extract(file, offset),
            self.block_to_define(file, offset),
            self.add_to_schema(file, offset),
        ];
        found.into_iter().flatten().collect()
    }

    /// Adds a value that a template reads to values.yaml.
    fn add_value(&self, file: FileId, offset: usize) -> Option<Action> {
        let (_, Thing::Value { values, sites, .. }) = self.thing_at(file, offset)? else { return None };
        let [(instance, path)] = values.as_slice() else { return None };
        if !sites.is_empty()
            || path.is_empty()
            || path.contains(&Segment::Any)
            || !self.places(*instance, path).is_empty()
        {
            return None;
        }
        let chart = self.project.instances[*instance as usize].chart;
        let values = self.project.file_named(chart, "values.yaml")?;
        self.project.file(values).path.as_ref()?;
        let edit = self.insertion(values, path, "\"\"")?;
        let title = format!("Add `{}` to values.yaml", crate::values::path_text(path));
        Some(Action { title, kind: "quickfix", edits: Edits::from([(values, vec![edit])]) })
    }

    /// The edit that adds a value to a values file, below what is there already.
    fn insertion(&self, file: FileId, path: &[Segment], value: &str) -> Option<(Range<usize>, String)> {
        let text = &self.project.file(file).text;
        let outline = text.outline.as_ref()?;
        let keys: Vec<String> = path
            .iter()
            .map(|segment| match segment {
                Segment::Key(key) => key.to_str_lossy().into_owned(),
                Segment::Any => String::new(),
            })
            .collect();
        let document = outline.documents().next()?;
        let (mut node, mut depth) = (document, 0);
        while let Some(below) =
            keys.get(depth).and_then(|key| outline.find(node, &[Some(key)]).first().copied())
        {
            (node, depth) = (below, depth + 1);
        }
        let missing = keys.get(depth..).filter(|missing| !missing.is_empty())?;
        let entry = outline.node(node);
        let is_document = entry.kind == Kind::Document;
        let indent = if is_document { 0 } else { child_indent(outline, node) };
        let lines = nested(missing, indent, value);
        if is_document {
            let end = text.text.trim_end().len();
            let newline = if end == 0 { "" } else { "\n" };
            return Some((end..text.text.len(), format!("{newline}{lines}\n")));
        }
        let written = &text.text[entry.value.clone()];
        if matches!(written, "{}" | "") && entry.children.is_empty() {
            let from = if written.is_empty() { entry.key_range.end + 1 } else { entry.value.start - 1 };
            return Some((from..entry.value.end.max(from), format!("\n{lines}")));
        }
        // In flow style and behind scalars there is no line to add.
        if entry.children.is_empty() || written.starts_with(['{', '[']) {
            return None;
        }
        Some((entry.end..entry.end, format!("\n{lines}")))
    }

    /// Quotes what an action writes as the value of a key.
    fn quote(&self, file: FileId, offset: usize) -> Option<Action> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref()?;
        let action =
            tree.ancestors(tree.node_at(offset)).find(|node| tree.kind(*node) == NodeKind::Action)?;
        let pipe = tree.child(action, NodeKind::Pipeline)?;
        let commands: Vec<_> = tree.children(pipe).collect();
        let [command] = commands.as_slice() else { return None };
        let words: Vec<_> = tree.children(*command).collect();
        let [word] = words.as_slice() else { return None };
        if tree.kind(*word) != NodeKind::Selector {
            return None;
        }
        let range = tree.range(action);
        let line = text.lines.line_range(&text.text, text.lines.line(range.start));
        let before = &text.text[line.start..range.start];
        let after = text.text.get(range.end..line.end)?;
        if !before.ends_with(": ") || !after.trim().is_empty() {
            return None;
        }
        let end = tree.range(*word).end;
        let edits = Edits::from([(file, vec![(end..end, " | quote".to_owned())])]);
        Some(Action { title: "Quote the value".to_owned(), kind: "refactor.rewrite", edits })
    }

    /// Moves a scalar of a template to values.yaml. Nothing that is rendered changes, which is proved.
    fn extract(&self, file: FileId, offset: usize) -> Option<Action> {
        let source = self.project.file(file);
        let tree = source.text.tree.as_ref()?;
        let node = tree.node_at(offset);
        let in_definition = tree.ancestors(node).any(|node| tree.kind(node) == NodeKind::Define);
        if source.kind != FileKind::Template || tree.kind(node) != NodeKind::Text || in_definition {
            return None;
        }
        let masked = crate::fields::mask(tree, offset);
        let outline = Outline::read(&masked);
        let entry = outline.node(outline.at(offset)?);
        if !entry.is_scalar() || entry.kind != Kind::Entry || !entry.value.contains(&offset) {
            return None;
        }
        // The scalar has to be text of the template alone, on one line.
        let literal = &source.text.text[entry.value.clone()];
        let within = tree.range(node);
        if literal.contains('\n') || entry.value.start < within.start || entry.value.end > within.end {
            return None;
        }
        let is_word = entry.key.chars().all(|character| character.is_ascii_alphanumeric());
        let values = self
            .project
            .file_named(source.chart, "values.yaml")
            .filter(|_| is_word && !entry.key.is_empty())?;
        let path = [Segment::Key(entry.key.as_str().into())];
        let mut instances = self.project.instances_of(source.chart);
        let instance = instances.next()?;
        if !self.places(instance, &path).is_empty() || entry.key == "global" {
            return None;
        }
        let insertion = self.insertion(values, &path, literal)?;
        let quoted = literal.starts_with(['"', '\'']);
        let new = format!("{{{{ $.Values.{}{} }}}}", entry.key, if quoted { " | quote" } else { "" });
        let edits = Edits::from([(file, vec![(entry.value.clone(), new)]), (values, vec![insertion])]);
        self.prove(&edits).ok()?;
        let title = format!("Move to values.yaml as `{}`", entry.key);
        Some(Action { title, kind: "refactor.extract", edits })
    }
}

/// The column of what is below an entry.
fn child_indent(outline: &Outline, id: usize) -> usize {
    let node = outline.node(id);
    let first = node.children.first().map(|child| outline.node(*child));
    first.filter(|child| child.kind == Kind::Entry).map_or(node.indent + 2, |child| child.indent)
}

/// Lines of keys below each other.
fn nested(keys: &[String], indent: usize, value: &str) -> String {
    let mut lines = Vec::new();
    for (depth, key) in keys.iter().enumerate() {
        let blanks = " ".repeat(indent + 2 * depth);
        let end = if depth + 1 == keys.len() { format!(" {value}") } else { String::new() };
        lines.push(format!("{blanks}{key}:{end}"));
    }
    lines.join("\n")
}
