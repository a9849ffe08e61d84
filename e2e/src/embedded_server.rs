//! An embedded API server for one test, in addition to the shared cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Cluster, Program};

/// The start timeout; generous for a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A `pintle cluster serve` process with an in-memory store. It is killed on drop.
#[derive(Debug)]
pub(crate) struct EmbeddedServer(Child);

impl EmbeddedServer {
    /// Starts a server, with its kubeconfig in `folder`, and waits until it listens.
    ///
    /// # Panics
    /// If it does not start.
    pub(crate) fn start(folder: &Path) -> (EmbeddedServer, Cluster) {
        let kubeconfig = folder.join("served.yaml");
        let mut command = std::process::Command::new(Program::Pintle.path());
        command.env_clear().env("HOME", folder).current_dir(folder);
        command
            .args(["cluster", "serve", "--insecure", "--cluster", "embedded", "--write-kubeconfig"])
            .arg(&kubeconfig);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut served = EmbeddedServer(command.spawn().expect("the program can be run"));
        let limit = Instant::now() + LIMIT;
        loop {
            if let Some(cluster) = listening(&kubeconfig) {
                return (served, cluster);
            }
            let ended = served.0.try_wait().expect("the process can be asked");
            assert!(ended.is_none() && Instant::now() < limit, "our own API does not start: {ended:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Reads the kubeconfig; `None` until it is written completely.
fn listening(kubeconfig: &PathBuf) -> Option<Cluster> {
    let text = fs::read_to_string(kubeconfig).ok().filter(|text| text.contains("\ncurrent-context: "))?;
    let server = text.lines().find_map(|line| line.trim().strip_prefix("server: "))?;
    Some(Cluster::embedded(kubeconfig.clone(), server))
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
