//! Archives into files: gzip and tar within Helm's limits, with Helm's rules about paths.

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

/// The most that one archive may unpack to.
pub const MAX_CHART_SIZE: u64 = 100 * 1024 * 1024;
/// The most that one file of a chart may hold.
pub(super) const MAX_FILE_SIZE: u64 = 5 * 1024 * 1024;
/// What may be skipped besides the files that count: headers, padding, folders. Go has no such limit, but an archive
/// that is all padding should not keep anyone busy for long.
const MAX_OVERHEAD: u64 = 64 * 1024 * 1024;
/// The most that all archives inside one chart may unpack to together.
const MAX_NESTED_SIZE: u64 = 1024 * 1024 * 1024;

/// Deflate cannot make more than this many bytes of one.
const MAX_RATIO: usize = 1032;
/// From this size on, a file that only templates could ask for waits until they do.
const LARGE: u64 = 128 * 1024;
/// From this size on, a custom resource definition waits: what waits keeps the whole archive in memory.
const LARGE_CRD: u64 = 16 * 1024;

/// What may still be unpacked.
pub(super) struct Budget {
    bytes: u64,
}

impl Budget {
    /// For the archives inside a chart, all together.
    pub(super) fn nested() -> Self {
        Budget { bytes: MAX_NESTED_SIZE }
    }
}

/// Unpacks a chart archive into its files, without the name of the folder they are in.
///
/// # Errors
/// Damaged data, paths that lead out of the chart, more data than allowed, no files at all.
pub fn read_archive(stream: impl Into<Str>) -> Result<Vec<File>, ArchiveError> {
    read_archive_within(&stream.into(), &mut Budget { bytes: u64::MAX })
}

/// As [`read_archive`], and takes from `budget` what it unpacks.
pub(super) fn read_archive_within(stream: &Str, budget: &mut Budget) -> Result<Vec<File>, ArchiveError> {
    let mut tar = open(stream)?;
    let mut found = Vec::new();
    // The files become slices of this. Room that is not used costs nothing.
    let mut text = Vec::with_capacity(guess(stream));
    let mut late_size = 0;
    let mut remaining = MAX_CHART_SIZE;
    while let Some((name, entry)) = next_file(&mut tar)? {
        if entry.size > remaining {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        if entry.size > MAX_FILE_SIZE {
            let name = quote(&entry.name);
            return Err(ArchiveError::EntryTooLarge { name, limit: MAX_FILE_SIZE });
        }
        let position = tar.position();
        let late = can_wait(&name, &entry);
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
        if length < entry.size || remaining == 0 {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        found.push(Found { name, modified: entry.modified, late, range });
    }
    budget.bytes = budget.bytes.checked_sub(tar.position()).ok_or(ArchiveError::TooLarge(MAX_NESTED_SIZE))?;
    let text = Str::from(text);
    let packed = (late_size > 0).then(|| Arc::new(Packed::new(stream.clone(), unpack_late)));
    let file = |found: Found| File {
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

/// A file of an archive, before it is known where its text will be.
struct Found {
    name: String,
    modified: Option<i64>,
    late: bool,
    range: Range<usize>,
}

fn open(stream: &[u8]) -> Result<TarReader<'_>, ArchiveError> {
    Ok(TarReader::new(Gunzip::new(stream, (MAX_CHART_SIZE + MAX_OVERHEAD) as usize)?))
}

/// The next entry that is a file, and its path inside the chart.
fn next_file(tar: &mut TarReader<'_>) -> Result<Option<(String, Entry)>, ArchiveError> {
    while let Some(entry) = tar.next_entry()? {
        if !entry.is_folder() && !entry.is_global_header() {
            return Ok(Some((path_inside(&entry)?, entry)));
        }
    }
    Ok(None)
}

/// Adds the content of the current entry to `text`, without a byte order mark.
fn append(tar: &mut TarReader<'_>, text: &mut Vec<u8>) -> Result<(), ArchiveError> {
    let start = text.len();
    tar.content(|piece| text.extend_from_slice(piece))?;
    let mark = text.len() - start - without_bom(&text[start..]).len();
    text.drain(start..start + mark);
    Ok(())
}

/// How much [`append`] would add.
fn length_without_bom(tar: &mut TarReader<'_>) -> Result<usize, ArchiveError> {
    let mut length = 0;
    let mut head = Vec::new();
    tar.content(|piece| {
        length += piece.len();
        head.extend_from_slice(&piece[..piece.len().min(3 - head.len())]);
    })?;
    Ok(length - (head.len() - without_bom(&head).len()))
}

/// The room to begin with: what the end of the stream claims, if that is possible at all.
fn guess(stream: &[u8]) -> usize {
    let claimed = stream.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
    claimed.min(MAX_CHART_SIZE as usize).min(stream.len().saturating_mul(MAX_RATIO))
}

/// Whether a file stays packed until somebody reads it: large ones for clusters, and those that only some templates look
/// at.
fn can_wait(name: &str, entry: &Entry) -> bool {
    let mut inside = name;
    while let Some((_, rest)) = inside.strip_prefix("charts/").and_then(|rest| rest.split_once('/')) {
        inside = rest;
    }
    let (folder, base) = inside.split_once('/').unwrap_or(("", inside));
    match folder {
        "crds" => entry.size >= LARGE_CRD,
        "templates" | "charts" | "library" => false,
        "" if base.ends_with(".yaml") || base.ends_with(".json") || base.ends_with(".lock") => false,
        _ => entry.size >= LARGE,
    }
}

/// The text of all files that [`can_wait`], one after the other. An archive that was read before has no errors.
fn unpack_late(stream: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(guess(stream));
    let Ok(mut tar) = open(stream) else { return text };
    while let Ok(Some((name, entry))) = next_file(&mut tar) {
        if can_wait(&name, &entry) && append(&mut tar, &mut text).is_err() {
            break;
        }
    }
    text
}

/// The content without a byte order mark.
pub(super) fn without_bom(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

/// The path of an entry inside the chart: without the first folder, slashes forward, and never out of the chart.
fn path_inside(entry: &Entry) -> Result<String, ArchiveError> {
    let refuse = |text: &str| Err(ArchiveError::Path(text.to_owned()));
    let name = String::from_utf8_lossy(&entry.name);
    // Archives made on Windows have backslashes throughout.
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
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
        let crd = b"kind: CustomResourceDefinition\n".repeat(LARGE_CRD as usize / 20);
        let marked = [b"\xef\xbb\xbf".as_slice(), &crd].concat();
        let large = vec![b'x'; LARGE as usize];
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
    fn large_files_are_refused() {
        let data = vec![0; MAX_FILE_SIZE as usize + 1];
        let error = read_archive(archive(&[("p/big", &data)])).expect_err("too large");
        assert_eq!(
            error.to_string(),
            "decompressed chart file \"p/big\" is larger than the maximum file size 5242880"
        );
    }

    #[test]
    fn many_files_are_refused_when_they_are_too_much_together() {
        let data = vec![0; MAX_FILE_SIZE as usize];
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
}
