//! What can be typed at a position.

mod lists;
mod yaml;

use std::ops::Range;
use std::sync::Arc;

use pintle_gotmpl::Functions;
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree, TokenKind};

use crate::analysis::{Analysis, Memory};
use crate::functions;
use crate::project::{FileId, FileKind, Text};
use crate::shape::{Object, Shape, Types};
use crate::values::KeyKind;

/// What an item is, for its icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A function.
    Function,
    /// A field.
    Field,
    /// A method.
    Method,
    /// A map.
    Map,
    /// A value.
    Value,
    /// A chart.
    Chart,
    /// A variable.
    Variable,
    /// A keyword.
    Keyword,
    /// A file.
    File,
    /// A template.
    Template,
}

/// Something that can be typed.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is shown and, unless `insert` says otherwise, typed.
    pub label: String,
    /// What it is.
    pub kind: ItemKind,
    /// A few words.
    pub detail: String,
    /// More.
    pub about: String,
    /// What is typed instead of the label.
    pub insert: Option<String>,
    /// Whether `insert` has tab stops.
    pub is_snippet: bool,
    /// The bytes that it replaces.
    pub replace: Range<usize>,
}

impl Item {
    fn new(label: impl Into<String>, kind: ItemKind, replace: Range<usize>) -> Self {
        Item {
            label: label.into(),
            kind,
            detail: String::new(),
            about: String::new(),
            insert: None,
            is_snippet: false,
            replace,
        }
    }

    fn about(mut self, detail: impl Into<String>, about: impl Into<String>) -> Self {
        (self.detail, self.about) = (detail.into(), about.into());
        self
    }
}

/// The API versions that are offered for `.Capabilities.APIVersions.Has`, and fields of Kubernetes objects.
pub trait Kubernetes {
    /// API versions, and kinds with them.
    fn api_versions(&self) -> Vec<String>;
}

impl Analysis {
    /// What can be typed at an offset of a file.
    pub fn completions(
        &self,
        file: FileId,
        offset: usize,
        table: &Functions,
        kinds: &dyn Kubernetes,
    ) -> Vec<Item> {
        let source = self.project.file(file);
        match source.kind {
            FileKind::Template => {
                let Some(tree) = &source.text.tree else { return Vec::new() };
                Template { analysis: self, file, tree, offset, table, kinds }.items()
            }
            FileKind::Values | FileKind::MoreValues => self.complete_values(file, offset),
            FileKind::ChartFile => self.complete_static(file, offset, lists::CHART),
            FileKind::Suite => self.complete_suite(file, offset),
            _ => Vec::new(),
        }
    }
}

struct Template<'a> {
    analysis: &'a Analysis,
    file: FileId,
    tree: &'a SyntaxTree,
    offset: usize,
    table: &'a Functions,
    kinds: &'a dyn Kubernetes,
}

