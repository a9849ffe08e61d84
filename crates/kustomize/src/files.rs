//! The files of a repository, as the caller lets this crate see them.

use std::sync::Arc;

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name, without a slash.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// The files of one repository. Paths are relative to its root, with `/` between names and without `.`, `..` or a slash
/// at the beginning or the end; the root itself is the empty path. No other path is ever asked for.
///
/// What a link means, and how large a file may be, is decided by the implementation: whatever it returns is taken to be
/// part of the repository.
pub trait Files {
    /// The content of a file; `None` if there is no such file, or it is a folder.
    ///
    /// # Errors
    /// Why the file cannot be read.
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String>;

    /// The entries of a folder, in any order; `None` if there is no such folder.
    ///
    /// # Errors
    /// Why the folder cannot be read.
    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>, String>;
}

/// Files in memory, by path: for tests, and for kustomizations that exist nowhere else.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub std::collections::BTreeMap<String, Arc<[u8]>>);

impl<P: Into<String>, C: AsRef<[u8]>> FromIterator<(P, C)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        MemoryFiles(files.into_iter().map(|(path, content)| (path.into(), content.as_ref().into())).collect())
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        Ok(self.0.get(path).cloned())
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>, String> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries: Vec<Entry> = Vec::new();
        for path in self.0.range(prefix.clone()..).map(|(path, _)| path) {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            let (name, is_folder) = match rest.split_once('/') {
                Some((name, _)) => (name, true),
                None => (rest, false),
            };
            if entries.last().is_none_or(|last| last.name != name) {
                entries.push(Entry { name: name.to_owned(), is_folder });
            }
        }
        Ok((folder.is_empty() || !entries.is_empty()).then_some(entries))
    }
}

/// Joins a path as it is written in a kustomization to the folder of that kustomization. `None` if the path is absolute or
/// leads out of the repository.
pub(crate) fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Whether a path is a folder or inside it.
pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_never_leave_the_repository() {
        assert_eq!(join("a/b", "../c/./d.yaml").as_deref(), Some("a/c/d.yaml"));
        assert_eq!(join("a", "..").as_deref(), Some(""));
        assert_eq!(join("a", "../../b"), None);
        assert_eq!(join("a", "/etc/passwd"), None);
    }

    #[test]
    fn a_folder_in_memory_is_what_files_are_below() {
        let files: MemoryFiles = [("a/b/c", ""), ("a/d", ""), ("ab", "")].into_iter().collect();
        let entry = |name: &str, is_folder| Entry { name: name.to_owned(), is_folder };
        assert_eq!(files.list("a"), Ok(Some(vec![entry("b", true), entry("d", false)])));
        assert_eq!(files.list("x"), Ok(None));
    }

    #[test]
    fn folders_contain_themselves_and_what_is_below_but_no_similar_names() {
        assert!(is_within("a/b", "a") && is_within("a", "a") && is_within("x", ""));
        assert!(!is_within("ab", "a"));
    }
}
