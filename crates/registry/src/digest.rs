//! Content digests, and incremental verification of streams.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha512};

use crate::error::{Error, Result};

/// The supported algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    const ALL: [Algorithm; 2] = [Algorithm::Sha256, Algorithm::Sha512];

    fn name(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
        }
    }

    fn width(self) -> usize {
        match self {
            Algorithm::Sha256 => 64,
            Algorithm::Sha512 => 128,
        }
    }
}

/// A digest such as `sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// Hashes content with SHA-256.
    pub fn of(content: &[u8]) -> Digest {
        let mut hasher = Hasher(State::Sha256(Sha256::new()));
        hasher.update(content);
        hasher.finish()
    }

    /// The name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The first digits, for display.
    pub fn short(&self) -> &str {
        &self.hex[..12]
    }

    /// The digest in the form that cosign and the referrers tag schema use in tags: `sha256-…`.
    pub(crate) fn tag(&self) -> String {
        format!("{}-{}", self.algorithm(), self.hex)
    }

    /// A hasher for this digest's algorithm.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher(match self.algorithm {
            Algorithm::Sha256 => State::Sha256(Sha256::new()),
            Algorithm::Sha512 => State::Sha512(Sha512::new()),
        })
    }

    /// Verifies content in memory.
    pub(crate) fn check(&self, content: &[u8], what: &str) -> Result<()> {
        let mut hasher = self.hasher();
        hasher.update(content);
        hasher.check(self, what)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Digest> {
        let bad = || Error::Digest { text: text.chars().take(200).collect() };
        let (name, hex) = text.split_once(':').ok_or_else(bad)?;
        let algorithm = Algorithm::ALL.into_iter().find(|known| known.name() == name).ok_or_else(bad)?;
        let digits = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !digits || hex.len() != algorithm.width() {
            return Err(bad());
        }
        Ok(Digest { algorithm, hex: hex.to_owned() })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

/// An incremental hasher. Clones are cheap, so that uploads can rewind to a checkpoint.
#[derive(Clone)]
pub(crate) struct Hasher(State);

#[derive(Clone)]
enum State {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hasher {
    pub(crate) fn update(&mut self, content: &[u8]) {
        match &mut self.0 {
            State::Sha256(state) => state.update(content),
            State::Sha512(state) => state.update(content),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self.0 {
            State::Sha256(state) => Digest { algorithm: Algorithm::Sha256, hex: hex(&state.finalize()) },
            State::Sha512(state) => Digest { algorithm: Algorithm::Sha512, hex: hex(&state.finalize()) },
        }
    }

    pub(crate) fn check(self, expected: &Digest, what: &str) -> Result<()> {
        let found = self.finish();
        if found == *expected {
            return Ok(());
        }
        Err(Error::Mismatch { what: what.to_owned(), expected: expected.clone(), found })
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_called_by_its_digest() {
        let digest = Digest::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse::<Digest>().unwrap(), digest);
        assert!(digest.check(b"", "nothing").is_ok());
        assert!(digest.check(b"x", "something").is_err());
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        let long = "a".repeat(64);
        for text in
            ["", "sha256", "sha256:", "md5:0123", "sha256:../../etc", &format!("sha256:{}", "A".repeat(64))]
        {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
        assert!(format!("sha256:{long}").parse::<Digest>().is_ok());
        assert!(format!("sha512:{long}{long}").parse::<Digest>().is_ok());
        assert!(format!("sha512:{long}").parse::<Digest>().is_err());
    }
}
