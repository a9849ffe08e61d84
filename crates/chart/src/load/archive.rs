//! Reads chart archives: gzip and tar within Helm's limits, with Helm's path rules.

use std::ops::Range;
use std::sync::Arc;

use pintle_tree::Str;
use pintle_tree::quote::quote;

use super::gunzip::Gunzip;
use super::tar::{Entry, TarReader};
use crate::File;
use crate::content::{Content, Packed};
use crate::error::ArchiveError;
use crate::path::clean;

/// The maximum size of all files of a folder, or of a decompressed archive: Helm's `MaxDecompressedChartSize`.
pub const MAX_CHART_SIZE: u64 = 100 * 1024 * 1024;
/// The maximum size of everything that is not file content: headers, padding, folders. Go has no such limit; it keeps
/// an archive of nothing but padding from taking long.
const MAX_OVERHEAD: u64 = 64 * 1024 * 1024;
/// The maximum total decompressed size of the archives inside a chart. Helm counts each archive by itself, so that
/// archives inside archives multiply.
const MAX_NESTED_SIZE: u64 = 1024 * 1024 * 1024;

/// Deflate's maximum compression ratio: 258 bytes from two bits.
const MAX_RATIO: usize = 1032;
/// Files from this size on that only templates could read are decompressed on demand.
const DEFER_SIZE: u64 = 128 * 1024;
/// CRDs from this size on are decompressed on demand; smaller ones are not worth keeping the archive in memory.
const DEFER_CRD_SIZE: u64 = 16 * 1024;

/// The remaining decompressed size.
pub(super) struct Budget {
    bytes: u64,
    /// The size that a caller allows, if it is less than ours.
    limit: Option<u64>,
    is_exceeded: bool,
}

impl Budget {
    /// The budget for all archives inside a chart together.
    pub(super) fn nested() -> Self {
        Budget { bytes: MAX_NESTED_SIZE, limit: None, is_exceeded: false }
    }

    /// The budget for an archive and all archives inside.
    pub(super) fn within(limit: u64) -> Self {
        Budget { bytes: limit.min(MAX_NESTED_SIZE), limit: Some(limit), is_exceeded: false }
    }

    /// Whether there was less than the limits of Helm and ours allow.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// How much the next archive may have; more is an error.
    fn next(&self) -> u64 {
        self.limit.map_or(MAX_CHART_SIZE, |_| self.bytes.min(MAX_CHART_SIZE))
    }

    fn exceeded(&mut self) -> ArchiveError {
        self.is_exceeded = self.limit.is_some();
        ArchiveError::TooLarge(self.limit.unwrap_or(MAX_NESTED_SIZE))
    }
}

/// Reads the files of a chart archive, without the name of their top folder.
///
/// # Errors
/// When the data is corrupt, a path escapes the chart, a limit is exceeded, or there are no files.
pub fn read_archive(stream: impl Into<Str>) -> Result<Vec<File>, ArchiveError> {
    read_archive_within(&stream.into(), &mut Budget { bytes: u64::MAX, ..Budget::nested() })
}

