//! The crate from the outside.

mod index;
