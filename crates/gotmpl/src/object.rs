//! Host objects: Go structs, pointers and named types that templates reach into.

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

/// What an encoder (`toJson`, `toYaml`) sees of an object.
pub enum Encoded {
    /// Another value stands for the object.
    Value(Value),
    /// Named fields in this order, as Go writes a struct.
    Fields(Vec<(&'static str, Value)>),
    /// The object cannot be encoded; the text is Go's.
    Error(String),
}

/// A value with fields and methods of its own.
pub trait Object: fmt::Debug {
    /// Go's name of the type, as `%T` prints it.
    fn type_name(&self) -> &'static str;

    /// Go's kind.
    fn kind(&self) -> Kind {
        Kind::Struct
    }

    /// The object itself, for functions that know its type.
    fn as_any(&self) -> &dyn Any;

    /// An exported field. For kinds other than structs there are none.
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
    /// As the method says.
    fn call(&self, method: &str, arguments: &[Value]) -> Result<Value, CallError> {
        let _ = arguments;
        Err(CallError::new(format!("no method {method}")))
    }

    /// What a call of a method costs in steps, where that depends on how large the object is; without a method, what
    /// [`Object::entries`] costs.
    fn cost(&self, method: Option<&str>, arguments: &[Value]) -> u64 {
        let _ = (method, arguments);
        0
    }

    /// The entries when the kind is a map or a slice: key and element, in the order of `range`.
    fn entries(&self) -> Vec<(Value, Value)> {
        Vec::new()
    }

    /// Looks up a key when the kind is a map.
    fn index(&self, key: &Str) -> Option<Value> {
        let _ = key;
        None
    }

    /// Go's truth. Structs and pointers are true.
    fn is_true(&self) -> bool {
        match self.kind() {
            Kind::Map | Kind::Slice => !self.entries().is_empty(),
            _ => true,
        }
    }

    /// The text of `%v`, which is `String()` where the type has one.
    fn print(&self) -> String;

    /// Whether [`Object::print`] is the text of a `String()` method, which verbs such as `%s` and `%q` then format.
    fn is_stringer(&self) -> bool {
        true
    }

    /// The text when a template prints the value itself (`{{ . }}`). Go takes the address there, so methods of the
    /// pointer count, which `%v` of the struct does not see.
    fn print_addressed(&self) -> String {
        self.print()
    }

    /// What encoders see.
    fn encode(&self) -> Encoded;

    /// All exported fields by their Go names, for an encoder that does not know which of them are left out when empty.
    /// `None` where [`Object::encode`] leaves out nothing.
    fn all_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }
}
