//! Archives that depend on nothing but their content: sorted, with one time and no owner.

use std::io::{Cursor, Write as _};

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};

/// What an entry of an archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Program,
    /// A symbolic link; the content is where it leads to.
    Link,
    /// A folder for temporary files.
    Scratch,
}

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path, with `/`.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) kind: Kind,
}

impl Entry {
    pub(crate) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: content.into(), kind: Kind::File }
    }

    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: content.into(), kind: Kind::Program }
    }

    pub(crate) fn link(path: impl Into<String>, to: &str) -> Entry {
        Entry { path: path.into(), content: to.into(), kind: Kind::Link }
    }

    pub(crate) fn scratch(path: &str) -> Entry {
        Entry { path: path.to_owned(), content: Vec::new(), kind: Kind::Scratch }
    }

    pub(crate) fn mode(&self) -> u32 {
        match self.kind {
            Kind::File => 0o644,
            Kind::Program => 0o755,
            Kind::Link => 0o777,
            Kind::Scratch => 0o1777,
        }
    }
}

/// A tar archive.
pub(crate) fn tar(entries: &[Entry], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for entry in sorted(entries) {
        let mut header = tar::Header::new_gnu();
        header.set_mode(entry.mode());
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        let (kind, content) = match entry.kind {
            Kind::File | Kind::Program => (tar::EntryType::Regular, entry.content.as_slice()),
            Kind::Link => (tar::EntryType::Symlink, &[][..]),
            Kind::Scratch => (tar::EntryType::Directory, &[][..]),
        };
        header.set_entry_type(kind);
        header.set_size(u64::try_from(content.len())?);
        let packed = match entry.kind {
            Kind::Link => archive.append_link(
                &mut header,
                &entry.path,
                String::from_utf8_lossy(&entry.content).as_ref(),
            ),
            _ => archive.append_data(&mut header, &entry.path, content),
        };
        packed.with_context(|| format!("cannot pack {}", entry.path))?;
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
