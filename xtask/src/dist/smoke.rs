//! Runs what was built, with an emulator where the machine needs one: a program that links may still not start.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::dist::target::Target;
use crate::shell::{print_line, root};
use crate::steps::Outcome;

/// A chart with a script, which needs the engine that is written in C++.
const SCRIPT: &str = "events.on(\"post-render\", function(ctx)\n  for _, object in ctx.objects do\n    object.metadata.labels = { made = \"by a script\" }\n  end\nend)\n";

/// Runs a program: its version, a chart, a chart with a script, and an install on the embedded cluster.
pub(crate) fn run(program: &Path, version: &str, target: &Target) -> Result<Outcome> {
    let Some(emulator) = target.emulator else {
        return Ok(Outcome::skipped(format!("no emulator runs programs for {}", target.triple)));
    };
    if !emulator.is_empty()
        && Command::new(emulator)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
    {
        return Ok(Outcome::skipped(format!(
            "`{emulator}` is not installed; Debian's package is `{}`",
            package(emulator)
        )));
    }
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    let chart = home.path().join("web");
    copy(&root().join("examples/charts/web"), &chart)?;
    let scripted = home.path().join("scripted");
    copy(&chart, &scripted)?;
    fs::create_dir_all(scripted.join("ext/lua"))?;
    fs::write(scripted.join("ext/lua/chart.lua"), SCRIPT)?;
    for (line, expected) in [
        ("version --short", version),
        ("template web ./web", "kind: Deployment"),
        ("template web ./scripted --yes", "made: by a script"),
        ("install web ./web --cluster embedded --wait", "STATUS: deployed"),
    ] {
        let output = call(program, emulator, line, home.path())?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(expected) {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("`pintle {line}` for {} ended with {}: {text}{errors}", target.triple, output.status);
        }
    }
    print_line(&format!("  {} runs", target.triple));
    Ok(Outcome::Passed)
}

fn call(program: &Path, emulator: &str, line: &str, home: &Path) -> Result<Output> {
    let mut command = match emulator {
        "" => Command::new(program),
        emulator => {
            let mut command = Command::new(emulator);
            command.arg(program);
            command
        }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(line.split(' ')).env_clear().env("HOME", home).env("PATH", path).current_dir(home);
    command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {}", program.display()))
}

fn package(emulator: &str) -> &'static str {
    if emulator.starts_with("wine") { "wine64" } else { "qemu-user-static" }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), &target).map(drop)?
        }
    }
    Ok(())
}
