//! All integration tests of this crate in one program, because each program is linked separately.

mod postgres;
