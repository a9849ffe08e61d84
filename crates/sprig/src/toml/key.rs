//! Keys of tables, and the quotes that TOML writes.

use pintle_tree::Str;

/// Whether a key needs no quotes on account of this byte.
pub(super) fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Writes text in double quotes.
pub(super) fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..=0x1f | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Writes one part of a key, in quotes if it needs them.
pub(super) fn push_part(part: &[u8], out: &mut Vec<u8>) {
    if !part.is_empty() && part.iter().copied().all(is_bare) {
        out.extend_from_slice(part);
    } else {
        push_quoted(part, out);
    }
}

/// Writes a key with its parts joined by dots.
pub(super) fn push_key(key: &[Str], out: &mut Vec<u8>) {
    for (index, part) in key.iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        push_part(part.as_bytes(), out);
    }
}

/// The text of a key.
pub(super) fn to_str(key: &[Str]) -> Str {
    let mut out = Vec::new();
    push_key(key, &mut out);
    Str::from(out)
}
