//! Our own API for one test, beside the cluster that all of them run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Cluster, Program};

/// How long it may take to start, on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(180);

/// A process that serves our own API, in memory. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Served(Child);

impl Served {
    /// Starts one, with its kubeconfig in `folder`, and waits until it listens.
    ///
    /// # Panics
    /// When it does not start.
    pub(crate) fn start(folder: &Path) -> (Served, Cluster) {
        let kubeconfig = folder.join("served.yaml");
        let mut command = std::process::Command::new(Program::Pintle.path());
        command.env_clear().env("HOME", folder).current_dir(folder);
        command
            .args(["cluster", "serve", "--insecure", "--cluster", "embedded", "--write-kubeconfig"])
            .arg(&kubeconfig);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut served = Served(command.spawn().expect("the program can be run"));
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

/// The cluster of a kubeconfig, once that is written to its end.
fn listening(kubeconfig: &PathBuf) -> Option<Cluster> {
    let text = fs::read_to_string(kubeconfig).ok().filter(|text| text.contains("\ncurrent-context: "))?;
    let server = text.lines().find_map(|line| line.trim().strip_prefix("server: "))?;
    Some(Cluster::embedded(kubeconfig.clone(), server))
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has seen.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
