//! Fields, keys and methods: `.a.b.c`.
//! `peek` is the fast path: a chain through plain maps, which is what nearly all fields are, is followed by
//! reference. Everything else, and all errors, take `field_chain`, which follows Go step by step.

use std::borrow::Cow;
use std::rc::Rc;

use pintle_tree::Str;

use super::call::{Signature, Target};
use super::{Exec, Frame};
use crate::ast::{Expr, Name, Position};
use crate::collection::find;
use crate::error::Error;
use crate::node_text::NodeRef;
use crate::object::{Method, Object};
use crate::operand::Operand;
use crate::pool::Span;
use crate::value::{Kind, MapRef, MapType, Value};

/// Follows names through maps, and passes the final value to `look` without cloning anything.
///
/// `None` means that something other than a map, or nothing, is on the path; the slow path then produces the right
/// error.
#[inline]
fn resolve_path<R>(
    value: &Value,
    names: &[Name],
    source: &[u8],
    methods: &[Method],
    look: impl FnOnce(&Value) -> R,
) -> Option<R> {
    let Some((name, rest)) = names.split_first() else {
        return Some(look(value));
    };
    let Value::Map(map) = value else {
        return None;
    };
    let name = name.of(source);
    let may_be_method =
        map.of == MapType::Values && methods.iter().any(|method| name == method.name.as_bytes());
    // A `map[string]string` has another zero value, methods win over keys, and long chains would recurse too
    // deeply.
    if may_be_method || map.of == MapType::Str || rest.len() > 16 {
        return None;
    }
    match find(&map.borrow(), name) {
        Some(next) if rest.is_empty() => Some(look(next)),
        Some(next) => resolve_further(next, rest, source, methods, look),
        // A missing last key is nil (`missingkey=zero`); a missing key on the way is an error that needs the
        // type.
        None if rest.is_empty() => Some(look(&Value::Nil)),
        None => None,
    }
}

/// The recursion of [`resolve_path`], separate so that one step can be inlined.
fn resolve_further<R>(
    value: &Value,
    names: &[Name],
    source: &[u8],
    methods: &[Method],
    look: impl FnOnce(&Value) -> R,
) -> Option<R> {
    resolve_path(value, names, source, methods, look)
}

/// A field access, with its arguments.
struct Access<'t, 'c> {
    expr: &'t Expr,
    name: &'t [u8],
    /// The position of the name, if it is the last of a chain.
    end_of_chain: Option<Position>,
    /// The command's operands, of which the first is the field itself; only for the last field of a chain.
    words: &'t [Expr],
    last: &'c mut Option<Operand>,
}

impl Access<'_, '_> {
    fn shown_name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.name)
    }

    fn has_arguments(&self) -> bool {
        self.words.len() > 1 || self.last.is_some()
    }
}

