//! Semantic versions: parsing, formatting, ordering and incrementing.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result, SegmentError};
use crate::grammar::{is_identifier_byte, split_version};

/// The maximum length of a version, in bytes.
pub const MAX_VERSION_LENGTH: usize = 256;

/// One semantic version.
///
/// Equality and order follow precedence: metadata and the original spelling do not count.
#[derive(Debug, Clone, Default)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    /// Prerelease identifiers without the leading `-`; empty for a release.
    pub pre: String,
    /// Build metadata without the leading `+`.
    pub metadata: String,
    /// The text the version was parsed from.
    pub original: String,
}

impl Version {
    /// Creates a release version of three numbers.
    #[must_use]
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        let mut version = Self { major, minor, patch, ..Self::default() };
        version.original = version.to_string();
        version
    }

    /// Parses a version loosely: a leading `v`, missing numbers and leading zeros are fine.
    ///
    /// # Errors
    /// When the text is too long, has another shape, or a number or identifier in it is invalid.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_VERSION_LENGTH {
            return Err(Error::VersionTooLong);
        }
        let parts = split_version(text).ok_or(Error::InvalidVersion)?;
        let number = |digits: &str| match digits {
            // `1` and `1.2` are versions for Helm.
            "" => Ok(0),
            _ => parse_number(digits).map_err(Error::Segment),
        };
        let version = Self {
            major: number(parts.major)?,
            minor: number(parts.minor)?,
            patch: number(parts.patch)?,
            pre: parts.pre.to_owned(),
            metadata: parts.metadata.to_owned(),
            original: text.to_owned(),
        };
        if !version.pre.is_empty() {
            validate_prerelease(&version.pre)?;
        }
        Ok(version)
    }

    /// Parses a version that must have exactly the form of the specification.
    ///
    /// # Errors
    /// When anything deviates from that form.
    pub fn parse_strict(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        if text.len() > MAX_VERSION_LENGTH {
            return Err(Error::VersionTooLong);
        }
        let mut segments = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (segments.next(), segments.next(), segments.next())
        else {
            return Err(Error::InvalidVersion);
        };
        // Metadata first: it may contain dashes, and a prerelease cannot contain a plus.
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => (rest, validate_metadata(metadata).map(|()| metadata)?),
            None => (rest, ""),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, validate_prerelease(pre).map(|()| pre)?),
            None => (rest, ""),
        };
        for segment in [major, minor, patch] {
            if !segment.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Error::InvalidCharacters);
            }
            if has_leading_zero(segment) {
                return Err(Error::SegmentStartsZero);
            }
        }
        let number = |digits| parse_number(digits).map_err(Error::StrictSegment);
        Ok(Self {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: pre.to_owned(),
            metadata: metadata.to_owned(),
            original: text.to_owned(),
        })
    }

    /// Returns the text the version was parsed from.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Returns whether this is a prerelease.
    #[must_use]
    pub fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// Compares by precedence; metadata is ignored.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prerelease(&self.pre, &other.pre),
        })
    }

    /// Returns the next patch version; for a prerelease that is its release.
    ///
    /// # Errors
    /// When the number is at its maximum.
    pub fn inc_patch(&self) -> Result<Self> {
        // A prerelease comes before its release, so the release is the next patch.
        let patch = if self.is_prerelease() { self.patch } else { raise(self.patch, "patch")? };
        Ok(self.follower(self.major, self.minor, patch))
    }

    /// Returns the next minor version.
    ///
    /// # Errors
    /// When the number is at its maximum.
    pub fn inc_minor(&self) -> Result<Self> {
        Ok(self.follower(self.major, raise(self.minor, "minor")?, 0))
    }

    /// Returns the next major version.
    ///
    /// # Errors
    /// When the number is at its maximum.
    pub fn inc_major(&self) -> Result<Self> {
        Ok(self.follower(raise(self.major, "major")?, 0, 0))
    }

    /// Returns this version with another prerelease; an empty one removes it.
    ///
    /// # Errors
    /// When the prerelease is malformed.
    pub fn set_prerelease(&self, pre: &str) -> Result<Self> {
        if !pre.is_empty() {
            validate_prerelease(pre)?;
        }
        Ok(self.respelled(Self { pre: pre.to_owned(), ..self.clone() }))
    }

    /// Returns this version with other metadata; empty metadata removes it.
    ///
    /// # Errors
    /// When the metadata is malformed.
    pub fn set_metadata(&self, metadata: &str) -> Result<Self> {
        if !metadata.is_empty() {
            validate_metadata(metadata)?;
        }
        Ok(self.respelled(Self { metadata: metadata.to_owned(), ..self.clone() }))
    }

    fn follower(&self, major: u64, minor: u64, patch: u64) -> Self {
        self.respelled(Self { major, minor, patch, ..Self::default() })
    }

    /// Sets the original text of `next` to its canonical form, with a leading `v` if this version had one.
    fn respelled(&self, mut next: Self) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        next.original = format!("{prefix}{next}");
        next
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(formatter, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}

