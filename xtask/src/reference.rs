//! `reference`: the generated pages of `docs/reference`. Commands, variables and exit codes come from the program's own tables, the
//! fields of a HelmRequest from its CRD, and annotations from a table that is compared with the sources.

mod annotations;
mod helm_request;

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::runner::features;
use crate::shell::{self, cargo, root};

/// The pages that the program prints.
const PRINTED: [&str; 3] = ["commands", "environment", "exit-codes"];

/// Compares the pages with what they are generated from, or writes them.
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
    let program = shell::program("debug/pintle")?;
    for name in PRINTED {
        let printed = shell::output(Command::new(&program).args(["__reference", name]))?;
        compare(name, &String::from_utf8(printed)?, write)?;
    }
    for (name, text) in without_program()? {
        compare(name, &text, write)?;
    }
    Ok(())
}

/// Compares the pages that need no program; a step of every check.
pub(crate) fn check() -> Result<()> {
    for (name, text) in without_program()? {
        compare(name, &text, false)?;
    }
    Ok(())
}

fn without_program() -> Result<[(&'static str, String); 2]> {
    Ok([("annotations", annotations::page()?), ("helm-request", helm_request::page()?)])
}

fn compare(name: &str, text: &str, write: bool) -> Result<()> {
    let path = root().join(format!("docs/reference/{name}.md"));
    if write {
        return fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()));
    }
    let kept = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if kept != text {
        bail!("docs/reference/{name}.md is out of date; `cargo xtask reference --write` renews it");
    }
    Ok(())
}
