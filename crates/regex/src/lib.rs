//! Go's regular expressions (RE2 syntax) on top of regex-automata.
//!
//! Template functions and schema patterns are written for Go's `regexp`, whose syntax, error texts and empty-match
//! rules differ in many small ways from those of Rust's engines. This crate reads Go's syntax itself and lets
//! regex-automata do the matching.
//!
//! It knows nothing of templates and keeps no cache: compile once and keep the [`Regex`] where it is used often.
//! Haystacks are bytes. A byte that is not part of valid UTF-8 counts as one character U+FFFD, as it does in Go.
//!
//! ```
//! use pintle_regex::Regex;
//!
//! let regex = Regex::compile(r"(?P<key>\w+)=(\d+)").expect("a valid pattern");
//! assert_eq!(regex.replace_all(b"a=1 b=2", b"$2:${key}"), b"1:a 2:b");
//! ```

mod engine;
mod error;
mod expand;
mod matching;
mod search_cost;
mod subject;
mod syntax;
mod unicode;

pub use error::{Error, ErrorKind, Result};
pub use expand::quote_meta;
pub use matching::{MAX_REPLACED, Regex};
pub use unicode::ranges_of;
