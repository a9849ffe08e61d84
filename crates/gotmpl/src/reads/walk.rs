//! Goes through the nodes of templates and keeps the shapes of variables.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use pintle_tree::Str;

use super::shape::Shape;
use super::{Effect, Read, Segment, Usage};
use crate::ast::{Branch, Expr, Name, Node, Pipe, Position, Source, VariableId};
use crate::pool::{Id, Span};
use crate::set::Set;

/// The number of nodes after which the analysis is given up: templates that include each other with
/// ever new contexts would take exponential time.
const MAX_STEPS: usize = 2_000_000;

/// Calls nested more deeply are recursion.
const MAX_DEPTH: usize = 80;

/// Contexts with more parts are not followed into other templates.
const MAX_CONTEXT: usize = 2_000;

/// A read before its line is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PendingRead {
    path: Vec<Segment>,
    source: Str,
    text: Str,
    position: Position,
}

impl PendingRead {
    pub(super) fn read(&self, usage: Usage) -> Read {
        let before = &self.text.as_bytes()[..(self.position as usize).min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Read {
            path: self.path.clone(),
            source: self.source.clone(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: before.len() - line_start,
            usage,
        }
    }
}

/// A value and where it was written.
#[derive(Clone)]
pub(super) struct Operand {
    pub(super) shape: Shape,
    pub(super) position: Position,
}

/// Variables in scope; later ones hide earlier ones of the same name.
type Variables = Vec<(VariableId, Shape)>;

/// One execution of a template.
pub(super) struct Frame<'s> {
    pub(super) source: &'s Source,
    dot: Shape,
    variables: Variables,
}

impl Frame<'_> {
    fn variable(&self, id: VariableId) -> Shape {
        let found = self.variables.iter().rev().find(|(known, _)| *known == id);
        found.map_or(Shape::Unknown, |(_, shape)| shape.clone())
    }

    pub(super) fn assign(&mut self, id: VariableId, shape: Shape) {
        if let Some((_, slot)) = self.variables.iter_mut().rev().find(|(known, _)| *known == id) {
            *slot = shape;
        }
    }

    pub(super) fn name(&self, name: Name) -> Str {
        self.source.text.slice(name.start as usize..name.end as usize)
    }
}

