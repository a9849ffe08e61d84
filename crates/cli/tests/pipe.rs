//! Closed output pipes.

use std::process::{Command, Stdio};

#[test]
fn a_closed_pipe_is_no_error() {
    let program = env!("CARGO_BIN_EXE_pintle");
    let script = format!("({program} help; echo $? >&2) | true");
    let output =
        Command::new("bash").args(["-c", &script]).stdout(Stdio::null()).output().expect("bash can be run");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n");
}
