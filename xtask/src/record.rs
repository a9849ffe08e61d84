//! `record`: the expected bytes of our own cases, from the real Helm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::helm::{VERSION, bare, helm};
use crate::shell::{print_line, root};

/// What Helm does with a case.
pub(crate) struct Recorded {
    pub(crate) exit: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

/// Records all cases, or those named.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let helm = helm()?;
    let mut recorded = 0;
    for case in all()? {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if names.is_empty() || names.contains(&name) {
            record(&helm, &case).with_context(|| format!("case {name}"))?;
            recorded += 1;
        }
    }
    if recorded == 0 {
        bail!("no such case in {}", folder().display());
    }
    print_line(&format!("recorded {recorded} cases from Helm {VERSION}"));
    Ok(())
}

fn folder() -> PathBuf {
    root().join("conformance/cases")
}

/// The folders of all cases.
pub(crate) fn all() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder())?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut cases: Vec<PathBuf> = entries.filter(|case| case.join("case.toml").is_file()).collect();
    cases.sort();
    Ok(cases)
}

/// Runs a case.
pub(crate) fn run_case(helm: &Path, case: &Path) -> Result<Recorded> {
    let text = fs::read_to_string(case.join("case.toml"))?;
    let arguments = arguments(&text).context("case.toml has no `args = [\"…\"]` on one line")?;
    let output = bare(helm).args(&arguments).current_dir(case).stdin(Stdio::null()).output()?;
    Ok(Recorded { exit: output.status.code().unwrap_or(-1), out: output.stdout, err: output.stderr })
}

/// What was recorded of a case.
pub(crate) fn recorded(case: &Path) -> Result<Recorded> {
    let text = fs::read_to_string(case.join("case.toml"))?;
    let exit = text.lines().find_map(|line| line.strip_prefix("exit =")?.trim().parse().ok());
    let read = |name: &str| fs::read(case.join(name)).unwrap_or_default();
    Ok(Recorded { exit: exit.unwrap_or(0), out: read("expected.out"), err: read("expected.err") })
}

fn record(helm: &Path, case: &Path) -> Result<()> {
    let path = case.join("case.toml");
    let text = fs::read_to_string(&path)?;
    let Recorded { exit, out, err } = run_case(helm, case)?;
    let kept = text.lines().filter(|line| !line.starts_with("exit =") && !line.starts_with("helm ="));
    let kept: Vec<&str> = kept.collect();
    fs::write(&path, format!("{}\nhelm = \"{VERSION}\"\nexit = {exit}\n", kept.join("\n").trim_end()))?;
    for (name, bytes) in [("expected.out", &out), ("expected.err", &err)] {
        let target = case.join(name);
        if bytes.is_empty() {
            let _ = fs::remove_file(target);
        } else {
            fs::write(target, bytes)?;
        }
    }
    Ok(())
}

/// The strings of the line `args = [...]`, which is JSON behind the equals sign.
fn arguments(text: &str) -> Option<Vec<String>> {
    let line = text.lines().find_map(|line| line.strip_prefix("args = "))?;
    serde_json::from_str(line).ok()
}
