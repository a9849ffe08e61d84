//! Host objects: Go structs, pointers and named types that templates can access.

use std::any::Any;
use std::fmt;

use pintle_tree::Str;

use crate::function::{CallError, Type};
use crate::value::{Kind, Value};

/// A method of a host object.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name as templates write it.
    pub name: &'static str,
    /// The types of its arguments.
    pub params: &'static [Type],
    /// The type of further arguments, when it takes any number.
    pub variadic: Option<Type>,
    /// The type of its result.
    pub result: Type,
}

/// How an encoder (`toJson`, `toYaml`) sees an object.
pub enum Encoded {
    /// As another value.
    Value(Value),
    /// As named fields in this order, like a Go struct.
    Fields(Vec<(&'static str, Value)>),
    /// It cannot be encoded; the text is Go's.
    Error(String),
}

/// A value with its own fields and methods.
pub trait Object: fmt::Debug {
    /// Go's name of the type, as `%T` prints it.
    fn type_name(&self) -> &'static str;

    /// Go's kind.
    fn kind(&self) -> Kind {
        Kind::Struct
    }

    /// The object itself, for functions that know its type.
    fn as_any(&self) -> &dyn Any;

    /// An exported field; `None` for kinds other than structs.
    fn field(&self, name: &str) -> Option<Value> {
        let _ = name;
        None
    }

    /// The exported methods.
    fn methods(&self) -> &'static [Method] {
        &[]
    }

    /// Calls a method of [`Object::methods`] with arguments of its types.
    ///
    /// # Errors
    /// As the method defines.
    fn call(&self, method: &str, arguments: &[Value]) -> Result<Value, CallError> {
        let _ = arguments;
        Err(CallError::new(format!("no method {method}")))
    }

    /// The cost of a method call in steps, if it depends on the size of the object; without a method, the cost of
    /// [`Object::entries`].
    fn cost(&self, method: Option<&str>, arguments: &[Value]) -> u64 {
        let _ = (method, arguments);
        0
    }

    /// The entries if the kind is a map or a slice: key and element, in the order of `range`.
    fn entries(&self) -> Vec<(Value, Value)> {
        Vec::new()
    }

    /// Looks up a key if the kind is a map.
    fn index(&self, key: &Str) -> Option<Value> {
        let _ = key;
        None
    }

    /// Go's `IsTrue`. Structs and pointers are true.
    fn is_true(&self) -> bool {
        match self.kind() {
            Kind::Map | Kind::Slice => !self.entries().is_empty(),
            _ => true,
        }
    }

    /// The text of `%v`, which is `String()` if the type has one.
    fn print(&self) -> String;

    /// Whether [`Object::print`] is the text of a `String()` method, which verbs such as `%s` and `%q` then format.
    fn is_stringer(&self) -> bool {
        true
    }

    /// The text when a template prints the value itself (`{{ . }}`). Go takes the address there, so pointer methods
    /// count, which `%v` of the struct does not see.
    fn print_addressed(&self) -> String {
        self.print()
    }

    /// How encoders see it.
    fn encode(&self) -> Encoded;

    /// All exported fields by their Go names, for an encoder that ignores `omitempty`. `None` if [`Object::encode`]
    /// omits nothing.
    fn all_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }
}
