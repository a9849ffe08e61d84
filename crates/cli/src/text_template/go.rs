//! Go's structures, named strings, slices and nil pointers, with the methods that Helm's types have.

use std::any::Any;

use pintle_gotmpl::{CallError, CallResult, Encoded, Kind, Method, Object, Type, Value};

const fn method(name: &'static str, result: Type) -> Method {
    Method { name, params: &[], variadic: None, result }
}

/// A method that templates cannot call, because it returns nothing.
const fn refused(name: &'static str, text: &'static str) -> Method {
    Method { name, params: &[], variadic: Some(Type::Any), result: Type::Refused(text) }
}

/// The methods of named strings.
pub(super) const STRING: &[Method] = &[method("String", Type::Str)];

/// The methods of `common.Status`.
pub(super) const STATUS: &[Method] = &[method("IsPending", Type::Bool), method("String", Type::Str)];

/// The methods of `*v1.Release`.
pub(super) const RELEASE: &[Method] =
    &[refused("SetStatus", "function SetStatus has 0 return values; should be 1 or 2")];

/// The methods of `*v1.Info`.
pub(super) const INFO: &[Method] = &[method("MarshalJSON", Type::Bytes)];

/// The methods of `v1.HookExecution`.
pub(super) const RUN: &[Method] = INFO;

/// The method of what can be validated.
pub(super) const VALIDATE: &[Method] = &[method("Validate", Type::Any)];

/// The methods of `*v2.Chart`.
pub(super) const CHART: &[Method] = &[
    refused("AddDependency", "function AddDependency has 0 return values; should be 1 or 2"),
    method("AppVersion", Type::Str),
    method("CRDObjects", Type::Any),
    method("CRDs", Type::Any),
    method("ChartFullPath", Type::Str),
    method("ChartPath", Type::Str),
    method("Dependencies", Type::Any),
    method("IsRoot", Type::Bool),
    method("Name", Type::Str),
    method("Parent", Type::Any),
    method("Root", Type::Any),
    refused("SetDependencies", "function SetDependencies has 0 return values; should be 1 or 2"),
    method("Validate", Type::Any),
];

/// A Go structure, or a pointer to one.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) name: &'static str,
    pub(super) fields: Vec<(&'static str, Value)>,
    /// Its methods, none of which takes arguments.
    pub(super) methods: &'static [Method],
    /// The results of the methods.
    pub(super) results: Vec<(&'static str, Value)>,
}

impl Structure {
    /// A struct without methods.
    pub(super) fn new(name: &'static str, fields: Vec<(&'static str, Value)>) -> Self {
        Structure { name, fields, methods: &[], results: Vec::new() }
    }
}

/// A structure without methods, as a value.
pub(super) fn structure(name: &'static str, fields: Vec<(&'static str, Value)>) -> Value {
    Value::object(Structure::new(name, fields))
}

fn shown(value: &Value) -> String {
    String::from_utf8_lossy(pintle_gotmpl::print::to_str(value).as_bytes()).into_owned()
}

impl Object for Structure {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone())
    }

    fn methods(&self) -> &'static [Method] {
        self.methods
    }

    fn call(&self, method: &str, _: &[Value]) -> CallResult {
        let found = self.results.iter().find(|(name, _)| *name == method);
        found.map(|(_, value)| value.clone()).ok_or_else(|| CallError::new(format!("no method {method}")))
    }

    fn print(&self) -> String {
        let values: Vec<String> = self.fields.iter().map(|(_, value)| shown(value)).collect();
        format!("{{{}}}", values.join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(self.fields.clone())
    }
}

/// A string of a named type.
#[derive(Debug)]
struct Named {
    name: &'static str,
    text: String,
    methods: &'static [Method],
}

/// A string of a type with a name, as a value.
pub(super) fn named(name: &'static str, text: &str, methods: &'static [Method]) -> Value {
    Value::object(Named { name, text: text.to_owned(), methods })
}

impl Object for Named {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> Kind {
        Kind::String
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn methods(&self) -> &'static [Method] {
        self.methods
    }

    fn call(&self, method: &str, _: &[Value]) -> CallResult {
        Ok(match method {
            "IsPending" => Value::Bool(self.text.starts_with("pending-")),
            _ => Value::from(self.text.as_str()),
        })
    }

    fn is_true(&self) -> bool {
        !self.text.is_empty()
    }

    fn print(&self) -> String {
        self.text.clone()
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::from(self.text.as_str()))
    }
}

/// A slice whose type name templates can print.
#[derive(Debug)]
struct Slice {
    name: &'static str,
    items: Vec<Value>,
}

/// A slice whose type name templates can print, as a value.
pub(super) fn slice(name: &'static str, items: Vec<Value>) -> Value {
    Value::object(Slice { name, items })
}

impl Object for Slice {
    fn type_name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> Kind {
        Kind::Slice
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn entries(&self) -> Vec<(Value, Value)> {
        let numbered = self.items.iter().zip(0..);
        numbered.map(|(item, number)| (Value::int(number), item.clone())).collect()
    }

    fn print(&self) -> String {
        format!("[{}]", self.items.iter().map(shown).collect::<Vec<String>>().join(" "))
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::list(self.items.clone()))
    }
}

/// A nil pointer or a nil error.
#[derive(Debug)]
struct Absent(&'static str);

/// A nil pointer or a nil error, as a value.
pub(super) fn absent(name: &'static str) -> Value {
    Value::object(Absent(name))
}

impl Object for Absent {
    fn type_name(&self) -> &'static str {
        self.0
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_true(&self) -> bool {
        false
    }

    fn print(&self) -> String {
        "<nil>".to_owned()
    }

    fn is_stringer(&self) -> bool {
        false
    }

    fn encode(&self) -> Encoded {
        Encoded::Value(Value::Nil)
    }
}