/// Compares two prereleases identifier by identifier; a missing identifier is the smallest.
pub(crate) fn compare_prerelease(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => compare_identifier(left.unwrap_or(""), right.unwrap_or("")),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Orders empty before numeric before alphanumeric identifiers. A number beyond 64 bits counts as alphanumeric.
fn compare_identifier(left: &str, right: &str) -> Ordering {
    if left == right || left.is_empty() || right.is_empty() {
        return left.len().min(1).cmp(&right.len().min(1));
    }
    match (parse_number(left), parse_number(right)) {
        (Ok(left_number), Ok(right_number)) => left_number.cmp(&right_number).then_with(|| left.cmp(right)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => left.cmp(right),
    }
}

fn parse_number(digits: &str) -> std::result::Result<u64, SegmentError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SegmentError::Syntax(digits.to_owned()));
    }
    // Digits only, so the one thing that can be wrong is the size.
    digits.parse().map_err(|_| SegmentError::Range(digits.to_owned()))
}

fn raise(number: u64, name: &'static str) -> Result<u64> {
    number.checked_add(1).ok_or(Error::Overflow(name))
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

fn validate_prerelease(pre: &str) -> Result<()> {
    for identifier in pre.split('.') {
        if identifier.is_empty() || !identifier.bytes().all(is_identifier_byte) {
            return Err(Error::InvalidPrerelease);
        }
        if has_leading_zero(identifier) && identifier.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::SegmentStartsZero);
        }
    }
    Ok(())
}

fn validate_metadata(metadata: &str) -> Result<()> {
    let valid = |identifier: &str| !identifier.is_empty() && identifier.bytes().all(is_identifier_byte);
    if metadata.split('.').all(valid) { Ok(()) } else { Err(Error::InvalidMetadata) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).expect(text)
    }

    fn failure(text: &str) -> String {
        Version::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn loose_parsing_fills_missing_numbers() {
        assert_eq!(version("v1.02-rc.1+b").to_string(), "1.2.0-rc.1+b");
        assert_eq!(version("v1.02").original(), "v1.02");
    }

    #[test]
    fn parse_failures_have_the_texts_of_go() {
        assert_eq!(failure("1.2.3.4"), "invalid semantic version");
        assert_eq!(failure("1.2.3-01"), "version segment starts with 0");
        assert_eq!(failure(&"1".repeat(257)), "version string is too long (max 256 bytes)");
        let range = "error parsing version segment: strconv.ParseUint: parsing \"99999999999999999999\": value out of range";
        assert_eq!(failure("1.99999999999999999999"), range);
        let strict = Version::parse_strict("1..2").expect_err("no minor").to_string();
        assert_eq!(strict, "strconv.ParseUint: parsing \"\": invalid syntax");
    }

    #[test]
    fn precedence_ignores_metadata_and_compares_numbers() {
        let ascending = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.b", "1.0.0"];
        assert!(ascending.windows(2).all(|pair| version(pair[0]) < version(pair[1])));
        assert_eq!(version("1+a"), version("1.0.0+b"));
    }

    #[test]
    fn raising_keeps_the_prefix_and_refuses_to_overflow() {
        assert_eq!(version("v1.2.3-rc").inc_patch().expect("fits").original(), "v1.2.3");
        assert_eq!(version("1.2.3+x").inc_minor().expect("fits").original(), "1.3.0");
        let overflow = version("18446744073709551615").inc_major().expect_err("at maximum").to_string();
        assert_eq!(overflow, "major version increment would overflow uint64");
    }
}
