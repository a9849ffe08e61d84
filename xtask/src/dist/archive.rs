//! Archives that depend on nothing but their content: sorted, with one time and no owner.

use std::io::{Cursor, Write as _};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path, with `/`.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) executable: bool,
}

impl Entry {
    pub(crate) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: content.into(), executable: false }
    }

    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: content.into(), executable: true }
    }

    fn mode(&self) -> u32 {
        if self.executable { 0o755 } else { 0o644 }
    }
}

/// A tar archive.
pub(crate) fn tar(entries: &[Entry], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for entry in sorted(entries) {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(entry.content.len())?);
        header.set_mode(entry.mode());
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive
            .append_data(&mut header, &entry.path, entry.content.as_slice())
            .with_context(|| format!("cannot pack {}", entry.path))?;
    }
    Ok(archive.into_inner()?)
}

/// A tar archive, compressed by gzip without a time and a name.
pub(crate) fn tar_gz(entries: &[Entry], epoch: u64) -> Result<Vec<u8>> {
    gzip(&tar(entries, epoch)?)
}

pub(crate) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    writer.write_all(content)?;
    Ok(writer.finish()?)
}

/// A zip archive, for Windows.
pub(crate) fn zip(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for entry in sorted(entries) {
        // Without a time of its own, an entry has the earliest one that the format can express.
        let options = zip::write::SimpleFileOptions::DEFAULT
            .compression_method(zip::CompressionMethod::Deflated)
            .unix_permissions(entry.mode());
        archive.start_file(&entry.path, options).with_context(|| format!("cannot pack {}", entry.path))?;
        archive.write_all(&entry.content)?;
    }
    Ok(archive.finish()?.into_inner())
}

fn sorted(entries: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_depend_on_content_alone() {
        let program = Entry::program("pintle/pintle", "program");
        let page = Entry::file("pintle/README.md", "text");
        let one = [program.clone(), page.clone()];
        let other = [page, program];
        assert_eq!(tar_gz(&one, 7).expect("packed"), tar_gz(&other, 7).expect("packed"));
        assert_eq!(zip(&one).expect("packed"), zip(&other).expect("packed"));
    }

    #[test]
    fn entries_keep_their_mode_and_have_the_given_time() {
        let packed = tar(&[Entry::program("p", "1"), Entry::file("f", "2")], 7).expect("packed");
        let mut archive = tar::Archive::new(packed.as_slice());
        let seen: Vec<(u32, u64, u64)> = archive
            .entries()
            .expect("an archive")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let header = entry.header();
                let number = |read: std::io::Result<u64>| read.expect("a number");
                (header.mode().expect("a mode"), number(header.mtime()), number(header.uid()))
            })
            .collect();
        assert_eq!(seen, [(0o644, 7, 0), (0o755, 7, 0)]);
    }
}
