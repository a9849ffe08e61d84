//! Files of the image commands. Relative paths must stay in the working directory; files are written atomically, and
//! never overwritten by accident.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::failure::{Failure, reason};
use crate::read;

/// Rejects relative paths that leave the working directory; `flag` is named in the error.
pub(super) fn check(flag: &str, path: &str) -> Result<(), Failure> {
    let mut depth = 0_i64;
    for component in Path::new(path).components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return Ok(()),
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
        }
        if depth < 0 {
            return Err(Failure::usage(format!(
                "{flag}: path traversal: `{path}` leads out of the working directory"
            ))
            .hint("use an absolute path if this is intended"));
        }
    }
    check_links(flag, path)
}

/// Rejects relative paths that leave the working directory through a symbolic link. What does not exist yet is judged by
/// the folder that it would be in.
fn check_links(flag: &str, path: &str) -> Result<(), Failure> {
    let Ok(here) = fs::canonicalize(".") else { return Ok(()) };
    let existing = Path::new(path).ancestors().find_map(|part| match part.as_os_str().is_empty() {
        true => Some(here.clone()),
        false => fs::canonicalize(part).ok(),
    });
    match existing {
        Some(real) if !real.starts_with(&here) => Err(Failure::usage(format!(
            "{flag}: path traversal: `{path}` leads out of the working directory through a link, to {}",
            real.display()
        ))
        .hint("use an absolute path if this is intended")),
        _ => Ok(()),
    }
}

/// Reads the file of a flag.
pub(super) fn read(flag: &str, path: &str) -> Result<Vec<u8>, Failure> {
    check(flag, path)?;
    read::file(path, read::MAX_SETTINGS)
        .map_err(|error| Failure::usage(format!("{flag}: cannot read `{path}`: {}", reason(&error))))
}

/// What to do with an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// Keep it and fail.
    Keep,
    /// Replace it.
    Replace,
}

/// Fails if the file exists.
pub(super) fn check_free(flag: &str, path: &str) -> Result<(), Failure> {
    check(flag, path)?;
    if fs::symlink_metadata(path).is_ok() { Err(already_exists(flag, path)) } else { Ok(()) }
}

/// Rejects relative paths whose folder is a link that leaves the working directory.
fn check_folder(flag: &str, path: &str) -> Result<(), Failure> {
    let path = Path::new(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(folder), Ok(here)) = (folder.canonicalize(), Path::new(".").canonicalize()) else {
        return Ok(());
    };
    if path.is_absolute() || folder.starts_with(here) {
        return Ok(());
    }
    let text = format!(
        "{flag}: path traversal: the folder of `{}` is a link out of the working directory",
        path.display()
    );
    Err(Failure::usage(text).hint("use an absolute path if this is intended"))
}

/// Writes a file atomically.
pub(super) fn write(flag: &str, path: &str, text: &[u8], existing: Existing) -> Result<(), Failure> {
    check(flag, path)?;
    check_folder(flag, path)?;
    let target = Path::new(path);
    if existing == Existing::Keep {
        check_free(flag, path)?;
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(flag, path),
        _ => Failure::usage(format!("{flag}: cannot write `{path}`: {}", reason(&error))),
    };
    let beside = temporary(target);
    let outcome = write_to(&beside, text).and_then(|()| match existing {
        Existing::Replace => fs::rename(&beside, target),
        // A hard link fails if the file was created meanwhile, unlike a rename. Where links are not supported, it is
        // renamed.
        Existing::Keep => fs::hard_link(&beside, target).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error),
            _ => fs::rename(&beside, target),
        }),
    });
    let _ = fs::remove_file(&beside);
    outcome.map_err(failed)
}

fn write_to(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn temporary(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn already_exists(flag: &str, path: &str) -> Failure {
    Failure::usage(format!("{flag}: `{path}` already exists")).hint("remove it first, or choose another name")
}
