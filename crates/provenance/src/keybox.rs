//! Keyboxes (`pubring.kbx`), in which GnuPG has kept public keys since 2.1: a list of blobs, some of them OpenPGP keys.

use crate::error::{Error, Result};

const HEADER: u8 = 1;
const OPENPGP: u8 = 2;

/// Whether the data is a keybox.
pub(crate) fn is_keybox(data: &[u8]) -> bool {
    data.get(4) == Some(&HEADER) && data.get(8..12) == Some(b"KBXf")
}

/// The OpenPGP keys of a keybox, one after another.
pub(crate) fn keys(data: &[u8]) -> Result<Vec<u8>> {
    let mut keys = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let size = number(rest, 0)?;
        let blob = rest.get(..size).filter(|blob| blob.len() >= 5).ok_or(Error::Truncated)?;
        if blob[4] == OPENPGP {
            let (at, length) = (number(blob, 8)?, number(blob, 12)?);
            let key = at.checked_add(length).and_then(|end| blob.get(at..end)).ok_or(Error::Truncated)?;
            keys.extend_from_slice(key);
        }
        rest = &rest[size..];
    }
    Ok(keys)
}

fn number(data: &[u8], at: usize) -> Result<usize> {
    let bytes = data.get(at..at + 4).ok_or(Error::Truncated)?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(kind: u8, body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(16 + body.len()).unwrap();
        let length = u32::try_from(body.len()).unwrap();
        let mut blob = size.to_be_bytes().to_vec();
        blob.extend([kind, 1, 0, 0]);
        if kind == HEADER {
            blob.extend(b"KBXf");
        } else {
            blob.extend(16_u32.to_be_bytes());
        }
        blob.extend(length.to_be_bytes());
        blob.extend(body);
        blob
    }

    #[test]
    fn openpgp_blobs_are_taken_and_others_left() {
        let data =
            [blob(HEADER, b""), blob(OPENPGP, b"one"), blob(3, b"x509"), blob(OPENPGP, b"two")].concat();
        assert!(is_keybox(&data));
        assert_eq!(keys(&data).unwrap(), b"onetwo");
    }

    #[test]
    fn lies_about_sizes_end_in_errors() {
        let good = [blob(HEADER, b""), blob(OPENPGP, b"one")].concat();
        for cut in 1..good.len() {
            let outcome = keys(&good[..cut]);
            assert!(outcome.is_err() || cut == 16, "{cut}");
        }
        for (at, byte) in [(19, 0), (19, 4), (16, 255), (24, 255), (28, 255), (31, 9)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(keys(&bad), Err(Error::Truncated), "{at}");
        }
    }
}
