//! All integration tests of this crate in one binary; every further binary would be linked separately.

mod objects;
mod support;
mod values;
