//! Signals during operations that roll back on failure.

use crate::support::{TestEnv, cluster};

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(120);

/// No controller changes pods in this cluster, so a Deployment with a replica never becomes ready.
const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: \"{{ .Release.Name }}\"}
{{ if .Values.name }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: \"{{ .Release.Name }}-{{ .Values.name }}\"}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: nginx}]}
{{ end }}
";

struct Stage {
    env: TestEnv,
    flag: String,
}

impl Stage {
    fn new() -> Stage {
        let env = TestEnv::new();
        env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
        env.write("web/templates/a.yaml", TEMPLATE);
        Stage { env, flag: cluster::start() }
    }

    fn start(&self, program: &Path, line: &str) -> Child {
        Command::new(program)
            .args(line.split(' '))
            .args(self.flag.split(' '))
            .current_dir(self.env.path())
            .env_clear()
            .env("HOME", self.env.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be run")
    }

    /// Whether the cluster has a Deployment.
    fn has(&self, name: &str) -> bool {
        let address = self.flag.rsplit('/').next().expect("an address");
        let mut stream = TcpStream::connect(address).expect("the cluster is there");
        let path = format!("/apis/apps/v1/namespaces/default/deployments/{name}");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer.starts_with("HTTP/1.1 200")
    }

    /// The states of a release, oldest first.
    fn history(&self, called: &str) -> Vec<String> {
        let shown = self.env.called(called, &format!("history web -o json {}", self.flag), &[]);
        let mut states: Vec<String> = Vec::new();
        for part in shown.split("\"status\":\"").skip(1) {
            states.push(part.split('"').next().unwrap_or_default().to_owned());
        }
        states
    }
}

fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !reached() {
        assert!(Instant::now() < limit, "not after {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    let command = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().expect("there is a shell").success());
}

fn end(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("a child can be read");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_signal_ends_an_upgrade_and_not_its_rollback() {
    for (called, sent, code) in [("pintle", "INT", 130), ("helm", "TERM", 1)] {
        let stage = Stage::new();
        let program = stage.env.linked(called);
        let first = format!("install web web {}", stage.flag);
        assert!(stage.env.called(called, &first, &[]).starts_with("exit 0"));
        let child = stage.start(&program, "upgrade web web --set name=two --rollback-on-failure");
        until("the object is there", || stage.has("web-two"));
        signal(&child, sent);
        let (exit, stdout, stderr) = end(child);
        assert_eq!(exit, Some(code), "{stderr}");
        assert!(stdout.contains("Release web has been cancelled."), "{stdout}");
        assert!(stderr.contains("rolled back"), "{stderr}");
        assert_eq!(stage.history(called), ["superseded", "failed", "deployed"], "{called}");
        assert!(!stage.has("web-two"));
    }
}

#[test]
fn a_signal_ends_an_install_and_not_its_uninstallation() {
    let stage = Stage::new();
    let program = stage.env.linked("pintle");
    let child = stage.start(&program, "install web web --set name=one --rollback-on-failure");
    until("the object is there", || stage.has("web-one"));
    signal(&child, "INT");
    let (exit, _, stderr) = end(child);
    assert_eq!(exit, Some(130), "{stderr}");
    assert!(stderr.contains("cancelled, and uninstalled"), "{stderr}");
    assert_eq!(stage.history("pintle"), [""; 0]);
    assert!(!stage.has("web-one"));
}

#[test]
fn a_second_signal_ends_the_rollback_too_and_the_record_says_so() {
    let stage = Stage::new();
    let program = stage.env.linked("pintle");
    let first = format!("install web web --set name=one {}", stage.flag);
    assert!(stage.env.pintle(&first).starts_with("exit 0"));
    let child = stage.start(&program, "upgrade web web --set name=two --rollback-on-failure");
    until("the object is there", || stage.has("web-two"));
    signal(&child, "INT");
    // The previous version never becomes ready either, so the rollback waits for it.
    until("it is rolled back", || !stage.has("web-two"));
    signal(&child, "INT");
    let (exit, _, stderr) = end(child);
    assert_eq!(exit, Some(130), "{stderr}");
    assert!(stderr.contains("cancelled while rolling back the release"), "{stderr}");
    assert_eq!(stage.history("pintle").last().map(String::as_str), Some("failed"));
}
