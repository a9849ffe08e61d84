//! Atomic file writes, and writes below a folder that follow no links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, FileError, file_error};

/// How many names are tried for the temporary file; killed processes may have left some behind.
const MAX_NAMES: u32 = 100;

/// Writes a file through a temporary one in the same folder, so that a full disk or a kill leaves the old file intact.
///
/// An existing file keeps its mode. Symlinks are followed, as in Helm. Pipes and devices are written to directly.
///
/// # Errors
/// When the file cannot be opened, written or renamed.
pub fn write_atomic(path: &Path, data: &[u8]) -> io::Result<()> {
    // A rename would replace the link instead of the file that it points to.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return fs::write(&target, data);
    }
    if old.is_some() {
        // A rename would replace even a read-only file.
        OpenOptions::new().write(true).open(&target)?;
    }
    let (temporary, mut file) = match create_beside(&target) {
        Ok(created) => created,
        // The file is writable, but its folder is not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && old.is_some() => {
            return fs::write(&target, data);
        }
        Err(error) => return Err(error),
    };
    // Not synced: this protects from a kill and a full disk, not from a power failure.
    let outcome = file
        .write_all(data)
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| fs::rename(&temporary, &target));
    if outcome.is_err() {
        // Best effort: the write error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

/// Writes a file below `root` through a temporary one, and creates the folders between. No symbolic link below `root` is
/// followed: whoever made the folder, or the archive that it was unpacked from, could lead the file anywhere. `root` itself may
/// be one, because the user names it.
///
/// An existing file keeps its mode. What is neither a file nor missing is refused.
///
/// # Errors
/// Links, paths that leave `root`, and files that cannot be written.
pub fn write_below(root: &Path, relative: &Path, data: &[u8]) -> io::Result<()> {
    let mut names = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return Err(leads_out(relative)),
        }
    }
    match names.split_last() {
        Some((name, folders)) => below::write(root, folders, name, data),
        None => Err(leads_out(relative)),
    }
}

/// Checks that no component of a path below `root` is a symbolic link. What does not exist is none.
///
/// # Errors
/// Links, and paths that leave `root`.
pub fn check_links(root: &Path, relative: &Path) -> io::Result<()> {
    let mut path = root.to_owned();
    for part in relative.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => continue,
            _ => return Err(leads_out(relative)),
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Err(is_link(&path));
        }
    }
    Ok(())
}

fn leads_out(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} leads out of its folder", path.display()))
}

fn is_link(path: &Path) -> io::Error {
    let text = format!("{} is a symbolic link, which is not followed", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn is_no_file(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a regular file", path.display()))
}

#[cfg(unix)]
mod below {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
    use rustix::io::Errno;

    use super::{MAX_NAMES, is_link, is_no_file};

    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
    const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

    /// Each folder is opened relative to the one above, so that none can be exchanged for a link meanwhile.
    pub(super) fn write(root: &Path, folders: &[&OsStr], name: &OsStr, data: &[u8]) -> io::Result<()> {
        let shown =
            |count: usize| folders[..count].iter().fold(root.to_owned(), |path, name| path.join(name));
        let start = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let mut folder = openat(CWD, start, FOLDER, Mode::empty())?;
        for (at, part) in folders.iter().enumerate() {
            folder = open_folder(&folder, part, &shown(at + 1))?;
        }
        write_in(&folder, name, data, &shown(folders.len()).join(name))
    }

    fn open_folder(folder: &OwnedFd, name: &OsStr, shown: &Path) -> io::Result<OwnedFd> {
        match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            // Whether it exists anyway is found out next.
            Err(error) if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_err() => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| {
            match file_type(folder, name) {
                Some(FileType::Symlink) => is_link(shown),
                _ => error.into(),
            }
        })
    }

    fn file_type(folder: &OwnedFd, name: &OsStr) -> Option<FileType> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    fn write_in(folder: &OwnedFd, name: &OsStr, data: &[u8], shown: &Path) -> io::Result<()> {
        let old = match file_type(folder, name) {
            None => None,
            Some(FileType::RegularFile) => {
                // A rename would replace even a read-only file.
                let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                Some(File::from(openat(folder, name, flags, Mode::empty())?))
            }
            Some(FileType::Symlink) => return Err(is_link(shown)),
            Some(_) => return Err(is_no_file(shown)),
        };
        let (temporary, mut file) = match (create_beside(folder, name), old.as_ref()) {
            (Ok(created), _) => created,
            // The file is writable, but its folder is not.
            (Err(Errno::ACCESS | Errno::PERM), Some(mut old)) => {
                old.set_len(0)?;
                return old.write_all(data);
            }
            (Err(error), _) => return Err(error.into()),
        };
        let mode = old.map(|old| old.metadata()).transpose()?;
        let outcome = file.write_all(data).and_then(|()| {
            if let Some(mode) = mode {
                file.set_permissions(mode.permissions())?;
            }
            Ok(renameat(folder, &temporary, folder, name)?)
        });
        if outcome.is_err() {
            // Best effort: the write error is the one to report.
            let _ = unlinkat(folder, &temporary, AtFlags::empty());
        }
        outcome
    }

    fn create_beside(folder: &OwnedFd, name: &OsStr) -> Result<(String, File), Errno> {
        let name = name.to_string_lossy();
        let mut number = 0;
        loop {
            let beside = format!(".{name}.{}-{number}.tmp", std::process::id());
            match openat(folder, &beside, NEW, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((beside, file.into())),
                Err(Errno::EXIST) if number < MAX_NAMES => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(not(unix))]
mod below {
    use std::ffi::OsStr;
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    /// Links are looked for first; they need a privilege to be made on Windows.
    pub(super) fn write(root: &Path, folders: &[&OsStr], name: &OsStr, data: &[u8]) -> io::Result<()> {
        let relative = folders.iter().chain([&name]).collect::<PathBuf>();
        super::check_links(root, &relative)?;
        let path = root.join(relative);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(super::is_no_file(&path));
        }
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        super::write_atomic(&path, data)
    }
}

/// Creates a folder and its parents, as Go's `MkdirAll` does: the error names the first folder that cannot be created, for
/// example because a file has its name.
///
/// # Errors
/// When a component of the path is not a folder, or a folder cannot be created.
pub fn create_folders(path: &Path) -> Result<(), FileError> {
    let failed = |source: io::Error| FileError::new("mkdir", path, source);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => return Err(failed(io::ErrorKind::NotADirectory.into())),
        Err(_) => {}
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folders(parent)?;
    }
    match fs::create_dir(path) {
        // Another program may have created it in the meantime.
        Err(error) if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) => Err(failed(error)),
        _ => Ok(()),
    }
}

/// The error of a file that [`write_atomic`] could not write, with the operation that Go would name.
pub(crate) fn write_file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    |error| {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
        file_error(if full.contains(&error.kind()) { "write" } else { "open" }, path)(error)
    }
}

fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0;
    loop {
        // In the same folder, because a rename cannot cross file systems. The process id keeps programs that
        // run at the same time apart.
        let beside = target.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_NAMES => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("can be listed");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("is there").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.tgz");
        for text in ["first", "second, and longer", "3"] {
            write_atomic(&path, text.as_bytes()).expect("can be written");
            assert_eq!(fs::read_to_string(&path).expect("can be read"), text);
        }
        assert_eq!(names(folder.path()), ["a.tgz"]);
    }

    fn written(path: &Path) -> Result<(), Error> {
        write_atomic(path, b"x").map_err(write_file_error(path))
    }

    #[cfg(unix)]
    #[test]
    fn a_full_device_is_an_error_and_a_missing_folder_names_the_file() {
        let error = written(Path::new("/dev/full")).expect_err("it is full");
        assert_eq!(error.to_string(), "write /dev/full: no space left on device");
        let error = written(Path::new("/nonexistent/a")).expect_err("no folder");
        assert_eq!(error.to_string(), "open /nonexistent/a: no such file or directory");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_in_the_way_of_a_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        fs::create_dir(at("real")).unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        create_folders(&at("link/a/b")).unwrap();
        assert!(at("real/a/b").is_dir());
        let error = |name: &str| {
            let text = create_folders(&at(name)).unwrap_err().to_string();
            text.replace(&*folder.path().to_string_lossy(), "")
        };
        assert_eq!(error("file"), "mkdir /file: not a directory");
        assert_eq!(error("file/a/b"), "mkdir /file: not a directory");
        assert_eq!(error("dangling/a"), "mkdir /dangling: file exists");
        let error = create_folders(Path::new("")).unwrap_err();
        assert_eq!(error.to_string(), "mkdir : no such file or directory");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link_below_the_root() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["outside", "chart/templates"] {
            fs::create_dir_all(at(name)).expect("made");
        }
        fs::write(at("outside/key"), "secret").expect("written");
        symlink("../outside", at("chart/charts")).expect("linked");
        symlink("../outside/key", at("chart/README.md")).expect("linked");
        symlink("nowhere", at("chart/templates/gone.yaml")).expect("linked");
        symlink("chart", at("named")).expect("linked");
        let write =
            |name: &str| write_below(&at("chart"), Path::new(name), b"new").map_err(|e| e.to_string());
        for name in ["charts/a.tgz", "charts/deep/a.tgz", "README.md", "templates/gone.yaml"] {
            let error = write(name).expect_err("it is a link");
            assert!(error.ends_with("is a symbolic link, which is not followed"), "{error}");
        }
        for name in ["../outside/key", "/etc/x", "a/../../x", "", "."] {
            let error = write(name).expect_err("it leads out");
            assert!(error.ends_with("leads out of its folder"), "{error}");
        }
        assert!(write("templates").expect_err("a folder").ends_with("is not a regular file"));
        assert_eq!(fs::read_to_string(at("outside/key")).expect("there"), "secret");
        assert_eq!(names(&at("outside")), ["key"]);
        // The root may be a link, folders are made, and modes are kept.
        write_below(&at("named"), Path::new("a/b/c.yaml"), b"1").expect("written");
        fs::set_permissions(at("chart/a/b/c.yaml"), fs::Permissions::from_mode(0o640)).expect("changed");
        write_below(&at("named"), Path::new("./a/b/c.yaml"), b"22").expect("written");
        assert_eq!(fs::read_to_string(at("chart/a/b/c.yaml")).expect("there"), "22");
        let mode = fs::metadata(at("chart/a/b/c.yaml")).expect("there").permissions().mode();
        assert_eq!((mode & 0o777, names(&at("chart/a/b"))), (0o640, vec!["c.yaml".to_owned()]));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_modes_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").expect("can be written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("can be changed");
        symlink("real", &link).expect("can be linked");
        write_atomic(&link, b"new").expect("can be written");
        assert_eq!(fs::read_to_string(&real).expect("can be read"), "new");
        assert_eq!(fs::metadata(&real).expect("is there").permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
        assert_eq!(names(folder.path()), ["link", "real"]);
    }
}
