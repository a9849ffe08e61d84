//! Context ⇄ Lua. Tables are filled on first access, and know which part of the context they represent: what is not
//! accessed is never converted, and what is not changed is returned exactly as it was.

mod exact;
mod fill;
mod frame;
mod from_lua;
mod parts;
mod return_changes;
mod to_lua;
mod tree;

pub(crate) use fill::{assign, fill, part, refusal};
pub(crate) use frame::{Frame, Root};
pub(crate) use from_lua::{node, type_name};
pub(crate) use return_changes::return_changes;
pub(crate) use to_lua::to_lua;

/// The largest integer up to which Lua's numbers are exact, 2⁵³.
pub(crate) const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
