//! Calls: the number and types of arguments, with Go's error texts.

use super::{Exec, Frame};
use crate::ast::{Callee, Expr, Number};
use crate::error::{Error, ErrorKind};
use crate::function::{Args, Body, CallError, Function, MapMethods, Type};
use crate::node_text::NodeRef;
use crate::object::{Method, Object};
use crate::operand::Operand;
use crate::value::{IntKind, List, ListType, MapRef, MapType, Value};

/// The extra cost of a call over a node: a step is one unit of time, and a call takes several.
pub(super) const CALL_STEPS: u64 = 4;

/// The signature of a call.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    name: &'static str,
    params: &'static [Type],
    variadic: Option<Type>,
    result: Type,
}

impl Signature {
    fn of_function(function: &Function) -> Self {
        let Function { name, params, variadic, result, .. } = *function;
        Signature { name, params, variadic, result }
    }

    pub(super) fn of_method(method: &Method) -> Self {
        let Method { name, params, variadic, result } = *method;
        Signature { name, params, variadic, result }
    }

    fn param(&self, index: usize) -> Type {
        self.params.get(index).copied().or(self.variadic).unwrap_or(Type::Any)
    }
}

/// What is called.
pub(super) enum Target<'c> {
    Function(&'c Body),
    Object(&'c dyn Object),
    Values(&'c MapRef, MapMethods),
}

/// Checks the number of arguments.
pub(super) fn check_arity(
    frame: &Frame<'_>,
    name: &str,
    (fixed, variadic): (usize, bool),
    words: usize,
    has_last: bool,
) -> Result<(), Error> {
    let given = words + usize::from(has_last);
    if variadic && given < fixed {
        // Go counts without the piped value here.
        let message = format!("wrong number of args for {name}: want at least {fixed} got {words}");
        return Err(frame.error(message));
    }
    if !variadic && given != fixed {
        return Err(frame.error(format!("wrong number of args for {name}: want {fixed} got {given}")));
    }
    Ok(())
}

impl Exec<'_> {
    /// Calls the function that a name refers to.
    pub(super) fn function<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        callee: Callee,
        blame: NodeRef<'t>,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        match callee {
            Callee::Builtin(builtin) => self.builtin(frame, dot, builtin, blame, words, last),
            Callee::Function(id) => {
                let function = frame.source.functions.at(id);
                let signature = Signature::of_function(function);
                self.call(frame, dot, signature, Target::Function(&function.body), blame, words, last)
            }
        }
    }

    /// Evaluates and checks the arguments, then calls.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn call<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        signature: Signature,
        target: Target<'_>,
        blame: NodeRef<'t>,
        words: &'t [Expr],
        last: Option<Operand>,
    ) -> Result<Operand, Error> {
        let arity = (signature.params.len(), signature.variadic.is_some());
        check_arity(frame, signature.name, arity, words.len(), last.is_some())?;
        // After the arity check and before evaluating arguments, as in Go's `evalCall`; the order decides
        // which error is shown.
        if let Type::Refused(text) = signature.result {
            return Err(frame.error(text.replace("{}", signature.name)));
        }
        if !self.fuel.step(CALL_STEPS) {
            return Err(self.exhausted(frame));
        }
        let base = self.arguments.len();
        for (index, word) in words.iter().enumerate() {
            let argument = self.argument(frame, dot, signature.param(index), word)?;
            self.arguments.push(argument);
        }
        if let Some(last) = last {
            let argument = checked(frame, last, signature.param(words.len()))?;
            self.arguments.push(argument);
        }
        // Charged before the call: a method such as `.Files.Glob` does its work in one step otherwise.
        let own = match &target {
            Target::Object(object) => object.cost(Some(signature.name), &self.arguments[base..]),
            Target::Function(_) | Target::Values(..) => 0,
        };
        if !self.fuel.step(own) || !self.fuel.read(&self.arguments[base..]) {
            return Err(self.exhausted(frame));
        }
        if let Some(trace) = &mut self.trace {
            let position = blame.position(frame.source);
            trace.call(frame.source, position, signature.name, &self.arguments[base..]);
        }
        let result = self.apply(signature.name, target, base);
        self.arguments.truncate(base);
        match result {
            Ok(value) => {
                self.charge(frame, &value)?;
                Ok(returned(value, signature.result))
            }
            Err(failure) => Err(self.failed(frame, blame, signature.name, failure)),
        }
    }

    fn apply(&mut self, name: &'static str, target: Target<'_>, base: usize) -> Result<Value, CallError> {
        match target {
            Target::Function(Body::Pure(body)) => body(Args(&self.arguments[base..])),
            Target::Function(Body::Metered(body)) => body(&mut self.fuel, Args(&self.arguments[base..])),
            Target::Function(Body::Host(body)) => {
                // The function may run templates, which use the same argument stack.
                let arguments = self.arguments.split_off(base);
                body(self, Args(&arguments))
            }
            Target::Object(object) => object.call(name, &self.arguments[base..]),
            Target::Values(map, hook) => (hook.call)(map, name, Args(&self.arguments[base..])),
        }
    }

    /// Charges the result of a function.
    pub(super) fn charge(&mut self, frame: &Frame<'_>, value: &Value) -> Result<(), Error> {
        let size = match value {
            Value::Str(text) | Value::Bytes(text) => text.len(),
            Value::List(list) => size_of_val(list.items()),
            _ => return Ok(()),
        };
        if self.fuel.take_memory(size) { Ok(()) } else { Err(self.exhausted(frame)) }
    }

    #[cold]
    pub(super) fn failed<'t>(
        &self,
        frame: &mut Frame<'t>,
        blame: NodeRef<'t>,
        name: &str,
        failure: CallError,
    ) -> Error {
        // By now `node` is the last argument that was evaluated; Go calls `s.at(node)` again before it
        // reports a failed call.
        frame.node = Some(blame);
        let error = frame.error(format!("error calling {name}: ")).because(failure);
        // A function that ran out of fuel returns an ordinary error, but the kind decides whether callers may
        // go on.
        if self.fuel.is_exhausted() { error.with_kind(ErrorKind::Limit) } else { error }
    }

    /// An argument for a parameter of a type.
    pub(super) fn argument<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        wanted: Type,
        expr: &'t Expr,
    ) -> Result<Value, Error> {
        match expr {
            Expr::Nil(_) => {
                frame.node = Some(NodeRef::Expr(expr));
                if can_be_nil(wanted) {
                    Ok(Value::Nil)
                } else {
                    Err(frame.error(format!("cannot assign nil to {}", wanted.name())))
                }
            }
            Expr::Bool(..) | Expr::Number(_) | Expr::Text(_) => {
                frame.node = Some(NodeRef::Expr(expr));
                match wanted {
                    Type::Any => self.constant(frame, expr).map(|operand| operand.value),
                    _ => typed_constant(frame, wanted, expr),
                }
            }
            _ => {
                // Most arguments are values of maps that already have the right type.
                let fitting =
                    |value: &Value| (wanted == Type::Any || fits(value, wanted)).then(|| value.clone());
                // Maps take the slow path, which turns Helm's named type into the plain one.
                if wanted != Type::Map
                    && let Some(Some(value)) = self.peek(frame, dot, expr, fitting)
                {
                    return Ok(value);
                }
                let value = self.operand(frame, dot, expr)?;
                checked(frame, value, wanted)
            }
        }
    }
}

