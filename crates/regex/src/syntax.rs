//! Go's pattern syntax: text in, a tree for the engine out.

mod class;
mod cursor;
mod escape;
mod flags;
mod node;
mod parse;
mod property;

pub(crate) use class::unicode_class;
pub(crate) use parse::{Pattern, parse};
