//! File locks for the shared cluster: most tests share it, those that change cluster-wide state get exclusive access. File
//! locks, because tests run in one process (`cargo test`) or in many (`cargo xtask e2e`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A named lock, released on drop or when the process ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "it is kept open")] File);

impl Lock {
    /// Acquires the lock exclusively.
    pub(crate) fn exclusive(folder: &Path, name: &str) -> Lock {
        let file = open(folder, name);
        file.lock().unwrap_or_else(|error| panic!("the lock {name} cannot be had: {error}"));
        Lock(file)
    }

    /// Acquires several locks exclusively, always in sorted order, so that no two tests deadlock.
    pub(crate) fn all(folder: &Path, names: impl IntoIterator<Item = String>) -> Vec<Lock> {
        // Two names may map to one file; locking it twice would deadlock.
        let files: BTreeSet<String> = names.into_iter().map(|name| file_name(&name)).collect();
        files.iter().map(|name| Lock::exclusive(folder, name)).collect()
    }

    /// Acquires the lock shared.
    fn shared(folder: &Path, name: &str) -> Lock {
        let file = open(folder, name);
        file.lock_shared().unwrap_or_else(|error| panic!("the lock {name} cannot be had: {error}"));
        Lock(file)
    }
}

fn file_name(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

fn open(folder: &Path, name: &str) -> File {
    let name = file_name(name);
    fs::create_dir_all(folder).expect("a folder can be made");
    let mut options = File::options();
    options.create(true).write(true).truncate(false).open(folder.join(name)).expect("a file can be made")
}

/// Held by every test on the cluster: shared, or exclusively.
const CLUSTER: &str = "cluster";

/// Held by a test that waits for exclusive access, so that newcomers do not starve it.
const ENTRANCE: &str = "entrance";

/// How often each test of this process holds shared access, by cluster and test name.
static INSIDE: Mutex<BTreeMap<(PathBuf, String), usize>> = Mutex::new(BTreeMap::new());

fn holders() -> MutexGuard<'static, BTreeMap<(PathBuf, String), usize>> {
    INSIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Access of a test to the cluster, released on drop.
#[derive(Debug)]
pub(crate) struct ClusterAccess {
    _cluster: Lock,
    /// The test with shared access; `None` for exclusive access.
    test: Option<(PathBuf, String)>,
}

impl ClusterAccess {
    /// Acquires shared access, with the locks in `folder`. Waits for tests with exclusive access and those that wait for it,
    /// except if this test already has access: the waiting one waits for it, so waiting would deadlock.
    pub(crate) fn shared(folder: &Path, test: &str) -> ClusterAccess {
        let test = (folder.to_owned(), test.to_owned());
        let is_inside = holders().contains_key(&test);
        let entrance = (!is_inside).then(|| Lock::shared(folder, ENTRANCE));
        let cluster = Lock::shared(folder, CLUSTER);
        drop(entrance);
        *holders().entry(test.clone()).or_default() += 1;
        ClusterAccess { _cluster: cluster, test: Some(test) }
    }

    /// Acquires exclusive access.
    pub(crate) fn exclusive(folder: &Path) -> ClusterAccess {
        let entrance = Lock::exclusive(folder, ENTRANCE);
        let cluster = Lock::exclusive(folder, CLUSTER);
        drop(entrance);
        ClusterAccess { _cluster: cluster, test: None }
    }
}

impl Drop for ClusterAccess {
    fn drop(&mut self) {
        let Some(test) = &self.test else { return };
        let mut inside = holders();
        if let Some(count) = inside.get_mut(test) {
            *count -= 1;
            if *count == 0 {
                inside.remove(test);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn exclusive_access_waits_for_holders_and_precedes_newcomers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let folder = folder.path();
        let (printed, order) = mpsc::channel();
        let first = ClusterAccess::shared(folder, "first");
        std::thread::scope(|scope| {
            let alone = printed.clone();
            scope.spawn(move || {
                let _pass = ClusterAccess::exclusive(folder);
                alone.send("alone").expect("somebody listens");
            });
            // Wait until the exclusive test waits.
            while open(folder, ENTRANCE).try_lock_shared().is_ok() {
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _pass = ClusterAccess::shared(folder, "newcomer");
                printed.send("newcomer").expect("somebody listens");
            });
            // A test with access may acquire it again, or nobody would ever release it.
            let again = ClusterAccess::shared(folder, "first");
            assert!(order.try_recv().is_err());
            drop((first, again));
            assert_eq!(order.iter().collect::<Vec<_>>(), ["alone", "newcomer"]);
        });
        assert!(holders().keys().all(|(other, _)| other != folder));
    }

    #[test]
    fn shared_access_does_not_wait_for_shared_access() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let passes = ["one", "two", "one"].map(|test| ClusterAccess::shared(folder.path(), test));
        drop(passes);
        drop(ClusterAccess::exclusive(folder.path()));
    }

    #[test]
    fn a_lock_is_exclusive() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let lock = Lock::all(folder.path(), ["ClusterRole a/b", "ClusterRole a:b"].map(str::to_owned));
        assert!(open(folder.path(), "ClusterRole a/b").try_lock().is_err());
        assert!(open(folder.path(), "another").try_lock().is_ok());
        drop(lock);
        assert!(open(folder.path(), "ClusterRole a/b").try_lock().is_ok());
    }
}
