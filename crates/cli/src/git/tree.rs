//! Reads files and folders at a commit from the objects of a repository, without a checkout: resolving names, listing trees
//! and reading objects is all that git is asked for.

use std::fs;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::Git;

/// The limits for the number of files of a chart and for their total size.
const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 100 << 20;

/// How many links lead from one file to another at most.
const MAX_LINKS: usize = 8;

/// What to do with symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// Leave them out.
    Skip,
    /// Keep those that stay in the folder, and refuse others.
    Inside,
}

/// The kind of a file in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Link,
}

/// A file in a tree.
#[derive(Debug)]
struct Entry {
    kind: Kind,
    object: String,
    size: u64,
    path: PathBuf,
}

/// What a path of a commit is.
pub(crate) enum Found {
    /// A file, with its content.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// There is nothing, or a submodule.
    Nothing,
}

/// Resolves the name of a commit.
///
/// # Errors
/// When there is no such commit.
pub(crate) fn commit(git: &Git<'_>, folder: &Path, name: &str) -> Result<String, String> {
    let revision = format!("{name}^{{commit}}");
    let commit = output(git, folder, &["rev-parse", "--verify", "--end-of-options", &revision])?;
    Ok(String::from_utf8_lossy(&commit).trim().to_owned())
}

/// Writes the files below `folder` at a commit to a temporary directory. Submodules are left out.
///
/// # Errors
/// Errors of git, invalid trees, and links that are refused.
pub(crate) fn check_out(
    git: &Git<'_>,
    folder: &Path,
    (commit, path): (&str, &str),
    links: Links,
) -> Result<TempDir, String> {
    // Git lists relative to its working directory.
    let tree = if path.is_empty() || path == "." { commit.to_owned() } else { format!("{commit}:{path}") };
    let listing = output(git, folder, &["ls-tree", "-r", "-l", "-z", &tree, "--", "."])?;
    let entries = read_listing(&listing)?;
    let entries: Vec<Entry> =
        entries.into_iter().filter(|entry| entry.kind == Kind::File || links == Links::Inside).collect();
    if entries.is_empty() {
        return Err("it has no such folder".to_owned());
    }
    let made = tempfile::Builder::new().prefix("pintle-").tempdir().map_err(failed)?;
    write_files(git, folder, &entries, made.path())?;
    Ok(made)
}

/// What a path at a commit is. Links to other files of the repository are followed.
///
/// # Errors
/// Errors of git, files that are too large, and links that leave the repository.
pub(crate) fn find(git: &Git<'_>, folder: &Path, commit: &str, path: &str) -> Result<Found, String> {
    let mut path = PathBuf::from(path);
    for _ in 0..MAX_LINKS {
        let name = path.to_string_lossy().replace('\\', "/");
        if name.is_empty() {
            return Ok(Found::Folder);
        }
        let listing = output(git, folder, &["ls-tree", "-l", "-z", "--full-tree", commit, "--", &name])?;
        if listing.split(|byte| *byte == 0).any(|line| line.windows(6).any(|word| word == b" tree ")) {
            return Ok(Found::Folder);
        }
        let Some(entry) = read_listing(&listing)?.pop() else { return Ok(Found::Nothing) };
        let content = output(git, folder, &["cat-file", "blob", &entry.object])?;
        if entry.kind == Kind::File {
            return Ok(Found::File(content));
        }
        let target = String::from_utf8_lossy(&content).into_owned();
        path = joined(path.parent().unwrap_or(Path::new("")), &target)
            .ok_or_else(|| format!("`{name}` is a link that leads out of the repository"))?;
    }
    Err("there are too many links".to_owned())
}

/// A relative path seen from a folder; nothing if it leads out of the root.
fn joined(folder: &Path, target: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

fn output(git: &Git<'_>, folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    git.run(Some(folder), arguments).map(|captured| captured.stdout).map_err(|error| error.reason())
}

/// Parses lines of `MODE TYPE OBJECT SIZE<tab>PATH`.
fn read_listing(listing: &[u8]) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut bytes = 0_u64;
    for line in listing.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = std::str::from_utf8(line).map_err(|_| "a file has a name that is not UTF-8".to_owned())?;
        let (about, path) = line.split_once('\t').ok_or("git lists files in an unknown way")?;
        let about: Vec<&str> = about.split_whitespace().collect();
        let [mode, "blob", object, size] = about[..] else { continue };
        let kind = match mode {
            "120000" => Kind::Link,
            mode if mode.starts_with("100") => Kind::File,
            _ => continue,
        };
        let size = size.parse().map_err(|_| format!("`{path}` has no size"))?;
        bytes = bytes.saturating_add(size);
        entries.push(Entry { kind, object: object.to_owned(), size, path: relative_path(path)? });
        if entries.len() > MAX_FILES || bytes > MAX_BYTES {
            return Err(format!("the chart has more than {MAX_FILES} files or {} MiB", MAX_BYTES >> 20));
        }
    }
    Ok(entries)
}

