//! The structure of a source: blocks, their clauses and bodies.

use std::ops::Range;

use pintle_tree::{Str, quote};

use super::lex::{Action, Lexeme, Lexer, Piece};
use super::{NONE, NodeData, NodeId, NodeKind, SyntaxError, SyntaxTree, TokenKind};
use crate::function::Functions;

/// A block that is not closed yet.
struct Open {
    block: NodeId,
    kind: NodeKind,
    opening: Range<usize>,
    /// The number of visible variables outside of it.
    variables: usize,
    /// What a definition hides: the variables and the ranges around it.
    outer: Option<Scope>,
    has_else: bool,
}

/// What is visible in a template.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) variables: Vec<Str>,
    ranges: usize,
}

impl Scope {
    fn new() -> Self {
        Scope { variables: vec!["$".into()], ranges: 0 }
    }
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s [u8],
    pub(super) functions: &'s Functions,
    pub(super) nodes: Vec<NodeData>,
    pub(super) errors: Vec<SyntaxError>,
    pub(super) scope: Scope,
    open: Vec<Open>,
    /// Definitions: name, whether it is blank, and where.
    defined: Vec<(Str, bool, Range<usize>)>,
}

/// The tokens of an action, read one by one.
pub(super) struct Cursor<'t> {
    pub(super) tokens: &'t [Lexeme],
    pub(super) at: usize,
    /// Where the content of the action ends.
    pub(super) end: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn peek(&self) -> Option<&'t Lexeme> {
        self.tokens.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<&'t Lexeme> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    /// Where the last token ended.
    pub(super) fn behind(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(self.end, |token| token.range.end)
    }
}

pub(super) fn parse(text: Str, functions: &Functions) -> SyntaxTree {
    let break_is_keyword = functions.get("break").is_none();
    let continue_is_keyword = functions.get("continue").is_none();
    let is_keyword = |word: &[u8]| match word {
        b"block" | b"define" | b"else" | b"end" | b"if" | b"range" | b"template" | b"with" => true,
        b"break" => break_is_keyword,
        b"continue" => continue_is_keyword,
        _ => false,
    };
    let source = text.clone();
    let source = source.as_bytes();
    let mut lexer = Lexer::new(source, &is_keyword);
    let mut parser = Parser {
        source,
        functions,
        nodes: Vec::new(),
        errors: Vec::new(),
        scope: Scope::new(),
        open: Vec::new(),
        defined: Vec::new(),
    };
    parser.nodes.push(NodeData {
        kind: NodeKind::Body,
        range: 0..source.len(),
        parent: NONE,
        first: NONE,
        last: NONE,
        next: NONE,
    });
    while let Some(piece) = lexer.next() {
        match piece {
            Piece::Text(range) if range.is_empty() => {}
            Piece::Text(range) => drop(parser.add(NodeKind::Text, range)),
            Piece::Comment(range) => drop(parser.add(NodeKind::Comment, range)),
            Piece::Action(action) => parser.action(&action),
        }
    }
    parser.close_all(source.len());
    let mut errors = lexer.errors;
    errors.append(&mut parser.errors);
    errors.sort_by_key(|error| (error.range.start, error.range.end));
    // What the lexer has reported needs no second message from the parser.
    errors.dedup_by(|second, first| first.range == second.range);
    SyntaxTree { nodes: parser.nodes, tokens: lexer.tokens, errors, text }
}