/// Like [`read_archive`], deducting the decompressed size from `budget`.
pub(super) fn read_archive_within(stream: &Str, budget: &mut Budget) -> Result<Vec<File>, ArchiveError> {
    let mut tar = open(stream)?;
    let mut found = Vec::new();
    // The files become slices of this buffer. Excess capacity is virtual memory only.
    let mut text = Vec::with_capacity(guess(stream).min(budget.next() as usize));
    let mut late_size = 0;
    let mut remaining = MAX_CHART_SIZE;
    while let Some((name, entry)) = next_file(&mut tar)? {
        if entry.size > remaining {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        if tar.position() + entry.size > budget.next() && budget.next() < MAX_CHART_SIZE {
            return Err(budget.exceeded());
        }
        let position = tar.position();
        let late = is_deferred(&name, &entry);
        let range = if late {
            let start = late_size;
            late_size += length_without_bom(&mut tar)?;
            start..late_size
        } else {
            let start = text.len();
            append(&mut tar, &mut text)?;
            start..text.len()
        };
        let length = tar.position() - position;
        remaining -= length;
        // Helm takes an archive that fills the limit exactly for one that exceeds it, because its reader
        // cannot tell them apart.
        if length < entry.size || remaining == 0 {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        found.push(ArchiveFile { name, modified: entry.modified, late, range });
    }
    budget.bytes = budget.bytes.checked_sub(tar.position()).ok_or_else(|| budget.exceeded())?;
    let text = Str::from(text);
    let packed = (late_size > 0).then(|| Arc::new(Packed::new(stream.clone(), unpack_deferred)));
    let file = |found: ArchiveFile| File {
        name: found.name,
        data: match &packed {
            Some(packed) if found.late => Content::packed(packed, found.range),
            _ => text.slice(found.range).into(),
        },
        modified: found.modified,
    };
    let files: Vec<File> = found.into_iter().map(file).collect();
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
}

/// A file of an archive, before its final position is known.
struct ArchiveFile {
    name: String,
    modified: Option<i64>,
    late: bool,
    range: Range<usize>,
}

fn open(stream: &[u8]) -> Result<TarReader<'_>, ArchiveError> {
    Ok(TarReader::new(Gunzip::new(stream, (MAX_CHART_SIZE + MAX_OVERHEAD) as usize)?))
}

/// The next entry that is a regular file, with its path inside the chart.
fn next_file(tar: &mut TarReader<'_>) -> Result<Option<(String, Entry)>, ArchiveError> {
    while let Some(entry) = tar.next_entry()? {
        if !entry.is_folder() && !entry.is_global_header() {
            return Ok(Some((path_inside(&entry)?, entry)));
        }
    }
    Ok(None)
}

/// Appends the content of the current entry to `text`, without a byte order mark.
fn append(tar: &mut TarReader<'_>, text: &mut Vec<u8>) -> Result<(), ArchiveError> {
    let start = text.len();
    tar.content(|piece| text.extend_from_slice(piece))?;
    let mark = text.len() - start - without_bom(&text[start..]).len();
    text.drain(start..start + mark);
    Ok(())
}

/// How much [`append`] would append.
fn length_without_bom(tar: &mut TarReader<'_>) -> Result<usize, ArchiveError> {
    let mut length = 0;
    let mut head = Vec::new();
    tar.content(|piece| {
        length += piece.len();
        head.extend_from_slice(&piece[..piece.len().min(3 - head.len())]);
    })?;
    Ok(length - (head.len() - without_bom(&head).len()))
}

/// The initial capacity: the size in the gzip trailer, if plausible.
fn guess(stream: &[u8]) -> usize {
    let claimed = stream.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
    claimed.min(MAX_CHART_SIZE as usize).min(stream.len().saturating_mul(MAX_RATIO))
}

/// Whether a file is decompressed on demand: large CRDs, and large files that only some templates read.
fn is_deferred(name: &str, entry: &Entry) -> bool {
    let mut inside = name;
    while let Some((_, rest)) = inside.strip_prefix("charts/").and_then(|rest| rest.split_once('/')) {
        inside = rest;
    }
    let (folder, base) = inside.split_once('/').unwrap_or(("", inside));
    match folder {
        "crds" => entry.size >= DEFER_CRD_SIZE,
        "templates" | "charts" | "library" => false,
        "" if base.ends_with(".yaml") || base.ends_with(".json") || base.ends_with(".lock") => false,
        _ => entry.size >= DEFER_SIZE,
    }
}

/// The text of all [deferred](is_deferred) files. The archive was read before, so there are no errors.
fn unpack_deferred(stream: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(guess(stream));
    let Ok(mut tar) = open(stream) else { return text };
    while let Ok(Some((name, entry))) = next_file(&mut tar) {
        if is_deferred(&name, &entry) && append(&mut tar, &mut text).is_err() {
            break;
        }
    }
    text
}

/// The content without a byte order mark.
pub(super) fn without_bom(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

/// The path of an entry inside the chart: without the top folder, with forward slashes, and never outside of the
/// chart.
fn path_inside(entry: &Entry) -> Result<String, ArchiveError> {
    let refuse = |text: &str| Err(ArchiveError::Path(text.to_owned()));
    let name = String::from_utf8_lossy(&entry.name);
    // Archives created on Windows have backslashes throughout.
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
    // The name of the top folder does not matter: it need not be that of the chart.
    let (first, rest) = name.split_once(delimiter).unwrap_or((&name, ""));
    let rest = if delimiter == '\\' { rest.replace('\\', "/") } else { rest.to_owned() };
    if rest.starts_with('/') {
        return refuse("chart illegally contains absolute paths");
    }
    let cleaned = clean(&rest);
    if cleaned == "." {
        let name = quote(&entry.name);
        return refuse(&format!("chart illegally contains content outside the base directory: {name}"));
    }
    if cleaned.starts_with("..") {
        return refuse("chart illegally references parent directory");
    }
    if matches!(cleaned.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic()) {
        return refuse("chart contains illegally named files");
    }
    if first == "Chart.yaml" {
        return refuse("chart yaml not in base directory");
    }
    Ok(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::tar::TarWriter;
    use std::io::Write;

    fn zipped(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).expect("writes to memory");
        encoder.finish().expect("writes to memory")
    }

    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new());
        for (name, data) in entries {
            writer.add(name, data, 7).expect("writes to memory");
        }
        zipped(&writer.finish().expect("writes to memory"))
    }

    fn error(name: &str) -> String {
        read_archive(archive(&[(name, b"x")])).expect_err("a bad archive").to_string()
    }

    #[test]
    fn files_lose_their_first_folder_and_byte_order_mark() {
        let long = format!("p/{}/file.txt", "folder/".repeat(40));
        let data = archive(&[("p/Chart.yaml", b"\xef\xbb\xbfname: p"), (&long, b"long"), ("p/empty", b"")]);
        let files = read_archive(data).expect("a good archive");
        assert_eq!(files[0], File { modified: Some(7), ..File::new("Chart.yaml", &b"name: p"[..]) });
        assert_eq!(files[1].name, clean(&long["p/".len()..]));
        assert_eq!(&files[1].data[..], b"long");
        assert_eq!(files[2].data.len(), 0);
    }

    #[test]
    fn what_can_wait_is_unpacked_when_it_is_read() {
        let crd = b"kind: CustomResourceDefinition\n".repeat(DEFER_CRD_SIZE as usize / 20);
        let marked = [b"\xef\xbb\xbf".as_slice(), &crd].concat();
        let large = vec![b'x'; DEFER_SIZE as usize];
        let data = archive(&[
            ("p/crds/a.yaml", &crd),
            ("p/templates/crds/a.yaml", &crd),
            ("p/charts/s/crds/b.yaml", &marked),
            ("p/README.md", b"read me"),
            ("p/files/large", &large),
            ("p/values.yaml", &large),
        ]);
        let files = read_archive(data).expect("a good archive");
        let wanted: [&[u8]; 6] = [&crd, &crd, &crd, b"read me", &large, &large];
        for (file, wanted) in files.iter().zip(wanted) {
            assert_eq!(&file.data[..], wanted, "{}", file.name);
        }
    }

    #[test]
    fn paths_that_leave_the_chart_are_refused() {
        assert_eq!(error("p//etc/passwd"), "chart illegally contains absolute paths");
        assert_eq!(error("p/../x"), "chart illegally references parent directory");
        assert_eq!(error("p/c:/x"), "chart contains illegally named files");
        assert_eq!(error("x"), "chart illegally contains content outside the base directory: \"x\"");
        assert_eq!(error("Chart.yaml/x"), "chart yaml not in base directory");
        assert_eq!(error("p\\..\\x"), "chart illegally references parent directory");
    }

    #[test]
    fn one_file_may_be_as_large_as_the_chart() {
        let data = vec![0; 6 << 20];
        let files = read_archive(archive(&[("p/big", &data)])).expect("a good archive");
        assert_eq!(files[0].data.len(), data.len());
    }

    #[test]
    fn many_files_are_refused_when_they_are_too_much_together() {
        let data = vec![0; 5 << 20];
        let names: Vec<String> = (0..21).map(|index| format!("p/{index}")).collect();
        let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &data[..])).collect();
        let error = read_archive(archive(&entries)).expect_err("too large");
        assert_eq!(error.to_string(), "decompressed chart is larger than the maximum size 104857600");
    }

    #[test]
    fn damaged_archives_end_in_errors() {
        let good = archive(&[("p/Chart.yaml", &[b'x'; 3000])]);
        for length in 0..good.len() - 20 {
            assert!(read_archive(&good[..length]).is_err(), "{length}");
        }
        assert_eq!(read_archive(zipped(b"")).expect_err("empty"), ArchiveError::Empty);
        assert_eq!(read_archive(zipped(&[b'x'; 512])).expect_err("no tar"), ArchiveError::TarHeader);
    }

    #[test]
    fn an_archive_can_have_a_smaller_limit_than_helm_s() {
        let inner = archive(&[
            ("in/Chart.yaml", b"name: in\nversion: 1.0.0\napiVersion: v2\n"),
            ("in/a", &[b'x'; 60_000]),
        ]);
        let outer = archive(&[
            ("out/Chart.yaml", b"name: out\nversion: 1.0.0\napiVersion: v2\n"),
            ("out/charts/in-1.0.0.tgz", &inner),
            ("out/b", &[b'y'; 30_000]),
        ]);
        let load = |limit: u64| {
            crate::load_archive_within(outer.clone(), limit, &mut Vec::new()).expect("it is a good archive")
        };
        assert_eq!(load(1 << 20).map(|chart| chart.subcharts.len()), Some(1));
        for limit in [0, 1_000, 20_000, 60_000, 90_000] {
            assert!(load(limit).is_none(), "{limit}: the archive and what is in it count together");
        }
        let broken = crate::load_archive_within(zipped(b"no tar"), 1 << 20, &mut Vec::new());
        assert!(broken.is_err(), "what is wrong with an archive is an error");
    }
}
