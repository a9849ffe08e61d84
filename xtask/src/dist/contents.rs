//! What a release archive has besides the program: completions, manual pages, licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::dist::archive::Entry;
use crate::shell::{output, root};

/// The shells that have completions, and the name of the file that each of them looks for.
const COMPLETIONS: [(&str, &str); 4] =
    [("bash", "pintle.bash"), ("zsh", "_pintle"), ("fish", "pintle.fish"), ("powershell", "_pintle.ps1")];

/// The pages of the repository that come along.
const PAGES: [&str; 4] = ["README.md", "LICENSE", "CHANGELOG.md", "COMPATIBILITY.md"];

/// The files that every archive has, written by a program that runs on this machine.
pub(crate) fn files(program: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for page in PAGES {
        let content = fs::read(root().join(page)).with_context(|| format!("cannot read {page}"))?;
        entries.push(Entry::file(page, content));
    }
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    for (shell, name) in COMPLETIONS {
        let script = output(clean(program, home.path()).args(["completion", shell]))?;
        entries.push(Entry::file(format!("completions/{name}"), script));
    }
    let pages = home.path().join("man1");
    output(clean(program, home.path()).args(["docs", "--type", "man", "--dir"]).arg(&pages))?;
    for page in sorted(&pages)? {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&page).with_context(|| format!("cannot read {}", page.display()))?;
        entries.push(Entry::file(format!("man/man1/{name}"), content));
    }
    Ok(entries)
}

/// The program without settings of the user, plugins among them, which would enter the completions.
fn clean(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).current_dir(home);
    command
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}
