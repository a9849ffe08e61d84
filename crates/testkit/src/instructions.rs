//! Counts the instructions of a part of a test. They do not depend on the load of the machine, as times do.

use std::io;
use std::process::Command;

/// Names the part that a child process runs.
const VARIABLE: &str = "PINTLE_COUNTED_PART";

/// The part of the test that this process was started for by [`instructions`].
pub fn counted_part() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Runs `test` of this program once more, under valgrind and with `part` as its [`counted_part`], and returns the
/// instructions of the whole process; `None` without valgrind.
///
/// # Panics
/// When the test fails there.
pub fn instructions(test: &str, part: &str) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(["--exact", test]).env(VARIABLE, part);
    let finished = match command.output() {
        Ok(finished) => finished,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => panic!("cannot run valgrind: {error}"),
    };
    let printed = String::from_utf8_lossy(&finished.stderr);
    assert!(finished.status.success(), "{test}, {part}: {printed}");
    // The summary ends in a line like `==1234== Collected : 5678`.
    let collected = printed.lines().find_map(|line| line.split_once("Collected :"));
    let count = collected.and_then(|(_, figure)| figure.trim().parse().ok());
    Some(count.unwrap_or_else(|| panic!("valgrind gives no count: {printed}")))
}
