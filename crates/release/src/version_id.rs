//! Identifiers of release versions: ULIDs, and the short forms that users type.

use std::fmt;

use ulid::Ulid;

/// The shortest accepted suffix of an id.
const SHORTEST_SUFFIX: usize = 4;

/// The id of a release version: a ULID, so that ids sort by creation time. Lower case, because object names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(Ulid);

impl VersionId {
    /// The length of an id.
    pub const LENGTH: usize = 26;

    /// Returns the id with the time `millis` since 1970; the lower 80 bits of `random` make it unique.
    pub fn new(millis: u64, random: u128) -> Self {
        VersionId(Ulid::from_parts(millis, random))
    }

    /// Parses an id in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        Ulid::from_string(text).ok().map(VersionId)
    }

    /// The creation time, in milliseconds since 1970.
    pub fn millis(&self) -> u64 {
        self.0.timestamp_ms()
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; ulid::ULID_LEN];
        formatter.write_str(&self.0.array_to_str(&mut text).to_ascii_lowercase())
    }
}

/// A reference to a version of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionRef {
    /// The newest version.
    Current,
    /// By number, Helm's revision.
    Number(u64),
    /// By id.
    Id(VersionId),
    /// By the end of the id, in lower case.
    Suffix(String),
    /// That many before the newest: `~1`, `~2`.
    Before(u32),
}

/// Why a text is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a version: give its number, its id, at least {SHORTEST_SUFFIX} characters of the id's end, or `~1` for the one before the current"
)]
pub struct BadVersionRef {
    text: String,
}

impl fmt::Display for VersionRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionRef::Current => formatter.write_str("~0"),
            VersionRef::Number(number) => number.fmt(formatter),
            VersionRef::Id(id) => id.fmt(formatter),
            VersionRef::Suffix(end) => formatter.write_str(end),
            VersionRef::Before(steps) => write!(formatter, "~{steps}"),
        }
    }
}

impl VersionRef {
    /// Parses a reference. Digits are a number; empty text is the newest version.
    ///
    /// # Errors
    /// Text that is neither a number, an id, the end of an id, nor `~n`.
    pub fn parse(text: &str) -> Result<Self, BadVersionRef> {
        let bad = || BadVersionRef { text: text.to_owned() };
        if text.is_empty() {
            return Ok(VersionRef::Current);
        }
        if let Some(count) = text.strip_prefix('~') {
            // A lone tilde means one version back, as in git.
            let count = if count.is_empty() { Ok(1) } else { count.parse() };
            return match count.map_err(|_| bad())? {
                0 => Ok(VersionRef::Current),
                count => Ok(VersionRef::Before(count)),
            };
        }
        if text.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = text.parse()
        {
            return Ok(VersionRef::Number(number));
        }
        if let Some(id) = VersionId::parse(text) {
            return Ok(VersionRef::Id(id));
        }
        // Crockford's alphabet leaves out some letters, so they cannot occur in an id.
        let possible = |byte: u8| {
            byte.is_ascii_alphanumeric() && !matches!(byte.to_ascii_lowercase(), b'i' | b'l' | b'o' | b'u')
        };
        if (SHORTEST_SUFFIX..VersionId::LENGTH).contains(&text.len()) && text.bytes().all(possible) {
            return Ok(VersionRef::Suffix(text.to_ascii_lowercase()));
        }
        Err(bad())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_lower_case_and_sort_by_time() {
        let early = VersionId::new(1_700_000_000_000, 7);
        let late = VersionId::new(1_700_000_000_001, 0);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(early.to_string().len(), VersionId::LENGTH);
        assert_eq!(VersionId::parse(&early.to_string().to_uppercase()), Some(early));
        assert_eq!(early.to_string(), early.to_string().to_lowercase());
        assert_eq!(early.millis(), 1_700_000_000_000);
    }

    #[test]
    fn the_forms_of_references_are_distinguished() {
        let id = VersionId::new(1_700_000_000_000, 7);
        for (text, reference) in [
            ("", VersionRef::Current),
            ("12", VersionRef::Number(12)),
            ("~2", VersionRef::Before(2)),
            ("~", VersionRef::Before(1)),
            ("~0", VersionRef::Current),
            ("AB3F", VersionRef::Suffix("ab3f".into())),
            (&id.to_string(), VersionRef::Id(id)),
        ] {
            assert_eq!(VersionRef::parse(text), Ok(reference), "{text}");
        }
        for text in ["ab3", "~x", "illo", "a b c", "-1"] {
            assert!(VersionRef::parse(text).is_err(), "{text}");
        }
    }
}
