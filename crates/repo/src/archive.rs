//! The metadata of a large archive without holding the archive in memory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The files that say what a chart is.
const WANTED: [&str; 4] = ["Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"];

/// The largest of these files that is read.
const LIMIT: u64 = 5 << 20;

/// The maximum unpacked size in bytes.
const UNPACKED_LIMIT: u64 = 200 << 20;

const BLOCK: usize = 512;

/// The files of an archive that describe the chart, found in one pass over the archive. Anything unusual about the
/// archive is an error; the caller then loads the whole archive, which reports the actual problem.
///
/// # Errors
/// Archives that cannot be read in this way.
pub fn metadata_files(path: &Path) -> io::Result<Vec<pintle_chart::File>> {
    let unusual = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let decoder = MultiGzDecoder::new(BufReader::new(File::open(path)?));
    let mut tar = decoder.take(UNPACKED_LIMIT);
    let mut files = Vec::new();
    let mut block = [0; BLOCK];
    loop {
        tar.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(files);
        }
        let size = octal(&block[124..136]).ok_or_else(|| unusual("a size that is no number"))?;
        let padded = size.div_ceil(BLOCK as u64) * BLOCK as u64;
        let wanted = match block[156] {
            b'0' | 0 => wanted(&block),
            b'5' => None,
            _ => return Err(unusual("an entry that is no plain file")),
        };
        match wanted {
            Some(name) if size <= LIMIT => {
                let mut data = vec![0; usize::try_from(size).unwrap_or_default()];
                tar.read_exact(&mut data)?;
                skip(&mut tar, padded - size)?;
                files.push(pintle_chart::File { name, data: data.into(), modified: None });
            }
            Some(_) => return Err(unusual("metadata that is too large")),
            None => skip(&mut tar, padded)?,
        }
    }
}

/// The name of an entry below the folder of the chart, if it is one that is wanted.
fn wanted(block: &[u8; BLOCK]) -> Option<String> {
    let end = block[..100].iter().position(|byte| *byte == 0).unwrap_or(100);
    let name = std::str::from_utf8(&block[..end]).ok().filter(|_| block[345] == 0)?;
    let (_, inside) = name.split_once('/')?;
    WANTED.contains(&inside).then(|| inside.to_owned())
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut from.take(bytes), &mut io::sink())?;
    if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn entry(name: &str, data: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        block[156] = b'0';
        block.extend_from_slice(data);
        block.resize(block.len().div_ceil(BLOCK) * BLOCK, 0);
        block
    }

    fn written(parts: &[Vec<u8>]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut gzip =
            flate2::write::GzEncoder::new(file.reopen().expect("a file"), flate2::Compression::fast());
        gzip.write_all(&parts.concat()).and_then(|()| gzip.finish().map(|_| ())).expect("it is written");
        file
    }

    #[test]
    fn only_the_metadata_of_an_archive_is_read() {
        let end = vec![0; 2 * BLOCK];
        let chart = b"apiVersion: v2\nname: a\nversion: 1.0.0\n";
        let parts = [
            entry("a/files/large", &[7; 5000]),
            entry("a/Chart.yaml", chart),
            entry("a/charts/b/Chart.yaml", b"x"),
            end.clone(),
        ];
        let files = metadata_files(written(&parts).path()).expect("a usual archive");
        let found: Vec<(&str, Vec<u8>)> =
            files.iter().map(|file| (file.name.as_str(), file.data.text().to_vec())).collect();
        assert_eq!(found, [("Chart.yaml", chart.to_vec())]);
        let mut link = entry("a/Chart.yaml", b"");
        link[156] = b'2';
        assert!(metadata_files(written(&[link, end]).path()).is_err());
        assert!(metadata_files(written(&[entry("a/Chart.yaml", chart)]).path()).is_err());
    }
}
