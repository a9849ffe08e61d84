//! Programs that are stopped together with everything they have started.
//!
//! It is stopped when its time is over, and when this process is told to end. Without a terminal a program gets a process group
//! of its own, which is stopped as a whole. With one it stays in the group of this process, because only that may read from the
//! terminal (a passphrase, say) and gets Ctrl-C; then its descendants are looked up and stopped one by one.

use std::io;
use std::process::{Child, Command};

/// A running program.
pub(crate) struct Supervised {
    child: Child,
    #[cfg(unix)]
    own_group: bool,
}

#[cfg(unix)]
pub(crate) use unix::handle_signals_elsewhere;

impl Supervised {
    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Supervised> {
        #[cfg(unix)]
        {
            let own_group = unix::prepare(command);
            let child = command.spawn()?;
            unix::register(&child, own_group);
            Ok(Supervised { child, own_group })
        }
        #[cfg(not(unix))]
        Ok(Supervised { child: command.spawn()? })
    }

    /// The program itself.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Stops the program and what it has started.
    pub(crate) fn stop(&mut self) {
        #[cfg(unix)]
        unix::stop(&self.child, self.own_group);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
impl Drop for Supervised {
    fn drop(&mut self) {
        unix::forget(&self.child);
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, Once, PoisonError};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::signal::unix::{SignalKind, signal};

    /// The programs that end with this process, and whether they have groups of their own.
    static RUNNING: Mutex<Vec<(Pid, bool)>> = Mutex::new(Vec::new());

    /// Whether another part of the program decides what a signal means.
    static HANDLED_ELSEWHERE: AtomicBool = AtomicBool::new(false);

    /// Says that signals cancel an operation, which ends the process itself.
    pub(crate) fn handle_signals_elsewhere() {
        HANDLED_ELSEWHERE.store(true, Ordering::SeqCst);
    }

    /// Gives a command a process group of its own if there is no terminal, and returns whether it has one.
    pub(super) fn prepare(command: &mut Command) -> bool {
        let own_group = watch_signals() && File::open("/dev/tty").is_err();
        if own_group {
            command.process_group(0);
        }
        own_group
    }

    fn pid(child: &Child) -> Option<Pid> {
        i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    }

    pub(super) fn register(child: &Child, own_group: bool) {
        let program = pid(child).map(|pid| (pid, own_group));
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).extend(program);
    }

    pub(super) fn forget(child: &Child) {
        let pid = pid(child);
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| Some(*other) != pid);
    }

    pub(super) fn stop(child: &Child, own_group: bool) {
        pid(child).into_iter().for_each(|pid| kill(pid, own_group));
    }

    fn kill(pid: Pid, own_group: bool) {
        if own_group {
            let _ = kill_process_group(pid, Signal::KILL);
        } else {
            kill_descendants(pid);
        }
    }

    /// Stops a process with its descendants. Each is halted before its children are listed, so that it cannot start more
    /// meanwhile.
    fn kill_descendants(pid: Pid) {
        let mut open = vec![pid];
        let mut found = Vec::new();
        while let Some(next) = open.pop() {
            let _ = kill_process(next, Signal::STOP);
            open.extend(children(next));
            found.push(next);
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// The children of a process, by the fourth field of `/proc/PID/stat`; none where there is no such file.
    fn children(parent: Pid) -> Vec<Pid> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| parent_of(*pid) == Some(parent.as_raw_nonzero().get()))
            .filter_map(Pid::from_raw)
            .collect()
    }

    fn parent_of(pid: i32) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program is in parentheses and may have any character.
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    }

    /// Starts the thread that stops all programs when this process is told to end. Returns whether it runs.
    fn watch_signals() -> bool {
        static STARTED: Once = Once::new();
        static RUNS: AtomicBool = AtomicBool::new(false);
        STARTED.call_once(|| {
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            std::thread::spawn(move || watch(&sender));
            RUNS.store(receiver.recv().unwrap_or(false), Ordering::SeqCst);
        });
        RUNS.load(Ordering::SeqCst)
    }

    fn watch(ready: &std::sync::mpsc::SyncSender<bool>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // A dropped sender means that there is no watch.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
            let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
            let _ = ready.send(true);
            loop {
                let signal = tokio::select! {
                    _ = interrupt.recv() => Signal::INT,
                    _ = terminate.recv() => Signal::TERM,
                };
                for (pid, own_group) in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                    kill(*pid, *own_group);
                }
                if !HANDLED_ELSEWHERE.load(Ordering::SeqCst) {
                    crate::exit::signalled(signal.as_raw());
                }
            }
        });
    }
}
