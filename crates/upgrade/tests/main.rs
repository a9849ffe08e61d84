//! All integration tests of this crate in one binary.
