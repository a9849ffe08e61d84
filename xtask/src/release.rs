//! `release`: what a maintainer does for a version, in one command: checks, notes, a tag, artefacts. Nothing is published or pushed;
//! the last lines say what is left to do.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{output, print_line, root, run};
use crate::steps::{Outcome, Steps};
use crate::{ci, dist, publishable};

const USAGE: &str = "usage: cargo xtask release VERSION [--minisign-key FILE] [--cosign-key FILE] [--without-checks], or --notes VERSION";

/// The command line of the task.
#[derive(Default)]
struct Options {
    version: String,
    minisign: Option<PathBuf>,
    cosign: Option<PathBuf>,
    /// Leaves out the long checks, which have run for this commit elsewhere.
    without_checks: bool,
}

/// Runs `release`.
pub(crate) fn run_release(arguments: &[String]) -> Result<()> {
    if let [flag, version] = arguments
        && flag == "--notes"
    {
        print_line(&notes(&changelog()?, version)?);
        return Ok(());
    }
    let options = parse(arguments)?;
    let version = options.version.as_str();
    let folder = root().join("target/release-artifacts").join(format!("v{version}"));
    Steps::all(false, |steps| {
        steps.run("version, changelog and tree", || ready(version).map(|()| Outcome::Passed))?;
        steps.run("crates can be published", || publishable::run(&[]).map(|()| Outcome::Passed))?;
        steps.run("all checks of a commit", || match options.without_checks {
            true => Ok(Outcome::skipped("--without-checks")),
            false => ci::ci(&[]).map(|()| Outcome::Passed),
        })?;
        steps.run("artefacts", || {
            dist::all(&folder, options.minisign.clone(), options.cosign.clone())?;
            fs::write(folder.join("NOTES.md"), notes(&changelog()?, version)?)?;
            Ok(Outcome::Passed)
        })?;
        steps.run("tag", || tag(version).map(|()| Outcome::Passed))
    })?;
    print_line(&format!(
        "v{version} is ready in {}. Nothing was published. To do so: push the tag (git push origin v{version}), upload the files of \
         the folder with NOTES.md as a release, and publish the crates in the order of `cargo xtask publishable`.",
        folder.display()
    ));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--minisign-key" => options.minisign = Some(words.next().context(USAGE)?.into()),
            "--cosign-key" => options.cosign = Some(words.next().context(USAGE)?.into()),
            "--without-checks" => options.without_checks = true,
            version if !version.starts_with('-') && options.version.is_empty() => {
                options.version = version.trim_start_matches('v').to_owned();
            }
            _ => bail!(USAGE),
        }
    }
    if options.version.is_empty() { bail!(USAGE) } else { Ok(options) }
}

fn changelog() -> Result<String> {
    fs::read_to_string(root().join("CHANGELOG.md")).context("cannot read CHANGELOG.md")
}

/// Whether the tree is that of this version: its number in Cargo.toml, its section in the changelog, nothing uncommitted, no
/// such tag.
fn ready(version: &str) -> Result<()> {
    let own = dist::version()?;
    if own != version {
        bail!("Cargo.toml has the version {own}, not {version}");
    }
    notes(&changelog()?, version)?;
    let git = |words: &[&str]| -> Result<String> {
        Ok(String::from_utf8(output(Command::new("git").args(words).current_dir(root()))?)?)
    };
    let changed = git(&["status", "--porcelain"])?;
    if !changed.trim().is_empty() {
        bail!("there are changes that are not committed:\n{changed}");
    }
    let tag = format!("v{version}");
    if !git(&["tag", "--list", &tag])?.trim().is_empty() {
        bail!("there is a tag {tag} already");
    }
    Ok(())
}

/// The section of a version in the changelog, without its heading.
fn notes(changelog: &str, version: &str) -> Result<String> {
    let mut lines = changelog.lines().skip_while(|line| !is_heading_of(line, version));
    lines.next().with_context(|| format!("CHANGELOG.md has no section `## {version} …`"))?;
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    let text = section.join("\n").trim().to_owned();
    if text.is_empty() { bail!("the section of {version} in CHANGELOG.md is empty") } else { Ok(text) }
}

fn is_heading_of(line: &str, version: &str) -> bool {
    let Some(heading) = line.strip_prefix("## ") else { return false };
    heading.split(' ').next().is_some_and(|word| word.trim_matches(['[', ']']) == version)
}

/// Tags the commit, signed if git is configured to.
fn tag(version: &str) -> Result<()> {
    let message = format!("Pintle {version}");
    run(Command::new("git")
        .args(["tag", "--annotate", &format!("v{version}"), "--message", &message])
        .current_dir(root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_section_of_the_version() {
        let text =
            "# Changelog\n\n## Unreleased\n\nnew\n\n## 0.2.0 (2026-12-01)\n\n- two\n\n## 0.1.0\n\n- one\n";
        assert_eq!(notes(text, "0.2.0").expect("a section"), "- two");
        assert_eq!(notes(text, "0.1.0").expect("a section"), "- one");
        assert!(notes(text, "0.1").is_err() && notes(text, "0.3.0").is_err());
    }

    #[test]
    fn the_changelog_has_the_version_of_the_workspace() {
        let version = dist::version().expect("a version");
        assert!(
            notes(&changelog().expect("there"), &version).is_ok(),
            "CHANGELOG.md has no section for {version}"
        );
    }

    #[test]
    fn flags_are_read_and_others_refused() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = parse(&words("v1.2.3 --cosign-key k --without-checks")).expect("read");
        assert_eq!((options.version.as_str(), options.without_checks), ("1.2.3", true));
        assert!(options.cosign.is_some() && options.minisign.is_none());
        assert!(parse(&words("--publish")).is_err() && parse(&[]).is_err());
    }
}