/// A literal as the type of a parameter.
fn typed_constant(frame: &Frame<'_>, wanted: Type, expr: &Expr) -> Result<Value, Error> {
    let number = |pick: fn(&Number) -> Option<Value>| match expr {
        Expr::Number(number) => pick(&frame.source.numbers[*number]),
        _ => None,
    };
    let (value, expected) = match wanted {
        Type::Bool => match expr {
            Expr::Bool(_, value) => (Some(Value::Bool(*value)), "bool"),
            _ => (None, "bool"),
        },
        Type::Str => match expr {
            Expr::Text(text) => (Some(Value::Str(frame.source.texts[*text].value.clone())), "string"),
            _ => (None, "string"),
        },
        Type::Int | Type::NamedInt(_) => (number(|number| number.int.map(Value::int)), "integer"),
        Type::Int64 => (number(|number| number.int.map(Value::int64)), "integer"),
        Type::Uint32 => {
            let pick =
                // Go's `SetUint` truncates as well; the executor does not check for overflow.
                |number: &Number| number.uint.map(|n| Value::Int(IntKind::Uint32, i64::from(n as u32)));
            (number(pick), "unsigned integer")
        }
        Type::Uint64 => {
            let pick = |number: &Number| number.uint.map(|n| Value::Int(IntKind::Uint64, n as i64));
            (number(pick), "unsigned integer")
        }
        Type::Float64 => (number(|number| number.float.map(Value::Float)), "float"),
        _ => {
            let shown = NodeRef::Expr(expr).text(frame.source);
            return Err(frame.error(format!("can't handle {shown} for arg of type {}", wanted.name())));
        }
    };
    value.ok_or_else(|| {
        frame.error(format!("expected {expected}; found {}", NodeRef::Expr(expr).text(frame.source)))
    })
}

