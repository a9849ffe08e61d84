//! Archives of plugins: gzipped tar files with limits on what they may do.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::EntryType;

use crate::error::{Error, Result, reason, refused};
use crate::load::MANIFEST;
use crate::manifest::{MAX_MANIFEST, Metadata};

/// The most that an archive may unpack to, in bytes.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// The most files that an archive may have.
const MAX_FILES: usize = 100_000;

fn damaged(error: &std::io::Error) -> Error {
    let text = reason(error);
    Error::Archive(match text.as_str() {
        text if text.contains("gzip") => "gzip: invalid header".to_owned(),
        "failed to fill whole buffer" | "unexpected end of file" | "incomplete deflate stream" => {
            "unexpected EOF".to_owned()
        }
        text => text.to_owned(),
    })
}

/// Reads the manifest of an archive: the first file that is called plugin.yaml, in whatever folder.
///
/// # Errors
/// Damaged archives, those without a manifest, and manifests that are not valid.
pub fn metadata_of_archive(archive: &[u8]) -> Result<Metadata> {
    check_gzip(archive)?;
    let mut reader = tar::Archive::new(MultiGzDecoder::new(archive).take(MAX_UNPACKED));
    for entry in reader.entries().map_err(|error| damaged(&error))?.take(MAX_FILES) {
        let entry = entry.map_err(|error| damaged(&error))?;
        let is_manifest =
            entry.path().is_ok_and(|path| path.file_name().is_some_and(|name| name == MANIFEST));
        if !is_manifest {
            continue;
        }
        let mut text = Vec::new();
        entry.take(MAX_MANIFEST).read_to_end(&mut text).map_err(|error| damaged(&error))?;
        return Metadata::parse(&text);
    }
    Err(Error::Archive("plugin.yaml not found in tarball".to_owned()))
}

fn check_gzip(archive: &[u8]) -> Result<()> {
    match archive {
        [] => Err(Error::Archive("EOF".to_owned())),
        short if short.len() < 10 => Err(Error::Archive("unexpected EOF".to_owned())),
        [0x1f, 0x8b, ..] => Ok(()),
        _ => Err(Error::Archive("gzip: invalid header".to_owned())),
    }
}

/// Unpacks an archive below `target`. Links, devices, and names that lead elsewhere are refused. The folders in which git and
/// other systems keep a repository are left out: their configuration can run programs.
///
/// # Errors
/// Damaged archives, what is refused, and what is too large.
pub fn unpack(archive: &[u8], target: &Path) -> Result<()> {
    check_gzip(archive)?;
    fs::create_dir_all(target).map_err(refused("mkdir", target))?;
    let mut reader = tar::Archive::new(MultiGzDecoder::new(archive).take(MAX_UNPACKED + 1));
    let mut left = MAX_UNPACKED;
    for (at, entry) in reader.entries().map_err(|error| damaged(&error))?.enumerate() {
        let mut entry = entry.map_err(|error| damaged(&error))?;
        if at == MAX_FILES {
            return Err(Error::Archive(format!("the archive has more than {MAX_FILES} files")));
        }
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader | EntryType::XHeader) {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let inside = inside(&name)?;
        if inside.components().any(|part| is_repository(&part.as_os_str().to_string_lossy())) {
            continue;
        }
        let path = target.join(inside);
        match kind {
            EntryType::Directory => fs::create_dir_all(&path).map_err(refused("mkdir", &path))?,
            EntryType::Regular | EntryType::Continuous => {
                left = left.checked_sub(entry.size()).ok_or_else(|| {
                    Error::Archive(format!("the archive unpacks to more than {} MiB", MAX_UNPACKED >> 20))
                })?;
                let mode = entry.header().mode().unwrap_or(0o644);
                write(&mut entry, &path, mode)?;
            }
            other => {
                return Err(Error::Archive(format!("unknown type: {:b} in {name}", other.as_byte())));
            }
        }
    }
    Ok(())
}

fn write(content: &mut impl Read, path: &Path, mode: u32) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(refused("mkdir", parent))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    set_mode(&mut options, mode);
    let mut file = options.open(path).map_err(refused("open", path))?;
    let mut chunk = vec![0; 64 << 10];
    loop {
        match content.read(&mut chunk).map_err(|error| damaged(&error))? {
            0 => return Ok(()),
            count => file.write_all(&chunk[..count]).map_err(refused("write", path))?,
        }
    }
}