/// A path that stays in its directory. Git lists names that it would not check out itself.
fn relative_path(path: &str) -> Result<PathBuf, String> {
    let all_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if all_plain && !path.is_empty() && !path.contains('\\') {
        Ok(PathBuf::from(path))
    } else {
        Err(format!("a file has the name {path:?}"))
    }
}

fn write_files(git: &Git<'_>, folder: &Path, entries: &[Entry], to: &Path) -> Result<(), String> {
    let wanted: String = entries.iter().map(|entry| format!("{}\n", entry.object)).collect();
    let answer = git
        .run_with(Some(folder), &["cat-file", "--batch"], Some(wanted.as_bytes()))
        .map_err(|error| error.reason())?;
    let mut rest = answer.stdout.as_slice();
    let mut links = Vec::new();
    for entry in entries {
        let content = next_object(&mut rest, entry)?;
        let (path, name) = (to.join(&entry.path), entry.path.display());
        fs::create_dir_all(path.parent().unwrap_or(to)).map_err(failed)?;
        if entry.kind == Kind::Link {
            links.push((path, String::from_utf8_lossy(content).into_owned()));
            continue;
        }
        let written =
            fs::File::create_new(&path).and_then(|mut file| std::io::Write::write_all(&mut file, content));
        written.map_err(|error| format!("cannot write `{name}`: {error}"))?;
    }
    write_links(&links, to)
}

/// Makes links when all files are there, so that none is written through one, and then looks where they lead.
fn write_links(links: &[(PathBuf, String)], root: &Path) -> Result<(), String> {
    for (path, target) in links {
        if Path::new(target).is_absolute() {
            return Err(leads_out(path, root, target));
        }
        pintle_plugin::symlink(Path::new(target), path).map_err(failed)?;
    }
    let root = root.canonicalize().map_err(failed)?;
    for (path, target) in links {
        match path.canonicalize() {
            Ok(found) if found.starts_with(&root) => {}
            // What is not there cannot be read, and may be in a submodule.
            Err(_) if is_inside(path, target, &root) => fs::remove_file(path).map_err(failed)?,
            _ => return Err(leads_out(path, &root, target)),
        }
    }
    Ok(())
}

fn is_inside(path: &Path, target: &str, root: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let below = folder.as_deref().and_then(|folder| folder.strip_prefix(root).ok());
    below.is_some_and(|below| joined(below, target).is_some())
}

fn leads_out(path: &Path, root: &Path, target: &str) -> String {
    let name = path.strip_prefix(root).unwrap_or(path).display();
    format!("`{name}` is a link to `{target}`, which leads out of the chart")
}

/// Takes the next object from the output of `git cat-file --batch`.
fn next_object<'a>(rest: &mut &'a [u8], entry: &Entry) -> Result<&'a [u8], String> {
    let name = entry.path.display();
    let missing = || format!("the object of `{name}` is missing");
    let line = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
    if rest[..line] != *format!("{} blob {}", entry.object, entry.size).as_bytes() {
        return Err(missing());
    }
    let size = usize::try_from(entry.size).map_err(failed)?;
    let content =
        rest.get(line + 1..line + 1 + size).ok_or_else(|| format!("the object of `{name}` is truncated"))?;
    *rest = rest.get(line + 2 + size..).unwrap_or_default();
    Ok(content)
}

fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../x", "/x", "a/../../x", "a\\..\\x", ""] {
            assert!(relative_path(name).is_err(), "{name}");
        }
        assert!(relative_path("templates/a b.yaml").is_ok());
    }

    #[test]
    fn submodules_are_left_out_and_links_are_told_from_files() {
        let listing =
            ["100644 blob aa 3\tChart.yaml", "120000 blob bb 4\tlink", "160000 commit cc -\tmodule"]
                .join("\0");
        let entries = read_listing(listing.as_bytes()).unwrap();
        let kinds: Vec<Kind> = entries.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [Kind::File, Kind::Link]);
        assert_eq!((entries[0].size, entries[0].object.as_str()), (3, "aa"));
    }

    #[test]
    #[cfg(unix)]
    fn links_may_lead_to_where_they_stay_in_the_chart() {
        let root = tempfile::tempdir().unwrap();
        let write = |links: &[(&str, &str)]| {
            let links: Vec<(PathBuf, String)> =
                links.iter().map(|(path, target)| (root.path().join(path), (*target).to_owned())).collect();
            let outcome = write_links(&links, root.path());
            links.iter().for_each(|(path, _)| drop(fs::remove_file(path)));
            outcome
        };
        fs::create_dir_all(root.path().join("p/q")).unwrap();
        fs::write(root.path().join("values.yaml"), "").unwrap();
        assert_eq!(write(&[("a", "values.yaml"), ("p/b", "../values.yaml"), ("p/c", "./gone")]), Ok(()));
        for links in [
            &[("a", "/etc/passwd")][..],
            &[("a", "../../../../../etc/passwd")],
            &[("a", "../gone")],
            // By its text the second stays inside, but not when the first is followed.
            &[("p/q/up", "../.."), ("a", "p/q/up/..")],
        ] {
            let error = write(links).unwrap_err();
            assert!(error.ends_with("which leads out of the chart"), "{error}");
        }
    }
}
