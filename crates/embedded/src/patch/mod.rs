//! JSON patch, JSON merge patch and strategic merge patch.
//!
//! All three are pure and return the patched tree, which is then decoded and validated like any other object.

mod json_patch;
mod merge_patch;
mod strategic;

pub use json_patch::json_patch;
pub use merge_patch::merge_patch;
pub use strategic::strategic_patch;

use pintle_tree::Node;

/// The result of a patch.
#[derive(Clone, Debug, PartialEq)]
pub struct Patched {
    /// The object.
    pub object: Node,
    /// Strict decoding errors of the patch itself: duplicate fields.
    pub strict: Vec<String>,
}
