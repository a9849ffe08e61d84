//! Go's text/template: lexer, parser, executor, printing.

mod error;
mod exec;
mod function;
mod object;
pub mod print;
mod printf;
mod value;
mod walk;

pub use error::Error;
pub use exec::Exec;
pub use function::{Args, Body, CallError, CallResult, Function, Functions, HostBody, Type};
pub use object::{Encoded, Method, Object};
pub use value::{IntKind, Kind, List, ListType, MapRef, MapType, Value};
pub use walk::{EncodeError, encode_check};
