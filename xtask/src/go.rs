//! Builds the Go programs that tests use: the real Helm, registries, Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::cluster::{self, Release};
use crate::shell::print_line;
use crate::{helm, helm_clients, registries};

/// The reason for skipping a step that needs Go.
pub(crate) const MISSING: &str = "Go is not here";

/// Serializes builds: each uses all processors, and two builds of one program would do the work twice.
static BUILDING: Mutex<()> = Mutex::new(());

pub(crate) fn is_available() -> bool {
    Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

/// A `go build` or `go install` with the flags that all builds share, so that packages of several programs are compiled
/// once. Nobody debugs these programs, and the compiler has memory to spare: without DWARF and with fewer garbage
/// collections, Helm is built in four fifths of the time, with three quarters of the cache.
pub(crate) fn command(subcommand: &str, linker_flags: &str) -> Command {
    let mut go = Command::new("go");
    go.args([subcommand, "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags"]);
    go.arg(format!("-s -w {linker_flags}").trim_end());
    go.env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOGC", "400");
    go
}

/// Returns `path`, building it first if it is missing. `command` gets a temporary output folder, so that an interrupted
/// build leaves no partial program. Waits for a build that is running.
pub(crate) fn built(path: PathBuf, name: &str, command: impl FnOnce(&Path) -> Command) -> Result<PathBuf> {
    // Check before taking the lock: do not wait for the build of another program.
    if path.is_file() {
        return Ok(path);
    }
    let _building = BUILDING.lock().expect("nobody panics with the lock");
    if path.is_file() {
        return Ok(path);
    }
    print_line(&format!("building {name} (once)"));
    let folder = path.parent().with_context(|| format!("{} lies in no folder", path.display()))?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let unfinished = tempfile::tempdir_in(folder).context("cannot make a temporary folder")?;
    run_quietly(&mut command(unfinished.path()), name)?;
    let made = unfinished.path().join(path.file_name().unwrap_or_default());
    fs::rename(&made, &path).with_context(|| format!("cannot move {} to its place", made.display()))?;
    Ok(path)
}

/// The output of Go (mostly downloads) is shown only on failure.
fn run_quietly(command: &mut Command, name: &str) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run Go, with which {name} is built"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// The hash of all sources in a folder, by which builds of other sources are told apart.
pub(crate) fn digest(sources: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    update(&mut digest, sources)?;
    Ok(digest.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn update(digest: &mut Sha256, folder: &Path) -> Result<()> {
    let unreadable = |path: &Path| format!("cannot read {}", path.display());
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut paths: Vec<PathBuf> =
        entries.with_context(|| unreadable(folder))?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            update(digest, &path)?;
        } else {
            digest.update(fs::read(&path).with_context(|| unreadable(&path))?);
        }
    }
    Ok(())
}

/// Builds what a run on one Kubernetes needs, in the background while Rust compiles. A failure is not reported here: the
/// step that needs the program builds it again and reports the error.
pub(crate) fn build_ahead(kubernetes: Release) {
    std::thread::spawn(move || -> Result<()> {
        registries::build()?;
        helm::helm()?;
        helm::helm3()?;
        cluster::build(kubernetes)?;
        helm_clients::build()?;
        Ok(())
    });
}
