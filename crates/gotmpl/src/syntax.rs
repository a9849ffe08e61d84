//! A lossless syntax tree for editors: every byte of the source is in a token, and errors do not end it.
//!
//! [`SyntaxTree::parse`] always returns a tree. Where the parser of [`crate::Set`] succeeds, the tree has no errors and the
//! same structure; where that parser fails, the tree has at least one error. A broken action ends at its line at the
//! latest, so what is outside of it keeps its meaning.

mod expression;
mod lex;
mod parse;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pintle_tree::Str;

use crate::function::Functions;

/// A node of a [`SyntaxTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The whole source.
    pub const ROOT: NodeId = NodeId(0);
}

/// The kinds of nodes. The text in brackets is an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// The source, or the part between two clauses of a block. Its children are what it writes, in order.
    Body,
    /// Text outside of actions, without what trim markers remove.
    Text,
    /// `{{/* a comment */}}`.
    Comment,
    /// `{{ .a }}`: writes or declares something.
    Action,
    /// `if`, with its clauses and bodies in turn.
    If,
    /// `with`, with its clauses and bodies in turn.
    With,
    /// `range`, with its clauses and bodies in turn.
    Range,
    /// `define`: a clause, a body, and the end.
    Define,
    /// `block`: a clause, a body, and the end.
    Block,
    /// `{{ if .a }}`: the first clause of a block.
    Opening,
    /// `{{ else }}`, `{{ else if .a }}` or `{{ else with .a }}`.
    Else,
    /// `{{ end }}`.
    End,
    /// `{{ template "name" . }}`.
    Call,
    /// `{{ break }}`.
    Break,
    /// `{{ continue }}`.
    Continue,
    /// `.a | quote`: commands that feed each other, after a declaration if there is one.
    Pipeline,
    /// `$a, $b :=`.
    Declaration,
    /// `$a =`.
    Assignment,
    /// `default .a .b`.
    Command,
    /// `.a.b`, `$.a` or `(f).a`: fields of the dot, or of the first child if it is no field.
    Selector,
    /// `.a` in a selector. Empty if the name is missing.
    Field,
    /// `$` or `$a`.
    Variable,
    /// The name of a function.
    Function,
    /// `.` alone.
    Dot,
    /// `nil`.
    Nil,
    /// `true` or `false`.
    Bool,
    /// A number or a character constant.
    Number,
    /// A string with its quotes.
    String,
    /// `(.a)`.
    Paren,
    /// What belongs to nothing.
    Error,
}

impl NodeKind {
    /// Whether nodes of this kind have clauses and bodies.
    pub fn is_block(self) -> bool {
        matches!(self, NodeKind::If | NodeKind::With | NodeKind::Range | NodeKind::Define | NodeKind::Block)
    }

    /// Whether nodes of this kind start with `{{` and end with `}}`.
    pub fn is_action(self) -> bool {
        matches!(
            self,
            NodeKind::Action
                | NodeKind::Opening
                | NodeKind::Else
                | NodeKind::End
                | NodeKind::Call
                | NodeKind::Break
                | NodeKind::Continue
                | NodeKind::Comment
                | NodeKind::Error
        )
    }
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Text outside of actions.
    Text,
    /// White space that a trim marker removes.
    Trimmed,
    /// `{{`, with the trim marker if there is one.
    LeftDelimiter,
    /// `}}`, with the trim marker if there is one.
    RightDelimiter,
    /// A comment with its stars.
    Comment,
    /// White space in an action.
    Space,
    /// `if`, `end` and the like.
    Keyword,
    /// The name of a function.
    Function,
    /// `.a`.
    Field,
    /// `.` alone, or before a missing name.
    Dot,
    /// `$` or `$a`.
    Variable,
    /// `true`, `false` or `nil`.
    Constant,
    /// A number or a character constant.
    Number,
    /// A string with its quotes.
    String,
    /// `:=` or `=`.
    Assign,
    /// `|`.
    Pipe,
    /// `(`.
    LeftParen,
    /// `)`.
    RightParen,
    /// `,`.
    Comma,
    /// What no token starts with.
    Unknown,
}

/// A token: its kind and its range in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxToken {
    /// The kind.
    pub kind: TokenKind,
    /// The bytes.
    pub range: Range<usize>,
}

/// What is wrong with a source, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The bytes that are wrong. Not empty, unless the source is.
    pub range: Range<usize>,
    /// What is wrong, in the words of Go's parser where it has some.
    pub message: String,
    /// A place that explains it: the start of what is not closed.
    pub related: Option<Range<usize>>,
}

#[derive(Clone, Debug)]
struct NodeData {
    kind: NodeKind,
    range: Range<usize>,
    parent: u32,
    first: u32,
    last: u32,
    next: u32,
}

/// No node: only the root has this number, and it is nobody's child.
const NONE: u32 = 0;

/// The tree of a source.
#[derive(Clone, Debug)]
pub struct SyntaxTree {
    text: Str,
    nodes: Vec<NodeData>,
    tokens: Vec<SyntaxToken>,
    errors: Vec<SyntaxError>,
}

impl SyntaxTree {
    /// Parses a source whose actions may call these functions.
    pub fn parse(text: impl Into<Str>, functions: &Functions) -> Self {
        parse::parse(text.into(), functions)
    }

    /// The source.
    pub fn text(&self) -> &Str {
        &self.text
    }

    /// What is wrong, in the order of the source.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }

    /// All tokens. Together they are the source.
    pub fn tokens(&self) -> &[SyntaxToken] {
        &self.tokens
    }

    /// The token that contains a byte; the last one at the end of the source.
    pub fn token_at(&self, offset: usize) -> Option<&SyntaxToken> {
        let at = self.tokens.partition_point(|token| token.range.end <= offset);
        self.tokens.get(at).or(self.tokens.last())
    }

