//! The storage encoding of a record: gzip, then base64. Uncompressed records are accepted when reading, as in Helm.

use std::io::{self, Read as _, Write as _};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

use super::Error;

/// The largest record when decompressed, as protection against decompression bombs. What fits a Secret decompresses
/// to about ten megabytes.
pub const MAX_UNPACKED: u64 = 96 << 20;

/// A Secret holds 1 MiB. Records larger than this are compressed again with a slower compressor.
const SLOW_COMPRESSION_THRESHOLD: usize = 900 << 10;

/// The best level of miniz_oxide.
const MAX_LEVEL: u8 = 10;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Base64 as Go's `StdEncoding` decodes it: padding is required, and trailing bits are ignored.
pub(super) const GO_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Encodes the JSON of a record as Helm stores it.
pub fn pack(json: &[u8]) -> String {
    let fast = pack_bytes(json, Compression::best());
    // Secrets are limited by the size of their decoded data, which is this base64: Kubernetes encodes it once more.
    if fast.len() / 3 * 4 < SLOW_COMPRESSION_THRESHOLD {
        return STANDARD.encode(fast);
    }
    let slow = pack_small(json);
    STANDARD.encode(if slow.len() < fast.len() { slow } else { fast })
}

/// Compresses with gzip.
pub fn pack_bytes(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), level);
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

/// Compresses with miniz_oxide, which is slower and a few percent smaller.
fn pack_small(bytes: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(bytes);
    // The gzip header that Go writes: no name, no time, best compression, unknown OS.
    let mut out = vec![GZIP_MAGIC[0], GZIP_MAGIC[1], GZIP_MAGIC[2], 0, 0, 0, 0, 0, 2, 255];
    out.extend(miniz_oxide::deflate::compress_to_vec(bytes, MAX_LEVEL));
    out.extend(crc.sum().to_le_bytes());
    out.extend(crc.amount().to_le_bytes());
    out
}

/// Decodes what [`pack`] encoded.
///
/// # Errors
/// Invalid base64 or gzip, with Go's message.
pub fn unpack(data: &[u8]) -> Result<Vec<u8>, Error> {
    let bytes = match GO_BASE64.decode(data) {
        Ok(bytes) => bytes,
        Err(_) => decode_base64_like_go(data).map_err(Error::new)?,
    };
    unpack_bytes(bytes)
}

/// Decompresses gzip; anything else is returned as it is.
///
/// # Errors
/// Invalid gzip, with Go's message.
pub fn unpack_bytes(bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    if is_gzip(&bytes) { inflate(&bytes, MAX_UNPACKED) } else { Ok(bytes) }
}

fn inflate(bytes: &[u8], limit: u64) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(bytes.len() * 4);
    MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut out).map_err(gzip_error)?;
    if out.len() as u64 > limit {
        return Err(Error::new(format!("the release is larger than {limit} bytes when unpacked")));
    }
    Ok(out)
}

/// Whether Helm would treat the bytes as gzip.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.len() > GZIP_MAGIC.len() && bytes.starts_with(&GZIP_MAGIC)
}

/// Go's message for invalid gzip.
pub(super) fn gzip_error(error: io::Error) -> Error {
    let text = error.to_string();
    Error::new(match error.kind() {
        io::ErrorKind::UnexpectedEof => "unexpected EOF",
        _ if text.contains("checksum") => "gzip: invalid checksum",
        _ if text.contains("header") => "gzip: invalid header",
        _ => "flate: corrupt input",
    })
}

/// Decodes base64 byte by byte as Go does: line breaks are skipped, and the error names the offset.
pub(super) fn decode_base64_like_go(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let mut kept = Vec::with_capacity(text.len());
    let mut quantum_start = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if is_line_end(&byte) {
            at += 1;
            continue;
        }
        if kept.len() % 4 == 0 {
            quantum_start = at;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            kept.push(byte);
            at += 1;
            continue;
        }
        let filled = kept.len() % 4;
        if byte != b'=' || filled < 2 {
            return corrupt(at);
        }
        let skip = |mut at: usize| {
            while text.get(at).is_some_and(is_line_end) {
                at += 1;
            }
            at
        };
        let mut next = at + 1;
        if filled == 2 {
            next = skip(next);
            match text.get(next) {
                None => return corrupt(text.len()),
                Some(b'=') => next += 1,
                Some(_) => return corrupt(next - 1),
            }
        }
        next = skip(next);
        if next < text.len() {
            return corrupt(next);
        }
        kept.extend(std::iter::repeat_n(b'=', 4 - filled));
        at = next;
    }
    if kept.len() % 4 != 0 {
        return corrupt(quantum_start);
    }
    GO_BASE64.decode(&kept).or_else(|_| corrupt(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_whichever_compressor_was_used() {
        let text = b"release ".repeat(1000);
        assert_eq!(unpack(pack(&text).as_bytes()).expect("good"), text);
        assert_eq!(unpack_bytes(pack_small(&text)).expect("good"), text);
    }

    #[test]
    fn text_that_is_not_compressed_is_taken_as_it_is() {
        assert_eq!(unpack(b"e30=").expect("good"), b"{}");
        assert_eq!(unpack(b"e3\r\n0=\n").expect("line ends are fine"), b"{}");
    }

    #[test]
    fn invalid_base64_is_reported_with_its_offset() {
        for (text, at) in
            [("a", 0), ("ab", 0), ("abcda", 4), ("ab?d", 2), ("=", 0), ("ab=", 3), ("ab=x", 2), ("abc=d", 4)]
        {
            let error = unpack(text.as_bytes()).expect_err("broken").to_string();
            assert_eq!(error, format!("illegal base64 data at input byte {at}"), "{text}");
        }
    }

    #[test]
    fn bombs_are_refused() {
        let zeros = pack_bytes(&[0; 100_000], Compression::fast());
        assert!(inflate(&zeros, 99_999).expect_err("too large").to_string().contains("larger than"));
        assert!(inflate(&zeros, 100_000).is_ok());
    }
}
