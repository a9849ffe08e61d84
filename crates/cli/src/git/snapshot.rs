//! All files of a repository, at a commit or as they are on disk, for commands that look at whole repositories. Git is asked for
//! objects only: nothing is checked out, and neither filters nor hooks run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use pintle::gitops::{Entry, Snapshot};

use super::Git;

/// The size of a file up to which it is read; archives of charts may be larger.
const MAX_FILE: u64 = 4 << 20;
const MAX_ARCHIVE: u64 = 20 << 20;
/// The limits for all files of a commit together.
const MAX_TOTAL: u64 = 768 << 20;
const MAX_FILES: usize = 300_000;
/// How much is asked of git at once.
const BATCH: u64 = 64 << 20;

/// Objects that were read, by their names: two commits share most of them.
#[derive(Default)]
pub(crate) struct Objects(BTreeMap<String, Arc<[u8]>>);

struct Listed {
    mode: String,
    object: String,
    size: u64,
    path: String,
}

/// The files of a commit.
///
/// # Errors
/// Errors of git, and repositories that are too large.
pub(crate) fn of_commit(
    git: &Git<'_>,
    folder: &Path,
    commit: &str,
    objects: &mut Objects,
) -> Result<Snapshot, String> {
    let listing = git
        .run(Some(folder), &["ls-tree", "-r", "-l", "-z", "--full-tree", commit])
        .map_err(|error| error.reason())?;
    let listed = read_listing(&listing.stdout)?;
    let wanted: Vec<&Listed> = listed.iter().filter(|entry| is_read(&entry.path, entry.size)).collect();
    fetch(git, folder, &wanted, objects)?;
    let entries = listed.iter().map(|entry| {
        let content = objects.0.get(&entry.object);
        let found = match (entry.mode.as_str(), content) {
            ("160000", _) => Entry::Submodule,
            ("120000", Some(target)) => Entry::Link(String::from_utf8_lossy(target).into_owned()),
            (_, Some(content)) => Entry::File(Arc::clone(content)),
            _ => Entry::TooLarge(entry.size),
        };
        (entry.path.clone(), found)
    });
    Ok(Snapshot::new(entries))
}

fn is_read(path: &str, size: u64) -> bool {
    size <= if path.ends_with(".tgz") { MAX_ARCHIVE } else { MAX_FILE }
}

/// Parses lines of `MODE TYPE OBJECT SIZE<tab>PATH`.
fn read_listing(listing: &[u8]) -> Result<Vec<Listed>, String> {
    let mut listed = Vec::new();
    let mut total = 0_u64;
    for line in listing.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        // A name that is not UTF-8 cannot be named by any file of YAML.
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let (about, path) = line.split_once('\t').ok_or("git lists files in an unknown way")?;
        let about: Vec<&str> = about.split_whitespace().collect();
        let [mode, _, object, size] = about[..] else { continue };
        let size = size.parse().unwrap_or(0);
        if is_read(path, size) {
            total = total.saturating_add(size);
        }
        listed.push(Listed { mode: mode.to_owned(), object: object.to_owned(), size, path: path.to_owned() });
        if listed.len() > MAX_FILES || total > MAX_TOTAL {
            return Err(format!("the repository has more than {MAX_FILES} files or {} MiB", MAX_TOTAL >> 20));
        }
    }
    Ok(listed)
}

/// Reads objects that are not known yet, some at a time.
fn fetch(git: &Git<'_>, folder: &Path, wanted: &[&Listed], objects: &mut Objects) -> Result<(), String> {
    let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in
        wanted.iter().filter(|entry| entry.mode != "160000" && !objects.0.contains_key(&entry.object))
    {
        missing.insert(&entry.object, entry.size);
    }
    let mut missing = missing.into_iter().peekable();
    while missing.peek().is_some() {
        let (mut names, mut bytes) = (Vec::new(), 0);
        while let Some((name, size)) = missing.next_if(|(_, size)| bytes == 0 || bytes + size <= BATCH) {
            names.push((name, size));
            bytes += size;
        }
        let input: String = names.iter().map(|(name, _)| format!("{name}\n")).collect();
        let answer = git
            .run_with(Some(folder), &["cat-file", "--batch"], Some(input.as_bytes()))
            .map_err(|error| error.reason())?;
        let mut rest = answer.stdout.as_slice();
        for (name, size) in names {
            let content = next_object(&mut rest, name, size)?;
            objects.0.insert(name.to_owned(), content.into());
        }
    }
    Ok(())
}

/// Takes the next object from the output of `git cat-file --batch`.
fn next_object<'a>(rest: &mut &'a [u8], name: &str, size: u64) -> Result<&'a [u8], String> {
    let missing = || format!("the object {name} is missing; fetch the whole history of the repository");
    let line = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
    if rest[..line] != *format!("{name} blob {size}").as_bytes() {
        return Err(missing());
    }
    let size = usize::try_from(size).map_err(|error| error.to_string())?;
    let content = rest.get(line + 1..line + 1 + size).ok_or_else(missing)?;
    *rest = rest.get(line + 2 + size..).unwrap_or_default();
    Ok(content)
}

/// The files of the working tree: those that git tracks, and new ones that it does not ignore.
///
/// # Errors
/// Errors of git, and repositories that are too large.
pub(crate) fn of_working_tree(git: &Git<'_>, root: &Path) -> Result<Snapshot, String> {
    let listing = git
        .run(Some(root), &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name"])
        .map_err(|error| error.reason())?;
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let mut entries: Vec<(String, Entry)> = Vec::new();
    let mut total = 0_u64;
    for name in listing.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        if let Some(entry) = on_disk(&root, name) {
            if let Entry::File(content) = &entry {
                total = total.saturating_add(content.len() as u64);
            }
            entries.push((name.trim_end_matches('/').to_owned(), entry));
        }
        if entries.len() > MAX_FILES || total > MAX_TOTAL {
            return Err(format!("the repository has more than {MAX_FILES} files or {} MiB", MAX_TOTAL >> 20));
        }
    }
    Ok(Snapshot::new(entries))
}

/// A file on disk; `None` if it is gone, or a folder above it is a link.
fn on_disk(root: &Path, name: &str) -> Option<Entry> {
    let path = root.join(name);
    let folder = path.parent()?;
    // A folder that became a link would lead elsewhere.
    if folder.canonicalize().ok()? != folder {
        return None;
    }
    let about = fs::symlink_metadata(&path).ok()?;
    if about.is_symlink() {
        return Some(Entry::Link(fs::read_link(&path).ok()?.to_string_lossy().replace('\\', "/")));
    }
    if about.is_dir() {
        return Some(Entry::Submodule);
    }
    if !about.is_file() {
        return None;
    }
    if !is_read(name, about.len()) {
        return Some(Entry::TooLarge(about.len()));
    }
    let limit = if name.ends_with(".tgz") { MAX_ARCHIVE } else { MAX_FILE };
    pintle::chart::read_limited(&path, limit).ok().map(|content| Entry::File(content.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_submodules_and_large_files_are_told_apart() {
        let listing = [
            "100644 blob aa 3\tChart.yaml",
            "120000 blob bb 4\tlink",
            "160000 commit cc -\tmodule",
            "100644 blob dd 99999999\tbig.yaml",
        ]
        .join("\0");
        let listed = read_listing(listing.as_bytes()).unwrap();
        let modes: Vec<&str> = listed.iter().map(|entry| entry.mode.as_str()).collect();
        assert_eq!(modes, ["100644", "120000", "160000", "100644"]);
        assert!(!is_read(&listed[3].path, listed[3].size));
    }
}
