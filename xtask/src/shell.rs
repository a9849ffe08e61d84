//! Running other programs, and the one place that prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// Prints a line for the person who runs the chore.
#[allow(clippy::print_stdout)]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// The folder with charts and recorded behaviour of Helm, where there is one.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("PINTLE_CORPUS").map_or_else(|| root().join("../shared"), PathBuf::from);
    folder.join("charts").is_dir().then_some(folder)
}

/// Where chores keep programs they built, between runs.
pub(crate) fn cache() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = base.join("pintle");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// A cargo command in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command whose output the person sees.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Runs a command and gives its standard output.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// Runs one step of a longer chore and says how long it took.
pub(crate) fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    say(&format!("── {name}"));
    let start = Instant::now();
    work().with_context(|| format!("step `{name}` failed"))?;
    say(&format!("── {name}: done in {:.0?}", start.elapsed()));
    Ok(())
}

/// Builds the program in release mode and gives its path.
pub(crate) fn release_binary() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "pintle-cli"]))?;
    Ok(target_folder()?.join("release/pintle"))
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().context("cargo metadata has no target folder")?))
}
