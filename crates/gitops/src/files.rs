//! The files of a repository at one commit, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many links lead from one file to another at most.
const MAX_LINKS: usize = 16;

/// What a path of a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file with its content.
    File(Arc<[u8]>),
    /// A symbolic link with its target.
    Link(String),
    /// A file that was not read because it is larger than the limit, with its size.
    TooLarge(u64),
    /// A submodule.
    Submodule,
}

/// The files of a repository at one commit. Links are followed as long as they stay in the repository.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    entries: BTreeMap<String, Entry>,
    folders: BTreeSet<String>,
}

impl Snapshot {
    /// Takes entries by their paths from the root of the repository. Paths that lead elsewhere are left out.
    pub fn new(entries: impl IntoIterator<Item = (String, Entry)>) -> Self {
        let mut snapshot = Snapshot::default();
        for (path, entry) in entries {
            // A name that git itself would refuse to check out.
            if join("", &path).as_deref() != Some(path.as_str()) {
                continue;
            }
            let mut folder = parent(&path);
            while !folder.is_empty() && snapshot.folders.insert(folder.to_owned()) {
                folder = parent(folder);
            }
            snapshot.entries.insert(path, entry);
        }
        snapshot
    }

    /// The content of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// Files that are too large, and links that leave the repository or lead in a circle.
    pub fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        let Some(found) = self.resolve(path)? else { return Ok(None) };
        match self.entries.get(&found) {
            Some(Entry::File(content)) => Ok(Some(Arc::clone(content))),
            Some(Entry::TooLarge(size)) => Err(format!("{path} has {size} bytes, which is too large")),
            Some(Entry::Submodule) => Err(format!("{path} is in a submodule, which is not read")),
            Some(Entry::Link(_)) | None => Ok(None),
        }
    }

    /// The path without links; `None` if it leads to nothing.
    ///
    /// # Errors
    /// Links that leave the repository or lead in a circle, and paths in submodules.
    pub fn resolve(&self, path: &str) -> Result<Option<String>, String> {
        let Some(mut path) = join("", path) else {
            return Err(format!("{path} leads out of the repository"));
        };
        for _ in 0..MAX_LINKS {
            let Some((at, target)) = self.first_link(&path)? else {
                let exists = self.entries.contains_key(&path) || self.is_plain_folder(&path);
                return Ok(exists.then_some(path));
            };
            let rest = path.get(at.len() + 1..).unwrap_or_default().to_owned();
            let leads_out = || format!("{at} is a link to {target}, which leads out of the repository");
            if target.starts_with('/') {
                return Err(leads_out());
            }
            let led = join(parent(&at), &target).ok_or_else(leads_out)?;
            path = join(&led, &rest).ok_or_else(leads_out)?;
        }
        Err(format!("{path}: there are too many links"))
    }

    /// The first part of a path that is a link, with its target.
    fn first_link(&self, path: &str) -> Result<Option<(String, String)>, String> {
        for end in path.match_indices('/').map(|(at, _)| at).chain([path.len()]) {
            match self.entries.get(&path[..end]) {
                Some(Entry::Link(target)) => return Ok(Some((path[..end].to_owned(), target.clone()))),
                Some(Entry::Submodule) if end < path.len() => {
                    return Err(format!("{path} is in a submodule, which is not read"));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn is_plain_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    /// Whether a path is a folder, links followed.
    pub fn is_folder(&self, path: &str) -> bool {
        self.resolve(path).ok().flatten().is_some_and(|path| self.is_plain_folder(&path))
    }

    /// Whether a path is a file, links followed.
    pub fn is_file(&self, path: &str) -> bool {
        let found = self.resolve(path).ok().flatten();
        found.is_some_and(|path| matches!(self.entries.get(&path), Some(Entry::File(_) | Entry::TooLarge(_))))
    }

    /// The names in a folder in order, each with whether it is a folder. Links are followed.
    pub fn names(&self, folder: &str) -> Vec<(String, bool)> {
        let Some(folder) = self.resolve(folder).ok().flatten() else { return Vec::new() };
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let below = self.entries.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let mut names: Vec<(String, bool)> = Vec::new();
        for (path, entry) in below {
            let rest = &path[prefix.len()..];
            let (name, is_folder) = match rest.split_once('/') {
                Some((name, _)) => (name, true),
                None => (rest, matches!(entry, Entry::Link(_)) && self.is_folder(path)),
            };
            if names.last().is_none_or(|(last, _)| last != name) {
                names.push((name.to_owned(), is_folder));
            }
        }
        names
    }

    /// All files below a folder with their paths from the root, in order. Links in it are not followed.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &Entry)> {
        let folder = self.resolve(folder).ok().flatten();
        let prefix = match folder.as_deref() {
            Some("") => Some(String::new()),
            Some(folder) => Some(format!("{folder}/")),
            None => None,
        };
        let start = prefix.clone().unwrap_or_default();
        let below = self.entries.range(start..);
        below
            .take_while(move |(path, _)| prefix.as_ref().is_some_and(|prefix| path.starts_with(prefix)))
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// All files.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }
}

/// A relative path seen from a folder, without `.` and `..`; `None` if it leads out of the root.
pub fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a path.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(entries: &[(&str, &str)]) -> Snapshot {
        let entry = |text: &str| match text.strip_prefix("-> ") {
            Some(target) => Entry::Link(target.to_owned()),
            None => Entry::File(text.as_bytes().into()),
        };
        Snapshot::new(entries.iter().map(|(path, text)| ((*path).to_owned(), entry(text))))
    }

    #[test]
    fn links_are_followed_inside_of_the_repository_and_refused_outside() {
        let files = snapshot(&[
            ("a/values.yaml", "x: 1"),
            ("b", "-> a"),
            ("c/link", "-> ../a/values.yaml"),
            ("out", "-> ../../etc/passwd"),
            ("absolute", "-> /etc/passwd"),
            ("circle", "-> circle2"),
            ("circle2", "-> circle"),
        ]);
        for path in ["a/values.yaml", "b/values.yaml", "c/link", "b/../a/./values.yaml"] {
            assert_eq!(files.read(path).unwrap().as_deref(), Some(b"x: 1".as_slice()), "{path}");
        }
        for path in ["out", "absolute", "circle", "../x", "circle/x"] {
            assert!(files.read(path).is_err(), "{path}");
        }
        assert_eq!(files.names("b"), [("values.yaml".to_owned(), false)]);
        assert!(files.is_folder("b") && !files.is_folder("a/values.yaml"));
        assert_eq!(files.read("a/none").unwrap(), None);
    }

    #[test]
    fn names_that_git_would_not_check_out_are_left_out() {
        let files = snapshot(&[("../x", "1"), ("/y", "1"), ("a/../z", "1"), ("ok", "1")]);
        assert_eq!(files.entries().map(|(path, _)| path).collect::<Vec<_>>(), ["ok"]);
    }
}
