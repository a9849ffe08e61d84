//! Atomic file writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
