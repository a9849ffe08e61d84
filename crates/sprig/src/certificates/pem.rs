//! PEM, parsed by the rules of Go's `encoding/pem`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::base::decode_64;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// One decoded block.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// The type of the block, for example `CERTIFICATE`.
    pub(super) label: Vec<u8>,
    /// The content.
    pub(super) bytes: Vec<u8>,
}

/// Writes a block in lines of 64 characters.
pub(super) fn encode(label: &str, bytes: &[u8]) -> String {
    let body = STANDARD.encode(bytes);
    let mut out = String::with_capacity(body.len() + body.len() / 64 + 2 * label.len() + 36);
    out.push_str("-----BEGIN ");
    out.push_str(label);
    out.push_str("-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = next;
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

/// Finds the first well-formed block.
pub(super) fn decode(text: &[u8]) -> Option<Block> {
    let mut rest = text;
    loop {
        // The last BEGIN before the first END counts, so that stray BEGIN lines are skipped.
        let end = find(rest, END)?;
        let after = &rest[end + END.len()..];
        if let Some(block) = block_before(&rest[..end], after) {
            return Some(block);
        }
        rest = after;
    }
}

/// Reads the block that ends where `text` ends, given what follows the word END.
fn block_before(text: &[u8], after: &[u8]) -> Option<Block> {
    let begin = text.windows(BEGIN.len()).rposition(|window| window == BEGIN)?;
    if begin > 0 && text[begin - 1] != b'\n' {
        return None;
    }
    let (first, mut body) = line(&text[begin + BEGIN.len()..]);
    let label = first.strip_suffix(DASHES)?;
    // Header lines are recognised by their colon.
    loop {
        let (next, rest) = line(body);
        if !next.contains(&b':') {
            break;
        }
        if !body.contains(&b'\n') {
            // Headers need a line between them and the END.
            return None;
        }
        body = rest;
    }
    let trailer = after.strip_prefix(label)?.strip_prefix(DASHES)?;
    if !line(trailer).0.is_empty() {
        return None;
    }
    let body: Vec<u8> = body.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    let bytes = decode_64(&body).ok()?;
    Some(Block { label: label.to_vec(), bytes })
}

/// Splits off the first line, without its end and without white space before that.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[][..]),
    };
    let length =
        line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r')).map_or(0, |last| last + 1);
    (&line[..length], rest)
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_survive_a_round_trip() {
        let bytes: Vec<u8> = (0..100).collect();
        let text = encode("X Y", &bytes);
        assert_eq!(text.lines().nth(1).map(str::len), Some(64));
        assert_eq!(decode(text.as_bytes()), Some(Block { label: b"X Y".to_vec(), bytes }));
        assert!(decode(encode("E", &[]).as_bytes()).is_some_and(|block| block.bytes.is_empty()));
    }

    #[test]
    fn noise_headers_and_broken_blocks_before_a_good_one_are_skipped() {
        let text = b"noise\n-----BEGIN A-----\n!!\n-----END A-----\n-----BEGIN A-----\n-----BEGIN B----- \r\nK: v\n\n AA E=\t\n-----END B-----  \nrest";
        assert_eq!(decode(text), Some(Block { label: b"B".to_vec(), bytes: vec![0, 1] }));
        for bad in [&b""[..], b"-----BEGIN A-----\nAAA=\n", b"x-----BEGIN A-----\nAAA=\n-----END A-----"] {
            assert_eq!(decode(bad), None);
        }
    }
}
