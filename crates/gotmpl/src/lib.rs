//! Go's text/template: lexer, parser, executor, printing.
//!
//! Templates are parsed into a [`Set`], which holds them by name together with the [`Functions`] that they may call.
//! An [`Exec`] is one render: it executes templates of the set on [`Value`]s, counts what they use against
//! [`Limits`], and is handed to functions that run templates themselves. Everything that reaches the user, output
//! and error texts alike, is what Go 1.26 with `missingkey=zero` gives.
//!
//! ```
//! use pintle_gotmpl::{Exec, Functions, Limits, Set, Value};
//!
//! let mut set = Set::new(Functions::new());
//! set.parse("greeting", "Hello, {{ . }}!")?;
//! let mut out = Vec::new();
//! Exec::new(&set, Limits::default()).execute("greeting", &Value::from("Go"), &mut out)?;
//! assert_eq!(out, b"Hello, Go!");
//! # Ok::<(), pintle_gotmpl::Error>(())
//! ```

mod ast;
pub mod blocks;
mod builtins;
mod collection;
mod compare;
mod error;
mod escape;
mod exec;
mod fuel;
mod function;
mod lex;
mod node_text;
mod object;
mod operand;
mod parse;
mod pool;
pub mod print;
mod printf;
pub mod reads;
mod set;
pub mod syntax;
pub mod trace;
mod value;
mod walk;

pub use error::{Error, ErrorKind};
pub use exec::Exec;
pub use fuel::{Fuel, LIMIT_REACHED, Limits};
pub use function::{Args, Body, CallError, CallResult, Function, Functions, HostBody, MapMethods, Type};
pub use object::{Encoded, Method, Object};
pub use set::{Set, SourceCache};
pub use value::{IntKind, Kind, List, ListType, MapRef, MapType, Value};
pub use walk::{EncodeError, encode_check};
