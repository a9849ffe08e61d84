//! Semantic versions and constraints with the rules of Masterminds/semver.
//!
//! Charts, dependency ranges and the `semver` template functions all go through this crate, so its answers and its
//! texts follow the Go library to the letter, including the oddities of partial versions and wildcards.
//!
//! It knows nothing of charts or templates, does no I/O and keeps no state. Start with [`Version::parse`] and
//! [`Constraint::parse`].
//!
//! ```
//! use pintle_semver::{Constraint, Version};
//!
//! let range = Constraint::parse(">= 1.19-0, < 2").expect("a valid range");
//! let version = Version::parse("v1.25").expect("a valid version");
//! assert!(range.check(&version));
//! assert_eq!(version.to_string(), "1.25.0");
//! ```

mod comparator;
mod constraint;
mod error;
mod grammar;
mod quote;
mod version;

pub use constraint::{Constraint, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LENGTH};
pub use error::{Error, Result};
pub use version::{MAX_VERSION_LENGTH, Version};
