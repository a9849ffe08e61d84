//! Our own small charts: one behaviour each, with the recorded output of a real Helm.
//!
//! A case is a folder with `case.toml` (the arguments, and the version of Helm), `chart/`, further files that the arguments
//! name, and `expected.out` or `expected.err`. `cargo xtask record` writes the expected output; it is never edited by hand.
//! An intended difference has `differs = "COMPATIBILITY.md#…"` and our own output in `ours.out` or `ours.err`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::Options;
use crate::report::{Tally, first_difference, print_line};

/// Runs all cases below `folder`.
pub(crate) fn run(folder: &Path, options: &Options) -> Result<bool> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("case.toml").is_file())
        .collect();
    names.sort();
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let helm = work.path().join("helm");
    let binary = fs::canonicalize(&options.binary).with_context(|| {
        format!("no program at {}; build it or name it with --binary", options.binary.display())
    })?;
    std::os::unix::fs::symlink(binary, &helm).context("cannot link the program")?;
    let mut tally = Tally::default();
    for path in &names {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.contains(&options.only) {
            tally.add(&name, "", run_case(path, &helm)?);
        }
    }
    if names.is_empty() {
        print_line(&format!("no cases in {}", folder.display()));
    }
    Ok(tally.print("cases", options) && !names.is_empty())
}

fn run_case(folder: &Path, helm: &Path) -> Result<Option<String>> {
    let text = fs::read_to_string(folder.join("case.toml"))?;
    let arguments: Vec<String> = setting(&text, "args")
        .and_then(|line| serde_json::from_str(line).ok())
        .context("case.toml has no `args`")?;
    let output = Command::new(helm)
        .args(&arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("TZ", "UTC")
        .env("KUBECONFIG", "/nonexistent")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot run the program")?;
    let prefix = if setting(&text, "differs").is_some() { "ours" } else { "expected" };
    let recorded =
        |extension: &str| fs::read(folder.join(format!("{prefix}.{extension}"))).unwrap_or_default();
    let wanted_exit: i64 = setting(&text, "exit").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (out, err) = (recorded("out"), recorded("err"));
    if i64::from(output.status.code().unwrap_or(-1)) != wanted_exit {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Ok(Some(format!("exit {wanted_exit} wanted, {} got: {stderr}", output.status)));
    }
    if out != output.stdout {
        return Ok(Some(format!("stdout: {}", first_difference(&out, &output.stdout))));
    }
    Ok((err != output.stderr).then(|| format!("stderr: {}", first_difference(&err, &output.stderr))))
}

/// The value of a `name = value` line. The values that cases use are JSON as well as TOML.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim))
}
