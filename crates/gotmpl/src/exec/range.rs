//! `range`: over lists, maps, objects and integers.

use super::walk::pointed_text;
use super::{Exec, Flow, Frame};
use crate::ast::{Branch, Pipe};
use crate::error::Error;
use crate::operand::Operand;
use crate::print;
use crate::value::{Kind, ListType, MapType, Value};

/// Whether a loop over a value has a first iteration. For the trace, which records the decision before the body runs.
fn has_elements(subject: &Value) -> bool {
    match subject {
        Value::Int(kind, end) => {
            if kind.is_unsigned() {
                *end != 0
            } else {
                *end > 0
            }
        }
        Value::Object(object) => !object.entries().is_empty(),
        other => other.is_true(),
    }
}

impl Exec<'_> {
    pub(super) fn range<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        branch: &'t Branch,
        out: &mut Vec<u8>,
    ) -> Result<Flow, Error> {
        let mark = self.variables.len();
        let pipe = &frame.source.pipes[branch.pipe];
        let subject = self.pipeline(frame, dot, pipe)?.value;
        if let Some(trace) = &mut self.trace {
            let source = frame.source;
            trace.whole(&subject);
            trace.branch(source, pipe.position, source.name == *self.set.root(), has_elements(&subject));
        }
        let ran = self.range_over(frame, branch, subject, out)?;
        let flow = if ran { Flow::Next } else { self.list(frame, dot, branch.otherwise, out)? };
        // In Go, `break` unwinds to the innermost `range` that is being executed, although the parser takes one in an `else`
        // to be about the loop around it.
        let flow = if flow == Flow::Break { Flow::Next } else { flow };
        self.variables.truncate(mark);
        Ok(flow)
    }

    /// Runs the body for each element. Returns whether there was any.
    fn range_over<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        branch: &'t Branch,
        subject: Value,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        match &subject {
            Value::Nil => Ok(false),
            Value::List(list) => {
                let interface = list.of == ListType::Any;
                for (index, item) in list.items().iter().enumerate() {
                    let element = Operand { value: item.clone(), interface };
                    if !self.iteration(frame, branch, || Value::int(index as i64), element, out)? {
                        break;
                    }
                }
                Ok(!list.items().is_empty())
            }
            Value::Map(map) => {
                // A step per entry is charged below; this is for the copy.
                // As in Go, the entries are those at the start, whatever the body does to the map.
                if !self.fuel.step(map.len() as u64 / 8) {
                    return Err(self.exhausted(frame));
                }
                let entries = map.snapshot();
                let interface = map.of != MapType::Str;
                let ran = !entries.is_empty();
                for (key, value) in entries {
                    let element = Operand { value, interface };
                    if !self.iteration(frame, branch, || Value::Str(key), element, out)? {
                        break;
                    }
                }
                Ok(ran)
            }
            Value::Bytes(bytes) => {
                for (index, byte) in bytes.as_bytes().iter().enumerate() {
                    let element = Value::Int(crate::value::IntKind::Uint8, i64::from(*byte));
                    let element = Operand::concrete(element);
                    if !self.iteration(frame, branch, || Value::int(index as i64), element, out)? {
                        break;
                    }
                }
                Ok(!bytes.is_empty())
            }
            Value::Int(kind, end) => {
                // `range $i, $n := 3` has no second value to assign since Go allows ranging over integers.
                if frame.source.pipes[branch.pipe].variables.as_slice().len() > 1 {
                    let shown = print::to_str(&subject);
                    let message = format!("can't use {shown} to iterate over more than one variable");
                    return Err(frame.error(message));
                }
                // As bits, so that large unsigned numbers are counted correctly.
                let unsigned_end = *end as u64;
                let ran = if kind.is_unsigned() { unsigned_end > 0 } else { *end > 0 };
                let mut number = 0u64;
                while ran && number < unsigned_end {
                    let element = Operand::concrete(Value::Int(*kind, number as i64));
                    if !self.iteration(frame, branch, || Value::Nil, element, out)? {
                        break;
                    }
                    number += 1;
                }
                Ok(ran)
            }
            Value::Object(object) if matches!(object.kind(), Kind::Map | Kind::Slice) => {
                if !self.fuel.step(object.cost(None, &[])) {
                    return Err(self.exhausted(frame));
                }
                let entries = object.entries();
                let ran = !entries.is_empty();
                for (key, value) in entries {
                    if !self.iteration(frame, branch, || key, Operand::concrete(value), out)? {
                        break;
                    }
                }
                Ok(ran)
            }
            other => {
                let shown = print::to_str(other).to_string();
                let shown = if other.kind() == Kind::Pointer { pointed_text(&shown) } else { &shown };
                Err(frame.error(format!("range can't iterate over {shown}")))
            }
        }
    }

    /// Runs the body once. Returns whether the loop continues.
    fn iteration<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        branch: &'t Branch,
        index: impl FnOnce() -> Value,
        element: Operand,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        if !self.fuel.step(1) {
            return Err(self.exhausted(frame));
        }
        self.set_range_variables(frame, &frame.source.pipes[branch.pipe], index, &element)?;
        let mark = self.variables.len();
        let flow = self.list(frame, &element, branch.list, out)?;
        self.variables.truncate(mark);
        Ok(flow != Flow::Break)
    }

    fn set_range_variables(
        &mut self,
        frame: &Frame<'_>,
        pipe: &Pipe,
        index: impl FnOnce() -> Value,
        element: &Operand,
    ) -> Result<(), Error> {
        let top = self.variables.len();
        match pipe.variables.as_slice() {
            [] => {}
            // With `=` the variables exist outside of the loop and keep their last value; with `:=` the
            // pipeline has just pushed them, so they are on top of the stack.
            [only] if pipe.assigns => self.assign(frame, *only, element.clone())?,
            [first, second, ..] if pipe.assigns => {
                self.assign(frame, *first, Operand::concrete(index()))?;
                self.assign(frame, *second, element.clone())?;
            }
            [_] => self.variables[top - 1].1 = element.clone(),
            _ => {
                self.variables[top - 1].1 = element.clone();
                self.variables[top - 2].1 = Operand::concrete(index());
            }
        }
        Ok(())
    }
}
