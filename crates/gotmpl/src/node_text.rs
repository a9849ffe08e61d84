//! Nodes as text: error messages show the failing node in Go's notation.

use pintle_tree::quote;

use crate::ast::{Command, Expr, Name, Node, Pipe, Position, Source};
use crate::pool::Span;
use crate::print::with_stack;

/// A node that an error can be attributed to.
#[derive(Clone, Copy)]
pub(crate) enum NodeRef<'t> {
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Expr(&'t Expr),
}

impl NodeRef<'_> {
    /// Its position in the source.
    pub(crate) fn position(self, source: &Source) -> Position {
        match self {
            NodeRef::Node(node) => match node {
                Node::Text { start, .. } => *start,
                Node::Action(pipe) => source.pipes[*pipe].position,
                // Go's errors have the position of the pipeline here, not that of the keyword.
                Node::If(branch) | Node::With(branch) | Node::Range(branch) => {
                    source.pipes[source.branches[*branch].pipe].position
                }
                Node::Template(call) => source.calls[*call].position,
                Node::Break(position) | Node::Continue(position) => *position,
            },
            NodeRef::Pipe(pipe) => pipe.position,
            NodeRef::Command(command) => command.position,
            NodeRef::Expr(expr) => match expr {
                Expr::Dot(position)
                | Expr::Nil(position)
                | Expr::Bool(position, _)
                | Expr::Field(position, _)
                | Expr::Variable(position, ..)
                | Expr::Chain(position, ..)
                | Expr::Function(position, _) => *position,
                Expr::Number(number) => source.numbers[*number].position,
                Expr::Text(text) => source.texts[*text].position,
                Expr::Pipe(pipe) => source.pipes[*pipe].position,
            },
        }
    }

    /// The node in Go's notation. Of blocks only the first action is shown.
    pub(crate) fn text(self, source: &Source) -> String {
        let mut out = NodePrinter { source, out: String::new() };
        match self {
            NodeRef::Node(node) => out.node(node),
            NodeRef::Pipe(pipe) => out.pipe(pipe),
            NodeRef::Command(command) => out.command(command),
            NodeRef::Expr(expr) => out.expr(expr),
        }
        out.out
    }
}

struct NodePrinter<'t> {
    source: &'t Source,
    out: String,
}

impl NodePrinter<'_> {
    fn push(&mut self, text: &[u8]) {
        self.out.push_str(&String::from_utf8_lossy(text));
    }

    fn node(&mut self, node: &Node) {
        let (word, pipe) = match node {
            Node::Text { .. } => return self.out.push_str("text"),
            Node::Break(_) => return self.out.push_str("{{break}}"),
            Node::Continue(_) => return self.out.push_str("{{continue}}"),
            Node::Action(pipe) => ("", *pipe),
            Node::If(branch) => ("if ", self.source.branches[*branch].pipe),
            Node::With(branch) => ("with ", self.source.branches[*branch].pipe),
            Node::Range(branch) => ("range ", self.source.branches[*branch].pipe),
            Node::Template(call) => {
                let call = &self.source.calls[*call];
                self.out.push_str("{{template ");
                self.out.push_str(&quote::quote(call.name.as_bytes()));
                if let Some(pipe) = call.pipe {
                    self.out.push(' ');
                    self.pipe(&self.source.pipes[pipe]);
                }
                return self.out.push_str("}}");
            }
        };
        self.out.push_str("{{");
        self.out.push_str(word);
        self.pipe(&self.source.pipes[pipe]);
        self.out.push_str("}}");
    }

    fn pipe(&mut self, pipe: &Pipe) {
        for (index, variable) in pipe.variables.as_slice().iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.variable(*variable);
        }
        if !pipe.variables.is_empty() {
            self.out.push_str(if pipe.assigns { " = " } else { " := " });
        }
        for (index, command) in self.source.commands[pipe.commands].iter().enumerate() {
            if index > 0 {
                self.out.push_str(" | ");
            }
            self.command(command);
        }
    }

    fn variable(&mut self, id: u32) {
        if let Some(name) = self.source.variables.get(id as usize) {
            self.push(name);
        }
    }

    fn command(&mut self, command: &Command) {
        for (index, word) in self.source.words[command.words].iter().enumerate() {
            if index > 0 {
                self.out.push(' ');
            }
            self.operand(word);
        }
    }

    /// An operand, in parentheses when it is a pipeline.
    fn operand(&mut self, expr: &Expr) {
        match expr {
            Expr::Pipe(pipe) => {
                self.out.push('(');
                // Parentheses nest up to Go's 10,000, and error texts are also made on small threads.
                with_stack(|| self.pipe(&self.source.pipes[*pipe]));
                self.out.push(')');
            }
            _ => self.expr(expr),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Dot(_) => self.out.push('.'),
            Expr::Nil(_) => self.out.push_str("nil"),
            Expr::Bool(_, value) => self.out.push_str(if *value { "true" } else { "false" }),
            Expr::Number(number) => self.push(&self.source.numbers[*number].text),
            Expr::Text(text) => {
                let text = &self.source.texts[*text];
                // A string is shown as it is written, with its quotes and escapes.
                self.push(&self.source.text.as_bytes()[text.position as usize..text.end as usize]);
            }
            Expr::Field(_, names) => self.fields(*names),
            Expr::Variable(_, id, names) => {
                self.variable(*id);
                self.fields(*names);
            }
            Expr::Chain(_, inner, names) => {
                self.operand(&self.source.words[*inner]);
                self.fields(*names);
            }
            Expr::Function(_, callee) => self.out.push_str(callee.name(&self.source.functions)),
            Expr::Pipe(pipe) => self.pipe(&self.source.pipes[*pipe]),
        }
    }

    fn fields(&mut self, names: Span<Name>) {
        for name in &self.source.names[names] {
            self.out.push('.');
            self.push(name.of(self.source.text.as_bytes()));
        }
    }
}
