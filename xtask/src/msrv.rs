//! `msrv`: the oldest compiler that the library promises to be built with, which is `rust-version` in Cargo.toml.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::shell::{self, print_line, root};
use crate::steps::Outcome;

/// Runs `msrv`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask msrv");
    }
    let version = oldest()?;
    let toolchain = format!("{version}.0");
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", "--profile", "minimal", &toolchain]).stdout(Stdio::null());
    shell::run(&mut install).context("rustup installs the oldest compiler")?;
    let mut check = Command::new("cargo");
    check.arg(format!("+{toolchain}")).args(["check", "--quiet", "--locked", "--package", "pintle-cli"]);
    // In a folder of its own: artifacts of two compilers do not mix.
    check
        .env("CARGO_TARGET_DIR", root().join("target/msrv"))
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    shell::run(check.current_dir(root())).with_context(|| format!("Rust {version} does not build it"))?;
    print_line(&format!("Rust {version} builds it"));
    Ok(Outcome::Passed)
}

/// The `rust-version` of the workspace.
fn oldest() -> Result<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Value = toml::from_str(&text).context("Cargo.toml is no TOML")?;
    let version =
        manifest.get("workspace").and_then(|table| table.get("package")?.get("rust-version")?.as_str());
    version.map(str::to_owned).context("Cargo.toml has no rust-version")
}

/// The newest compiler, which builds releases.
#[cfg(test)]
fn newest() -> Result<String> {
    let version = crate::shell::output(Command::new("rustc").arg("--version").current_dir(root()))?;
    let version = String::from_utf8(version)?;
    version.split(' ').nth(1).map(str::to_owned).context("rustc says no version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_compiler_is_not_newer_than_the_one_of_the_repository() {
        let number = |text: String| -> u32 {
            text.split('.').nth(1).and_then(|part| part.parse().ok()).expect("a version")
        };
        assert!(number(oldest().expect("there")) <= number(newest().expect("a compiler")));
    }
}
