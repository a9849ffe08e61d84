//! Splits OpenPGP data into packets.

use crate::error::{Error, Result};

/// Tags of packets.
pub(crate) const SIGNATURE: u8 = 2;
pub(crate) const SECRET_KEY: u8 = 5;
pub(crate) const PUBLIC_KEY: u8 = 6;

/// The packet tags that make up a key: keys, subkeys, user ids and attributes, and signatures. Others are left out, such
/// as GnuPG's trust packets between them.
pub(crate) const KEY_PARTS: &[u8] = &[SIGNATURE, SECRET_KEY, PUBLIC_KEY, 7, 13, 14, 17];

/// One packet with its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'d> {
    pub(crate) tag: u8,
    pub(crate) bytes: &'d [u8],
}

/// Splits data into packets.
pub(crate) fn frames(data: &[u8]) -> Result<Vec<Frame<'_>>> {
    let mut rest = data;
    let mut frames = Vec::new();
    while let Some(first) = rest.first().copied() {
        if first & 0x80 == 0 {
            return Err(Error::data("tag byte does not have MSB set"));
        }
        let (tag, head, length) = if first & 0x40 == 0 { old(first, rest)? } else { new(first, rest)? };
        let size = head.checked_add(length).ok_or(Error::Truncated)?;
        let bytes = rest.get(..size).ok_or(Error::Truncated)?;
        frames.push(Frame { tag, bytes });
        rest = &rest[size..];
    }
    Ok(frames)
}

/// Tag, size of the header and size of the body in the old format.
fn old(first: u8, data: &[u8]) -> Result<(u8, usize, usize)> {
    let tag = (first & 0x3f) >> 2;
    let width = match first & 3 {
        3 => return Ok((tag, 1, data.len() - 1)),
        power => 1_usize << power,
    };
    Ok((tag, 1 + width, number(data.get(1..=width).ok_or(Error::Truncated)?)))
}

/// The same in the new format.
fn new(first: u8, data: &[u8]) -> Result<(u8, usize, usize)> {
    let byte = |at: usize| data.get(at).copied().map(usize::from).ok_or(Error::Truncated);
    let (head, length) = match byte(1)? {
        short @ 0..=191 => (2, short),
        long @ 192..=223 => (3, ((long - 192) << 8) + byte(2)? + 192),
        255 => (6, number(data.get(2..6).ok_or(Error::Truncated)?)),
        _ => return Err(Error::data("packets in pieces have no place here")),
    };
    Ok((first & 0x3f, head, length))
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_split() {
        let long = [&[0xc2, 193, 0][..], &[7; 448]].concat();
        let data =
            [&[0x88, 2, 1, 2][..], &[0xc2, 1, 9], &long, &[0xc2, 255, 0, 0, 0, 1, 5], &[0x99, 0, 1, 3]]
                .concat();
        let found: Vec<(u8, usize)> =
            frames(&data).unwrap().iter().map(|frame| (frame.tag, frame.bytes.len())).collect();
        assert_eq!(found, [(2, 4), (2, 3), (2, 451), (2, 7), (6, 4)]);
    }

    #[test]
    fn lies_about_sizes_end_in_errors() {
        assert_eq!(frames(b"text").unwrap_err(), Error::data("tag byte does not have MSB set"));
        for data in [
            &[0x88][..],
            &[0x88, 5, 1],
            &[0xc2],
            &[0xc2, 200],
            &[0xc2, 255, 255, 255, 255, 255, 0],
            &[0x9a, 0],
        ] {
            assert_eq!(frames(data).unwrap_err(), Error::Truncated, "{data:?}");
        }
        assert!(frames(&[0xc2, 224, 1]).is_err());
        assert!(frames(&[]).unwrap().is_empty());
    }
}
