//! `kustomize record`: the expected output of the cases of our own kustomize, from the real one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::go;
use crate::helm::{TOOLCHAIN, bare};
use crate::shell::{cache, print_line, root};

/// The program in its module.
const MODULE: &str = "sigs.k8s.io/kustomize/kustomize/v5";

/// The release whose behaviour is the reference.
const VERSION: &str = "v5.8.2";

/// Runs `kustomize record [CASE…]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names = match arguments.split_first() {
        Some((task, names)) if task == "record" => names,
        _ => bail!("usage: cargo xtask kustomize record [CASE…]"),
    };
    let program = program()?;
    let mut recorded = 0;
    for entry in fs::read_dir(root().join("crates/kustomize/tests/cases"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if names.is_empty() || names.contains(&name) {
            record(&program, &path).with_context(|| format!("case {name}"))?;
            recorded += 1;
        }
    }
    if recorded == 0 {
        bail!("no such case in crates/kustomize/tests/cases");
    }
    print_line(&format!("recorded {recorded} cases from kustomize {VERSION}"));
    Ok(())
}

/// The path of the real program, built from its published module on first use. `PINTLE_KUSTOMIZE` names another one.
fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PINTLE_KUSTOMIZE") {
        return Ok(path.into());
    }
    let install = |folder: &Path| {
        let mut go = go::command("install", "");
        go.arg(format!("{MODULE}@{VERSION}")).env("GOBIN", folder).env("GOTOOLCHAIN", TOOLCHAIN);
        go
    };
    go::built(
        cache()?.join(format!("kustomize-{VERSION}/kustomize")),
        &format!("kustomize {VERSION}"),
        install,
    )
    .context("the real kustomize is needed here; PINTLE_KUSTOMIZE can name one")
}

/// Builds a case with the real program and writes what it prints, or that it fails, to the end of the case.
fn record(program: &Path, path: &Path) -> Result<()> {
    let text = fs::read_to_string(path)?;
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut case = String::new();
    let mut file: Option<(PathBuf, String)> = None;
    for line in text.split_inclusive('\n') {
        let name = line.trim_end().strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
        if let Some(name) = name {
            write(file.take())?;
            if name == "output" || name == "fails" {
                break;
            }
            file = Some((home.path().join(name), String::new()));
        } else if let Some((_, content)) = &mut file {
            content.push_str(line);
        }
        case.push_str(line);
    }
    write(file)?;
    let output = bare(program).arg("build").arg(home.path()).stdin(Stdio::null()).output()?;
    if output.status.success() {
        case.push_str("-- output --\n");
        case.push_str(std::str::from_utf8(&output.stdout).context("the output is not UTF-8")?);
    } else {
        case.push_str("-- fails --\n");
    }
    fs::write(path, case).with_context(|| format!("cannot write {}", path.display()))
}

fn write(file: Option<(PathBuf, String)>) -> Result<()> {
    let Some((path, content)) = file else { return Ok(()) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
}
