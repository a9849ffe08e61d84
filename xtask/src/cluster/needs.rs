//! What a machine must have to run pods, and which of it is missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{debian, node};
use crate::shell::output;

/// Fails with the first thing that is missing. Fetches packages when all else is there.
pub(super) fn check() -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("pods need Linux");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("pods need root");
    }
    for program in ["unshare", "mount", "umount", "ip"] {
        program_is_here(program)?;
    }
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !systems.lines().any(|line| line.ends_with("\toverlay")) {
        bail!("pods need the overlay file system, which this kernel does not have");
    }
    if !Path::new("/sys/fs/cgroup").is_dir() {
        bail!("pods need control groups at /sys/fs/cgroup");
    }
    let [unshare, namespaces @ ..] = node::UNSHARE;
    output(Command::new(unshare).args(namespaces).arg("true"))
        .context("pods need namespaces, which this machine does not give")?;
    if !debian::folder()?.is_dir() {
        for program in ["apt-get", "dpkg-deb"] {
            program_is_here(program).context("containerd and runc are fetched as Debian packages")?;
        }
    }
    debian::unpacked().map(drop)
}

fn program_is_here(name: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
        bail!("pods need the program `{name}`");
    }
    Ok(())
}
