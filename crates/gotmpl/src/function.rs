//! Template functions: their Go signatures, which the executor checks, and their bodies.
#![expect(clippy::disallowed_types, reason = "looked up on a hot path, never iterated")]

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use pintle_tree::Str;

use crate::error::Error;
use crate::exec::Exec;
use crate::fuel::Fuel;
use crate::object::Method;
use crate::value::{List, MapRef, Value};

/// A Go type in a signature. The executor converts or rejects arguments by it, with Go's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `interface {}`.
    Any,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `int64`.
    Int64,
    /// `uint32`.
    Uint32,
    /// `uint64`.
    Uint64,
    /// `float64`.
    Float64,
    /// A named type whose kind is int64, such as `time.Duration`: a value of it, or an integer constant, which arrives as an
    /// `int`.
    NamedInt(&'static str),
    /// `string`.
    Str,
    /// `[]byte`.
    Bytes,
    /// `[]interface {}`; nil arrives as [`Value::Nil`].
    List,
    /// `[]string`.
    Strings,
    /// `[]int`.
    Ints,
    /// `[][]interface {}`.
    Lists,
    /// `map[string]interface {}`; nil arrives as [`Value::Nil`].
    Map,
    /// `map[string]string`.
    StrMap,
    /// A host object by its Go type name, for example `time.Time`.
    Object(&'static str),
    /// As a result: of a function that templates cannot call, for example because it returns two numbers. The text is Go's,
    /// with `{}` for the name.
    Refused(&'static str),
}

impl Type {
    /// Go's name for the type.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Any => "interface {}",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Int64 => "int64",
            Type::Uint32 => "uint32",
            Type::Uint64 => "uint64",
            Type::Float64 => "float64",
            Type::Str => "string",
            Type::Bytes => "[]uint8",
            Type::List => "[]interface {}",
            Type::Strings => "[]string",
            Type::Ints => "[]int",
            Type::Lists => "[][]interface {}",
            Type::Map => "map[string]interface {}",
            Type::StrMap => "map[string]string",
            Type::NamedInt(name) | Type::Object(name) | Type::Refused(name) => name,
        }
    }
}

/// Why a function failed: the text that Go shows after `error calling NAME: `.
#[derive(Debug)]
pub struct CallError {
    /// The error text. Empty, with a cause, means the text of the cause: chains of includes can be long.
    pub message: String,
    /// The template error that caused it, if the function ran a template (`include`, `tpl`).
    pub cause: Option<Box<Error>>,
}

impl CallError {
    /// Returns an error with a text.
    pub fn new(message: impl Into<String>) -> Self {
        CallError { message: message.into(), cause: None }
    }

    /// Returns an error with its own text about a template error.
    pub fn with_cause(message: impl Into<String>, cause: Error) -> Self {
        CallError { message: message.into(), cause: Some(Box::new(cause)) }
    }

    /// The whole text.
    pub fn text(&self) -> String {
        match &self.cause {
            Some(cause) if self.message.is_empty() => cause.to_string(),
            _ => self.message.clone(),
        }
    }
}

impl From<Error> for CallError {
    fn from(cause: Error) -> Self {
        CallError::with_cause("", cause)
    }
}

impl From<String> for CallError {
    fn from(message: String) -> Self {
        CallError::new(message)
    }
}

impl From<&str> for CallError {
    fn from(message: &str) -> Self {
        CallError::new(message)
    }
}

/// The result of a function.
pub type CallResult = Result<Value, CallError>;

/// The body of a function that needs the running engine.
pub type HostBody = Arc<dyn Fn(&mut Exec<'_>, Args<'_>) -> CallResult + Send + Sync>;

