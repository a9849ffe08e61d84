//! Calls of built-ins that need more than values: `and` and `or` short-circuit, `len` and `call` distinguish kinds of
//! nil.

use super::call::{CALL_STEPS, check_arity, checked};
use super::{Exec, Frame};
use crate::ast::Expr;
use crate::builtins::{self, Builtin};
use crate::error::Error;
use crate::function::Type;
use crate::node_text::NodeRef;
use crate::operand::Operand;
use crate::value::Value;

impl Exec<'_> {
    pub(super) fn builtin<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        builtin: Builtin,
        blame: NodeRef<'t>,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let name = builtin.name();
        check_arity(frame, name, builtin.arity(), words.len(), last.is_some())?;
        if matches!(builtin, Builtin::And | Builtin::Or) {
            return self.logic(frame, dot, builtin == Builtin::Or, words, last);
        }
        if builtin == Builtin::Len {
            // Its own path, because the argument stack holds plain values and loses which kind of nil it was.
            let item = match (words.first(), last) {
                (Some(word), _) => self.operand(frame, dot, word)?,
                (None, last) => last.unwrap_or_default(),
            };
            return match builtins::length(&item) {
                Ok(length) => Ok(Operand::concrete(length)),
                Err(failure) => Err(self.failed(frame, blame, name, failure)),
            };
        }
        if !self.fuel.step(CALL_STEPS) {
            return Err(self.exhausted(frame));
        }
        let base = self.arguments.len();
        for word in words {
            let first_of_printf = builtin == Builtin::Printf && self.arguments.len() == base;
            let value = self.builtin_argument(frame, dot, word, first_of_printf)?;
            self.arguments.push(value);
        }
        if let Some(last) = last {
            // `{{ x | printf }}`: the piped value is the format.
            let wanted = if builtin == Builtin::Printf && words.is_empty() { Type::Str } else { Type::Any };
            let value = checked(frame, last, wanted)?;
            self.arguments.push(value);
        }
        if !self.fuel.read(&self.arguments[base..]) {
            return Err(self.exhausted(frame));
        }
        if let Some(trace) = &mut self.trace {
            trace.call(frame.source, blame.position(frame.source), name, &self.arguments[base..]);
        }
        let result = match builtin {
            Builtin::Call => {
                let callee = &self.arguments[base];
                // Go names the argument node; a piped value has none, so `reflect.Value.String` of the value
                // appears.
                let shown = match words.first() {
                    Some(word) => NodeRef::Expr(word).text(frame.source),
                    None => reflected(callee),
                };
                Err(builtins::call(&shown, callee))
            }
            _ => builtin.call(&self.arguments[base..]),
        };
        self.arguments.truncate(base);
        match result {
            Ok(value) => {
                self.charge(frame, &value)?;
                Ok(Operand { value, interface: builtin.gives_interface() })
            }
            Err(failure) => Err(self.failed(frame, blame, name, failure)),
        }
    }

    fn builtin_argument<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        word: &'t Expr,
        wants_text: bool,
    ) -> Result<Value, Error> {
        if wants_text {
            return self.argument(frame, dot, Type::Str, word);
        }
        if let Some(value) = self.peek(frame, dot, word, Value::clone) {
            return Ok(value);
        }
        Ok(self.operand(frame, dot, word)?.value)
    }

    /// `and` and `or`: the first argument that decides, or the last one.
    fn logic<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        decisive: bool,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let mut value = Operand::INVALID;
        for word in words {
            value = self.operand(frame, dot, word)?;
            if value.value.is_true() == decisive {
                return Ok(value);
            }
        }
        // The piped value is the last argument. It has been evaluated already, so there is nothing to
        // short-circuit.
        Ok(last.unwrap_or(value))
    }
}

/// A value as Go's `reflect.Value.String` shows it.
fn reflected(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        Value::Nil => "<invalid Value>".to_owned(),
        other => format!("<{} Value>", other.type_name()),
    }
}
