//! Waits for changes of charts.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often files are looked at. A chart has few of them.
const INTERVAL: Duration = Duration::from_millis(200);

/// What is not part of a chart, or is written by tests.
const IGNORED: [&str; 3] = ["__snapshot__", ".debug", ".git"];

/// The files below some paths, with the times and sizes by which a change is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Files {
    /// Looks at all files below some paths, but for those that the run itself writes.
    pub(super) fn read(paths: &[String], written: &[PathBuf]) -> Files {
        let mut files = Files::default();
        paths.iter().for_each(|path| files.add(Path::new(path)));
        for path in written {
            files.0.remove(path);
        }
        files
    }

    fn add(&mut self, path: &Path) {
        let Ok(metadata) = fs::metadata(path) else { return };
        if !metadata.is_dir() {
            self.0.insert(path.to_owned(), stamp(&metadata));
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let is_ignored = IGNORED.iter().any(|name| entry.file_name() == *name);
            // Links to directories could form cycles.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink()) && entry.path().is_dir();
            if !is_ignored && !is_link {
                self.add(&entry.path());
            }
        }
    }

    /// The files that differ: new, changed or gone.
    pub(super) fn differing(&self, other: &Files) -> Vec<PathBuf> {
        let all = self.0.keys().chain(other.0.keys().filter(|path| !self.0.contains_key(*path)));
        all.filter(|path| self.0.get(*path) != other.0.get(*path)).cloned().collect()
    }
}

/// Returns the files that differ from what was there before, as soon as there are any.
pub(super) fn wait(before: &Files, paths: &[String], written: &[PathBuf]) -> Vec<PathBuf> {
    loop {
        let changed = before.differing(&Files::read(paths, written));
        if !changed.is_empty() {
            return changed;
        }
        thread::sleep(INTERVAL);
    }
}

fn stamp(metadata: &Metadata) -> (Option<SystemTime>, u64) {
    (metadata.modified().ok(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_new_changed_and_removed_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("templates/__snapshot__")).unwrap();
        fs::write(path("templates/a.yaml"), "a").unwrap();
        fs::write(path("b.yaml"), "b").unwrap();
        let paths = [folder.path().display().to_string()];
        let before = Files::read(&paths, &[]);
        fs::write(path("templates/a.yaml"), "longer").unwrap();
        fs::write(path("c.yaml"), "c").unwrap();
        fs::write(path("report.xml"), "c").unwrap();
        fs::write(path("templates/__snapshot__/a.snap"), "c").unwrap();
        fs::remove_file(path("b.yaml")).unwrap();
        let mut changed = wait(&before, &paths, &[path("report.xml")]);
        changed.sort();
        assert_eq!(changed, [path("b.yaml"), path("c.yaml"), path("templates/a.yaml")]);
    }
}
