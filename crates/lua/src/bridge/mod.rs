//! Context ⇄ Lua. Tables are filled when a script first looks at them, and know which part of the context they stand
//! for: what was not looked at is never converted, and what was not changed comes back as it was, to the last digit.

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
pub(crate) use to_lua::give;

/// The largest whole number up to which Lua's numbers have no gaps, 2⁵³.
pub(crate) const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
