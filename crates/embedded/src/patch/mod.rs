//! Patches as the server carries them out: JSON patches, merge patches and strategic merge patches.
//!
//! All three are pure and give the patched tree; whether that still fits its kind is for [`crate::fit`] to say.

mod json_patch;
mod merge_patch;
mod strategic;

pub use json_patch::json_patch;
pub use merge_patch::merge_patch;
pub use strategic::strategic_patch;

use pintle_tree::Node;

/// An object as a patch leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Patched {
    /// The object.
    pub object: Node,
    /// What strict field validation objects to in the patch itself: fields that are there twice.
    pub strict: Vec<String>,
}