impl Template<'_> {
    fn items(&self) -> Vec<Item> {
        let at = self.tree.tokens().partition_point(|token| token.range.end < self.offset);
        // The token that is being typed: the one that contains the byte before the cursor.
        let tokens = self.tree.tokens();
        let Some(mut token) = tokens.get(at) else {
            return self.analysis.complete_object(self.file, self.offset);
        };
        if token.range.start == self.offset {
            // At the very start of a token, what is before it counts; it may be a name that ends here.
            match at.checked_sub(1).and_then(|before| tokens.get(before)) {
                Some(before) => token = before,
                None => return Vec::new(),
            }
        }
        let range = token.range.clone();
        match token.kind {
            TokenKind::Text | TokenKind::Trimmed => self.analysis.complete_object(self.file, self.offset),
            TokenKind::Comment | TokenKind::RightDelimiter => Vec::new(),
            TokenKind::Field | TokenKind::Dot => self.fields(range),
            TokenKind::Variable => self.variables(range),
            TokenKind::String => self.in_string(range),
            TokenKind::Number | TokenKind::Unknown => Vec::new(),
            TokenKind::Function | TokenKind::Keyword | TokenKind::Constant => self.words(range),
            _ => {
                // A word that starts at the cursor is replaced.
                let next = tokens.get(at).filter(|next| next.range.start == self.offset);
                let word = next.filter(|next| matches!(next.kind, TokenKind::Function | TokenKind::Keyword));
                self.words(word.map_or(self.offset..self.offset, |next| next.range.clone()))
            }
        }
    }

    /// Names behind a dot.
    fn fields(&self, token: Range<usize>) -> Vec<Item> {
        let node = self.tree.node_at(token.end);
        let types = match self.tree.kind(node) {
            NodeKind::Field => self.analysis.facts(self.file).fields.get(&node).cloned(),
            NodeKind::Dot => self.analysis.facts(self.file).uses.get(&node).cloned(),
            _ => None,
        };
        let types = types.unwrap_or_else(|| self.analysis.env_at(self.file, node).dot);
        let fallback;
        let types = if types.is_unknown() && self.tree.kind(node) == NodeKind::Dot {
            fallback = self.analysis.env_at(self.file, node).dot;
            &fallback
        } else {
            &types
        };
        let replace = token.start + 1..token.end.max(token.start + 1);
        self.keys(types, &replace, "")
    }

    fn keys(&self, types: &Types, replace: &Range<usize>, prefix: &str) -> Vec<Item> {
        let plain = |name: &str| {
            let mut characters = name.chars();
            characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
                && characters.all(|character| character.is_alphanumeric() || character == '_')
        };
        let keys = self.analysis.keys(types).into_iter();
        let mut items: Vec<Item> = Vec::new();
        for (name, key) in keys {
            let kind = match key.kind {
                KeyKind::Map => ItemKind::Map,
                KeyKind::List | KeyKind::Value => ItemKind::Value,
                KeyKind::Chart => ItemKind::Chart,
                KeyKind::Field => ItemKind::Field,
                KeyKind::Method => ItemKind::Method,
            };
            // A key such as `a-b` cannot follow a dot.
            if !plain(&name) {
                continue;
            }
            let detail =
                key.places.first().map(|place| self.analysis.value_summary(*place)).unwrap_or_default();
            items.push(Item::new(format!("{prefix}{name}"), kind, replace.clone()).about(detail, key.about));
        }
        items
    }

    fn variables(&self, token: Range<usize>) -> Vec<Item> {
        let node = self.tree.node_at(token.end);
        self.visible_variables(node, &token)
    }

    fn visible_variables(&self, node: NodeId, replace: &Range<usize>) -> Vec<Item> {
        let env = self.analysis.env_at(self.file, node);
        let mut items: Vec<Item> = Vec::new();
        for variable in env.variables.iter().rev() {
            let name = variable.name.to_str_lossy().into_owned();
            // The one that is being typed declares nothing yet.
            if variable.declaration.is_some_and(|node| self.tree.range(node).contains(&self.offset)) {
                continue;
            }
            if items.iter().all(|item| item.label != name) {
                let detail = self.analysis.types_text(&variable.types);
                items.push(Item::new(name, ItemKind::Variable, replace.clone()).about(detail, ""));
            }
        }
        items
    }

    fn in_string(&self, token: Range<usize>) -> Vec<Item> {
        let node = self.tree.node_at(token.end.min(self.offset.max(token.start + 1)));
        if self.tree.kind(node) != NodeKind::String || self.offset <= token.start {
            return Vec::new();
        }
        let text = self.tree.text_of(node);
        let closed = text.len() >= 2 && text.first() == text.last();
        if closed && self.offset == token.end {
            return Vec::new();
        }
        let end = if closed { token.end - 1 } else { token.end };
        let replace = token.start + 1..end.max(token.start + 1);
        let facts = self.analysis.facts(self.file);
        let parent = self.tree.parent(node).map(|parent| self.tree.kind(parent));
        if facts.names.contains_key(&node) || parent == Some(NodeKind::Call) {
            return self.template_names(&replace);
        }
        if let Some(of) = facts.keys.get(&node) {
            return self.string_keys(of, &replace);
        }
        if self.is_evaluated(node) {
            return self.in_evaluated(&replace);
        }
        self.method_argument(node, &replace)
    }

    /// Whether a string is what `tpl` evaluates.
    fn is_evaluated(&self, node: NodeId) -> bool {
        let command = self.tree.parent(node).filter(|command| self.tree.kind(*command) == NodeKind::Command);
        let mut words = command.into_iter().flat_map(|command| self.tree.children(command));
        words.next().is_some_and(|first| self.tree.text_of(first) == b"tpl") && words.next() == Some(node)
    }

    /// What can be typed in a text that `tpl` evaluates: what could be typed if it were the template.
    fn in_evaluated(&self, string: &Range<usize>) -> Vec<Item> {
        let source = &self.analysis.project.file(self.file).text.text;
        let inner = &source[string.clone()];
        // The positions in it would be others.
        if source[..string.start].ends_with('"') && inner.contains('\\') {
            return Vec::new();
        }
        let text = Text::new(inner.to_owned(), FileKind::Template, self.table, u64::MAX);
        let offset = self.offset - string.start;
        let in_action = text.tree.as_ref().is_some_and(|tree| {
            let mut tokens = tree.tokens().iter().rev();
            let before = tokens.find(|token| token.range.start < offset);
            before.is_some_and(|token| !matches!(token.kind, TokenKind::Text | TokenKind::Trimmed))
        });
        if !in_action {
            return Vec::new();
        }
        let mut project = (*self.analysis.project).clone();
        project.set_text(self.file, Arc::new(text));
        let analysis = Analysis::new(Arc::new(project), Memory::default());
        let mut items = analysis.completions(self.file, offset, self.table, self.kinds);
        for item in &mut items {
            item.replace = item.replace.start + string.start..item.replace.end + string.start;
        }
        items
    }

    fn template_names(&self, replace: &Range<usize>) -> Vec<Item> {
        let defines = self.analysis.defines.iter();
        let item = |(name, places): (&pintle_tree::Str, &Vec<crate::analysis::Define>)| {
            let (file, node) = places[0];
            let detail = self.analysis.project.rendered_path(file).unwrap_or_default();
            let about = self.analysis.define_comment(file, node);
            Item::new(name.to_str_lossy(), ItemKind::Template, replace.clone()).about(detail, about)
        };
        defines.filter(|(_, places)| !places.is_empty()).map(item).collect()
    }

    fn string_keys(&self, of: &Types, replace: &Range<usize>) -> Vec<Item> {
        let keys = self.analysis.keys(of).into_iter();
        keys.map(|(name, key)| {
            let detail =
                key.places.first().map(|place| self.analysis.value_summary(*place)).unwrap_or_default();
            Item::new(name, ItemKind::Value, replace.clone()).about(detail, key.about)
        })
        .collect()
    }

    /// Names of files for `.Files`, and API versions for `.Capabilities.APIVersions.Has`.
    fn method_argument(&self, node: NodeId, replace: &Range<usize>) -> Vec<Item> {
        let command = self.tree.parent(node).filter(|command| self.tree.kind(*command) == NodeKind::Command);
        let first = command.and_then(|command| self.tree.children(command).next());
        let Some(method) = first.and_then(|first| self.tree.last_child(first)) else { return Vec::new() };
        let facts = self.analysis.facts(self.file);
        let shapes = facts.fields.get(&method).map(Types::shapes).unwrap_or_default();
        let mut items = Vec::new();
        for shape in shapes {
            match shape {
                Shape::Object(Object::Files, instance) => {
                    let project = &self.analysis.project;
                    for file in &project.chart_of(*instance).files {
                        let file = project.file(*file);
                        let is_file = !file.name.starts_with("templates/") && !file.ignored;
                        if is_file {
                            items.push(Item::new(file.name.clone(), ItemKind::File, replace.clone()));
                        }
                    }
                }
                Shape::Object(Object::ApiVersions, _) => {
                    let versions = self.kinds.api_versions().into_iter();
                    items
                        .extend(versions.map(|version| Item::new(version, ItemKind::Value, replace.clone())));
                }
                _ => {}
            }
        }
        items
    }

    /// Functions, keywords, fields of the dot and variables.
    fn words(&self, replace: Range<usize>) -> Vec<Item> {
        let node = self.tree.node_at(self.offset);
        let action = self.tree.ancestors(node).find(|node| self.tree.kind(*node).is_action());
        let is_first = action.is_some_and(|action| {
            let inner = self.tree.inner_range(action);
            let start = replace.start.clamp(inner.start, inner.end.max(inner.start));
            self.tree.text().as_bytes()[inner.start..start].trim_ascii().is_empty()
        });
        // After `define "name"` and the like nothing else follows.
        let mut items = Vec::new();
        if is_first {
            items.extend(self.keywords(node, &replace));
        }
        for function in self.table.iter() {
            let about = functions::about(function.name);
            let detail = functions::signature(function);
            items.push(Item::new(function.name, ItemKind::Function, replace.clone()).about(detail, about));
        }
        for name in pintle_gotmpl::syntax::builtins().filter(|name| self.table.get(name).is_none()) {
            let item = Item::new(name, ItemKind::Function, replace.clone());
            items.push(item.about(functions::builtin_signature(name), functions::about(name)));
        }
        if replace.is_empty() {
            let env = self.analysis.env_at(self.file, node);
            items.extend(self.keys(&env.dot, &replace, "."));
            items.extend(self.visible_variables(node, &replace));
        }
        items
    }

    fn keywords(&self, node: NodeId, replace: &Range<usize>) -> Vec<Item> {
        let mut words = vec!["if", "with", "range", "define", "block", "template"];
        let mut in_range = false;
        let mut innermost = None;
        for node in self.tree.ancestors(node) {
            let kind = self.tree.kind(node);
            if !kind.is_block() || self.tree.range(node).start == self.action_start(node) {
                continue;
            }
            innermost = innermost.or(Some(kind));
            in_range |= kind == NodeKind::Range;
        }
        if in_range {
            words.extend(["break", "continue"]);
        }
        if let Some(kind) = innermost {
            words.push("end");
            if matches!(kind, NodeKind::If | NodeKind::With | NodeKind::Range) {
                words.push("else");
            }
            match kind {
                NodeKind::If => words.push("else if"),
                NodeKind::With => words.push("else with"),
                _ => {}
            }
        }
        words.into_iter().map(|word| Item::new(word, ItemKind::Keyword, replace.clone())).collect()
    }

    /// Where the action at the cursor starts, if it opens this block.
    fn action_start(&self, block: NodeId) -> usize {
        let opening = self.tree.child(block, NodeKind::Opening).map(|opening| self.tree.range(opening));
        match opening {
            Some(range) if range.contains(&self.offset) => range.start,
            _ => usize::MAX,
        }
    }
}