impl Exec<'_> {
    /// Passes the value of a field or variable to a closure without cloning it, if the path goes through maps only.
    #[inline]
    pub(super) fn peek<'t, R>(
        &self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        expr: &'t Expr,
        look: impl FnOnce(&Value) -> R,
    ) -> Option<R> {
        // The fast path reports nothing to the trace.
        if self.trace.as_ref().is_some_and(|trace| trace.watches_values()) {
            return None;
        }
        let methods = self.set.values_methods().map_or(&[][..], |hook| hook.methods);
        let (value, names) = match expr {
            Expr::Field(_, names) => (&dot.value, names),
            Expr::Variable(_, id, names) => {
                let variables = &self.variables[frame.base..];
                (&variables.iter().rev().find(|(known, _)| known == id)?.1.value, names)
            }
            _ => return None,
        };
        frame.node = Some(NodeRef::Expr(expr));
        let source = frame.source;
        resolve_path(value, &source.names[*names], source.text.as_bytes(), methods, look)
    }

    /// Follows names from a receiver; the last one gets the arguments if it is a method.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn field_chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        receiver: &Operand,
        expr: &'t Expr,
        names: Span<Name>,
        words: &'t [Expr],
        mut last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let source = frame.source.text.as_bytes();
        let Some((final_name, leading)) = frame.source.names[names].split_last() else {
            return Ok(receiver.clone());
        };
        let mut current: Option<Operand> = None;
        for name in leading {
            let access =
                Access { expr, name: name.of(source), end_of_chain: None, words: &[], last: &mut None };
            current = Some(self.field(frame, dot, current.as_ref().unwrap_or(receiver), access)?);
        }
        let end_of_chain = Some(final_name.start);
        let access = Access { expr, name: final_name.of(source), end_of_chain, words, last: &mut last };
        self.field(frame, dot, current.as_ref().unwrap_or(receiver), access)
    }

    #[inline]
    fn field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        receiver: &Operand,
        access: Access<'t, '_>,
    ) -> Result<Operand, Error> {
        match &receiver.value {
            Value::Map(map) => self.map_field(frame, dot, map, access),
            Value::Nil if !receiver.interface => Ok(Operand::INVALID),
            Value::Nil => {
                Err(frame.error(format!("nil pointer evaluating interface {{}}.{}", access.shown_name())))
            }
            Value::Object(object) => self.object_field(frame, dot, receiver, object, access),
            _ => Err(no_field(frame, receiver, &access)),
        }
    }

    fn map_field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        map: &MapRef,
        access: Access<'t, '_>,
    ) -> Result<Operand, Error> {
        // Go looks for methods before map keys, so a value named `Table` or `PathValue` is hidden by
        // the method of `common.Values`. Go can only call exported methods, hence the capital letter.
        if map.of == MapType::Values
            && access.name.first().is_some_and(u8::is_ascii_uppercase)
            && let Some(hook) = self.set.values_methods()
            && let Some(method) = hook.methods.iter().find(|method| access.name == method.name.as_bytes())
        {
            let target = Target::Values(map, hook);
            let signature = Signature::of_method(method);
            let arguments = access.words.get(1..).unwrap_or_default();
            let last = access.last.take();
            return self.call(frame, dot, signature, target, NodeRef::Expr(access.expr), arguments, last);
        }
        if access.has_arguments() {
            return Err(frame.error(format!("{} is not a method but has arguments", access.shown_name())));
        }
        let found = map.get(access.name);
        if let Some(trace) = &mut self.trace {
            trace.field(frame.source, map, access.name, access.end_of_chain);
        }
        Ok(match map.of {
            MapType::Str => Operand::concrete(found.unwrap_or(Value::Str(Str::EMPTY))),
            // With `missingkey=zero` Go returns the zero value of the element type. That of `interface {}` is
            // a nil interface, not an invalid value, so the next field of the chain is a nil pointer error.
            MapType::Any | MapType::Values => Operand::interface(found.unwrap_or_default()),
        })
    }

    fn object_field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        receiver: &Operand,
        object: &Rc<dyn Object>,
        access: Access<'t, '_>,
    ) -> Result<Operand, Error> {
        if let Some(method) = object.methods().iter().find(|method| access.name == method.name.as_bytes()) {
            let signature = Signature::of_method(method);
            let arguments = access.words.get(1..).unwrap_or_default();
            let last = access.last.take();
            let target = Target::Object(object.as_ref());
            return self.call(frame, dot, signature, target, NodeRef::Expr(access.expr), arguments, last);
        }
        if object.kind() == Kind::Map {
            if access.has_arguments() {
                return Err(frame.error(format!("{} is not a method but has arguments", access.shown_name())));
            }
            let found = object.index(&Str::new(access.name));
            return Ok(found.map_or(Operand::interface(Value::Nil), Operand::concrete));
        }
        match std::str::from_utf8(access.name).ok().and_then(|name| object.field(name)) {
            Some(_) if access.has_arguments() => {
                let message =
                    format!("{} has arguments but cannot be invoked as function", access.shown_name());
                Err(frame.error(message))
            }
            // A nil field is a nil pointer or interface.
            Some(Value::Nil) => Ok(Operand::interface(Value::Nil)),
            Some(value) => Ok(Operand::concrete(value)),
            None => Err(no_field(frame, receiver, &access)),
        }
    }
}

#[cold]
fn no_field(frame: &Frame<'_>, receiver: &Operand, access: &Access<'_, '_>) -> Error {
    let name = access.shown_name();
    frame.error(format!("can't evaluate field {name} in type {}", receiver.type_name()))
}
