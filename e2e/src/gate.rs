//! Who is on the cluster: all tests share it, but for those that change something that concerns everybody. Tests may run
//! in one process or in many, so that locks on files keep them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock on something that is shared by tests. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "it is kept open")] File);

impl Lock {
    /// Waits until nobody else has the lock of that name.
    pub(crate) fn exclusive(folder: &Path, name: &str) -> Lock {
        let file = open(folder, name);
        file.lock().unwrap_or_else(|error| panic!("the lock {name} cannot be had: {error}"));
        Lock(file)
    }

    /// Waits until nobody else has any of the locks of these names. Everybody asks in the same order, so that no two
    /// wait for each other.
    pub(crate) fn all(folder: &Path, names: impl IntoIterator<Item = String>) -> Vec<Lock> {
        // Two names may come to one file, which nobody must wait for twice.
        let files: BTreeSet<String> = names.into_iter().map(|name| file_name(&name)).collect();
        files.iter().map(|name| Lock::exclusive(folder, name)).collect()
    }

    /// Waits until nobody has the lock of that name exclusively.
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

/// Held by whoever is on the cluster.
const CLUSTER: &str = "cluster";

/// Held by whoever waits to be alone on the cluster, so that nobody comes in before.
const ENTRANCE: &str = "entrance";

/// The tests of this process that are on a cluster, and how often.
static INSIDE: Mutex<BTreeMap<(PathBuf, String), usize>> = Mutex::new(BTreeMap::new());

fn inside() -> MutexGuard<'static, BTreeMap<(PathBuf, String), usize>> {
    INSIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That a test is on the cluster; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    _cluster: Lock,
    /// The test that shares; `None` for one that is alone.
    test: Option<(PathBuf, String)>,
}

impl Pass {
    /// Lets a test on the cluster beside others, with the locks of the cluster in `folder`. It waits for those who are
    /// alone there or wait to be; a test that is there already does not, because that one waits for it.
    pub(crate) fn to_share(folder: &Path, test: &str) -> Pass {
        let test = (folder.to_owned(), test.to_owned());
        let is_inside = inside().contains_key(&test);
        let entrance = (!is_inside).then(|| Lock::shared(folder, ENTRANCE));
        let cluster = Lock::shared(folder, CLUSTER);
        drop(entrance);
        *inside().entry(test.clone()).or_default() += 1;
        Pass { _cluster: cluster, test: Some(test) }
    }

    /// Lets a test on the cluster when it has it for itself.
    pub(crate) fn to_be_alone(folder: &Path) -> Pass {
        let entrance = Lock::exclusive(folder, ENTRANCE);
        let cluster = Lock::exclusive(folder, CLUSTER);
        drop(entrance);
        Pass { _cluster: cluster, test: None }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Some(test) = &self.test else { return };
        let mut inside = inside();
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
    fn one_that_must_be_alone_waits_for_those_inside_and_goes_before_newcomers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let folder = folder.path();
        let (told, order) = mpsc::channel();
        let first = Pass::to_share(folder, "first");
        std::thread::scope(|scope| {
            let alone = told.clone();
            scope.spawn(move || {
                let _pass = Pass::to_be_alone(folder);
                alone.send("alone").expect("somebody listens");
            });
            // Until it waits.
            while open(folder, ENTRANCE).try_lock_shared().is_ok() {
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _pass = Pass::to_share(folder, "newcomer");
                told.send("newcomer").expect("somebody listens");
            });
            // Who is in may come in again, or nobody would ever leave.
            let again = Pass::to_share(folder, "first");
            assert!(order.try_recv().is_err());
            drop((first, again));
            assert_eq!(order.iter().collect::<Vec<_>>(), ["alone", "newcomer"]);
        });
        assert!(inside().keys().all(|(other, _)| other != folder));
    }

    #[test]
    fn tests_that_share_do_not_wait_for_each_other() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let passes = ["one", "two", "one"].map(|test| Pass::to_share(folder.path(), test));
        drop(passes);
        drop(Pass::to_be_alone(folder.path()));
    }

    #[test]
    fn a_lock_is_had_by_one() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let lock = Lock::all(folder.path(), ["ClusterRole a/b", "ClusterRole a:b"].map(str::to_owned));
        assert!(open(folder.path(), "ClusterRole a/b").try_lock().is_err());
        assert!(open(folder.path(), "another").try_lock().is_ok());
        drop(lock);
        assert!(open(folder.path(), "ClusterRole a/b").try_lock().is_ok());
    }
}