/// Whether nil is a valid value of the type in Go.
fn can_be_nil(wanted: Type) -> bool {
    match wanted {
        Type::Any | Type::Bytes | Type::List | Type::Strings | Type::Ints | Type::Lists => true,
        Type::Map | Type::StrMap => true,
        // A pointer, a map type or an interface; other objects are structs, which cannot be nil.
        Type::Object(name) => name.starts_with('*') || matches!(name, "common.Values" | "io.Writer"),
        Type::Bool | Type::Int | Type::Int64 | Type::NamedInt(_) | Type::Uint32 | Type::Uint64 => false,
        Type::Float64 | Type::Str | Type::Refused(_) => false,
    }
}

/// Checks a value against the type of a parameter.
pub(super) fn checked(frame: &Frame<'_>, operand: Operand, wanted: Type) -> Result<Value, Error> {
    if wanted == Type::Any {
        return Ok(operand.value);
    }
    if operand.is_invalid() {
        return if can_be_nil(wanted) {
            Ok(Value::Nil)
        } else {
            Err(frame.error(format!("invalid value; expected {}", wanted.name())))
        };
    }
    if operand.is_nil_interface() || !fits(&operand.value, wanted) {
        let got = if operand.is_nil_interface() { "interface {}".into() } else { operand.value.type_name() };
        let message = format!("wrong type for value; expected {}; got {got}", wanted.name());
        return Err(frame.error(message));
    }
    Ok(match operand.value {
        // Named map types are passed as their underlying type.
        Value::Map(map) if wanted == Type::Map && map.is_nil() => Value::Nil,
        Value::Map(map) if wanted == Type::Map => Value::Map(map.retyped(MapType::Any)),
        value => value,
    })
}

fn fits(value: &Value, wanted: Type) -> bool {
    match (wanted, value) {
        (Type::Any, _)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(IntKind::Int, _))
        | (Type::Int64, Value::Int(IntKind::Int64, _))
        | (Type::Uint32, Value::Int(IntKind::Uint32, _))
        | (Type::Uint64, Value::Int(IntKind::Uint64, _))
        | (Type::Float64, Value::Float(_))
        | (Type::Str, Value::Str(_))
        | (Type::Bytes, Value::Bytes(_)) => true,
        (Type::List, Value::List(list)) => list.of == ListType::Any,
        (Type::Strings, Value::List(list)) => list.of == ListType::Str,
        (Type::Ints, Value::List(list)) => list.of == ListType::Int,
        (Type::Lists, Value::List(list)) => list.of == ListType::Lists,
        (Type::Bytes, Value::List(list)) => list.of == ListType::Bytes,
        (Type::Map, Value::Map(map)) => map.of != MapType::Str,
        (Type::StrMap, Value::Map(map)) => map.of == MapType::Str,
        // Go assigns `map[string]interface {}` to the named type, because one of the two types is unnamed.
        (Type::Object("common.Values"), Value::Map(map)) => map.of != MapType::Str,
        // Go dereferences a pointer where the value is expected.
        (Type::NamedInt(name) | Type::Object(name), Value::Object(object)) => {
            let given = object.type_name();
            given == name || given.strip_prefix('*') == Some(name)
        }
        _ => false,
    }
}

/// A result as the executor sees it: typed nils become what they are in Go.
fn returned(value: Value, result: Type) -> Operand {
    // Errors about fields name the static type, so that it was `interface {}` must not be lost.
    if result == Type::Any {
        return Operand::interface(value);
    }
    if !value.is_nil() {
        return Operand::concrete(value);
    }
    Operand::concrete(match result {
        Type::List => Value::List(List::nil(ListType::Any)),
        Type::Strings => Value::List(List::nil(ListType::Str)),
        Type::Ints => Value::List(List::nil(ListType::Int)),
        Type::Lists => Value::List(List::nil(ListType::Lists)),
        Type::Map => Value::Map(MapRef::nil(MapType::Any)),
        Type::StrMap => Value::Map(MapRef::nil(MapType::Str)),
        Type::Bytes => Value::nil_bytes(),
        _ => Value::Nil,
    })
}
