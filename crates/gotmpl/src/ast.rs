//! The syntax tree, laid out for execution: functions are resolved, text and names are ranges of the source, and all
//! parts of a source are in pools.
//! A parsed source is immutable and shared by all templates that it defines. Names are resolved to ids while
//! parsing, because rendering visits each node many times and parsing visits it once.

use std::rc::Rc;
use std::sync::Arc;

use pintle_tree::Str;

use crate::builtins::Builtin;
use crate::function::{FunctionId, Functions};
use crate::pool::{Id, Pool, Span};

/// A byte offset in the source.
pub(crate) type Position = u32;

/// The number of a variable name within one source. `$` is number 0.
pub(crate) type VariableId = u32;

/// A named template.
pub(crate) struct Tree {
    /// The name by which it is called.
    pub(crate) name: Str,
    pub(crate) nodes: Span<Node>,
    /// The source that defined it.
    pub(crate) source: Rc<Source>,
}

impl Tree {
    /// Whether it is only white space. As in Go, such a definition does not replace another.
    pub(crate) fn is_empty(&self) -> bool {
        self.source.is_blank(self.nodes)
    }
}

/// A source and the parts of all templates in it.
pub(crate) struct Source {
    /// Its name, for messages.
    pub(crate) name: Str,
    pub(crate) text: Str,
    /// The functions that its calls refer to.
    pub(crate) functions: Arc<Functions>,
    /// The names of its variables.
    pub(crate) variables: Vec<Str>,
    pub(crate) nodes: Pool<Node>,
    pub(crate) branches: Pool<Branch>,
    pub(crate) calls: Pool<Call>,
    pub(crate) pipes: Pool<Pipe>,
    pub(crate) commands: Pool<Command>,
    pub(crate) words: Pool<Expr>,
    pub(crate) names: Pool<Name>,
    pub(crate) numbers: Pool<Number>,
    pub(crate) texts: Pool<Text>,
}

impl Source {
    /// Returns a source that is not parsed yet.
    pub(crate) fn new(name: &Str, text: &Str, functions: &Arc<Functions>) -> Self {
        Source {
            name: name.clone(),
            text: text.clone(),
            functions: Arc::clone(functions),
            variables: vec!["$".into()],
            nodes: Pool::default(),
            branches: Pool::default(),
            calls: Pool::default(),
            pipes: Pool::default(),
            commands: Pool::default(),
            words: Pool::default(),
            names: Pool::default(),
            numbers: Pool::default(),
            texts: Pool::default(),
        }
    }

    /// Frees excess capacity: sources live for the whole render.
    pub(crate) fn shrink(&mut self) {
        self.nodes.shrink();
        self.branches.shrink();
        self.calls.shrink();
        self.pipes.shrink();
        self.commands.shrink();
        self.words.shrink();
        self.names.shrink();
        self.numbers.shrink();
        self.texts.shrink();
    }

    /// Whether nodes are only white space.
    pub(crate) fn is_blank(&self, nodes: Span<Node>) -> bool {
        self.nodes[nodes].iter().all(|node| match node {
            Node::Text { start, end } => {
                let text = &self.text.as_bytes()[*start as usize..*end as usize];
                // Go trims Unicode white space here (`bytes.TrimSpace`), not only the four bytes that trim
                // markers remove.
                text.utf8_chunks().all(|chunk| chunk.invalid().is_empty() && chunk.valid().trim().is_empty())
            }
            _ => false,
        })
    }

    /// The operand of a pipeline that consists of one operand and declares nothing.
    #[inline]
    pub(crate) fn only_word(&self, pipe: &Pipe) -> Option<&Expr> {
        match &self.commands[pipe.commands] {
            [command] if pipe.variables.is_empty() => match &self.words[command.words] {
                [word] => Some(word),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A node of a template.
#[derive(Clone, Copy)]
pub(crate) enum Node {
    Text { start: Position, end: Position },
    Action(Id<Pipe>),
    If(Id<Branch>),
    With(Id<Branch>),
    Range(Id<Branch>),
    Template(Id<Call>),
    Break(Position),
    Continue(Position),
}

/// `if`, `with` or `range`.
pub(crate) struct Branch {
    pub(crate) pipe: Id<Pipe>,
    pub(crate) list: Span<Node>,
    pub(crate) otherwise: Span<Node>,
}

/// `{{template "name" pipe}}`.
pub(crate) struct Call {
    pub(crate) position: Position,
    pub(crate) name: Str,
    pub(crate) pipe: Option<Id<Pipe>>,
}

/// Commands that feed each other, and the variables that receive the result.
pub(crate) struct Pipe {
    pub(crate) position: Position,
    /// `=` instead of `:=`.
    pub(crate) assigns: bool,
    pub(crate) variables: Variables,
    pub(crate) commands: Span<Command>,
}

/// The variables that a pipeline sets: at most two, and two only in `range`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Variables {
    ids: [VariableId; 2],
    count: u8,
}

impl Variables {
    /// Adds a variable, unless there are two.
    pub(crate) fn push(&mut self, id: VariableId) {
        if let Some(slot) = self.ids.get_mut(usize::from(self.count)) {
            *slot = id;
            self.count += 1;
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[VariableId] {
        &self.ids[..usize::from(self.count)]
    }
}

/// A function, field or value with its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    pub(crate) position: Position,
    /// Never empty.
    pub(crate) words: Span<Expr>,
}

/// An operand.
#[derive(Clone, Copy)]
pub(crate) enum Expr {
    Dot(Position),
    Nil(Position),
    Bool(Position, bool),
    Number(Id<Number>),
    Text(Id<Text>),
    Field(Position, Span<Name>),
    Variable(Position, VariableId, Span<Name>),
    Chain(Position, Id<Expr>, Span<Name>),
    Function(Position, Callee),
    Pipe(Id<Pipe>),
}

/// The name of a field: its range in the source, without the dot.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

impl Name {
    /// The name itself, given the text of its source.
    #[inline]
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// A string literal.
pub(crate) struct Text {
    pub(crate) position: Position,
    /// Its end in the source, including quotes.
    pub(crate) end: Position,
    pub(crate) value: Str,
}

/// A numeric literal, in all types that it can take.
/// Go keeps all of them too: whether `1` is an int, a float64 or a uint64 depends on the parameter that it is
/// passed to, which is not known while parsing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    pub(crate) position: Position,
    pub(crate) text: Str,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// What a function name refers to.
#[derive(Clone, Copy)]
pub(crate) enum Callee {
    Builtin(Builtin),
    Function(FunctionId),
}

impl Callee {
    /// The function's name in the table of its source.
    pub(crate) fn name(self, functions: &Functions) -> &'static str {
        match self {
            Callee::Builtin(builtin) => builtin.name(),
            Callee::Function(id) => functions.at(id).name,
        }
    }
}
