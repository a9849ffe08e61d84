//! The crate from the outside.

mod get;
mod index;
