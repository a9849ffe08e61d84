//! Pipelines, commands, variables and constants.

use super::{Exec, Frame};
use crate::ast::{Command, Expr, Number, Pipe, VariableId};
use crate::error::Error;
use crate::node_text::NodeRef;
use crate::operand::Operand;
use crate::value::Value;

impl Exec<'_> {
    /// The value of a pipeline; variables that it declares stay on the stack.
    pub(super) fn pipeline<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        pipe: &'t Pipe,
    ) -> Result<Operand, Error> {
        frame.node = Some(NodeRef::Pipe(pipe));
        // The common case: one command whose value is not assigned.
        let commands = &frame.source.commands[pipe.commands];
        if let ([command], []) = (commands, pipe.variables.as_slice()) {
            let mut value = self.command(frame, dot, command, None)?;
            // Go unwraps the interface after each command (`value.Elem()`), which turns a nil one into no value.
            value.interface = false;
            return Ok(value);
        }
        let first = self.trace.as_ref().map_or(0, |trace| trace.mark());
        let mut value = None;
        for command in commands {
            value = Some(self.command(frame, dot, command, value)?.inside());
        }
        let value = value.unwrap_or_default();
        if let Some(trace) = &mut self.trace {
            trace.assign(frame.source, pipe.variables.as_slice(), first);
        }
        for variable in pipe.variables.as_slice() {
            if pipe.assigns {
                self.assign(frame, *variable, value.clone())?;
            } else {
                self.variables.push((*variable, value.clone()));
            }
        }
        Ok(value)
    }

    /// Assigns to the most recently declared variable of that name.
    pub(super) fn assign(
        &mut self,
        frame: &Frame<'_>,
        variable: VariableId,
        value: Operand,
    ) -> Result<(), Error> {
        match self.variables[frame.base..].iter_mut().rev().find(|(id, _)| *id == variable) {
            Some((_, slot)) => {
                *slot = value;
                Ok(())
            }
            None => Err(undefined(frame, variable)),
        }
    }

    fn variable(&self, frame: &Frame<'_>, variable: VariableId) -> Result<&Operand, Error> {
        let found = self.variables[frame.base..].iter().rev().find(|(id, _)| *id == variable);
        found.map(|(_, value)| value).ok_or_else(|| undefined(frame, variable))
    }

    /// A command; `last` is the result of the previous one.
    fn command<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        command: &'t Command,
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let words = &frame.source.words[command.words];
        let first = &words[0];
        match first {
            Expr::Field(_, names) => {
                if words.len() == 1
                    && last.is_none()
                    && let Some(value) = self.peek(frame, dot, first, Value::clone)
                {
                    return Ok(Operand::interface(value));
                }
                frame.node = Some(NodeRef::Expr(first));
                self.field_chain(frame, dot, dot, first, *names, words, last)
            }
            Expr::Function(_, callee) => {
                frame.node = Some(NodeRef::Expr(first));
                self.function(frame, dot, *callee, NodeRef::Command(command), &words[1..], last)
            }
            Expr::Variable(..) => self.variable_chain(frame, dot, first, words, last),
            Expr::Chain(..) => self.chain(frame, dot, first, words, last),
            Expr::Pipe(pipe) => {
                self.refuse_arguments(frame, words, &last)?;
                self.nested(frame, |exec, frame| exec.pipeline(frame, dot, &frame.source.pipes[*pipe]))
            }
            constant => {
                frame.node = Some(NodeRef::Expr(constant));
                self.refuse_arguments(frame, words, &last)?;
                match constant {
                    Expr::Dot(_) => Ok(dot.clone()),
                    // Go checks this at run time, so a template with `{{ nil }}` in a branch that is not
                    // taken renders.
                    Expr::Nil(_) => Err(frame.error("nil is not a command")),
                    _ => self.constant(frame, constant),
                }
            }
        }
    }

    /// Plain values take no arguments.
    fn refuse_arguments(
        &self,
        frame: &Frame<'_>,
        words: &[Expr],
        last: &Option<Operand>,
    ) -> Result<(), Error> {
        if words.len() <= 1 && last.is_none() {
            return Ok(());
        }
        let shown = words.first().map_or_else(String::new, |word| NodeRef::Expr(word).text(frame.source));
        Err(frame.error(format!("can't give argument to non-function {shown}")))
    }

    /// A boolean, number or string where any type is accepted.
    pub(super) fn constant(&self, frame: &Frame<'_>, expr: &Expr) -> Result<Operand, Error> {
        Ok(Operand::concrete(match expr {
            Expr::Bool(_, value) => Value::Bool(*value),
            Expr::Text(text) => Value::Str(frame.source.texts[*text].value.clone()),
            Expr::Number(number) => number_value(frame, &frame.source.numbers[*number])?,
            _ => Value::Nil,
        }))
    }

    /// `$x` and `$x.field`.
    pub(super) fn variable_chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        expr: &'t Expr,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let Expr::Variable(_, id, names) = expr else {
            return Ok(Operand::INVALID);
        };
        frame.node = Some(NodeRef::Expr(expr));
        if let Some(trace) = &mut self.trace {
            trace.variable(frame.source, *id);
        }
        let value = self.variable(frame, *id)?.clone();
        if names.is_empty() {
            self.refuse_arguments(frame, words, &last)?;
            return Ok(value);
        }
        self.field_chain(frame, dot, &value, expr, *names, words, last)
    }

    /// `(pipeline).field` and `function.field`.
    pub(super) fn chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        expr: &'t Expr,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let Expr::Chain(_, inner, names) = expr else {
            return Ok(Operand::INVALID);
        };
        frame.node = Some(NodeRef::Expr(expr));
        let receiver = self.operand(frame, dot, &frame.source.words[*inner])?;
        self.field_chain(frame, dot, &receiver, expr, *names, words, last)
    }

    /// An argument where any type is accepted.
    pub(super) fn operand<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        expr: &'t Expr,
    ) -> Result<Operand, Error> {
        frame.node = Some(NodeRef::Expr(expr));
        match expr {
            Expr::Dot(_) => Ok(dot.clone()),
            Expr::Nil(_) => Ok(Operand::INVALID),
            Expr::Field(_, names) => self.field_chain(frame, dot, dot, expr, *names, &[], None),
            Expr::Variable(..) => self.variable_chain(frame, dot, expr, &[], None),
            Expr::Pipe(pipe) => {
                self.nested(frame, |exec, frame| exec.pipeline(frame, dot, &frame.source.pipes[*pipe]))
            }
            Expr::Function(_, callee) => self.function(frame, dot, *callee, NodeRef::Expr(expr), &[], None),
            Expr::Chain(..) => self.chain(frame, dot, expr, &[], None),
            Expr::Bool(..) | Expr::Number(_) | Expr::Text(_) => self.constant(frame, expr),
        }
    }
}

#[cold]
fn undefined(frame: &Frame<'_>, variable: VariableId) -> Error {
    let name = frame.source.variables.get(variable as usize).cloned().unwrap_or_default();
    frame.error(format!("undefined variable: {name}"))
}

/// A number by the type that its spelling implies.
fn number_value(frame: &Frame<'_>, number: &Number) -> Result<Value, Error> {
    if let Some(parts) = number.complex {
        return Ok(Value::Complex(Box::new(parts)));
    }
    let text = number.text.as_bytes();
    // In `0x1e3` the `e` is a digit, and in `'e'` a character: neither makes a float.
    let hexadecimal =
        matches!(text, [b'0', b'x' | b'X', _, ..]) && !text.iter().any(|b| matches!(b, b'p' | b'P'));
    let character = text.first() == Some(&b'\'');
    let fractional = text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E' | b'p' | b'P'));
    match number {
        Number { float: Some(value), .. } if !hexadecimal && !character && fractional => {
            Ok(Value::Float(*value))
        }
        Number { int: Some(value), .. } => Ok(Value::int(*value)),
        // A literal that only fits in a uint64 has no type of its own; Go does not fall back to it.
        _ => Err(frame.error(format!("{} overflows int", number.text))),
    }
}
