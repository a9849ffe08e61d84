//! Calls of functions, by their declared effects.

use std::collections::BTreeMap;

use super::shape::Shape;
use super::walk::{Frame, Operand, Walker};
use super::{Effect, Segment, Usage};
use crate::ast::{Callee, Command, Expr, Position};

/// The name of a file that is rendered by itself, where it is computed. No template is called so.
const RENDERED_FILE: &str = "$.Template.BasePath";

/// Whether a value is the folder of the templates.
fn is_base_path(shape: &Shape) -> bool {
    let Shape::Path(path) = shape else { return false };
    let is = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if *key == name);
    matches!(&path[..], [template, base] if is(template, "Template") && is(base, "BasePath"))
}

impl Walker<'_> {
    /// Evaluates a command; `piped` is the result of the command before it.
    pub(super) fn command(
        &mut self,
        frame: &mut Frame<'_>,
        command: &Command,
        piped: Option<Operand>,
    ) -> Operand {
        let (first, rest) = match &frame.source.words[command.words] {
            [] => return Operand { shape: Shape::Unknown, position: command.position },
            [first, rest @ ..] => (*first, rest),
        };
        let mut arguments: Vec<Operand> = rest.iter().map(|word| self.operand(frame, word)).collect();
        arguments.extend(piped);
        if let Expr::Function(position, callee) = first {
            return self.call(frame, callee, rest, arguments, position);
        }
        let value = self.operand(frame, &first);
        if arguments.is_empty() {
            return value;
        }
        // A method, whose result is its own.
        self.consume(frame, &arguments, Usage::Used);
        self.read(frame.source, &value.shape, value.position, Usage::Used);
        Operand { shape: Shape::Unknown, position: value.position }
    }

    /// Evaluates a call. `words` are the operands as written, without what was piped in.
    pub(super) fn call(
        &mut self,
        frame: &mut Frame<'_>,
        callee: Callee,
        words: &[Expr],
        arguments: Vec<Operand>,
        position: Position,
    ) -> Operand {
        let name = callee.name(&frame.source.functions);
        let effect = (self.effects)(name);
        let shape = match arguments.iter().any(|argument| is_base_path(&argument.shape)) {
            // As in `include (print $.Template.BasePath "/config.yaml") .`: a rendered file, which is followed by itself.
            true if matches!(name, "print" | "printf") => Shape::Text(RENDERED_FILE.into()),
            _ => self.effect(frame, effect, words, &arguments),
        };
        // A result that is part of an argument is shown where the argument is written.
        let position = match (&shape, arguments.last()) {
            (Shape::Path(_), Some(argument)) => argument.position,
            _ => position,
        };
        Operand { shape, position }
    }

    fn effect(
        &mut self,
        frame: &mut Frame<'_>,
        effect: Effect,
        words: &[Expr],
        arguments: &[Operand],
    ) -> Shape {
        let shapes = || arguments.iter().map(|argument| argument.shape.clone());
        match (effect, arguments) {
            (Effect::Test, _) => self.consume(frame, arguments, Usage::Tested),
            // The alternatives themselves are only tested; whether they are used depends on what happens to
            // the result.
            (Effect::Choose(from), _) => {
                let (used, chosen) = arguments.split_at(from.min(arguments.len()));
                self.consume(frame, used, Usage::Used);
                self.consume(frame, chosen, Usage::Tested);
                return Shape::one_of(chosen.iter().map(|argument| argument.shape.clone()));
            }
            (Effect::Ternary, [yes, no, test]) => {
                self.consume(frame, std::slice::from_ref(test), Usage::Tested);
                return Shape::one_of([yes.shape.clone(), no.shape.clone()]);
            }
            (Effect::Index, [value, keys @ ..]) => {
                self.consume(frame, keys, Usage::Used);
                return keys.iter().fold(value.shape.clone(), |shape, key| shape.index(&key.shape));
            }
            (Effect::HasKey, [map, key]) => {
                let entry = map.shape.index(&key.shape);
                self.read(frame.source, &entry, map.position, Usage::Tested);
                self.consume(frame, std::slice::from_ref(key), Usage::Used);
            }
            (Effect::Dig, [keys @ .., default, map]) => {
                self.consume(frame, keys, Usage::Used);
                let found = keys.iter().fold(map.shape.clone(), |shape, key| shape.index(&key.shape));
                return Shape::one_of([found, default.shape.clone()]);
            }
            (Effect::Pluck, [key, maps @ ..]) => {
                let found = maps.iter().map(|map| map.shape.index(&key.shape));
                return Shape::List(Box::new(Shape::one_of(found)));
            }
            (Effect::Dict, _) => return self.dict(frame, arguments),
            (Effect::List, _) => return Shape::List(Box::new(Shape::one_of(shapes()))),
            (Effect::Element, [.., list]) => return list.shape.element(),
            (Effect::Elements, _) => {
                let elements = arguments.iter().map(|argument| argument.shape.element());
                return Shape::List(Box::new(Shape::one_of(elements)));
            }
            (Effect::Keys, _) => {
                for map in arguments {
                    self.read(frame.source, &map.shape.element(), map.position, Usage::Tested);
                }
            }
            (Effect::Merge, _) => {
                let all = Shape::one_of(shapes());
                self.change_first(frame, words, arguments, &all);
                return all;
            }
            (Effect::Part, [first, others @ ..]) => {
                self.consume(frame, others, Usage::Used);
                return first.shape.clone();
            }
            (Effect::Set, [map, key, value]) => {
                let entry = self.dict(frame, &[key.clone(), value.clone()]);
                let all = Shape::one_of([map.shape.clone(), entry]);
                self.change_first(frame, words, arguments, &all);
                return all;
            }
            (Effect::Include, [name, context]) => self.include(frame, name, context),
            // The context is not marked as used: `evaluates` tells callers that anything may be read.
            (Effect::Evaluate, [text, ..]) => {
                self.evaluates = true;
                self.consume(frame, std::slice::from_ref(text), Usage::Used);
            }
            _ => self.consume(frame, arguments, Usage::Used),
        }
        Shape::Unknown
    }

    fn consume(&mut self, frame: &Frame<'_>, arguments: &[Operand], usage: Usage) {
        for argument in arguments {
            self.read(frame.source, &argument.shape, argument.position, usage);
        }
    }

    fn dict(&mut self, frame: &Frame<'_>, arguments: &[Operand]) -> Shape {
        let mut entries: BTreeMap<_, Shape> = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let key = match &pair[0].shape {
                Shape::Text(key) => Some(key.clone()),
                _ => {
                    self.consume(frame, &pair[..1], Usage::Used);
                    None
                }
            };
            let value = pair.get(1).map_or(Shape::Unknown, |value| value.shape.clone());
            // Keys can repeat, and computed ones share one entry.
            let before = entries.remove(&key).unwrap_or(Shape::Unknown);
            entries.insert(key, Shape::one_of([before, value]));
        }
        Shape::Dict(entries)
    }

    /// The first argument is changed in place: a variable that holds it sees the change. Where something of the context
    /// itself is changed, what goes into it may be read from anywhere.
    fn change_first(&mut self, frame: &mut Frame<'_>, words: &[Expr], arguments: &[Operand], all: &Shape) {
        let [first, others @ ..] = arguments else { return };
        let is_context = first.shape.is_context();
        match words.first() {
            Some(&Expr::Variable(_, id, names)) if names.is_empty() && !is_context => {
                frame.assign(id, all.clone());
            }
            Some(Expr::Function(..) | Expr::Pipe(_)) => {}
            _ => self.consume(frame, others, Usage::Used),
        }
    }

    /// A name that is computed may be that of any template, which may read all of its context.
    fn include(&mut self, frame: &mut Frame<'_>, name: &Operand, context: &Operand) {
        let names = match &name.shape {
            Shape::OneOf(names) => names.as_slice(),
            one => std::slice::from_ref(one),
        };
        for name in names {
            match name {
                Shape::Text(name) if *name == RENDERED_FILE => match &context.shape {
                    // With its own context it reads nothing that it does not read anyway.
                    Shape::Path(path) if path.is_empty() => {}
                    shape => self.read(frame.source, shape, context.position, Usage::Used),
                },
                Shape::Text(name) => self.call_template(frame, name, context),
                _ => self.read(frame.source, &context.shape, context.position, Usage::Used),
            }
        }
        self.consume(frame, std::slice::from_ref(name), Usage::Used);
    }
}
