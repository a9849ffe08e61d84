//! `reference`: the page of all commands and flags in the documentation, out of the tables that the program parses by.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::runner::features;
use crate::shell::{self, cargo, root};

/// Compares the page with what the program prints, or writes it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask reference [--write]"),
    };
    // `--workspace` unifies the features as for the tests, so that nothing is built twice.
    shell::run(
        cargo(&["build", "--quiet", "--workspace", "--bin", "pintle"]).args(features(&["--workspace"])),
    )?;
    let printed = shell::output(Command::new(shell::program("debug/pintle")?).arg("__reference"))?;
    let page = page();
    if write {
        return fs::write(&page, printed).with_context(|| format!("cannot write {}", page.display()));
    }
    let kept = fs::read(&page).with_context(|| format!("cannot read {}", page.display()))?;
    if kept != printed {
        bail!("docs/reference/commands.md is out of date; `cargo xtask reference --write` renews it");
    }
    Ok(())
}

fn page() -> PathBuf {
    root().join("docs/reference/commands.md")
}
