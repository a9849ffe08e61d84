//! Pipelines, commands and operands.

use std::ops::Range;

use pintle_tree::{Str, quote};

use super::lex::Lexeme;
use super::parse::{Cursor, Parser};
use super::{NodeId, NodeKind, TokenKind};
use crate::builtins::Builtin;
use crate::parse::literal;
use crate::print::with_stack;

/// The maximum nesting of parentheses. Go's is higher, but nobody writes such templates, and editors walk trees by recursion.
const MAX_PARENS: usize = 500;

impl Parser<'_> {
    /// Declarations, if any, and commands up to the end of the action.
    pub(super) fn pipeline(&mut self, parent: NodeId, context: &str, cursor: &mut Cursor<'_>) {
        self.pipeline_within(parent, context, cursor, 0);
    }

    /// A pipeline; inside of parens up to the closing one, which is not read.
    fn pipeline_within(&mut self, parent: NodeId, context: &str, cursor: &mut Cursor<'_>, depth: usize) {
        let start = cursor.peek().map_or(cursor.end, |token| token.range.start);
        let pipe = self.node(parent, NodeKind::Pipeline, start..start);
        self.declarations(pipe, context, cursor);
        let mut stages = 0;
        while let Some(token) = cursor.peek() {
            match token.kind {
                TokenKind::RightParen if depth > 0 => break,
                TokenKind::RightParen => {
                    self.error(token.range.clone(), "unexpected right paren");
                    cursor.next();
                    continue;
                }
                TokenKind::Pipe => {
                    // A pipe after a command was read with it.
                    self.error(token.range.clone(), format!("unexpected \"|\" in {context}"));
                    cursor.next();
                    continue;
                }
                TokenKind::Keyword | TokenKind::Assign | TokenKind::Comma | TokenKind::Unknown => {
                    self.unexpected(&token.clone(), context);
                    cursor.next();
                    continue;
                }
                _ => {}
            }
            stages += 1;
            self.command(pipe, stages, cursor, depth);
        }
        let end = cursor.behind().max(start);
        self.set_end(pipe, end);
        if stages == 0 {
            let range = start.saturating_sub(usize::from(start == end))..end.max(start);
            let shown = if range.is_empty() { self.range_of(parent) } else { range };
            self.error(shown, format!("missing value for {context}"));
        }
    }

    /// `$x :=`, `$x =`, and in ranges `$x, $y :=`.
    fn declarations(&mut self, pipe: NodeId, context: &str, cursor: &mut Cursor<'_>) {
        let kind = |at: usize| cursor.tokens.get(at).map(|token| token.kind);
        let start = cursor.at;
        let (mut at, mut names, mut operator, mut problem) = (start, 0, None, None);
        while kind(at) == Some(TokenKind::Variable) {
            match kind(at + 1) {
                Some(TokenKind::Assign) => {
                    (names, operator) = (names + 1, Some(at + 1));
                    at += 2;
                    break;
                }
                Some(TokenKind::Comma) => {
                    names += 1;
                    at += 2;
                    if context != "range" || names >= 2 {
                        problem = Some(format!("too many declarations in {context}"));
                    } else if !matches!(kind(at), Some(TokenKind::Variable | TokenKind::RightParen) | None) {
                        problem = Some("range can only initialize variables".to_owned());
                    }
                }
                _ => break,
            }
        }
        if names == 0 {
            return;
        }
        let tokens = &cursor.tokens[start..at];
        let range = tokens[0].range.start..tokens[tokens.len() - 1].range.end;
        let declares =
            operator.is_none_or(|at| self.source[cursor.tokens[at].range.clone()].starts_with(b":"));
        let node_kind = if declares { NodeKind::Declaration } else { NodeKind::Assignment };
        let node = self.node(pipe, node_kind, range.clone());
        if let Some(message) = problem {
            self.error(range, message);
        }
        for token in tokens.iter().filter(|token| token.kind == TokenKind::Variable) {
            self.node(node, NodeKind::Variable, token.range.clone());
            self.scope.variables.push(Str::new(&self.source[token.range.clone()]));
        }
        cursor.at = at;
    }

    /// Operands up to a pipe, which is read, or the end of the pipeline.
    fn command(&mut self, pipe: NodeId, stage: usize, cursor: &mut Cursor<'_>, depth: usize) {
        let start = cursor.peek().map_or(cursor.end, |token| token.range.start);
        let command = self.node(pipe, NodeKind::Command, start..start);
        let mut first = None;
        let mut piped = false;
        while let Some(token) = cursor.peek() {
            match token.kind {
                TokenKind::Pipe => {
                    piped = true;
                    self.set_end(command, cursor.behind().max(start));
                    cursor.next();
                    break;
                }
                TokenKind::RightParen if depth > 0 => break,
                TokenKind::Space => drop(cursor.next()),
                TokenKind::Keyword
                | TokenKind::Assign
                | TokenKind::Comma
                | TokenKind::Unknown
                | TokenKind::RightParen => {
                    let token = token.clone();
                    match token.kind {
                        TokenKind::RightParen => self.error(token.range.clone(), "unexpected right paren"),
                        _ => self.unexpected(&token, "operand"),
                    }
                    cursor.next();
                }
                _ => {
                    if first.is_some() && !token.spaced {
                        let token = token.clone();
                        let text = String::from_utf8_lossy(self.text(&token)).into_owned();
                        self.error(token.range.clone(), format!("unexpected {text:?} in operand"));
                    }
                    let kind = self.operand(command, cursor, depth);
                    first = first.or(Some(kind));
                }
            }
        }
        if !piped {
            self.set_end(command, cursor.behind().max(start));
        }
        let plain = [NodeKind::Bool, NodeKind::Dot, NodeKind::Nil, NodeKind::Number, NodeKind::String];
        if stage > 1 && first.is_some_and(|kind| plain.contains(&kind)) {
            let range = self.range_of(command);
            self.error(range, format!("non executable command in pipeline stage {stage}"));
        }
    }

    /// A term and the fields that follow it. Returns its kind.
    fn operand(&mut self, command: NodeId, cursor: &mut Cursor<'_>, depth: usize) -> NodeKind {
        let Some(first) = cursor.peek().cloned() else { return NodeKind::Error };
        let follows = |cursor: &Cursor<'_>| {
            let next = cursor.peek()?;
            let field = matches!(next.kind, TokenKind::Field | TokenKind::Dot);
            (field && !next.spaced).then(|| next.clone())
        };
        if first.kind == TokenKind::Field {
            let selector = self.node(command, NodeKind::Selector, first.range.clone());
            self.fields(selector, cursor, follows);
            return NodeKind::Selector;
        }
        // Whether fields follow is only known after the term, so the selector is put around it then.
        let before = self.nodes.len();
        let term_end = self.term_end(cursor);
        let selected = cursor.tokens.get(term_end).is_some_and(|next| {
            matches!(next.kind, TokenKind::Field | TokenKind::Dot) && !next.spaced && term_end > cursor.at
        });
        if !selected {
            return self.term(command, cursor, depth);
        }
        let selector = self.node(command, NodeKind::Selector, first.range.clone());
        debug_assert_eq!(selector.0 as usize, before);
        let kind = self.term(selector, cursor, depth);
        let literal = matches!(
            kind,
            NodeKind::Bool | NodeKind::Dot | NodeKind::Nil | NodeKind::Number | NodeKind::String
        );
        if literal {
            let text = quote::quote(&self.source[first.range.clone()]);
            self.error(first.range.clone(), format!("unexpected . after term {text}"));
        }
        self.fields(selector, cursor, follows);
        NodeKind::Selector
    }

    /// The index of the token after the term at the cursor.
    fn term_end(&self, cursor: &Cursor<'_>) -> usize {
        if cursor.peek().is_none_or(|token| token.kind != TokenKind::LeftParen) {
            return cursor.at + 1;
        }
        let mut depth = 0usize;
        for (index, token) in cursor.tokens.iter().enumerate().skip(cursor.at) {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        cursor.tokens.len()
    }

    fn fields(
        &mut self,
        selector: NodeId,
        cursor: &mut Cursor<'_>,
        follows: impl Fn(&Cursor<'_>) -> Option<Lexeme>,
    ) {
        let mut first = self.nodes[selector.0 as usize].first == super::NONE;
        loop {
            let next = if first { cursor.peek().cloned() } else { follows(cursor) };
            let Some(token) = next else { break };
            first = false;
            cursor.next();
            self.node(selector, NodeKind::Field, token.range.clone());
            self.set_end(selector, token.range.end);
            if token.kind == TokenKind::Dot {
                self.error(token.range.clone(), "unexpected <.> in operand: the name of a field is missing");
            }
        }
    }

    fn term(&mut self, parent: NodeId, cursor: &mut Cursor<'_>, depth: usize) -> NodeKind {
        let Some(token) = cursor.next().cloned() else { return NodeKind::Error };
        let text = self.source[token.range.clone()].to_vec();
        let kind = match token.kind {
            TokenKind::Function => NodeKind::Function,
            TokenKind::Variable => NodeKind::Variable,
            TokenKind::Dot => NodeKind::Dot,
            TokenKind::String => NodeKind::String,
            TokenKind::Number => NodeKind::Number,
            TokenKind::LeftParen => NodeKind::Paren,
            TokenKind::Constant if text == b"nil" => NodeKind::Nil,
            TokenKind::Constant => NodeKind::Bool,
            _ => NodeKind::Error,
        };
        let node = self.node(parent, kind, token.range.clone());
        match kind {
            NodeKind::Function if self.functions.find(&text).is_none() && Builtin::named(&text).is_none() => {
                self.error(token.range, format!("function {} not defined", quote::quote(&text)));
            }
            NodeKind::Variable if !self.scope.variables.iter().any(|known| known.as_bytes() == text) => {
                self.error(token.range, format!("undefined variable {}", quote::quote(&text)));
            }
            NodeKind::String => self.check_string(node),
            NodeKind::Number => self.check_number(token.range, &text),
            NodeKind::Paren => self.paren(node, token.range, cursor, depth),
            _ => {}
        }
        kind
    }

    fn paren(&mut self, node: NodeId, open: Range<usize>, cursor: &mut Cursor<'_>, depth: usize) {
        if depth >= MAX_PARENS {
            self.error(open, "max expression depth exceeded");
            cursor.at = cursor.tokens.len();
            return;
        }
        with_stack(|| self.pipeline_within(node, "parenthesized pipeline", cursor, depth + 1));
        match cursor.peek() {
            Some(token) => {
                self.set_end(node, token.range.end);
                cursor.next();
            }
            None => {
                self.set_end(node, cursor.behind());
                self.error(open, "unclosed left paren");
            }
        }
    }

    pub(super) fn check_string(&mut self, node: NodeId) {
        let range = self.range_of(node);
        let text = &self.source[range.clone()];
        let closed = text.len() >= 2 && text.first() == text.last();
        // The lexer reports strings that are not closed.
        if closed && let Err(message) = literal::unquote(text) {
            self.error(range, message);
        }
    }

    fn check_number(&mut self, range: Range<usize>, text: &[u8]) {
        let number = match text {
            [b'\'', ..] => literal::character(text),
            _ if text.ends_with(b"i") && text.iter().skip(1).any(|byte| matches!(byte, b'+' | b'-')) => {
                literal::complex(text)
            }
            _ => literal::number(text),
        };
        if let Err(message) = number {
            self.error(range, message);
        }
    }
}
