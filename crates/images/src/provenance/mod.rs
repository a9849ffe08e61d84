//! Which value became which part of which image: the values are marked, the chart is rendered, and the marks are read
//! back out of the image fields.

mod leaf;
mod marker;
mod trace;

pub use leaf::Leaf;
pub(crate) use leaf::{empty_leaves, name_of, text_leaves};
pub(crate) use trace::trace;
pub use trace::{Fragment, Provenance, UnsetValue};
