//! Gzip streams into memory, all at once, which is the quickest way for archives of a few megabytes.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::error::ArchiveError;

/// Deflate cannot make more than this many bytes of one.
const MAX_RATIO: usize = 1032;
const FIRST_GUESS: usize = 64 * 1024;

const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const HEADER_CHECKSUM: u8 = 2;
/// The longest name or comment that Go reads.
const MAX_TEXT: usize = 512;
/// Checksum and length at the end of a member.
const TRAILER: usize = 8;

/// What came out of a stream, and how the stream ended.
pub(super) struct Unzipped {
    pub(super) data: Vec<u8>,
    /// Why there is no more data, if that was not the plain end. Matters only to those who want more.
    pub(super) failure: Option<ArchiveError>,
}

/// Unzips up to `limit` bytes of `stream`.
///
/// Checksums are not checked: Helm stops at the end of the tar inside, before it could meet them, and damaged ends of
/// archives must not matter here if they do not there.
///
/// # Errors
/// A stream that does not begin as gzip does.
pub(super) fn gunzip(stream: &[u8], limit: usize) -> Result<Unzipped, ArchiveError> {
    let mut rest = &stream[header(stream)?..];
    let mut unzipped = Unzipped { data: Vec::with_capacity(guess(stream, limit)), failure: None };
    loop {
        match member(rest, &mut unzipped.data, limit) {
            Ok(used) => rest = rest.get(used + TRAILER..).unwrap_or_default(),
            Err(failure) => {
                unzipped.failure = Some(failure);
                return Ok(unzipped);
            }
        }
        if rest.is_empty() {
            return Ok(unzipped);
        }
        // A stream may have several members, one after the other.
        match header(rest) {
            Ok(length) => rest = &rest[length..],
            Err(failure) => {
                unzipped.failure = Some(failure);
                return Ok(unzipped);
            }
        }
    }
}

/// The size to begin with: what the end of the stream claims, if that is possible at all.
fn guess(stream: &[u8], limit: usize) -> usize {
    let claimed = stream.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
    // One byte more, so that the end is noticed without growing.
    claimed.max(FIRST_GUESS).min(limit).min(stream.len().saturating_mul(MAX_RATIO)) + 1
}

/// Unzips one member and returns how much of the stream it took.
fn member(stream: &[u8], data: &mut Vec<u8>, limit: usize) -> Result<usize, ArchiveError> {
    let mut inflate = Decompress::new(false);
    loop {
        if data.len() >= limit {
            return Err(ArchiveError::TooLarge(super::MAX_CHART_SIZE));
        }
        if data.len() == data.capacity() {
            data.reserve(data.len().max(FIRST_GUESS));
        }
        let (used, made) = (inflate.total_in() as usize, inflate.total_out());
        let status = inflate
            .decompress_vec(&stream[used..], data, FlushDecompress::Finish)
            .map_err(|_| ArchiveError::Damaged("flate: corrupt input"))?;
        let stuck = inflate.total_in() as usize == used && inflate.total_out() == made;
        match status {
            Status::StreamEnd => return Ok(inflate.total_in() as usize),
            _ if stuck && data.len() < data.capacity() => {
                return Err(ArchiveError::Damaged("unexpected EOF"));
            }
            _ => {}
        }
    }
}

/// The length of a member's header.
fn header(stream: &[u8]) -> Result<usize, ArchiveError> {
    match stream.len() {
        0 => return Err(ArchiveError::Damaged("EOF")),
        1..10 => return Err(ArchiveError::Damaged("unexpected EOF")),
        _ if !stream.starts_with(&[0x1f, 0x8b, 0x08]) => return Err(ArchiveError::GzipHeader),
        _ => {}
    }
    let flags = stream[3];
    let mut length = 10;
    let cut = ArchiveError::Damaged("unexpected EOF");
    if flags & EXTRA != 0 {
        let extra = stream.get(length..).and_then(<[u8]>::first_chunk).ok_or(cut.clone())?;
        length += 2 + usize::from(u16::from_le_bytes(*extra));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let rest = stream.get(length..).ok_or(cut.clone())?;
            let end = rest.iter().position(|byte| *byte == 0);
            if end.unwrap_or(rest.len()) >= MAX_TEXT {
                return Err(ArchiveError::GzipHeader);
            }
            length += end.ok_or(cut.clone())? + 1;
        }
    }
    if flags & HEADER_CHECKSUM != 0 {
        let checksum = stream.get(length..).and_then(<[u8]>::first_chunk).ok_or(cut.clone())?;
        let mut sum = Crc::new();
        sum.update(&stream[..length]);
        if u32::from(u16::from_le_bytes(*checksum)) != sum.sum() & 0xffff {
            return Err(ArchiveError::GzipHeader);
        }
        length += 2;
    }
    if length > stream.len() { Err(cut) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder, write::GzEncoder};
    use std::io::Write;

    fn zipped(builder: GzBuilder, data: &[u8]) -> Vec<u8> {
        let mut encoder: GzEncoder<Vec<u8>> = builder.write(Vec::new(), Compression::fast());
        encoder.write_all(data).expect("writes to memory");
        encoder.finish().expect("writes to memory")
    }

    #[test]
    fn headers_with_everything_and_several_members_are_read() {
        let builder = GzBuilder::new().filename("name").comment("comment").extra(vec![1, 2, 3]);
        let mut stream = zipped(builder, b"first ");
        stream.extend(zipped(GzBuilder::new(), b"second"));
        let unzipped = gunzip(&stream, 100).expect("is gzip");
        assert_eq!(unzipped.data, b"first second");
        assert_eq!(unzipped.failure, None);
    }

    #[test]
    fn bad_headers_are_told_from_short_ones() {
        let bad_sum = [b"\x1f\x8b\x08\x02".as_slice(), &[0; 40]].concat();
        let long_name = [b"\x1f\x8b\x08\x08\0\0\0\0\0\0".as_slice(), &[b'x'; 600], &[0]].concat();
        for stream in [bad_sum, long_name, b"no gzip at all".to_vec()] {
            assert_eq!(gunzip(&stream, 100).err(), Some(ArchiveError::GzipHeader));
        }
        assert_eq!(gunzip(b"\x1f\x8b\x08", 100).err(), Some(ArchiveError::Damaged("unexpected EOF")));
        assert_eq!(gunzip(b"", 100).err(), Some(ArchiveError::Damaged("EOF")));
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let stream = zipped(GzBuilder::new(), &vec![0; 50_000_000]);
        let unzipped = gunzip(&stream, 1_000_000).expect("is gzip");
        assert_eq!(unzipped.failure, Some(ArchiveError::TooLarge(104_857_600)));
        assert!(unzipped.data.capacity() < 3_000_000);
    }

    #[test]
    fn every_cut_is_noticed() {
        let stream = zipped(GzBuilder::new().filename("n"), b"some text that is long enough to be cut");
        for length in 0..stream.len() - TRAILER {
            let failed = gunzip(&stream[..length], 1000).map_or(true, |unzipped| unzipped.failure.is_some());
            assert!(failed, "{length}");
        }
    }
}
