//! The parsed form of a template, made for walking: functions are resolved, names are ready to look up, text is a
//! range of the source.

use std::rc::Rc;

use pintle_tree::Str;

use crate::builtins::Builtin;
use crate::function::Function;
use crate::print::with_stack;
use crate::value::Value;

/// A place in the source, in bytes.
pub(crate) type Position = u32;

/// The number of a variable name within one source. `$` is number 0.
pub(crate) type VariableId = u32;

/// A named template.
pub(crate) struct Tree {
    /// The name by which it is called.
    pub(crate) name: Str,
    /// The name of the source that defined it, for messages.
    pub(crate) parse_name: Str,
    pub(crate) source: Str,
    pub(crate) nodes: Vec<Node>,
    /// The names of the variables of the source.
    pub(crate) variables: Rc<[Str]>,
}

impl Tree {
    /// Whether there is nothing but blanks in it. Such a definition does not replace another.
    pub(crate) fn is_empty(&self) -> bool {
        is_blank(&self.nodes, self.source.as_bytes())
    }
}

/// Whether nodes are only blank text.
pub(crate) fn is_blank(nodes: &[Node], source: &[u8]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Text { start, end } => {
            let text = &source[*start as usize..*end as usize];
            text.utf8_chunks().all(|chunk| chunk.invalid().is_empty() && chunk.valid().trim().is_empty())
        }
        _ => false,
    })
}

// Dropping recurses as deep as blocks and parentheses nest, and errors drop half-made trees anywhere.
impl Drop for Pipe {
    fn drop(&mut self) {
        with_stack(|| self.commands.clear());
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        with_stack(|| {
            self.list.clear();
            self.otherwise = None;
        });
    }
}

/// A piece of a template.
pub(crate) enum Node {
    Text { start: Position, end: Position },
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<Call>),
    Break(Position),
    Continue(Position),
}

/// `if`, `with` or `range`.
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) list: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

/// `{{template "name" pipe}}`.
pub(crate) struct Call {
    pub(crate) position: Position,
    pub(crate) name: Str,
    pub(crate) pipe: Option<Pipe>,
}

/// Commands that feed each other, and the variables that take the result.
pub(crate) struct Pipe {
    pub(crate) position: Position,
    /// `=` instead of `:=`.
    pub(crate) assigns: bool,
    pub(crate) variables: Vec<VariableId>,
    pub(crate) commands: Vec<Command>,
}

impl Pipe {
    /// The operand that the whole pipeline is, when it is but one and declares nothing.
    #[inline]
    pub(crate) fn only_word(&self) -> Option<&Expr> {
        match self.commands.as_slice() {
            [command] if self.variables.is_empty() => match command.words.as_slice() {
                [word] => Some(word),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A function, field or value with its arguments.
pub(crate) struct Command {
    pub(crate) position: Position,
    /// Never empty.
    pub(crate) words: Vec<Expr>,
}

/// An operand.
pub(crate) enum Expr {
    Dot(Position),
    Nil(Position),
    Bool(Position, bool),
    Number(Box<Number>),
    Text(Box<Text>),
    Field(Position, Box<[Str]>),
    Variable(Position, VariableId, Box<[Str]>),
    Chain(Position, Box<Expr>, Box<[Str]>),
    Function(Position, Callee),
    Pipe(Box<Pipe>),
}

/// A string literal.
pub(crate) struct Text {
    pub(crate) position: Position,
    /// As written, with quotes.
    pub(crate) quoted: Str,
    pub(crate) value: Value,
}

/// A numeric literal, in all the types that it can take.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    pub(crate) position: Position,
    pub(crate) text: Str,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// What a function name means.
#[derive(Clone)]
pub(crate) enum Callee {
    Builtin(Builtin),
    Function(Rc<Function>),
}

impl Callee {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Callee::Builtin(builtin) => builtin.name(),
            Callee::Function(function) => function.name,
        }
    }
}
