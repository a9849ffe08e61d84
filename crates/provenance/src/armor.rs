//! ASCII armour: OpenPGP data as lines of base64.

use base64::DecodeError;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, Result};

/// How long lines are.
const WIDTH: usize = 64;

/// How long the lines are that Go's library reads.
const MAX_WIDTH: usize = 96;

/// Padding is optional, because some tools leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Writes `data` as a block of this kind, with its checksum. Go's library leaves that out by now, and GnuPG 2.2 then takes
/// the last line for data whenever the base64 above it needs no padding.
pub(crate) fn encode(kind: &str, data: &[u8]) -> String {
    let text = BASE64.encode(data);
    let mut out = format!("-----BEGIN {kind}-----\n\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(WIDTH));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    let [_, checksum @ ..] = crc24(data).to_be_bytes();
    out.push_str(&format!("={}\n-----END {kind}-----", BASE64.encode(checksum)));
    out
}

/// The checksum of armour: RFC 9580, section 6.1.
fn crc24(data: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ (u32::from(*byte) << 16), |crc, _| {
            let shifted = crc << 1;
            if shifted & 0x0100_0000 == 0 { shifted } else { shifted ^ 0x0186_4cfb }
        })
    };
    data.iter().fold(0x00b7_04ce, step)
}

/// The kind of the first block; `None` if it ends before its data begins, which Go's library takes for no block.
pub(crate) fn kind(text: &[u8]) -> Option<String> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
    let kind = lines.find_map(|line| line.strip_prefix(b"-----BEGIN ")?.strip_suffix(b"-----"))?;
    lines.find(|line| line.is_empty() || !line.contains(&b':'))?;
    Some(String::from_utf8_lossy(kind).into_owned())
}

/// Reads the first block, whose kind must be one of `kinds`.
pub(crate) fn decode(text: &[u8], kinds: &[&str]) -> Result<Vec<u8>> {
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
    let kind = lines
        .by_ref()
        .find_map(|line| line.strip_prefix(b"-----BEGIN ")?.strip_suffix(b"-----"))
        .ok_or_else(|| Error::data("no armored data found"))?;
    if !kinds.iter().any(|known| known.as_bytes() == kind) {
        let kind = String::from_utf8_lossy(kind).into_owned();
        return Err(Error::data(format!("expected {}, got: {kind}", kinds.join(" or "))));
    }
    let end = [b"-----END ", kind, b"-----"].concat();
    let mut body = Vec::new();
    let mut in_headers = true;
    for line in lines {
        if line == end {
            return BASE64.decode(&body).map_err(|error| match error {
                DecodeError::InvalidByte(at, _) => Error::Base64 { at },
                other => Error::data(format!("the armor is no base64: {other}")),
            });
        }
        if in_headers && (line.is_empty() || !line.contains(&b':')) {
            in_headers = false;
        }
        if !in_headers && line.len() > MAX_WIDTH {
            return Err(Error::data("armor invalid"));
        }
        // A line that begins with `=` is the checksum. It is ignored: damage is detected by the signature.
        if !in_headers && !line.starts_with(b"=") {
            body.extend_from_slice(line);
        }
    }
    Err(Error::Truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_and_read_back() {
        for size in [0, 1, 2, 3, 47, 48, 49, 500] {
            let data: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
            let text = encode("PGP SIGNATURE", &data);
            assert!(text.lines().all(|line| line.len() <= WIDTH));
            assert_eq!(decode(text.as_bytes(), &["PGP SIGNATURE"]).unwrap(), data);
        }
    }

    #[test]
    fn the_checksum_is_that_of_openpgp() {
        assert_eq!(crc24(b"123456789"), 0x0021_cf02);
        assert!(encode("A", b"123456789").ends_with("\n=Ic8C\n-----END A-----"));
    }

    #[test]
    fn headers_checksums_and_other_line_breaks_are_fine() {
        let text = b"x\r\n-----BEGIN A-----\r\nVersion: 1\r\n\r\nAAEC\r\n=njUN\r\n-----END A-----\r\n";
        assert_eq!(decode(text, &["A"]).unwrap(), [0, 1, 2]);
        assert_eq!(decode(b"-----BEGIN A-----\nAAEC\n-----END A-----", &["A"]).unwrap(), [0, 1, 2]);
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for text in [
            "",
            "-----BEGIN A-----",
            "-----BEGIN A-----\n\nAAEC",
            "-----BEGIN B-----\n\n-----END B-----",
            "-----BEGIN A-----\n\n!!!!\n-----END A-----",
        ] {
            assert!(decode(text.as_bytes(), &["A"]).is_err(), "{text}");
        }
        let of_width = |width| format!("-----BEGIN A-----\n\n{}\n-----END A-----", "A".repeat(width));
        assert!(decode(of_width(96).as_bytes(), &["A"]).is_ok());
        let error = decode(of_width(100).as_bytes(), &["A"]).unwrap_err();
        assert_eq!(error.to_string(), "openpgp: invalid data: armor invalid");
    }
}
