//! Copies the folder of a plugin.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result, refused};

/// Copies a folder with everything in it, links as links. What exists at the target is an error, and what was copied is
/// removed again if anything fails.
///
/// # Errors
/// Files that cannot be read or written.
pub fn copy_dir(source: &Path, target: &Path) -> Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(refused("mkdir", parent))?;
    }
    if fs::symlink_metadata(target).is_ok() {
        return Err(Error::File("destination already exists".to_owned()));
    }
    copy(source, target).inspect_err(|_| {
        // The error of the copy is returned, not that of the cleanup.
        let _ = fs::remove_dir_all(target);
    })
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    let metadata = fs::metadata(source).map_err(refused("stat", source))?;
    match fs::create_dir(target) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(refused("mkdir", target)(error));
        }
        _ => {}
    }
    for entry in fs::read_dir(source).map_err(refused("open", source))? {
        let entry = entry.map_err(refused("read", source))?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let kind = entry.file_type().map_err(refused("lstat", &from))?;
        if kind.is_dir() {
            copy(&from, &to)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&from).map_err(refused("readlink", &from))?;
            symlink(&link, &to).map_err(refused("symlink", &to))?;
        } else if kind.is_file() {
            fs::copy(&from, &to).map_err(refused("open", &from))?;
        } else {
            return Err(Error::File(format!("{} is no file, folder or link", from.display())));
        }
    }
    fs::set_permissions(target, metadata.permissions()).map_err(refused("chmod", target))
}

/// Makes a symbolic link.
///
/// # Errors
/// When it cannot be made.
#[cfg(unix)]
pub fn symlink(link: &Path, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(link, at)
}

/// Makes a symbolic link.
///
/// # Errors
/// When it cannot be made.
#[cfg(windows)]
pub fn symlink(link: &Path, at: &Path) -> std::io::Result<()> {
    if link.is_dir() {
        std::os::windows::fs::symlink_dir(link, at)
    } else {
        std::os::windows::fs::symlink_file(link, at)
    }
}