pub(super) struct Walker<'a> {
    set: &'a Set,
    pub(super) effects: &'a dyn Fn(&str) -> Effect,
    pub(super) reads: BTreeMap<PendingRead, Usage>,
    pub(super) evaluates: bool,
    /// Templates that have been followed, with their contexts.
    followed: BTreeSet<(Str, Shape)>,
    steps: usize,
    depth: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(set: &'a Set, effects: &'a dyn Fn(&str) -> Effect) -> Self {
        Walker {
            set,
            effects,
            reads: BTreeMap::new(),
            evaluates: false,
            followed: BTreeSet::new(),
            steps: 0,
            depth: 0,
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps >= MAX_STEPS
    }

    /// Follows a template with its context. Returns `false` if the recursion is too deep or the context too large.
    pub(super) fn template(&mut self, name: &[u8], context: &Shape) -> bool {
        // A missing template reads nothing.
        let Some(tree) = self.set.find(name) else { return true };
        if self.depth >= MAX_DEPTH || context.size() > MAX_CONTEXT {
            return false;
        }
        // The same template with the same context reads the same things; this also ends direct recursion.
        if !self.followed.insert((tree.name.clone(), context.clone())) {
            return true;
        }
        let tree = Rc::clone(tree);
        let mut frame =
            Frame { source: &tree.source, dot: context.clone(), variables: vec![(0, context.clone())] };
        self.depth += 1;
        pintle_tree::with_stack(|| self.nodes(&mut frame, tree.nodes));
        self.depth -= 1;
        true
    }

    /// Records that everything of a shape is read.
    pub(super) fn read(&mut self, source: &Source, shape: &Shape, position: Position, usage: Usage) {
        shape.for_each_path(&mut |path| {
            let read = PendingRead {
                path: path.to_vec(),
                source: source.name.clone(),
                text: source.text.clone(),
                position,
            };
            let known = self.reads.entry(read).or_insert(usage);
            *known = usage.max(*known);
        });
    }

    fn nodes(&mut self, frame: &mut Frame<'_>, nodes: Span<Node>) {
        for node in &frame.source.nodes[nodes] {
            self.steps += 1;
            if self.is_exhausted() {
                return;
            }
            self.node(frame, *node);
        }
    }

    fn node(&mut self, frame: &mut Frame<'_>, node: Node) {
        match node {
            Node::Text { .. } | Node::Break(_) | Node::Continue(_) => {}
            Node::Action(pipe) => {
                let value = self.pipe(frame, pipe);
                if frame.source.pipes[pipe].variables.is_empty() {
                    self.read(frame.source, &value.shape, value.position, Usage::Used);
                }
            }
            Node::If(branch) => self.branch(frame, branch, |_, _| {}),
            Node::With(branch) => self.branch(frame, branch, |frame, shape| frame.dot = shape.clone()),
            Node::Range(branch) => self.range(frame, branch),
            Node::Template(call) => {
                let call = &frame.source.calls[call];
                let context = call.pipe.map(|pipe| self.pipe(frame, pipe));
                let context = context.unwrap_or(Operand { shape: Shape::Unknown, position: call.position });
                self.call_template(frame, &call.name, &context);
            }
        }
    }

    pub(super) fn call_template(&mut self, frame: &Frame<'_>, name: &Str, context: &Operand) {
        if !self.template(name.as_bytes(), &context.shape) {
            self.read(frame.source, &context.shape, context.position, Usage::Used);
        }
    }

    /// `if` and `with`: both lists, from the same variables.
    fn branch(&mut self, frame: &mut Frame<'_>, branch: Id<Branch>, enter: fn(&mut Frame<'_>, &Shape)) {
        let branch = &frame.source.branches[branch];
        let (scope, dot) = (frame.variables.len(), frame.dot.clone());
        let value = self.pipe(frame, branch.pipe);
        self.read(frame.source, &value.shape, value.position, Usage::Tested);
        let before = frame.variables.clone();
        enter(frame, &value.shape);
        self.nodes(frame, branch.list);
        let after = std::mem::replace(&mut frame.variables, before);
        frame.dot = dot;
        self.nodes(frame, branch.otherwise);
        join(&mut frame.variables, &after);
        frame.variables.truncate(scope);
    }

    fn range(&mut self, frame: &mut Frame<'_>, branch: Id<Branch>) {
        let branch = &frame.source.branches[branch];
        let (scope, dot) = (frame.variables.len(), frame.dot.clone());
        // The variables of `range` hold elements, not the value itself.
        let pipe = &frame.source.pipes[branch.pipe];
        let value = self.commands(frame, pipe);
        let element = value.shape.element();
        self.read(frame.source, &value.shape, value.position, Usage::Tested);
        self.read(frame.source, &element, value.position, Usage::Tested);
        // What one round assigns is seen by the next. Three rounds follow a value through two
        // variables; longer chains are cut off.
        for _ in 0..3 {
            let before = frame.variables.clone();
            self.bind_elements(frame, pipe, &element);
            frame.dot = element.clone();
            self.nodes(frame, branch.list);
            let after = std::mem::replace(&mut frame.variables, before.clone());
            join(&mut frame.variables, &after);
            if frame.variables == before {
                break;
            }
        }
        frame.dot = dot;
        let before = frame.variables.clone();
        self.nodes(frame, branch.otherwise);
        join(&mut frame.variables, &before);
        frame.variables.truncate(scope);
    }

    fn bind_elements(&mut self, frame: &mut Frame<'_>, pipe: &Pipe, element: &Shape) {
        let bound = match *pipe.variables.as_slice() {
            [item] => vec![(item, element.clone())],
            [key, item] => vec![(key, Shape::Unknown), (item, element.clone())],
            _ => Vec::new(),
        };
        for (id, shape) in bound {
            match pipe.assigns {
                true => frame.assign(id, shape),
                false => frame.variables.push((id, shape)),
            }
        }
    }

    /// Evaluates a pipeline and sets its variables.
    pub(super) fn pipe(&mut self, frame: &mut Frame<'_>, pipe: Id<Pipe>) -> Operand {
        let pipe = &frame.source.pipes[pipe];
        let value = self.commands(frame, pipe);
        for &id in pipe.variables.as_slice() {
            match pipe.assigns {
                true => frame.assign(id, value.shape.clone()),
                false => frame.variables.push((id, value.shape.clone())),
            }
        }
        value
    }

    fn commands(&mut self, frame: &mut Frame<'_>, pipe: &Pipe) -> Operand {
        let mut last = None;
        for command in &frame.source.commands[pipe.commands] {
            last = Some(self.command(frame, command, last));
        }
        last.unwrap_or(Operand { shape: Shape::Unknown, position: pipe.position })
    }

    /// Evaluates an operand that is not a function.
    pub(super) fn operand(&mut self, frame: &mut Frame<'_>, expr: &Expr) -> Operand {
        let fields = |frame: &Frame<'_>, shape: Shape, names: Span<Name>| {
            let names = &frame.source.names[names];
            names.iter().fold(shape, |shape, &name| shape.field(&frame.name(name)))
        };
        let (shape, position) = match *expr {
            Expr::Dot(position) => (frame.dot.clone(), position),
            Expr::Nil(position) | Expr::Bool(position, _) => (Shape::Unknown, position),
            Expr::Number(number) => (Shape::Unknown, frame.source.numbers[number].position),
            Expr::Text(text) => {
                let text = &frame.source.texts[text];
                (Shape::Text(text.value.clone()), text.position)
            }
            Expr::Field(position, names) => {
                // The parser keeps Go's position, that of the second field of a chain; reports want its start.
                let first = frame.source.names[names].first();
                let position = first.map_or(position, |name| name.start.saturating_sub(1));
                (fields(frame, frame.dot.clone(), names), position)
            }
            Expr::Variable(position, id, names) => {
                let length = frame.source.variables[id as usize].len() as Position;
                let first = frame.source.names[names].first();
                let position = first.map_or(position, |name| name.start.saturating_sub(1 + length));
                (fields(frame, frame.variable(id), names), position)
            }
            Expr::Chain(position, inner, names) => {
                let inner = frame.source.words[inner];
                let value = self.operand(frame, &inner);
                (fields(frame, value.shape, names), position)
            }
            Expr::Function(position, callee) => {
                return self.call(frame, callee, &[], Vec::new(), position);
            }
            Expr::Pipe(pipe) => return self.pipe(frame, pipe),
        };
        Operand { shape, position }
    }
}

/// Merges the variables of two branches: each may have either value. Only those from before the branch are in both.
fn join(into: &mut Variables, other: &Variables) {
    for ((_, shape), (_, more)) in into.iter_mut().zip(other) {
        if shape != more {
            *shape = Shape::one_of([shape.clone(), more.clone()]);
        }
    }
}
