//! Archives into files: gzip and tar within Helm's limits, with Helm's rules about paths.

use pintle_tree::Str;
use pintle_tree::quote::quote;

use super::gunzip::{Unzipped, gunzip};
use super::tar::{Entry, TarReader};
use crate::File;
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
pub fn read_archive(stream: &[u8]) -> Result<Vec<File>, ArchiveError> {
    read_archive_within(stream, &mut Budget { bytes: u64::MAX })
}

/// As [`read_archive`], and takes from `budget` what it unpacks.
pub(super) fn read_archive_within(stream: &[u8], budget: &mut Budget) -> Result<Vec<File>, ArchiveError> {
    let Unzipped { data, failure } = gunzip(stream, (MAX_CHART_SIZE + MAX_OVERHEAD) as usize)?;
    let size = data.len() as u64;
    // The files are slices of the whole, so that nothing is copied.
    let whole = Str::from(data);
    budget.bytes = budget.bytes.checked_sub(size).ok_or(ArchiveError::TooLarge(MAX_NESTED_SIZE))?;
    let mut tar = TarReader::new(&whole, failure);
    let mut files = Vec::new();
    let mut remaining = MAX_CHART_SIZE;
    while let Some(entry) = tar.next_entry()? {
        if entry.is_folder() || entry.is_global_header() {
            continue;
        }
        let name = path_inside(&entry)?;
        if entry.size > remaining {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        if entry.size > MAX_FILE_SIZE {
            let name = quote(&entry.name);
            return Err(ArchiveError::EntryTooLarge { name, limit: MAX_FILE_SIZE });
        }
        let start = tar.position();
        let content = without_bom(tar.content()?);
        let data = whole.slice(tar.position() - content.len()..tar.position());
        let length = (tar.position() - start) as u64;
        remaining -= length;
        if length < entry.size || remaining == 0 {
            return Err(ArchiveError::TooLarge(MAX_CHART_SIZE));
        }
        files.push(File { name, data, modified: entry.modified });
    }
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
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
        read_archive(&archive(&[(name, b"x")])).expect_err("a bad archive").to_string()
    }

    #[test]
    fn files_lose_their_first_folder_and_byte_order_mark() {
        let long = format!("p/{}/file.txt", "folder/".repeat(40));
        let data = archive(&[("p/Chart.yaml", b"\xef\xbb\xbfname: p"), (&long, b"long"), ("p/empty", b"")]);
        let files = read_archive(&data).expect("a good archive");
        assert_eq!(files[0], File { modified: Some(7), ..File::new("Chart.yaml", &b"name: p"[..]) });
        assert_eq!(files[1].name, clean(&long["p/".len()..]));
        assert_eq!(&files[1].data[..], b"long");
        assert_eq!(files[2].data.len(), 0);
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
        let error = read_archive(&archive(&[("p/big", &data)])).expect_err("too large");
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
        let error = read_archive(&archive(&entries)).expect_err("too large");
        assert_eq!(error.to_string(), "decompressed chart is larger than the maximum size 104857600");
    }

    #[test]
    fn damaged_archives_end_in_errors() {
        let good = archive(&[("p/Chart.yaml", &[b'x'; 3000])]);
        for length in 0..good.len() - 20 {
            assert!(read_archive(&good[..length]).is_err(), "{length}");
        }
        assert_eq!(read_archive(&zipped(b"")).expect_err("empty"), ArchiveError::Empty);
        assert_eq!(read_archive(&zipped(&[b'x'; 512])).expect_err("no tar"), ArchiveError::TarHeader);
    }
}
