//! `fs`: files, for scripts with the `filesystem` permission. Charts can access one folder only. Plugins can access all
//! files, because users install them and pass them the paths.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use mlua::Value;
use pintle_tree::Node;

use crate::call::{Answer, Body, Call, CallError};

/// The functions of `fs`.
pub(super) const FUNCTIONS: &[(&str, Body)] =
    &[("read", read), ("write", write), ("exists", exists), ("list", list)];

/// The steps charged per call, so that a loop of calls terminates.
const STEPS: u64 = 10_000;

fn read(call: &Call<'_>) -> Answer {
    let (path, shown) = existing(call)?;
    // Opening a pipe would block, and the meter cannot interrupt it.
    if !path.is_file() {
        return call.fail(format!("{shown} is not a regular file"));
    }
    let most = call.host.limits.text as u64;
    let mut bytes = Vec::new();
    let file = fs::File::open(&path).or_else(|error| call.fail(format!("{shown}: {error}")))?;
    // One byte more than allowed, so that a file that is too long is rejected instead of truncated.
    file.take(most + 1).read_to_end(&mut bytes).or_else(|error| call.fail(format!("{shown}: {error}")))?;
    call.charge(bytes.len() as u64 / 64)?;
    call.return_text(bytes)
}

/// Writes a file; its folder must exist.
fn write(call: &Call<'_>) -> Answer {
    let bytes = call.bytes(1)?;
    let (root, relative, shown) = inside(call)?;
    let Some(name) = relative.file_name() else { return call.fail(format!("{shown} is no file")) };
    let folder = relative.parent().unwrap_or(Path::new(""));
    // The folder, because the file itself may not exist yet.
    let folder = resolve(call, &root, folder, &shown)?;
    let path = folder.join(name);
    // Writing through a symlink would write somewhere else.
    let is_other = |found: fs::Metadata| !found.is_file();
    if fs::symlink_metadata(&path).is_ok_and(is_other) {
        return call.fail(format!("{shown} is not a regular file"));
    }
    if !call.host.meter.budget().reserve_disk(bytes.len() as u64) {
        let most = call.host.limits.all_disk;
        let reason = format!("the scripts of all charts together wrote more than {most} bytes to files");
        return Err(call.host.meter.exceed(call.lua, reason).into());
    }
    call.charge(bytes.len() as u64 / 16)?;
    fs::write(&path, bytes).or_else(|error| call.fail(format!("{shown}: {error}")))?;
    Ok(Value::Nil)
}

fn exists(call: &Call<'_>) -> Answer {
    let (root, relative, shown) = inside(call)?;
    // First, because resolving a missing path is an error.
    if !root.join(&relative).exists() {
        return Ok(Value::Boolean(false));
    }
    resolve(call, &root, &relative, &shown).map(|_| Value::Boolean(true))
}

/// The names in a folder that are not hidden, sorted.
fn list(call: &Call<'_>) -> Answer {
    let (path, shown) = existing(call)?;
    let entries = fs::read_dir(&path).or_else(|error| call.fail(format!("{shown}: {error}")))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.or_else(|error| call.fail(format!("{shown}: {error}")))?;
        call.charge(100)?;
        if !is_hidden(&entry.file_name()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    call.answer(&Node::List(names.into_iter().map(Node::from).collect()))
}

/// An existing path with symlinks resolved, and the path as given by the script.
fn existing(call: &Call<'_>) -> Result<(PathBuf, String), CallError> {
    let (root, relative, shown) = inside(call)?;
    resolve(call, &root, &relative, &shown).map(|path| (path, shown))
}

/// The folder with symlinks resolved, the path below it, and the path as given by the script.
fn inside(call: &Call<'_>) -> Result<(PathBuf, PathBuf, String), CallError> {
    call.charge(STEPS)?;
    let shown = call.text(0)?;
    let Some(folder) = &call.host.services.folder else { return call.fail("files cannot be used here") };
    let root =
        folder.canonicalize().or_else(|error| call.fail(format!("the folder for scripts: {error}")))?;
    if shown.contains('\0') {
        return call.fail(format!("{shown:?} is no path"));
    }
    if call.host.plugin.is_some() {
        return Ok((root, PathBuf::from(&shown), shown));
    }
    let mut relative = PathBuf::new();
    for component in Path::new(&shown).components() {
        match component {
            Component::Normal(name) if is_hidden(name) => return hidden(call, &shown),
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            _ => {
                return call
                    .fail(format!("{shown:?} leads out of the folder; paths are relative, without `..`"));
            }
        }
    }
    Ok((root, relative, shown))
}

/// Resolves symlinks, and rejects targets outside of the folder, or hidden files in it.
fn resolve(call: &Call<'_>, root: &Path, relative: &Path, shown: &str) -> Result<PathBuf, CallError> {
    let path = root.join(relative).canonicalize().or_else(|error| call.fail(format!("{shown}: {error}")))?;
    match path.strip_prefix(root) {
        _ if call.host.plugin.is_some() => Ok(path),
        Err(_) => call.fail(format!("{shown:?} leads out of the folder")),
        Ok(below) if below.components().any(|part| is_hidden(part.as_os_str())) => hidden(call, shown),
        Ok(_) => Ok(path),
    }
}

/// Hidden files hold keys, tokens and hooks of other programs.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn hidden<T>(call: &Call<'_>, shown: &str) -> Result<T, CallError> {
    call.fail(format!("{shown:?} is hidden, and hidden files are not for scripts"))
}