/// The body of a function.
#[derive(Clone)]
pub enum Body {
    /// Depends on its arguments only.
    Pure(fn(Args<'_>) -> CallResult),
    /// Depends on its arguments only, and charges for its work.
    Metered(fn(&mut Fuel, Args<'_>) -> CallResult),
    /// Needs the running engine, like `include`.
    Host(HostBody),
}

/// A function that templates can call.
#[derive(Clone)]
pub struct Function {
    /// The name as templates write it.
    pub name: &'static str,
    /// The types of its arguments.
    pub params: &'static [Type],
    /// The type of further arguments, when it takes any number.
    pub variadic: Option<Type>,
    /// The type of its result.
    pub result: Type,
    /// The implementation.
    pub body: Body,
}

impl Function {
    /// Returns a pure function, for function tables.
    pub const fn pure(
        name: &'static str,
        params: &'static [Type],
        variadic: Option<Type>,
        result: Type,
        body: fn(Args<'_>) -> CallResult,
    ) -> Self {
        Function { name, params, variadic, result, body: Body::Pure(body) }
    }

    /// Returns a function that charges for its work, for function tables.
    pub const fn metered(
        name: &'static str,
        params: &'static [Type],
        variadic: Option<Type>,
        result: Type,
        body: fn(&mut Fuel, Args<'_>) -> CallResult,
    ) -> Self {
        Function { name, params, variadic, result, body: Body::Metered(body) }
    }
}

/// The arguments of a call, already checked against the signature.
///
/// The accessors return a default if the type does not match, which the executor's check rules out.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [Value]);

impl<'a> Args<'a> {
    /// The number of arguments.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The argument as is.
    pub fn any(self, index: usize) -> &'a Value {
        self.0.get(index).unwrap_or(&Value::Nil)
    }

    /// The arguments from `index` on: the variadic part.
    pub fn rest(self, index: usize) -> &'a [Value] {
        self.0.get(index..).unwrap_or_default()
    }

    /// The bytes of a `string` argument.
    pub fn text(self, index: usize) -> &'a [u8] {
        self.any(index).as_text().map_or(b"", Str::as_bytes)
    }

    /// A `string` argument, shared.
    pub fn str(self, index: usize) -> Str {
        self.any(index).as_text().cloned().unwrap_or_default()
    }

    /// An integer argument.
    pub fn int(self, index: usize) -> i64 {
        match self.any(index) {
            Value::Int(_, value) => *value,
            _ => 0,
        }
    }

    /// A `float64` argument.
    pub fn float(self, index: usize) -> f64 {
        match self.any(index) {
            Value::Float(value) => *value,
            _ => 0.0,
        }
    }

    /// A `bool` argument.
    pub fn bool(self, index: usize) -> bool {
        matches!(self.any(index), Value::Bool(true))
    }

    /// A map argument; `None` is Go's nil map.
    pub fn map(self, index: usize) -> Option<&'a MapRef> {
        self.any(index).as_map()
    }

    /// A `[]interface {}` argument; `None` is nil.
    pub fn list(self, index: usize) -> Option<&'a List> {
        self.any(index).as_list()
    }
}

/// The index of a function in its table.
pub(crate) type FunctionId = u32;

/// The functions of an engine, by name.
#[derive(Clone, Default)]
pub struct Functions {
    functions: Vec<Function>,
    ids: HashMap<&'static [u8], FunctionId, BuildHasherDefault<NameHasher>>,
}

impl Functions {
    /// Returns an empty table.
    pub fn new() -> Self {
        Functions::default()
    }

    /// Returns an empty table with room for this many functions: growing step by step hashes every name several times.
    pub fn with_capacity(count: usize) -> Self {
        Functions {
            functions: Vec::with_capacity(count),
            ids: HashMap::with_capacity_and_hasher(count, BuildHasherDefault::default()),
        }
    }

    /// Adds a function; a later one of the same name replaces it.
    pub fn add(&mut self, function: Function) {
        match self.ids.entry(function.name.as_bytes()) {
            // Helm adds its own functions over sprig's of the same name.
            Entry::Occupied(id) => self.functions[*id.get() as usize] = function,
            Entry::Vacant(slot) => {
                slot.insert(self.functions.len() as FunctionId);
                self.functions.push(function);
            }
        }
    }

    /// Finds a function. The built-ins of text/template are not in the table.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.find(name.as_bytes()).map(|id| self.at(id))
    }

    /// All functions, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter()
    }

    /// The names that templates can call: those of text/template, and those of the table.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        crate::builtins::names().chain(self.functions.iter().map(|function| function.name))
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<FunctionId> {
        self.ids.get(name).copied()
    }

    #[inline]
    pub(crate) fn at(&self, id: FunctionId) -> &Function {
        &self.functions[id as usize]
    }
}

/// FNV-1a. Function names are short and not chosen by an attacker, so a fast hash is preferable.
#[derive(Clone)]
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// The methods of Helm's type for chart values ([`crate::MapType::Values`]).
#[derive(Clone, Copy)]
pub struct MapMethods {
    /// Their signatures.
    pub methods: &'static [Method],
    /// Calls one of them by name.
    pub call: fn(&MapRef, &str, Args<'_>) -> CallResult,
}
