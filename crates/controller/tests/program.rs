//! The program itself: signals.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A limit that only a program that does not end reaches.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn sigterm_ends_the_program_in_time() {
    // An API server that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    let server = silent.local_addr().unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nclusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_pintle-controller"))
        .args(["--leader-elect=false", "--metrics-addr", "127.0.0.1:0", "--graceful-shutdown-timeout", "1h"])
        .arg("--kubeconfig")
        .arg(&config)
        .arg("--cache")
        .arg(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let begun = lines.by_ref().map(Result::unwrap).any(|line| line.contains("reconciling requests"));
    assert!(begun);
    let sent = Command::new("kill").arg(program.id().to_string()).status().unwrap();
    assert!(sent.success());
    let begin = Instant::now();
    let status = loop {
        match program.try_wait().unwrap() {
            Some(status) => break status,
            None if begin.elapsed() > LIMIT => {
                program.kill().unwrap();
                panic!("it did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{status}");
    drop(silent);
}
