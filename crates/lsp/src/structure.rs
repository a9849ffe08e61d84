//! The structure of documents: symbols, folding, selection, semantic tokens, signatures of calls.

use std::ops::Range;

use pintle_gotmpl::Functions;
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree, TokenKind};

use crate::analysis::Analysis;
use crate::functions;
use crate::outline::{Id, Kind, Outline};
use crate::project::FileId;

/// A symbol of a document, with the symbols in it.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// A few words.
    pub detail: String,
    /// The number of the protocol for what it is.
    pub kind: u32,
    /// All of it.
    pub range: Range<usize>,
    /// Its name.
    pub selection: Range<usize>,
    /// What is in it.
    pub children: Vec<Symbol>,
}

const FUNCTION: u32 = 12;
const OBJECT: u32 = 19;
const KEY: u32 = 20;
const ARRAY: u32 = 18;
/// The number of the protocol for objects that templates write.
pub const STRUCT: u32 = 23;
/// The maximum depth of symbols of YAML.
const MAX_DEPTH: usize = 40;

impl Analysis {
    /// The symbols of a document.
    pub fn symbols(&self, file: FileId) -> Vec<Symbol> {
        let text = &self.project.file(file).text;
        match (&text.tree, &text.outline) {
            (Some(tree), _) => template_symbols(tree, &text.text),
            (None, Some(outline)) => {
                outline.documents().flat_map(|document| yaml_symbols(outline, document, 0)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Definitions, and documents by kind and name.
fn template_symbols(tree: &SyntaxTree, text: &str) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for node in tree.nodes() {
        let kind = tree.kind(node);
        let name = tree.template_name(node).filter(|_| matches!(kind, NodeKind::Define | NodeKind::Block));
        let Some(name) = name else { continue };
        let shown = tree.string(name).map(|name| name.to_str_lossy().into_owned()).unwrap_or_default();
        symbols.push(Symbol {
            name: if shown.is_empty() { "(unnamed)".to_owned() } else { shown },
            detail: if kind == NodeKind::Define { "define" } else { "block" }.to_owned(),
            kind: FUNCTION,
            range: tree.range(node),
            selection: tree.range(name),
            children: Vec::new(),
        });
    }
    symbols.extend(documents(text));
    symbols.sort_by_key(|symbol| (symbol.range.start, symbol.range.end));
    symbols
}

/// The documents of a template that have a kind.
fn documents(text: &str) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut push = |range: Range<usize>| {
        let part = &text[range.clone()];
        let value = |key: &str, indent: &str| {
            let line = part
                .lines()
                .find(|line| line.strip_prefix(indent).is_some_and(|line| line.starts_with(key)))?;
            let value = line.trim_start()[key.len()..].trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let Some(kind) = value("kind:", "") else { return };
        let name = value("name:", "  ").unwrap_or_default();
        let at = range.start + part.find("kind:").unwrap_or(0);
        let trimmed = range.start..range.start + part.trim_end().len();
        found.push(Symbol {
            name: kind,
            detail: name,
            kind: STRUCT,
            selection: at..(at + 5).min(trimmed.end),
            range: trimmed.start..trimmed.end.max(at + 5),
            children: Vec::new(),
        });
    };
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            push(start..at);
            start = at + line.len();
        }
        at += line.len();
    }
    push(start..text.len());
    found
}

fn yaml_symbols(outline: &Outline, id: Id, depth: usize) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (index, child) in outline.node(id).children.iter().enumerate() {
        let node = outline.node(*child);
        let below = if depth < MAX_DEPTH { yaml_symbols(outline, *child, depth + 1) } else { Vec::new() };
        let kind = if node.kind == Kind::Item {
            OBJECT
        } else if outline.is_list(*child) {
            ARRAY
        } else if below.is_empty() {
            KEY
        } else {
            OBJECT
        };
        // Items that are scalars say nothing.
        if node.kind == Kind::Item && below.is_empty() {
            continue;
        }
        let name = if node.kind == Kind::Item { format!("[{index}]") } else { node.key.clone() };
        symbols.push(Symbol {
            name: if name.is_empty() { "(empty)".to_owned() } else { name },
            detail: String::new(),
            kind,
            range: node.key_range.start..node.end.max(node.key_range.end).max(node.value.end),
            selection: node.key_range.clone(),
            children: below,
        });
    }
    symbols
}

/// The parts of a document that can be folded, by bytes: blocks, comments, actions and keys with something below them.
pub fn folding(tree: Option<&SyntaxTree>, outline: Option<&Outline>) -> Vec<(Range<usize>, bool)> {
    let mut found = Vec::new();
    if let Some(tree) = tree {
        for node in tree.nodes() {
            match tree.kind(node) {
                kind if kind.is_block() => {
                    for (clause, body) in tree.clauses(node) {
                        if let Some(body) = body {
                            found.push((tree.range(clause).start..tree.range(body).end, false));
                        }
                    }
                }
                NodeKind::Comment => found.push((tree.range(node), true)),
                NodeKind::Action => found.push((tree.range(node), false)),
                _ => {}
            }
        }
    }
    if let Some(outline) = outline {
        for (_, node) in outline.nodes() {
            if node.kind != Kind::Document {
                found.push((node.key_range.start..node.end, false));
            }
        }
    }
    found
}

/// The parts around an offset, innermost first.
pub fn selection(
    tree: Option<&SyntaxTree>,
    outline: Option<&Outline>,
    offset: usize,
    length: usize,
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    if let Some(tree) = tree {
        for node in tree.ancestors(tree.node_at(offset)) {
            if tree.kind(node).is_action() {
                ranges.push(tree.inner_range(node));
            }
            ranges.push(tree.range(node));
        }
    }
    if let Some(outline) = outline {
        let mut at = outline.at(offset);
        while let Some(id) = at {
            let node = outline.node(id);
            if node.value.contains(&offset) {
                ranges.push(node.value.clone());
            }
            ranges.push(node.key_range.start..node.end.max(node.key_range.end));
            at = node.parent.filter(|parent| outline.node(*parent).kind != Kind::Document);
        }
    }
    ranges.push(0..length);
    // Each must contain the one before it.
    let mut kept: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        let grows = kept
            .last()
            .is_none_or(|last| range.start <= last.start && range.end >= last.end && *last != range);
        if grows && range.start <= offset && offset <= range.end {
            kept.push(range);
        }
    }
    kept
}

