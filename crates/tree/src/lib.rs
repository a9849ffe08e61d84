//! The data tree of charts, values and objects, with Go's semantics.
//!
//! [`Node`] is an owned, `Send` tree: nil, booleans, 64-bit integers, floats, byte strings, lists and maps. [`Map`]
//! keeps its keys in byte order, the order in which Go templates iterate over maps. [`Str`] is the string type of the
//! workspace: cheap to clone, and not necessarily UTF-8, because Go's strings are not.
//!
//! This crate knows no chart, no template and no YAML. It holds what all of them have to agree on: the spelling of
//! numbers ([`number`]), quoting ([`quote`]), letters ([`unicode`]), JSON ([`json`]), JSONPath ([`jsonpath`]), paths, merging and the grammars of `--set`.
//!
//! Start with [`Node`]. Anything tree-shaped can be written by any writer through [`Walk`] and [`Sink`].
//!
//! ```
//! use pintle_tree::{Map, Node};
//! let mut map = Map::new();
//! map.insert("b".into(), Node::from(2.0));
//! map.insert("a".into(), Node::from("x"));
//! assert_eq!(map.keys().map(|key| key.to_string()).collect::<Vec<_>>(), ["a", "b"]);
//! ```

pub mod json;
pub mod jsonpath;
mod log;
mod map;
pub mod merge;
mod node;
pub mod number;
pub mod path;
pub mod quote;
pub mod redact;
pub mod set;
mod stack;
mod str;
pub mod suggest;
pub mod unicode;
mod value_path;
mod walk;

pub use log::{LogLevel, LogLine};
pub use map::Map;
pub use node::Node;
pub use stack::with_stack;
pub use str::Str;
pub use value_path::{Segment, ValuePath};
pub use walk::{KeyOrder, Sink, Walk, natural_order};
