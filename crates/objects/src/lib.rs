//! Parses rendered text into Kubernetes objects: splitting, identity, order, hooks.
//!
//! Templates render to text in which documents follow each other. This room cuts that text into documents, reads who
//! each one is (API version, kind, name, annotations), sets hooks aside and puts everything into the order in which
//! Helm installs or uninstalls kinds. Documents stay slices of the rendered text; nothing is copied.
//!
//! It knows no chart, no template and no cluster. Sorting decodes only the head of a document; [`Object`] is the
//! whole of it.
//!
//! Start with [`sort`] for a set of rendered files, or [`split`] for one text.
//!
//! ```
//! let text = "a: 1\n---\nb: 2\n";
//! let documents: Vec<&[u8]> = pintle_objects::split(text.as_bytes()).collect();
//! assert_eq!(documents, [b"a: 1\n", b"b: 2\n"]);
//! ```

mod build;
mod error;
mod head;
mod hook;
mod identity;
mod kind;
mod metadata;
mod object;
mod parallel;
mod prune;
mod sort;
mod split;

pub use build::{Built, Validation, aggregate, build, build_document};
pub use error::Error;
pub use head::{Head, HeadMetadata};
pub use hook::{Hook, HookEvent};
pub use identity::ObjectId;
pub use kind::Order;
pub use object::{Object, ObjectError};
pub use parallel::parallel_map;
pub use pintle_tree::LogLine;
pub use sort::{Manifest, Sorted, sort};
pub use split::{Documents, split, trim_end};
