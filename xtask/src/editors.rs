//! `editors`: real editors with the language server, without a window: what users do, by the editors' own clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::shell::{ci_binary, print_line, root, run};
use crate::steps::Outcome;

/// An editor: its program, how it is started with a script, and the packages of Debian that have it.
struct Editor {
    program: &'static str,
    /// Arguments with which it starts and ends at once, if all that the test needs is installed.
    probe: &'static [&'static str],
    arguments: &'static [&'static str],
    script: &'static str,
    packages: &'static [&'static str],
}

const EDITORS: [Editor; 2] = [
    Editor {
        program: "nvim",
        probe: &["--version"],
        arguments: &["--headless", "--clean", "-n", "-S"],
        script: "neovim.lua",
        packages: &["neovim"],
    },
    Editor {
        program: "emacs",
        probe: &["--batch", "--no-init-file", "-f", "package-initialize", "-l", "eglot"],
        arguments: &["--batch", "--no-init-file", "-l"],
        script: "eglot.el",
        packages: &["emacs-nox", "elpa-eglot"],
    },
];

/// Ten times what an editor takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs `editors [--install] [--program PINTLE]`.
pub(crate) fn run_all(arguments: &[String]) -> Result<Outcome> {
    let (mut install, mut program) = (false, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--install" => install = true,
            "--program" => program = Some(PathBuf::from(words.next().context("--program needs a path")?)),
            _ => bail!("usage: cargo xtask editors [--install] [--program PINTLE]"),
        }
    }
    if install {
        install_all()?;
    }
    let there: Vec<&Editor> = EDITORS.iter().filter(|editor| editor.is_there()).collect();
    if there.is_empty() {
        return Ok(Outcome::skipped("no editor is installed; `cargo xtask editors --install` installs them"));
    }
    let program = match program {
        Some(program) => fs::canonicalize(&program).with_context(|| format!("no {}", program.display()))?,
        None => ci_binary()?,
    };
    for editor in EDITORS.iter() {
        if editor.is_there() {
            let passed = editor.test(&program).with_context(|| format!("{} failed", editor.program))?;
            print_line(&format!("{}: {passed} checks passed", editor.program));
        } else {
            print_line(&format!("{} is not installed, and left out", editor.program));
        }
    }
    Ok(Outcome::Passed)
}

/// Installs the packages of all editors, which needs the rights to.
fn install_all() -> Result<()> {
    let packages = EDITORS.iter().flat_map(|editor| editor.packages);
    let options = ["--quiet=2", "--yes", "--no-install-recommends"];
    run(Command::new("apt-get").args(options).arg("install").args(packages))
}

impl Editor {
    fn is_there(&self) -> bool {
        let mut version = Command::new(self.program);
        let quiet = version.args(self.probe).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }

    /// Runs the script on a copy of the chart; returns how many checks passed.
    fn test(&self, program: &Path) -> Result<usize> {
        let scripts = root().join("editors/tests");
        let folder =
            std::env::temp_dir().join(format!("pintle-editors-{}-{}", self.program, std::process::id()));
        let result = self.test_in(program, &scripts, &folder);
        let _ = fs::remove_dir_all(&folder);
        result
    }

    fn test_in(&self, program: &Path, scripts: &Path, folder: &Path) -> Result<usize> {
        let home = folder.join("home");
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        copy(&scripts.join("chart"), &folder.join("workspace/web"))?;
        let report = folder.join("report");
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .arg(scripts.join(self.script))
            .env("PINTLE", program)
            .env("PINTLE_WORKSPACE", fs::canonicalize(folder.join("workspace"))?)
            .env("PINTLE_REPORT", &report)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("XDG_DATA_HOME", &home)
            .env("XDG_STATE_HOME", &home)
            .env("XDG_CACHE_HOME", &home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.program))?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > TIMEOUT {
                let _ = child.kill();
                let _ = child.wait();
                bail!("it did not end in {} seconds", TIMEOUT.as_secs());
            }
            thread::sleep(Duration::from_millis(20));
        };
        let text = fs::read_to_string(&report).unwrap_or_default();
        if !status.success() || text.lines().last() != Some("OK") {
            bail!("it ended with {status} after:\n{text}");
        }
        Ok(text.lines().count() - 1)
    }
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