#[cfg(unix)]
fn set_mode(options: &mut OpenOptions, mode: u32) {
    use std::os::unix::fs::OpenOptionsExt as _;
    // Setuid, setgid and sticky bits are dropped.
    options.mode(mode & 0o777);
}

#[cfg(not(unix))]
fn set_mode(_: &mut OpenOptions, _: u32) {}

/// The path of an entry below the target.
fn inside(name: &str) -> Result<PathBuf> {
    let refuse = |text: &str| Err(Error::Archive(text.to_owned()));
    if name.contains(':') {
        return refuse("path contains ':', which is illegal");
    }
    let name = name.replace('\\', "/");
    if name.split('/').any(|part| part == "..") {
        return refuse("path contains '..', which is illegal");
    }
    if name.starts_with('/') {
        return refuse("path is absolute, which is illegal");
    }
    Ok(Path::new(&name).components().filter(|part| matches!(part, Component::Normal(_))).collect())
}

/// The names of folders (or files) that make the folder above them a working tree.
const REPOSITORIES: [&str; 5] = [".git", ".hg", ".svn", ".bzr", "git~1"];

/// Whether a name is that of the folder of a repository, also for file systems that ignore case, dots and blanks at the end,
/// and characters that are not visible.
fn is_repository(name: &str) -> bool {
    let is_ignored = |letter: &char| matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let visible: String = name.chars().filter(|letter| !is_ignored(letter)).collect();
    let plain = visible.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    REPOSITORIES.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            // `set_path` refuses the names that are tested here.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            if kind.is_symlink() {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn what_leads_out_of_the_target_is_refused_and_nothing_of_it_is_written() {
        for (name, kind, expected) in [
            ("../x", EntryType::Regular, "path contains '..', which is illegal"),
            ("a\\..\\x", EntryType::Regular, "path contains '..', which is illegal"),
            ("/x", EntryType::Regular, "path is absolute, which is illegal"),
            ("c:x", EntryType::Regular, "path contains ':', which is illegal"),
            ("x", EntryType::Symlink, "unknown type: 110010 in x"),
            ("x", EntryType::Link, "unknown type: 110001 in x"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let error = unpack(&archive(&[(name, kind, b"")]), &dir.path().join("t")).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(fs::read_dir(dir.path().join("t")).unwrap().count(), 0, "{name}");
        }
    }

    #[test]
    fn no_repository_comes_out_of_an_archive() {
        let dir = tempfile::tempdir().unwrap();
        let regular = EntryType::Regular;
        let packed = archive(&[
            ("x/plugin.yaml", regular, b"name: x\n"),
            ("x/.git/config", regular, b"[core]\n"),
            ("x/.GIT/config", regular, b"[core]\n"),
            ("x/lib/.git", regular, b"gitdir: ../x\n"),
            ("x/.g\u{200c}it/config", regular, b"[core]\n"),
            ("x/.git. /config", regular, b"[core]\n"),
            ("x/git~1/config", regular, b"[core]\n"),
            ("x/.hg/hgrc", regular, b"[hooks]\n"),
            ("x/.svn/wc.db", regular, b""),
            ("x/.gitignore", regular, b"bin\n"),
            ("x/.github/x", regular, b""),
        ]);
        unpack(&packed, dir.path()).unwrap();
        let mut names: Vec<String> = fs::read_dir(dir.path().join("x"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, [".github", ".gitignore", "plugin.yaml"]);
    }

    #[test]
    fn files_keep_their_run_bits_and_the_manifest_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let text: &[u8] = b"name: x\nversion: 1.0.0\n";
        let packed =
            archive(&[("x/plugin.yaml", EntryType::Regular, text), ("x/run", EntryType::Regular, b"#!")]);
        unpack(&packed, dir.path()).unwrap();
        assert_eq!(fs::read(dir.path().join("x/plugin.yaml")).unwrap(), text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(dir.path().join("x/run")).unwrap().permissions().mode() & 0o700, 0o700);
        }
        assert_eq!(metadata_of_archive(&packed).unwrap().name, "x");
        let none = metadata_of_archive(&archive(&[("y", EntryType::Regular, b"")])).unwrap_err();
        assert_eq!(none.to_string(), "plugin.yaml not found in tarball");
        assert_eq!(metadata_of_archive(b"no archive").unwrap_err().to_string(), "gzip: invalid header");
    }
}
