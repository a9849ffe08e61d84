//! Taint tracking for values: markers are inserted into values, the chart is rendered, and the markers are read back
//! out of the image fields, so that it is known which value became which part of which image.

mod leaf;
mod marker;
mod trace;

pub use leaf::Leaf;
pub(crate) use leaf::{empty_leaves, name_of, text_leaves};
pub(crate) use trace::trace;
pub use trace::{Fragment, Provenance, UnsetValue};