impl Parser<'_> {
    // Nodes.

    /// The body that is being filled.
    fn body(&mut self) -> NodeId {
        let Some(open) = self.open.last() else { return NodeId::ROOT };
        let block = open.block;
        let last = self.nodes[block.0 as usize].last;
        if last != NONE && self.nodes[last as usize].kind == NodeKind::Body {
            return NodeId(last);
        }
        let start = self.nodes[last as usize].range.end;
        self.node(block, NodeKind::Body, start..start)
    }

    pub(super) fn node(&mut self, parent: NodeId, kind: NodeKind, range: Range<usize>) -> NodeId {
        let id = self.nodes.len() as u32;
        self.nodes.push(NodeData { kind, range, parent: parent.0, first: NONE, last: NONE, next: NONE });
        let parent = &mut self.nodes[parent.0 as usize];
        let last = std::mem::replace(&mut parent.last, id);
        if last == NONE {
            parent.first = id;
        } else {
            self.nodes[last as usize].next = id;
        }
        NodeId(id)
    }

    /// Adds a node to the body that is being filled.
    fn add(&mut self, kind: NodeKind, range: Range<usize>) -> NodeId {
        let body = self.body();
        self.node(body, kind, range)
    }

    pub(super) fn set_end(&mut self, node: NodeId, end: usize) {
        self.nodes[node.0 as usize].range.end = end;
    }

    pub(super) fn range_of(&self, node: NodeId) -> Range<usize> {
        self.nodes[node.0 as usize].range.clone()
    }

    pub(super) fn text(&self, token: &Lexeme) -> &[u8] {
        &self.source[token.range.clone()]
    }

    // Errors.

    pub(super) fn error(&mut self, range: Range<usize>, message: impl Into<String>) {
        self.errors.push(SyntaxError { range, message: message.into(), related: None });
    }

    pub(super) fn unexpected(&mut self, token: &Lexeme, context: &str) {
        let text = String::from_utf8_lossy(self.text(token)).into_owned();
        let shown = match token.kind {
            TokenKind::Keyword | TokenKind::Dot => format!("<{text}>"),
            // The lexer has reported it.
            TokenKind::Unknown => return,
            _ => quote::quote(text.as_bytes()),
        };
        self.error(token.range.clone(), format!("unexpected {shown} in {context}"));
    }

    // Actions.

    fn action(&mut self, action: &Action) {
        let content_end = action
            .tokens
            .last()
            .map_or(action.range.end.min(action.range.start + 2), |token| token.range.end);
        let mut cursor = Cursor { tokens: &action.tokens, at: 0, end: content_end };
        let keyword = cursor.peek().filter(|token| token.kind == TokenKind::Keyword);
        let word = keyword.map(|token| self.text(token).to_vec()).unwrap_or_default();
        if keyword.is_some() {
            cursor.next();
        }
        let range = action.range.clone();
        match word.as_slice() {
            b"if" => self.branch(NodeKind::If, "if", range, &mut cursor),
            b"with" => self.branch(NodeKind::With, "with", range, &mut cursor),
            b"range" => self.branch(NodeKind::Range, "range", range, &mut cursor),
            b"define" => self.define(range, &mut cursor),
            b"block" => self.block(range, &mut cursor),
            b"else" => self.otherwise(range, &mut cursor),
            b"end" => self.end(range, &mut cursor),
            b"template" => self.call(range, &mut cursor),
            b"break" => self.loop_control(NodeKind::Break, "break", range, &mut cursor),
            b"continue" => self.loop_control(NodeKind::Continue, "continue", range, &mut cursor),
            _ => {
                let node = self.add(NodeKind::Action, range);
                self.pipeline(node, "command", &mut cursor);
            }
        }
    }

    /// Reports tokens that are left over, and moves behind them.
    fn finish(&mut self, cursor: &mut Cursor<'_>, context: &str) {
        if let Some(token) = cursor.peek() {
            self.unexpected(&token.clone(), context);
            cursor.at = cursor.tokens.len();
        }
    }

    fn open(&mut self, kind: NodeKind, range: Range<usize>, outer: Option<Scope>) -> NodeId {
        let block = self.add(kind, range.clone());
        let variables = self.scope.variables.len();
        self.open.push(Open { block, kind, opening: range.clone(), variables, outer, has_else: false });
        self.node(block, NodeKind::Opening, range)
    }

    fn branch(&mut self, kind: NodeKind, context: &str, range: Range<usize>, cursor: &mut Cursor<'_>) {
        let opening = self.open(kind, range, None);
        self.pipeline(opening, context, cursor);
        self.scope.ranges += usize::from(kind == NodeKind::Range);
    }

    fn define(&mut self, range: Range<usize>, cursor: &mut Cursor<'_>) {
        // A definition inside of a block: the ends of the blocks before it are missing.
        if !self.open.is_empty() {
            self.close_all(range.start);
        }
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        let opening = self.open(NodeKind::Define, range, Some(outer));
        self.quoted_name(opening, "define clause", cursor);
        self.finish(cursor, "define clause");
    }

    fn block(&mut self, range: Range<usize>, cursor: &mut Cursor<'_>) {
        let opening = self.open(NodeKind::Block, range, None);
        self.quoted_name(opening, "block clause", cursor);
        self.pipeline(opening, "block clause", cursor);
        // The argument sees the variables around the block, its body does not.
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        if let Some(open) = self.open.last_mut() {
            open.outer = Some(outer);
            // As in Go, what the argument declares stays visible.
            open.variables = usize::MAX;
        }
    }

    fn call(&mut self, range: Range<usize>, cursor: &mut Cursor<'_>) {
        let node = self.add(NodeKind::Call, range);
        self.quoted_name(node, "template clause", cursor);
        if cursor.peek().is_some() {
            self.pipeline(node, "template clause", cursor);
        }
    }

    fn quoted_name(&mut self, parent: NodeId, context: &str, cursor: &mut Cursor<'_>) {
        match cursor.peek() {
            Some(token) if token.kind == TokenKind::String => {
                cursor.next();
                let node = self.node(parent, NodeKind::String, token.range.clone());
                self.check_string(node);
            }
            Some(token) => {
                let token = token.clone();
                self.unexpected(&token, context);
                // What follows may still be the argument.
                if token.kind == TokenKind::Unknown {
                    cursor.next();
                }
            }
            None => {
                let range = self.range_of(parent);
                self.error(range, format!("a quoted name is missing in {context}"));
            }
        }
    }

    fn loop_control(&mut self, kind: NodeKind, word: &str, range: Range<usize>, cursor: &mut Cursor<'_>) {
        self.add(kind, range.clone());
        self.finish(cursor, &format!("{{{{{word}}}}}"));
        if self.scope.ranges == 0 {
            self.error(range, format!("{{{{{word}}}}} outside {{{{range}}}}"));
        }
    }

    fn otherwise(&mut self, range: Range<usize>, cursor: &mut Cursor<'_>) {
        let Some(open) = self.open.last_mut() else {
            self.add(NodeKind::Error, range.clone());
            return self.error(range, "unexpected {{else}}");
        };
        let (kind, block, opening) = (open.kind, open.block, open.opening.clone());
        let again = std::mem::take(&mut open.has_else);
        let next = cursor.peek().cloned();
        let word = next.as_ref().map(|token| self.source[token.range.clone()].to_vec()).unwrap_or_default();
        let chained = match kind {
            NodeKind::If => word == b"if",
            NodeKind::With => word == b"with",
            _ => false,
        };
        if again {
            self.errors.push(SyntaxError {
                range: range.clone(),
                message: "expected end; found {{else}}".to_owned(),
                related: Some(opening),
            });
        } else if matches!(kind, NodeKind::Define | NodeKind::Block) {
            let clause = if kind == NodeKind::Define { "define clause" } else { "block clause" };
            self.error(range.clone(), format!("unexpected {{{{else}}}} in {clause}"));
        }
        if let Some(open) = self.open.last_mut() {
            open.has_else = again || !chained;
        }
        self.end_body(range.start);
        if kind == NodeKind::Range && !again {
            self.scope.ranges = self.scope.ranges.saturating_sub(1);
        }
        let clause = self.node(block, NodeKind::Else, range.clone());
        if chained {
            cursor.next();
            let context = if kind == NodeKind::If { "if" } else { "with" };
            self.pipeline(clause, context, cursor);
        } else {
            self.finish(cursor, "else");
        }
        // The body that follows exists even if it is empty.
        self.node(block, NodeKind::Body, range.end..range.end);
    }

    fn end(&mut self, range: Range<usize>, cursor: &mut Cursor<'_>) {
        self.finish(cursor, "end");
        let Some(open) = self.open.last() else {
            self.add(NodeKind::Error, range.clone());
            return self.error(range, "unexpected {{end}}");
        };
        let block = open.block;
        self.end_body(range.start);
        self.node(block, NodeKind::End, range.clone());
        self.close(range.end);
    }

    fn end_body(&mut self, end: usize) {
        if !self.open.is_empty() {
            let body = self.body();
            self.set_end(body, end);
        }
    }

    /// Closes the innermost block.
    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        self.set_end(open.block, end);
        if open.kind == NodeKind::Range && !open.has_else {
            self.scope.ranges = self.scope.ranges.saturating_sub(1);
        }
        if let Some(outer) = open.outer {
            self.scope = outer;
        }
        self.scope.variables.truncate(open.variables);
        if matches!(open.kind, NodeKind::Define | NodeKind::Block) {
            self.check_definition(open.block);
        }
    }

    /// Closes all blocks, whose ends are missing.
    fn close_all(&mut self, end: usize) {
        while let Some(open) = self.open.last() {
            let opening = open.opening.clone();
            let word = match open.kind {
                NodeKind::If => "if",
                NodeKind::With => "with",
                NodeKind::Range => "range",
                NodeKind::Define => "define",
                _ => "block",
            };
            self.error(opening, format!("unexpected EOF: `{word}` has no {{{{end}}}}"));
            self.end_body(end);
            self.close(end);
        }
    }

    /// Go allows a second definition of a name in one source only if one of the two is blank.
    fn check_definition(&mut self, block: NodeId) {
        let first = self.nodes[block.0 as usize].first;
        let clause = NodeId(first);
        let name_node = self.nodes[clause.0 as usize].first;
        if name_node == NONE || self.nodes[name_node as usize].kind != NodeKind::String {
            return;
        }
        let range = self.nodes[name_node as usize].range.clone();
        let Ok(name) = crate::parse::literal::unquote(&self.source[range.clone()]) else { return };
        let name = Str::from(name);
        let body = self.nodes[clause.0 as usize].next;
        let blank = body == NONE || self.is_blank(body);
        match self.defined.iter_mut().find(|(known, _, _)| *known == name) {
            None => self.defined.push((name, blank, range)),
            Some((_, known_blank, known)) if *known_blank => (*known_blank, *known) = (blank, range),
            Some(_) if blank => {}
            Some((_, _, known)) => {
                let related = Some(known.clone());
                let shown = quote::quote(name.as_bytes());
                let message = format!("multiple definition of template {shown}");
                self.errors.push(SyntaxError { range, message, related });
            }
        }
    }

    fn is_blank(&self, body: u32) -> bool {
        let mut child = self.nodes[body as usize].first;
        while child != NONE {
            let node = &self.nodes[child as usize];
            let text = &self.source[node.range.clone()];
            let blank = match node.kind {
                NodeKind::Text => std::str::from_utf8(text).is_ok_and(|text| text.trim().is_empty()),
                NodeKind::Comment => true,
                _ => false,
            };
            if !blank {
                return false;
            }
            child = node.next;
        }
        true
    }
}
