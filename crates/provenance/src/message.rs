//! The text that is signed: Chart.yaml, a line of three dots, and digests.

use std::fmt::Write as _;
use std::io::{self, Read};

use pintle_tree::{Map, Node};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// What stands between Chart.yaml and digests. Three dashes, as YAML has it, would have to be escaped in a signed text.
const SEPARATOR: &[u8] = b"\n...\n";

/// The SHA-256 of `bytes` in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The same for what is read piece by piece.
///
/// # Errors
///
/// When it cannot be read.
pub fn sha256_of(mut content: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut content, &mut hasher)?;
    Ok(hex(&hasher.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The text to sign for an archive called `name` with the SHA-256 `digest` (hexadecimal) and the text of its Chart.yaml.
///
/// # Errors
///
/// When the name cannot be written as YAML.
pub fn message(metadata: &[u8], name: &str, digest: &str) -> Result<Vec<u8>> {
    let mut files = Map::new();
    files.insert(name.into(), Node::from(format!("sha256:{digest}")));
    let mut sums = Map::new();
    sums.insert("files".into(), Node::Map(files));
    let sums =
        pintle_yaml::write(&Node::Map(sums)).map_err(|error| Error::BadSums { reason: error.to_string() })?;
    Ok([metadata, SEPARATOR, &sums].concat())
}

/// The files that a signed text names, with their digests; none if it has no such part.
pub(crate) fn digests(text: &[u8]) -> Vec<(String, String)> {
    let Some(at) = find(text, SEPARATOR) else { return Vec::new() };
    let rest = &text[at + SEPARATOR.len()..];
    let sums = &rest[..find(rest, SEPARATOR).unwrap_or(rest.len())];
    let Ok(sums) = pintle_yaml::read(sums) else { return Vec::new() };
    let files = sums.get("files").and_then(Node::as_map).map(Map::entries).unwrap_or_default();
    files
        .iter()
        .filter_map(|(name, digest)| Some((name.to_str_lossy().into_owned(), digest.as_str()?.to_owned())))
        .collect()
}

/// The digest that a signed text has for the file `name`.
pub(crate) fn signed_digest(text: &[u8], name: &str) -> Result<String> {
    let at = find(text, SEPARATOR).ok_or(Error::OnePart)?;
    let rest = &text[at + SEPARATOR.len()..];
    let sums = &rest[..find(rest, SEPARATOR).unwrap_or(rest.len())];
    let sums = pintle_yaml::read(sums).map_err(|error| Error::BadSums { reason: error.to_string() })?;
    let missing = || Error::NoSum { name: name.to_owned() };
    match sums.get("files").and_then(|files| files.get(name)).ok_or_else(missing)? {
        Node::Str(digest) => Ok(digest.to_str_lossy().into_owned()),
        _ => Err(Error::BadSums {
            reason: format!("the digest of `{name}` in the provenance file is no text"),
        }),
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_text_has_chart_yaml_and_the_digest_of_the_archive() {
        let digest = sha256(b"archive");
        assert_eq!(sha256_of(&b"archive"[..]).unwrap(), digest);
        let text = message(b"name: a\nversion: 1.0.0\n", "a-1.0.0.tgz", &digest).unwrap();
        let expected = format!("name: a\nversion: 1.0.0\n\n...\nfiles:\n  a-1.0.0.tgz: sha256:{digest}\n");
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
        assert_eq!(signed_digest(&text, "a-1.0.0.tgz").unwrap(), format!("sha256:{digest}"));
    }

    #[test]
    fn texts_about_other_things_are_refused() {
        assert_eq!(signed_digest(b"name: a\n", "a.tgz"), Err(Error::OnePart));
        let other = b"a\n...\nfiles:\n  b.tgz: sha256:x\n";
        assert_eq!(signed_digest(other, "a.tgz"), Err(Error::NoSum { name: "a.tgz".into() }));
        assert!(matches!(
            signed_digest(b"a\n...\nfiles:\n  a.tgz: [1]\n", "a.tgz"),
            Err(Error::BadSums { .. })
        ));
        assert!(matches!(signed_digest(b"a\n...\n{", "a.tgz"), Err(Error::BadSums { .. })));
        assert!(matches!(signed_digest(b"a\n...\n", "a.tgz"), Err(Error::NoSum { .. })));
    }

    #[test]
    fn a_third_part_is_not_read() {
        let text = b"a\n...\nfiles:\n  a.tgz: sha256:x\n...\nfiles:\n  a.tgz: sha256:y\n";
        assert_eq!(signed_digest(text, "a.tgz").unwrap(), "sha256:x");
    }
}
