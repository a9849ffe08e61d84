//! Parses rendered text into Kubernetes objects: splitting, identity, order, hooks.
//!
//! Templates render to a stream of documents. This crate splits the text, decodes the head of each document (API
//! version, kind, name, annotations), separates hooks and sorts everything into Helm's install or uninstall order.
//! Documents stay slices of the rendered text; nothing is copied.
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
