//! `reproducible`: builds the program twice, in folders of different names and at different times, and compares the bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{cargo, print_line, root, run};

/// The folders of the two builds, of different lengths: a path that enters a program moves everything behind it.
const FOLDERS: [&str; 2] = ["one", "the-other-folder"];

/// Runs `reproducible [--profile NAME]`.
pub(crate) fn run_twice(arguments: &[String]) -> Result<()> {
    let profile = match arguments {
        [] => "ci",
        [flag, profile] if flag == "--profile" => profile,
        _ => bail!("usage: cargo xtask reproducible [--profile NAME]"),
    };
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let programs: Vec<PathBuf> =
        FOLDERS.iter().map(|name| build(&work.path().join(name), profile)).collect::<Result<_>>()?;
    let contents: Vec<Vec<u8>> = programs.iter().map(fs::read).collect::<Result<_, _>>()?;
    match first_difference(&contents[0], &contents[1]) {
        None => {
            print_line(&format!("two builds are equal: {} bytes", contents[0].len()));
            Ok(())
        }
        Some(at) => bail!(
            "two builds differ from byte {at} on ({} and {} bytes)",
            contents[0].len(),
            contents[1].len()
        ),
    }
}

/// Builds a copy of what is committed in a folder of its own.
fn build(folder: &Path, profile: &str) -> Result<PathBuf> {
    let mut clone = Command::new("git");
    run(clone.args(["clone", "--quiet", "--no-hardlinks"]).arg(root()).arg(folder))?;
    let target = folder.join("target");
    let mut build = cargo(&["build", "--quiet", "--locked", "--profile", profile, "--package", "pintle-cli"]);
    let flags = format!("--remap-path-prefix={}=/pintle", folder.display());
    let maps = format!("-ffile-prefix-map={}=/pintle", folder.display());
    build.current_dir(folder).env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", flags);
    build.env("CFLAGS", &maps).env("CXXFLAGS", &maps).env("CARGO_INCREMENTAL", "0");
    run(&mut build).with_context(|| format!("cannot build in {}", folder.display()))?;
    Ok(target.join(profile).join("pintle"))
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let at = one.iter().zip(other).position(|(one, other)| one != other);
    at.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_found_wherever_it_is() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"abd"), Some(2));
        assert_eq!(first_difference(b"abc", b"abcd"), Some(3));
    }
}