    fn data(&self, node: NodeId) -> &NodeData {
        &self.nodes[node.0 as usize]
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.data(node).kind
    }

    /// The bytes of a node.
    pub fn range(&self, node: NodeId) -> Range<usize> {
        self.data(node).range.clone()
    }

    /// The text of a node.
    pub fn text_of(&self, node: NodeId) -> &[u8] {
        &self.text.as_bytes()[self.range(node)]
    }

    /// The name of a field without its dot, or of a variable with its `$`.
    pub fn name(&self, node: NodeId) -> &str {
        let text = std::str::from_utf8(self.text_of(node)).unwrap_or_default();
        if self.kind(node) == NodeKind::Field { text.strip_prefix('.').unwrap_or(text) } else { text }
    }

    /// The value of a string; `None` if it is malformed.
    pub fn string(&self, node: NodeId) -> Option<Str> {
        if self.kind(node) != NodeKind::String {
            return None;
        }
        let text = self.text_of(node);
        if text.len() < 2 || text.first() != text.last() {
            return None;
        }
        crate::parse::literal::unquote(text).ok().map(Str::from)
    }

    /// The node around a node; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        (node != NodeId::ROOT).then(|| NodeId(self.data(node).parent))
    }

    /// The nodes around a node, innermost first, and the node itself before them.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }

    /// The parts of a node, in order.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let start = |id: u32| (id != NONE).then_some(NodeId(id));
        std::iter::successors(start(self.data(node).first), move |node| start(self.data(*node).next))
    }

    /// The first part of a kind.
    pub fn child(&self, node: NodeId, kind: NodeKind) -> Option<NodeId> {
        self.children(node).find(|child| self.kind(*child) == kind)
    }

    /// The last part of a node.
    pub fn last_child(&self, node: NodeId) -> Option<NodeId> {
        let last = self.data(node).last;
        (last != NONE).then_some(NodeId(last))
    }

    /// How many nodes are in each other at most.
    pub fn depth(&self) -> usize {
        // The number of a node is greater than that of what it is in.
        let mut depths = vec![0usize; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            depths[index] = depths[node.parent as usize] + 1;
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// All nodes, each before its parts.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let mut stack = vec![NodeId::ROOT];
        std::iter::from_fn(move || {
            let node = stack.pop()?;
            let at = stack.len();
            stack.extend(self.children(node));
            stack[at..].reverse();
            Some(node)
        })
    }

    /// The innermost node whose range contains a byte or ends at it. Of two nodes that touch there, the one that ends
    /// there wins if it is a name, because that is what is being typed.
    pub fn node_at(&self, offset: usize) -> NodeId {
        let mut node = NodeId::ROOT;
        loop {
            let mut found = None;
            for child in self.children(node) {
                let range = self.range(child);
                if range.start > offset {
                    break;
                }
                let typed =
                    range.end == offset && !matches!(self.kind(child), NodeKind::Text | NodeKind::Body);
                let typed = typed && !(self.kind(child).is_action() || self.kind(child).is_block());
                let typed = typed || range.end == offset && self.is_unclosed(child);
                if range.contains(&offset) && found.is_none() || typed {
                    found = Some(child);
                }
            }
            match found {
                Some(child) => node = child,
                None => return node,
            }
        }
    }

    /// Whether the text of a node ends with an action that is not closed, so that what follows directly belongs to it.
    fn is_unclosed(&self, node: NodeId) -> bool {
        let mut node = node;
        loop {
            match self.kind(node) {
                NodeKind::Text | NodeKind::Comment => return false,
                kind if kind.is_action() => return !self.text_of(node).ends_with(b"}}"),
                kind if kind.is_block() || kind == NodeKind::Body => match self.last_child(node) {
                    Some(last) if self.range(last).end == self.range(node).end => node = last,
                    // An empty body behind an opening that is not closed.
                    _ => return false,
                },
                _ => return false,
            }
        }
    }

    /// The name that `define`, `block` or `template` has, as a node.
    pub fn template_name(&self, node: NodeId) -> Option<NodeId> {
        let clause = match self.kind(node) {
            NodeKind::Define | NodeKind::Block => self.child(node, NodeKind::Opening)?,
            _ => node,
        };
        self.child(clause, NodeKind::String)
    }

    /// The clauses of a block and the bodies that follow them; the last one may have none.
    pub fn clauses(&self, block: NodeId) -> Vec<(NodeId, Option<NodeId>)> {
        let mut clauses: Vec<(NodeId, Option<NodeId>)> = Vec::new();
        for child in self.children(block) {
            match (self.kind(child), clauses.last_mut()) {
                (NodeKind::Body, Some(last)) => last.1 = Some(child),
                (NodeKind::Body, None) => {}
                _ => clauses.push((child, None)),
            }
        }
        clauses
    }

    /// Where the content of an action is: after `{{` and before `}}`.
    pub fn inner_range(&self, action: NodeId) -> Range<usize> {
        let range = self.range(action);
        let text = self.text_of(action);
        let lead = if text.starts_with(b"{{-") { 3 } else { 2 }.min(text.len());
        let tail = match text {
            _ if !text.ends_with(b"}}") || text.len() < lead + 2 => 0,
            [.., b'-', b'}', b'}'] if text.len() >= lead + 3 => 3,
            _ => 2,
        };
        range.start + lead..range.end - tail
    }
}

/// Whether a name is a function of Go's text/template itself.
pub fn is_builtin(name: &str) -> bool {
    crate::builtins::Builtin::named(name.as_bytes()).is_some()
}

/// The names of the functions of Go's text/template itself.
pub fn builtins() -> impl Iterator<Item = &'static str> {
    crate::builtins::Builtin::names()
}
