//! Keeps the cache of archives within its part of the disk: a full disk would stop everybody, and a pod whose volume is full is
//! evicted.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How much the cache may take, in bytes; half of the volume that the chart gives it.
pub(super) const MAX_CACHE: u64 = 512 << 20;

/// Removes the oldest files of a cache until it takes no more than `limit`, but not `latest`. Another request may have been
/// about to read a removed file; it fetches the file again.
pub(super) fn prune(root: &Path, limit: u64, latest: &Path) {
    let mut files = files(root);
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    files.sort_by_key(|(modified, ..)| *modified);
    for (_, size, path) in files.into_iter().filter(|(_, _, path)| path != latest) {
        if total <= limit {
            return;
        }
        if fs::remove_file(&path).is_ok() {
            total -= size;
        }
    }
}

/// The files of a cache, which are in folders by the first digits of their digests.
fn files(root: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries(root).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let files = folders.flat_map(|folder| entries(&folder.path()).collect::<Vec<_>>());
    files
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_archives_go_first_and_the_latest_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |name: &str, age: u64| {
            let path = root.path().join(&name[..2]).join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, [0; 100]).expect("it can be written");
            let file = fs::File::options().write(true).open(&path).expect("it is there");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age))
                .expect("it has a time");
            path
        };
        let [oldest, old, new, latest] = [("aa1.tgz", 30), ("bb1.tgz", 20), ("bb2.tgz", 10), ("aa2.tgz", 40)]
            .map(|(name, age)| write(name, age));
        prune(root.path(), 400, &latest);
        assert!(oldest.exists(), "everything fits");
        prune(root.path(), 250, &latest);
        assert!(!oldest.exists() && !old.exists() && new.exists() && latest.exists());
        prune(root.path(), 0, &latest);
        assert!(!new.exists() && latest.exists());
    }
}
