//! Errors; the texts reach users and therefore equal those of the Go library.

use crate::constraint::{MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LENGTH};
use crate::quote::quote;
use crate::version::MAX_VERSION_LENGTH;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a text is not a version or not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not have the shape of a version.
    #[error("invalid semantic version")]
    InvalidVersion,
    /// Strict parsing of an empty text.
    #[error("version string empty")]
    Empty,
    /// Strict parsing found something other than digits in a number.
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// A number has a leading zero.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// The part after `+` is malformed.
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// The part after `-` is malformed.
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// The version text is over [`MAX_VERSION_LENGTH`].
    #[error("version string is too long (max {MAX_VERSION_LENGTH} bytes)")]
    VersionTooLong,
    /// A number that is too large, in loose parsing.
    #[error("error parsing version segment: {0}")]
    Segment(SegmentError),
    /// A number that is too large or missing, in strict parsing.
    #[error("{0}")]
    StrictSegment(SegmentError),
    /// A number is at its maximum and cannot be incremented; names which one.
    #[error("{0} version increment would overflow uint64")]
    Overflow(&'static str),
    /// The constraint text is over [`MAX_CONSTRAINT_LENGTH`].
    #[error("constraint string is too long (max {MAX_CONSTRAINT_LENGTH} bytes)")]
    ConstraintTooLong,
    /// The constraint has more than [`MAX_CONSTRAINT_GROUPS`] alternatives.
    #[error("too many constraint groups (max {MAX_CONSTRAINT_GROUPS})")]
    TooManyGroups,
    /// An alternative of the constraint does not have the shape of one.
    #[error("improper constraint: {}", quote(.0))]
    ImproperConstraint(String),
    /// The constraint contains an invalid version.
    #[error("constraint parser error")]
    ConstraintParser,
}

/// Why the digits of a version do not fit a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// There are no digits.
    #[error("strconv.ParseUint: parsing {}: invalid syntax", quote(.0))]
    Syntax(String),
    /// The number is larger than 64 bits.
    #[error("strconv.ParseUint: parsing {}: value out of range", quote(.0))]
    Range(String),
}
