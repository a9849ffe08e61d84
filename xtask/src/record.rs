//! `record`: the expected bytes of our own cases, from the real Helm.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::helm::{VERSION, bare, helm};
use crate::shell::{print_line, root};

/// Records all cases, or those named.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let helm = helm()?;
    let folder = root().join("conformance/cases");
    let mut recorded = 0;
    let mut entries: Vec<_> =
        fs::read_dir(&folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.sort();
    for case in entries {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if case.join("case.toml").is_file() && (names.is_empty() || names.contains(&name)) {
            record(&helm, &case).with_context(|| format!("case {name}"))?;
            recorded += 1;
        }
    }
    if recorded == 0 {
        bail!("no such case in {}", folder.display());
    }
    print_line(&format!("recorded {recorded} cases from Helm {VERSION}"));
    Ok(())
}

fn record(helm: &Path, case: &Path) -> Result<()> {
    let path = case.join("case.toml");
    let text = fs::read_to_string(&path)?;
    let arguments = arguments(&text).context("case.toml has no `args = [\"…\"]` on one line")?;
    let output = bare(helm).args(&arguments).current_dir(case).stdin(Stdio::null()).output()?;
    let exit = output.status.code().unwrap_or(-1);
    let kept = text.lines().filter(|line| !line.starts_with("exit =") && !line.starts_with("helm ="));
    let kept: Vec<&str> = kept.collect();
    fs::write(&path, format!("{}\nhelm = \"{VERSION}\"\nexit = {exit}\n", kept.join("\n").trim_end()))?;
    for (name, bytes) in [("expected.out", &output.stdout), ("expected.err", &output.stderr)] {
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
