//! Programs that are built with Go: the real Helm, registries, Kubernetes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};

use crate::cluster::{self, RELEASES};
use crate::shell::say;
use crate::{helm, registries};

/// Why a step is skipped that needs one of these programs.
pub(crate) const MISSING: &str = "Go is not here";

/// One build at a time: each uses all processors, and two of the same program would do the work twice.
static BUILDING: Mutex<()> = Mutex::new(());

pub(crate) fn is_here() -> bool {
    Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

/// Gives `path`, building it first unless it is there. `command` is given a folder to leave the program in, so that a
/// build that is cut short leaves no half program behind. Waits for a build that is under way.
pub(crate) fn built(path: PathBuf, name: &str, command: impl FnOnce(&Path) -> Command) -> Result<PathBuf> {
    // Nobody waits for the build of another program when this one is there.
    if path.is_file() {
        return Ok(path);
    }
    let _building = BUILDING.lock().expect("nobody panics with the lock");
    if path.is_file() {
        return Ok(path);
    }
    say(&format!("building {name} (once)"));
    let folder = path.parent().with_context(|| format!("{} lies in no folder", path.display()))?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let unfinished = tempfile::tempdir_in(folder).context("cannot make a temporary folder")?;
    run_quietly(&mut command(unfinished.path()), name)?;
    let made = unfinished.path().join(path.file_name().unwrap_or_default());
    fs::rename(&made, &path).with_context(|| format!("cannot move {} to its place", made.display()))?;
    Ok(path)
}

/// What Go prints on the way (mostly downloads) is shown when it fails.
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

/// Builds everything in the background while Rust compiles. What fails is built again by the step that needs it, which
/// then says why.
pub(crate) fn build_ahead() {
    std::thread::spawn(|| -> Result<()> {
        registries::build()?;
        helm::helm()?;
        helm::helm3()?;
        let [newest, .., oldest] = RELEASES;
        for release in [newest, oldest] {
            cluster::build(release)?;
        }
        Ok(())
    });
}
