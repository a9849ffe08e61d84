//! All integration tests of this crate in one program, because linking each separately takes long.

mod deploy;
mod failures;
mod interrupted;
mod lifecycle;
mod process;
mod support;
