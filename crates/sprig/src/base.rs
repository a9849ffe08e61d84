//! Base64 and base32 with Go's error positions; an invalid text gives the error as its result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_gotmpl::{Args, CallResult, Function, Type};

use crate::text::{check_size, text};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::Str;
    vec![
        Function::pure("b64enc", &[Str], None, Str, encode_64),
        Function::pure("b64dec", &[Str], None, Str, |args| {
            decoded(decode_64(args.text(0)).map_err(|at| format!("illegal base64 data at input byte {at}")))
        }),
        Function::pure("b32enc", &[Str], None, Str, encode_32),
        Function::pure("b32dec", &[Str], None, Str, |args| {
            decoded(decode_32(args.text(0)).map_err(|at| format!("illegal base32 data at input byte {at}")))
        }),
    ]
}

// sprig returns the text of the error as the result, and charts print it; a template cannot tell the two
// apart.
fn decoded(result: Result<Vec<u8>, String>) -> CallResult {
    match result {
        Ok(bytes) => text(bytes),
        Err(message) => text(message),
    }
}

fn encode_64(args: Args<'_>) -> CallResult {
    check_size("b64enc", args.text(0).len() / 3 * 4)?;
    text(STANDARD.encode(args.text(0)))
}

fn is_newline(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

fn value_64(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Decodes padded base64, ignoring newlines; the error is the position of the invalid byte.
pub(crate) fn decode_64(source: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(source.len() / 4 * 3);
    let mut at = 0;
    let (mut group, mut filled) = (0u32, 0);
    while at < source.len() {
        let byte = source[at];
        at += 1;
        if let Some(value) = value_64(byte) {
            group = group << 6 | value;
            filled += 1;
            if filled == 4 {
                out.extend_from_slice(&group.to_be_bytes()[1..]);
                (group, filled) = (0, 0);
            }
        } else if is_newline(byte) {
        } else if byte == b'=' {
            end_64(source, at, filled)?;
            out.extend_from_slice(&(group << (6 * (4 - filled))).to_be_bytes()[1..filled]);
            return Ok(out);
        } else {
            return Err(at - 1);
        }
    }
    // Go counts back one byte per digit of the incomplete group.
    if filled == 0 { Ok(out) } else { Err(at - filled) }
}

/// Checks what follows the first padding character, which ends at `at`.
fn end_64(source: &[u8], mut at: usize, filled: usize) -> Result<(), usize> {
    let skip = |mut at: usize| {
        while source.get(at).copied().is_some_and(is_newline) {
            at += 1;
        }
        at
    };
    match filled {
        0 | 1 => return Err(at - 1),
        2 => {
            at = skip(at);
            match source.get(at) {
                None => return Err(source.len()),
                Some(b'=') => at += 1,
                Some(_) => return Err(at - 1),
            }
        }
        _ => {}
    }
    at = skip(at);
    if at < source.len() { Err(at) } else { Ok(()) }
}

const ALPHABET_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode_32(args: Args<'_>) -> CallResult {
    let source = args.text(0);
    check_size("b32enc", source.len() / 5 * 8)?;
    let mut out = Vec::with_capacity(source.len().div_ceil(5) * 8);
    for chunk in source.chunks(5) {
        let mut group = [0; 8];
        group[3..3 + chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_be_bytes(group);
        let digits = (chunk.len() * 8).div_ceil(5);
        out.extend((0..digits).map(|digit| ALPHABET_32[(bits >> (35 - 5 * digit) & 31) as usize]));
        out.resize(out.len() + 8 - digits, b'=');
    }
    text(out)
}

fn value_32(byte: u8) -> Option<u64> {
    match byte {
        b'A'..=b'Z' => Some(u64::from(byte - b'A')),
        b'2'..=b'7' => Some(u64::from(byte - b'2') + 26),
        _ => None,
    }
}

/// Decodes padded base32; positions do not count newlines.
fn decode_32(source: &[u8]) -> Result<Vec<u8>, usize> {
    let source: Vec<u8> = source.iter().copied().filter(|&byte| !is_newline(byte)).collect();
    let mut out = Vec::with_capacity(source.len() / 8 * 5);
    let mut rest = &source[..];
    while !rest.is_empty() {
        let mut group = 0u64;
        for index in 0..8 {
            let Some((&byte, after)) = rest.split_first() else {
                return Err(source.len() - index);
            };
            let position = source.len() - rest.len();
            rest = after;
            if byte == b'=' && index >= 2 && rest.len() < 8 {
                end_32(source.len(), rest, index)?;
                let bytes = group << (5 * (8 - index));
                out.extend_from_slice(&bytes.to_be_bytes()[3..3 + index * 5 / 8]);
                return Ok(out);
            }
            group = group << 5 | value_32(byte).ok_or(position)?;
        }
        out.extend_from_slice(&group.to_be_bytes()[3..]);
    }
    Ok(out)
}

/// Checks what follows the first padding character of a group with `digits` digits.
fn end_32(length: usize, rest: &[u8], digits: usize) -> Result<(), usize> {
    if rest.len() + digits < 7 {
        return Err(length);
    }
    if let Some(index) = rest.iter().take(7 - digits).position(|&byte| byte != b'=') {
        return Err(length - rest.len() + index - 1);
    }
    if matches!(digits, 1 | 3 | 6) { Err(length - rest.len() - 1) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_gotmpl::Value;

    #[test]
    fn base_64_errors_have_the_offset() {
        assert_eq!(decode_64(b"aGVs\nbG8=\n"), Ok(b"hello".to_vec()));
        assert_eq!(decode_64(b"YQ=="), Ok(b"a".to_vec()));
        assert_eq!(decode_64(b"YQ="), Err(3));
        assert_eq!(decode_64(b"XMLHttpRequest2"), Err(12));
        assert_eq!(decode_64(b"a\nb\n"), Err(2));
        assert_eq!(decode_64(b"YQ==x"), Err(4));
    }

    #[test]
    fn base_32_goes_both_ways() {
        for plain in ["", "f", "fo", "foo", "foob", "fooba", "foobar"] {
            let encoded = encode_32(Args(&[Value::str(plain)])).unwrap();
            let encoded = encoded.as_text().unwrap().as_bytes().to_vec();
            assert_eq!(encoded.len() % 8, 0);
            assert_eq!(decode_32(&encoded), Ok(plain.as_bytes().to_vec()));
        }
        assert_eq!(decode_32(b"HTTPServer"), Err(5));
        assert_eq!(decode_32(b"MZX"), Err(0));
    }
}
