//! Who is on the cluster: all tests share it, but for those that change something that concerns everybody.
//!
//! Each test is a process (`cargo xtask e2e` runs them so), and several run at once; so these are locks on files beside
//! the cluster's kubeconfig. They go with the process that holds them, in whatever way it ends.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// That the test of this process is on the cluster; it leaves when the last of these is dropped.
#[derive(Debug)]
pub(crate) struct Pass(#[allow(dead_code, reason = "it is held")] Arc<File>);

/// The pass of this process. A test that is in already does not wait again, because nobody would ever let it out.
static HELD: Mutex<Weak<File>> = Mutex::new(Weak::new());

impl Pass {
    /// Waits until nobody is in who must be alone, or wants to be.
    pub(crate) fn to_share(folder: &Path) -> Pass {
        Pass::once(|| enter(folder, File::lock_shared))
    }

    /// Waits until nobody else is in.
    pub(crate) fn to_be_alone(folder: &Path) -> Pass {
        Pass::once(|| enter(folder, File::lock))
    }

    fn once(enter: impl FnOnce() -> File) -> Pass {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let file = held.upgrade().unwrap_or_else(|| Arc::new(enter()));
        *held = Arc::downgrade(&file);
        Pass(file)
    }
}

/// Everybody passes the turnstile one by one, and whoever must be alone stays in it until the others have left: newcomers
/// could keep them out until the end of all tests otherwise.
fn enter(folder: &Path, lock: impl FnOnce(&File) -> std::io::Result<()>) -> File {
    let open = |name: &str| {
        let path = folder.join(name);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        file.unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display()))
    };
    let (turnstile, inside) = (open("tests-turnstile.lock"), open("tests.lock"));
    turnstile.lock().expect("the turnstile can be locked");
    lock(&inside).expect("the cluster can be locked");
    inside
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// How long something is awaited that must come, and that must not.
    const LIMIT: Duration = Duration::from_secs(120);

    #[test]
    fn one_that_must_be_alone_waits_for_those_inside_and_goes_before_newcomers() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path();
        let first = enter(path, File::lock_shared);
        drop(enter(path, File::lock_shared));
        std::thread::scope(|scope| {
            let (told, order) = mpsc::channel();
            let alone = told.clone();
            scope.spawn(move || {
                let _inside = enter(path, File::lock);
                alone.send("alone").expect("somebody listens");
            });
            // It waits inside the turnstile.
            let turnstile = File::open(path.join("tests-turnstile.lock")).expect("it is there");
            while turnstile.try_lock().is_ok() {
                turnstile.unlock().expect("it can be unlocked");
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _inside = enter(path, File::lock_shared);
                told.send("newcomer").expect("somebody listens");
            });
            assert!(order.try_recv().is_err());
            drop(first);
            assert_eq!(order.recv_timeout(LIMIT), Ok("alone"));
            assert_eq!(order.recv_timeout(LIMIT), Ok("newcomer"));
        });
    }

    #[test]
    fn a_test_that_is_in_does_not_wait_again() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let alone = Pass::to_be_alone(folder.path());
        let again = Pass::to_share(folder.path());
        drop((alone, again));
        drop(Pass::to_share(folder.path()));
    }
}
