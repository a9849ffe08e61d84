//! All integration tests of this crate, in one program: each more would be linked whole.

mod live;
mod node;
mod requests;
mod stores;
mod support;
