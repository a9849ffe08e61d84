//! Keyboxes (`pubring.kbx`), in which GnuPG has kept public keys since 2.1: a list of blobs, some of them OpenPGP keys.

const HEADER: u8 = 1;
const OPENPGP: u8 = 2;

/// The length and the type of a blob.
const MIN_BLOB: usize = 5;

/// The part of an OpenPGP blob that says where its key is.
const OPENPGP_HEADER: usize = 16;

/// The flag of keys that are not part of the keyring (yet).
const EPHEMERAL: u8 = 2;

/// Whether the data is a keybox.
pub(crate) fn is_keybox(data: &[u8]) -> bool {
    data.get(4) == Some(&HEADER) && data.get(8..12) == Some(b"KBXf")
}

/// The OpenPGP keys of a keybox, one after another. What is wrong with it is said in Helm's words.
pub(crate) fn keys(data: &[u8]) -> Result<Vec<u8>, String> {
    let mut keys = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let rest = &data[at..];
        if rest.len() < MIN_BLOB {
            return Err(format!("truncated blob header at offset {at}"));
        }
        let size = number(rest, 0);
        if size < MIN_BLOB {
            return Err(format!("invalid blob length {size} at offset {at}"));
        }
        let Some(blob) = rest.get(..size) else {
            let left = rest.len();
            return Err(format!(
                "blob at offset {at} has length {size} exceeding the {left} remaining bytes"
            ));
        };
        if blob[4] == OPENPGP {
            keys.extend_from_slice(
                openpgp_key(blob).map_err(|what| format!("OpenPGP blob at offset {at} {what}"))?,
            );
        }
        at += size;
    }
    if keys.is_empty() {
        return Err("keybox contains no OpenPGP keys".to_owned());
    }
    Ok(keys)
}

/// The key of an OpenPGP blob; empty for an ephemeral one, which GnuPG does not count as part of the keyring.
fn openpgp_key(blob: &[u8]) -> Result<&[u8], &'static str> {
    if blob.len() < OPENPGP_HEADER {
        return Err("is too short");
    }
    let (at, length) = (number(blob, 8), number(blob, 12));
    let key =
        at.checked_add(length).and_then(|end| blob.get(at..end)).ok_or("has an out-of-range keyblock")?;
    Ok(if blob[7] & EPHEMERAL == 0 { key } else { &[] })
}

fn number(data: &[u8], at: usize) -> usize {
    data[at..at + 4].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
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
            assert!(keys(&good[..cut]).is_err(), "{cut}");
        }
        assert_eq!(keys(&good[..18]).unwrap_err(), "truncated blob header at offset 16");
        assert_eq!(keys(&good[..16]).unwrap_err(), "keybox contains no OpenPGP keys");
        let outcome = |at: usize, byte: u8| {
            let mut bad = good.clone();
            bad[at] = byte;
            keys(&bad).unwrap_err()
        };
        assert_eq!(outcome(19, 0), "invalid blob length 0 at offset 16");
        assert_eq!(outcome(19, 4), "invalid blob length 4 at offset 16");
        assert_eq!(
            outcome(16, 255),
            "blob at offset 16 has length 4278190099 exceeding the 19 remaining bytes"
        );
        for at in [24, 28, 31] {
            assert_eq!(outcome(at, 255), "OpenPGP blob at offset 16 has an out-of-range keyblock", "{at}");
        }
        let short = [blob(HEADER, b""), vec![0, 0, 0, 8, OPENPGP, 1, 0, 0]].concat();
        assert_eq!(keys(&short).unwrap_err(), "OpenPGP blob at offset 16 is too short");
        assert_eq!(outcome(23, EPHEMERAL), "keybox contains no OpenPGP keys");
    }
}
