//! The cleartext signature framework, as Go's library writes and reads it.

use crate::armor;

const START: &[u8] = b"-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "PGP SIGNATURE";
const END: &[u8] = b"\n-----END PGP SIGNATURE-----";

/// Digests that a header may name; what it says is not used.
const HASHES: &[&str] =
    &["MD5", "SHA1", "RIPEMD160", "SHA224", "SHA256", "SHA384", "SHA512", "SHA3-256", "SHA3-512"];

/// A parsed clear-signed text.
#[derive(Debug)]
pub(crate) struct Block {
    /// The text, with single line feeds.
    pub(crate) text: Vec<u8>,
    /// The signed bytes: the text in canonical form (see `canonical`).
    pub(crate) signed: Vec<u8>,
    /// The packets of the signature.
    pub(crate) signature: Vec<u8>,
}

/// The canonical form of `text` that is signed: without white space at the ends of lines, and with CRLF line breaks.
pub(crate) fn canonical(text: &[u8]) -> Vec<u8> {
    text.split(|byte| *byte == b'\n')
        .map(|line| trim_end(line, b" \t\r"))
        .collect::<Vec<_>>()
        .join(&b"\r\n"[..])
}

/// Writes a clear-signed text from the text and the packets of its signature.
pub(crate) fn encode(text: &[u8], hash: &str, signature: &[u8]) -> Vec<u8> {
    let mut out = [START, b"\nHash: ", hash.as_bytes(), b"\n\n"].concat();
    for line in text.split(|byte| *byte == b'\n') {
        if line.starts_with(b"-") {
            out.extend_from_slice(b"- ");
        }
        out.extend_from_slice(trim_end(line, b" \t\r"));
        out.push(b'\n');
    }
    out.extend_from_slice(armor::encode(SIGNATURE, signature).as_bytes());
    out
}

/// Finds the first signed text; nothing if there is none, or if it is damaged.
pub(crate) fn decode(data: &[u8]) -> Option<Block> {
    let mut rest = match data.strip_prefix(START) {
        Some(rest) => rest,
        None => {
            let start = [b"\n", START].concat();
            let at = data.windows(start.len()).position(|window| window == start)?;
            &data[at + start.len()..]
        }
    };
    if !line(&mut rest)?.is_empty() {
        return None;
    }
    loop {
        let header = line(&mut rest)?.trim_ascii();
        if header.is_empty() {
            break;
        }
        let (key, values) = std::str::from_utf8(header).ok()?.split_once(':')?;
        let known = |value: &str| HASHES.contains(&value.trim().to_ascii_uppercase().as_str());
        if key.trim() != "Hash" || !values.split(',').all(known) {
            return None;
        }
    }
    let mut lines: Vec<&[u8]> = Vec::new();
    let armored = loop {
        let here = rest;
        let line = line(&mut rest)?;
        if line == b"-----BEGIN PGP SIGNATURE-----" {
            break here;
        }
        lines.push(trim_end(line.strip_prefix(b"- ").unwrap_or(line), b" \t"));
    };
    let end = armored.windows(END.len()).position(|window| window == END)?;
    let signature = armor::decode(&armored[..end + END.len()], &[SIGNATURE]).ok()?;
    Some(Block { text: lines.join(&b"\n"[..]), signed: lines.join(&b"\r\n"[..]), signature })
}

/// Takes the next line; nothing at the end.
fn line<'t>(rest: &mut &'t [u8]) -> Option<&'t [u8]> {
    if rest.is_empty() {
        return None;
    }
    let (line, after) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (*rest, &rest[rest.len()..]),
    };
    *rest = after;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

fn trim_end<'t>(line: &'t [u8], blanks: &[u8]) -> &'t [u8] {
    let kept = line.iter().rposition(|byte| !blanks.contains(byte)).map_or(0, |last| last + 1);
    &line[..kept]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_signed() {
        for text in
            ["", "a", "a\n", "a \t\n- b\n-----BEGIN PGP SIGNATURE-----\n\n", "\n\na\r\nb\n", "-\n- \n"]
        {
            let written = encode(text.as_bytes(), "SHA512", b"\x01\x02");
            let block = decode(&written).unwrap();
            assert_eq!(block.signed, canonical(text.as_bytes()), "{text:?}");
            assert_eq!(block.signature, b"\x01\x02");
        }
    }

    #[test]
    fn the_frame_is_as_gos_library_writes_it_but_for_the_checksum() {
        let written = encode(b"- a: b \nc\n", "SHA512", b"\x00\x01\x02");
        let expected = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n- - a: b\nc\n\n\
            -----BEGIN PGP SIGNATURE-----\n\nAAEC\n=ybVn\n-----END PGP SIGNATURE-----";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn damaged_frames_are_not_found() {
        let good = String::from_utf8(encode(b"a\n", "SHA512", b"\x00\x01\x02")).unwrap();
        assert!(decode(format!("before\n{good}\nafter").as_bytes()).is_some());
        for (from, to) in [
            ("MESSAGE-----", "MESSAGE----- x"),
            ("Hash: SHA512", "Hash: SHA9"),
            ("Hash: SHA512", "Comment: x"),
            ("Hash: SHA512", "nonsense"),
            ("-----END PGP SIGNATURE-----", ""),
            ("-----BEGIN PGP SIGNATURE-----", ""),
            ("AAEC", "???"),
        ] {
            assert!(decode(good.replace(from, to).as_bytes()).is_none(), "{to}");
        }
        assert!(decode(b"").is_none());
        assert!(decode(START).is_none());
        assert!(decode(format!("x{good}").as_bytes()).is_none());
    }
}
