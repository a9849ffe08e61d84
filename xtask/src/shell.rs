//! Runs other programs; the only module that prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Prints a line; `clippy::print_stdout` is denied elsewhere, so that all output goes through here.
#[allow(clippy::print_stdout)]
pub(crate) fn print_line(text: &str) {
    println!("{text}");
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// The corpus: a folder with real charts and recorded output of Helm, if present.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("PINTLE_CORPUS").map_or_else(|| root().join("../shared"), PathBuf::from);
    folder.join("charts").is_dir().then_some(folder)
}

/// The cache for programs that tasks build, kept between runs.
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
    // `cargo run` sets these variables; build scripts that depend on them would run again after every plain `cargo build`.
    let of_this = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_this)) {
        command.env_remove(name);
    }
    // Incremental data is half of the disk usage and does not help a clone that is built once, nor do line tables, which
    // nobody loads into a debugger there: panics name their line without them.
    if std::env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    command
}

/// Runs a command with inherited output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// Builds the program with the profile `ci` and returns its path. The benches are built in the same command: they
/// enable no further features, so both share the artifacts.
pub(crate) fn ci_binary() -> Result<PathBuf> {
    run(&mut cargo(&[
        "build",
        "--quiet",
        "--profile",
        "ci",
        "--package",
        "pintle-cli",
        "--package",
        "pintle-benches",
    ]))?;
    program("ci/pintle")
}

/// Builds the program with the `dist` profile, which takes minutes, and returns its path.
pub(crate) fn dist_binary() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--profile", "dist", "--package", "pintle-cli"]))?;
    program("dist/pintle")
}

/// The path of a program that cargo built.
pub(crate) fn program(path: &str) -> Result<PathBuf> {
    Ok(target_folder()?.join(path))
}

/// Cargo's target directory.
fn target_folder() -> Result<PathBuf> {
    let metadata = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata).context("cargo metadata is no JSON")?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().context("cargo metadata has no target folder")?))
}
