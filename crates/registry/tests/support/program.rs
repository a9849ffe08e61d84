//! Real registries, started for a test on the loopback interface.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pintle_testkit::{reference_program, skip};
use tempfile::TempDir;

/// A running registry.
pub(crate) struct Program {
    child: Child,
    pub(crate) host: String,
    /// Its storage, deleted on drop.
    pub(crate) folder: TempDir,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that `cargo xtask registries` builds, or that a variable names; reports a skip if there is none.
fn path(variable: &str, name: &str) -> Option<PathBuf> {
    let found = reference_program(variable, name);
    if found.is_none() {
        skip(&format!("{name} is missing; `cargo xtask registries` builds it"));
    }
    found
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a registry on a free port. If another process takes the port in the meantime, the registry exits and is
/// started on another one.
fn start(folder: TempDir, command: impl Fn(&TempDir, u16) -> Command) -> Program {
    for _ in 0..20 {
        let port = free_port();
        let mut command = command(&folder, port);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if answers(&mut child, port) {
            return Program { child, host: format!("127.0.0.1:{port}"), folder };
        }
    }
    panic!("the registry ends at once");
}

/// Waits until a registry responds. Returns false if it exits.
fn answers(child: &mut Child, port: u16) -> bool {
    let limit = Instant::now() + Duration::from_secs(180);
    loop {
        let is_there = TcpStream::connect(("127.0.0.1", port)).is_ok();
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if is_there {
            return true;
        }
        assert!(Instant::now() < limit, "the registry does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The CNCF Distribution registry, with additional YAML settings.
pub(crate) fn distribution(more: &str) -> Option<Program> {
    let program = path("PINTLE_DISTRIBUTION", "distribution-v3.1.2/registry")?;
    Some(start(tempfile::tempdir().unwrap(), |folder, port| {
        let settings = folder.path().join("settings.yml");
        let root = folder.path().join("content");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n  delete: {{enabled: true}}\nhttp:\n  addr: 127.0.0.1:{port}\n{more}",
            root.display()
        );
        std::fs::write(&settings, text).unwrap();
        let mut command = Command::new(&program);
        command.arg("serve").arg(&settings).env("OTEL_TRACES_EXPORTER", "none");
        command
    }))
}

/// A registry that supports the referrers API.
pub(crate) fn referrers() -> Option<Program> {
    let program = path("PINTLE_REFERRERS", "testbed/referrers/registry")?;
    Some(start(tempfile::tempdir().unwrap(), |folder, port| {
        let mut command = Command::new(&program);
        command.arg(format!("127.0.0.1:{port}")).arg(folder.path());
        command
    }))
}
