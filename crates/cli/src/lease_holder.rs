//! Identifies the process that holds a lease, and detects whether a holder on this machine is dead.

use std::path::Path;

use pintle::LeaseHolder;

use crate::env::Environment;

/// The identity of this process, and a check for dead processes on the same machine.
pub(crate) fn this_process(environment: &Environment) -> LeaseHolder {
    let (user, host) = (user(environment), host(environment));
    let pid = std::process::id();
    let machine = Machine::current(Path::new("/proc"));
    let mut name = format!("{user}@{host} pid {pid}");
    if let Some(machine) = &machine
        && let State::Running(start) = machine.state(pid)
    {
        name.push_str(&format!(" [{}-{start}]", machine.mark));
    }
    let is_dead = move |holder: &str| machine.as_ref().is_some_and(|machine| machine.is_dead(holder));
    LeaseHolder::new(name).with_is_dead(is_dead)
}

/// The user name, from the environment or the system's user database.
fn user(environment: &Environment) -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| environment.variable(name));
    if let Some(user) = named.filter(|user| !user.is_empty()) {
        return user;
    }
    let Some(id) = user_id() else { return "someone".to_owned() };
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = known.lines().find(|line| line.split(':').nth(2) == Some(id.to_string().as_str()));
    match entry.and_then(|line| line.split(':').next()) {
        Some(user) => user.to_owned(),
        None => format!("user-{id}"),
    }
}

#[cfg(unix)]
fn user_id() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").ok().map(|of_this_process| of_this_process.uid())
}

#[cfg(not(unix))]
fn user_id() -> Option<u32> {
    None
}

pub(crate) fn host(environment: &Environment) -> String {
    let host = match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(host) => host.trim().to_owned(),
        Err(_) => environment.variable("HOSTNAME").unwrap_or_default(),
    };
    if host.is_empty() { "localhost".to_owned() } else { host }
}

/// A boot of a machine and a PID namespace on it: within these, a PID and its start time identify a process.
struct Machine {
    processes: std::path::PathBuf,
    mark: String,
}

/// The state of a process.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Running; started at this clock tick since boot.
    Running(u64),
    /// There is no such process.
    Gone,
    /// Unknown.
    Unknown,
}

impl Machine {
    /// Reads `/proc`; `None` on systems without it, or where processes of other users are hidden.
    fn current(processes: &Path) -> Option<Machine> {
        let boot = std::fs::read_to_string(processes.join("sys/kernel/random/boot_id")).ok()?;
        let world = std::fs::read_link(processes.join("self/ns/pid")).ok()?;
        let world = world.to_string_lossy().trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
        // With `hidepid`, PID 1 is hidden too.
        std::fs::read(processes.join("1/stat")).ok()?;
        // The first part of the boot id is unique enough and keeps the identity readable.
        let boot = boot.trim().split('-').next().unwrap_or_default();
        Some(Machine { processes: processes.to_owned(), mark: format!("{boot}-{world}") })
    }

    /// Whether the holder ran on this machine and is dead. If in doubt, `false`.
    fn is_dead(&self, holder: &str) -> bool {
        let Some((rest, mark)) = holder.strip_suffix(']').and_then(|text| text.rsplit_once(" [")) else {
            return false;
        };
        let Some((mark, start)) = mark.rsplit_once('-') else { return false };
        let Some((_, pid)) = rest.rsplit_once(" pid ") else { return false };
        let (Ok(pid), Ok(start)) = (pid.parse(), start.parse::<u64>()) else { return false };
        mark == self.mark
            && match self.state(pid) {
                // The PID has been reused.
                State::Running(other) => other != start,
                State::Gone => true,
                State::Unknown => false,
            }
    }

    fn state(&self, pid: u32) -> State {
        match std::fs::read(self.processes.join(pid.to_string()).join("stat")) {
            Ok(text) => state_of(&text).unwrap_or(State::Unknown),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::Gone,
            Err(_) => State::Unknown,
        }
    }
}

/// Parses `/proc/PID/stat`: the program name in parentheses, which may contain anything, then the state. The 20th field
/// after the name is the start time.
fn state_of(line: &[u8]) -> Option<State> {
    let after = line.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(line.get(after + 1..)?).ok()?;
    let mut words = text.split_ascii_whitespace();
    match words.next()? {
        // A zombie: dead, but not reaped yet.
        "Z" | "X" => Some(State::Gone),
        _ => words.nth(18)?.parse().ok().map(State::Running),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_read_behind_the_name_of_the_program() {
        let line = b"42 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
        assert_eq!(state_of(line), Some(State::Running(777)));
        assert_eq!(state_of(b"42 (x) Z 1 2"), Some(State::Gone));
        assert_eq!(state_of(b"42"), None);
    }

    #[test]
    fn only_a_process_of_this_machine_that_is_not_there_is_dead() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("7")).unwrap();
        let line = "7 (pintle) S 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 500 1";
        std::fs::write(folder.path().join("7/stat"), line).unwrap();
        let machine = Machine { processes: folder.path().to_owned(), mark: "b-1".to_owned() };
        for (holder, dead) in [
            ("me@box pid 7 [b-1-500]", false),
            ("me@box pid 7 [b-1-499]", true),
            ("me@box pid 8 [b-1-500]", true),
            ("me@box pid 8 [other-1-500]", false),
            ("me@box pid 8", false),
            ("", false),
        ] {
            assert_eq!(machine.is_dead(holder), dead, "{holder}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_alive() {
        let holder = this_process(&Environment::from_process());
        assert!(!(holder.is_dead)(&holder.name), "{}", holder.name);
    }
}
