//! Go's pattern syntax: text in, a tree for the engine out.

mod class;
mod cursor;
mod escape;
mod flags;
mod newer;
mod node;
mod parse;
mod property;

pub(crate) use parse::{Pattern, parse};
pub(crate) use property::{Property, characters, property};
