//! Image references, where charts keep them, and how to point them at another registry.
//!
//! A [`Reference`] follows Docker's grammar; a [`Policy`] decides where an image goes, from sources, exclusions, a
//! [`MappingFile`] and a [`Strategy`]. [`relocate`] finds value overrides that move the images of a chart and proves
//! by rendering that nothing else changes; [`rewrite`] moves the rest in rendered text.
//!
//! This crate knows no cluster and reads no files: charts, values and rendered text are passed in.
//!
//! ```
//! use pintle_images::{Policy, Source, Target};
//! let policy = Policy {
//!     sources: Some(vec![Source::parse("docker.io")?]),
//!     target: Some(Target::parse("hub.corp:5000")?),
//!     ..Policy::default()
//! };
//! assert_eq!(policy.relocated("nginx:1")?.as_deref(), Some("hub.corp:5000/dockerio/library/nginx:1"));
//! # Ok::<(), pintle_images::Error>(())
//! ```

mod attribution;
pub mod detect;
mod error;
mod fields;
pub mod mapping;
pub mod overrides;
mod path_filter;
mod policy;
mod proof;
mod provenance;
mod reference;
mod registry;
mod relocate;
mod rendering;
mod rewrite;
mod shape;
mod solve;
mod strategy;
mod suspect;
mod template_line;
mod value_path;

pub use detect::{Scopes, detect};
pub use error::{Error, MappingProblem, Result};
pub use fields::{Field, FieldLocation, fields};
pub use mapping::{Mapping, MappingFile};
pub use path_filter::PathFilter;
pub use policy::{Destination, Policy};
pub use proof::{Consequence, ConsequenceKind, Difference, Violation};
pub use provenance::{Fragment, Leaf, Provenance, UnsetValue};
pub use reference::{
    DEFAULT_REGISTRY, Reference, ReferenceError, ReferenceErrorKind, is_valid_digest, is_valid_tag,
};
pub use registry::{Partition, RegistryKind, Source, Target};
pub use relocate::{Image, Outcome, RelocateOptions, Relocation, UnrenderedImage, inspect, relocate};
pub use rendering::{Files, Rendering};
pub use rewrite::{Rewritten, rewrite};
pub use shape::{Detection, Finding, GlobalRegistry, Issue, Origin, Part, Role, Shape};
pub use solve::Obstacle;
pub use strategy::Strategy;
pub use suspect::{Suspect, SuspectKind, suspects};
pub use template_line::TemplateLine;
pub use value_path::{Segment, ValuePath, overlay};
