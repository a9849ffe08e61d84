//! `vscode`: the extension for Visual Studio Code: checks its types and packs it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{cache, output, print_line, root, run};
use crate::steps::Outcome;

/// Runs `vscode`. What npm installs stays in the cache, beside a copy of the sources.
pub(crate) fn run_task(arguments: &[String]) -> Result<Outcome> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask vscode");
    }
    if output(Command::new("npm").arg("--version")).is_err() {
        return Ok(Outcome::skipped("npm is not installed"));
    }
    let sources = root().join("editors/vscode");
    let folder = cache()?.join("vscode");
    fs::create_dir_all(folder.join("src")).with_context(|| format!("cannot make {}", folder.display()))?;
    // What is installed is kept as long as it is what is wanted.
    let wanted = fs::read(sources.join("package-lock.json")).unwrap_or_default();
    let same = fs::read(folder.join("package-lock.json")).is_ok_and(|known| known == wanted);
    for entry in fs::read_dir(&sources)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    for part in ["src", "syntaxes"] {
        let target = folder.join(part);
        let _ = fs::remove_dir_all(&target);
        fs::create_dir_all(&target)?;
        for entry in fs::read_dir(sources.join(part))? {
            let entry = entry?;
            fs::copy(entry.path(), target.join(entry.file_name()))?;
        }
    }
    let npm = |arguments: &[&str]| run(Command::new("npm").args(arguments).current_dir(&folder));
    if !same || !folder.join("node_modules").is_dir() {
        // Scripts of packages do not run: none of these needs them, esbuild's program is a package of its own.
        npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])?;
    }
    let packages = || -> Result<Vec<PathBuf>> {
        let paths = fs::read_dir(&folder)?.filter_map(Result::ok).map(|entry| entry.path());
        Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "vsix")).collect())
    };
    for old in packages()? {
        fs::remove_file(old)?;
    }
    npm(&["run", "--silent", "check"])?;
    npm(&["run", "--silent", "package"])?;
    let packed = packages()?.pop().context("vsce wrote no .vsix")?;
    print_line(&format!("packed {}", packed.display()));
    Ok(Outcome::Passed)
}
