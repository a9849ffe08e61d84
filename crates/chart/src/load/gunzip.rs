//! Decompresses gzip in chunks, into a window small enough for the CPU cache.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::error::ArchiveError;

/// The window size.
const WINDOW: usize = 256 * 1024;

const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const HEADER_CHECKSUM: u8 = 2;
/// The longest name or comment that Go reads: the size of the buffer in compress/gzip.
const MAX_TEXT: usize = 512;
/// The size of a member's checksum and length.
const TRAILER: usize = 8;

/// A gzip stream being decompressed.
///
/// Checksums are not verified: Helm stops at the end of the tar, before it would reach them, so corrupt trailers that
/// Helm accepts must be accepted here.
pub(super) struct Gunzip<'a> {
    rest: &'a [u8],
    inflate: Decompress,
    window: Vec<u8>,
    /// The part of the window that is not consumed yet.
    start: usize,
    end: usize,
    /// How much may still be decompressed.
    remaining: usize,
    ended: bool,
    failure: Option<ArchiveError>,
}

impl<'a> Gunzip<'a> {
    /// Decompresses up to about `limit` bytes of `stream`.
    ///
    /// # Errors
    /// When the stream is not gzip.
    pub(super) fn new(stream: &'a [u8], limit: usize) -> Result<Self, ArchiveError> {
        Ok(Gunzip {
            rest: &stream[header(stream)?..],
            // Raw deflate: the gzip headers are parsed here, with Go's limits and errors.
            inflate: Decompress::new(false),
            window: vec![0; WINDOW],
            start: 0,
            end: 0,
            remaining: limit,
            ended: false,
            failure: None,
        })
    }

    /// Why there is no more data, if it is not the regular end. Relevant only if more is needed.
    pub(super) fn failure(&self) -> Option<&ArchiveError> {
        self.failure.as_ref()
    }

    /// Passes the next `length` bytes to `sink` in chunks. Returns how many there were.
    pub(super) fn take(&mut self, length: usize, mut sink: impl FnMut(&[u8])) -> usize {
        let mut wanted = length;
        loop {
            let piece = &self.window[self.start..self.end];
            let piece = &piece[..wanted.min(piece.len())];
            sink(piece);
            self.start += piece.len();
            wanted -= piece.len();
            if wanted == 0 || !self.refill() {
                return length - wanted;
            }
        }
    }

    /// Refills the window; `false` at the end.
    fn refill(&mut self) -> bool {
        (self.start, self.end) = (0, 0);
        while self.end == 0 && !self.ended {
            if let Err(failure) = self.unzip() {
                self.failure = Some(failure);
                self.ended = true;
            }
        }
        self.end > 0
    }

    fn unzip(&mut self) -> Result<(), ArchiveError> {
        if self.remaining == 0 {
            return Err(ArchiveError::TooLarge(super::MAX_CHART_SIZE));
        }
        let (used, made) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(self.rest, &mut self.window, FlushDecompress::None);
        let (used, made) = (self.inflate.total_in() - used, self.inflate.total_out() - made);
        self.rest = &self.rest[used as usize..];
        self.end = made as usize;
        self.remaining = self.remaining.saturating_sub(self.end);
        match status {
            Err(_) => Err(ArchiveError::Damaged("flate: corrupt input")),
            Ok(Status::StreamEnd) => self.next_member(),
            // No progress although there is room: the input ends inside of the stream.
            Ok(_) if used == 0 && made == 0 => Err(ArchiveError::Damaged("unexpected EOF")),
            Ok(_) => Ok(()),
        }
    }

    /// A stream may have several members.
    fn next_member(&mut self) -> Result<(), ArchiveError> {
        self.rest = self.rest.get(TRAILER..).unwrap_or_default();
        if self.rest.is_empty() {
            self.ended = true;
            return Ok(());
        }
        self.rest = &self.rest[header(self.rest)?..];
        self.inflate.reset(false);
        Ok(())
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

    fn gunzip(stream: &[u8], limit: usize) -> Result<(Vec<u8>, Option<ArchiveError>), ArchiveError> {
        let mut gunzip = Gunzip::new(stream, limit)?;
        let mut data = Vec::new();
        gunzip.take(usize::MAX, |piece| data.extend_from_slice(piece));
        Ok((data, gunzip.failure().cloned()))
    }

    #[test]
    fn headers_with_everything_and_several_members_are_read() {
        let builder = GzBuilder::new().filename("name").comment("comment").extra(vec![1, 2, 3]);
        let mut stream = zipped(builder, b"first ");
        stream.extend(zipped(GzBuilder::new(), b"second"));
        assert_eq!(gunzip(&stream, 100), Ok((b"first second".to_vec(), None)));
    }

    #[test]
    fn invalid_headers_are_distinguished_from_short_ones() {
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
        let (data, failure) = gunzip(&stream, 1_000_000).expect("is gzip");
        assert_eq!(failure, Some(ArchiveError::TooLarge(104_857_600)));
        assert!(data.len() < 3_000_000);
    }

    #[test]
    fn pieces_join_to_the_whole() {
        let text: Vec<u8> = (0..3 * WINDOW as u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        let stream = zipped(GzBuilder::new(), &text);
        let mut gunzip = Gunzip::new(&stream, usize::MAX).expect("is gzip");
        let mut joined = Vec::new();
        while gunzip.take(100_003, |piece| joined.extend_from_slice(piece)) > 0 {}
        assert!(joined == text);
        assert_eq!(gunzip.failure(), None);
    }

    #[test]
    fn every_cut_is_noticed() {
        let stream = zipped(GzBuilder::new().filename("n"), b"some text that is long enough to be cut");
        for length in 0..stream.len() - TRAILER {
            let failed = gunzip(&stream[..length], 1000).map_or(true, |(_, failure)| failure.is_some());
            assert!(failed, "{length}");
        }
    }
}