/// The types of semantic tokens, in the order of their numbers.
pub const TOKEN_TYPES: [&str; 9] =
    ["keyword", "function", "variable", "property", "string", "number", "operator", "comment", "macro"];
/// The modifiers of semantic tokens.
pub const TOKEN_MODIFIERS: [&str; 2] = ["declaration", "defaultLibrary"];

/// The tokens of the actions of a template: bytes, type, modifiers.
pub fn semantic_tokens(tree: &SyntaxTree) -> Vec<(Range<usize>, u32, u32)> {
    let mut found = Vec::new();
    for token in tree.tokens() {
        let kind = match token.kind {
            TokenKind::LeftDelimiter | TokenKind::RightDelimiter => 8,
            TokenKind::Keyword => 0,
            TokenKind::Constant => 0,
            TokenKind::Function => 1,
            TokenKind::Variable => 2,
            TokenKind::Field => 3,
            TokenKind::String => 4,
            TokenKind::Number => 5,
            TokenKind::Assign | TokenKind::Pipe => 6,
            TokenKind::Comment => 7,
            _ => continue,
        };
        let node = (token.kind == TokenKind::Variable).then(|| tree.node_at(token.range.start));
        let declares = node
            .and_then(|node| tree.parent(node))
            .is_some_and(|parent| tree.kind(parent) == NodeKind::Declaration);
        found.push((token.range.clone(), kind, u32::from(declares)));
    }
    found
}

/// The signature of the call around an offset: its label, its parameters, and the one that is being typed.
pub fn signature(
    tree: &SyntaxTree,
    offset: usize,
    table: &Functions,
) -> Option<(String, Vec<String>, usize)> {
    // White space behind the last argument is outside of the command.
    let text = tree.text().as_bytes();
    let mut node = tree.node_at(offset);
    let mut before = offset;
    while tree.ancestors(node).all(|node| tree.kind(node) != NodeKind::Command)
        && before > 0
        && matches!(text[before - 1], b' ' | b'\t')
    {
        before -= 1;
        node = tree.node_at(before);
    }
    for command in tree.ancestors(node).filter(|node| tree.kind(*node) == NodeKind::Command) {
        let words: Vec<NodeId> = tree.children(command).collect();
        let Some(first) = words.first().filter(|first| tree.kind(**first) == NodeKind::Function) else {
            continue;
        };
        if offset <= tree.range(*first).end {
            continue;
        }
        let name = String::from_utf8_lossy(tree.text_of(*first)).into_owned();
        let at = words[1..].iter().filter(|word| tree.range(**word).end < offset).count();
        return match table.get(&name) {
            Some(function) => {
                let parameters = functions::parameters(function);
                let at = at.min(parameters.len().saturating_sub(1));
                Some((functions::signature(function), parameters, at))
            }
            None => Some((functions::builtin_signature(&name), Vec::new(), 0)),
        };
    }
    None
}
