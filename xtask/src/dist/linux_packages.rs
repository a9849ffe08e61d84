//! Packages for Debian, Fedora and Alpine, by nfpm, which needs none of their tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::dist::archive::Entry;
use crate::dist::target::Target;
use crate::go;
use crate::shell::{cache, print_line};

const NFPM: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm";
const VERSION: &str = "v2.48.0";

/// The formats, by the names that nfpm has for them.
const FORMATS: [&str; 3] = ["deb", "rpm", "apk"];

/// Writes the packages of a target with the files of its archive, which are named without their folder.
pub(crate) fn write(
    version: &str,
    epoch: u64,
    target: &Target,
    entries: &[Entry],
    folder: &Path,
) -> Result<()> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut contents = String::new();
    for (at, entry) in entries.iter().enumerate() {
        let Some(path) = place(&entry.path) else { continue };
        let source = work.path().join(at.to_string());
        let manual = path.ends_with(".1.gz");
        let content = if manual { super::archive::gzip(&entry.content)? } else { entry.content.clone() };
        fs::write(&source, content).context("cannot write a file of a package")?;
        let mode = format!("{:04o}", entry.mode());
        contents.push_str(&format!(
            "  - src: {}\n    dst: {path}\n    file_info: {{mode: {mode}, mtime: {time}}}\n",
            source.display(),
            time = rfc3339(epoch)?,
        ));
    }
    let settings = work.path().join("nfpm.yaml");
    fs::write(&settings, settings_of(version, epoch, target, &contents)?)?;
    let nfpm = nfpm()?;
    for format in FORMATS {
        let mut package = Command::new(&nfpm);
        package
            .args(["package", "--packager", format, "--config"])
            .arg(&settings)
            .arg("--target")
            .arg(folder);
        let output =
            package.env("SOURCE_DATE_EPOCH", epoch.to_string()).output().context("cannot run nfpm")?;
        if !output.status.success() {
            bail!(
                "nfpm cannot make a {format} for {}: {}",
                target.triple,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        print_line(&format!("  a {format} for {}", target.triple));
    }
    Ok(())
}

/// Where a file of the archive is installed; `None` for what packages leave out.
fn place(path: &str) -> Option<String> {
    Some(match path {
        "pintle" => "/usr/bin/pintle".to_owned(),
        "completions/pintle.bash" => "/usr/share/bash-completion/completions/pintle".to_owned(),
        "completions/_pintle" => "/usr/share/zsh/site-functions/_pintle".to_owned(),
        "completions/pintle.fish" => "/usr/share/fish/vendor_completions.d/pintle.fish".to_owned(),
        "LICENSE" => "/usr/share/doc/pintle/copyright".to_owned(),
        "README.md" | "CHANGELOG.md" | "COMPATIBILITY.md" | "THIRD-PARTY.md" => {
            format!("/usr/share/doc/pintle/{path}")
        }
        _ => format!("/usr/share/man/man1/{}.gz", path.strip_prefix("man/man1/")?),
    })
}

fn settings_of(version: &str, epoch: u64, target: &Target, contents: &str) -> Result<String> {
    // nfpm knows Go's names of architectures and turns them into those of each format.
    let architecture = match target.debian {
        "armhf" => "arm7",
        "ppc64el" => "ppc64le",
        other => other,
    };
    let libraries = if target.glibc.is_empty() {
        String::new()
    } else {
        format!("depends: [\"libc6 (>= {})\"]\n", target.glibc)
    };
    Ok(format!(
        "name: pintle\n\
         arch: {architecture}\n\
         version: v{version}\n\
         mtime: {}\n\
         section: admin\n\
         priority: optional\n\
         maintainer: Pintle maintainers <maintainers@pintle.dev>\n\
         description: A package manager for Kubernetes, and a drop-in replacement for Helm\n\
         homepage: https://pintle.dev\n\
         license: Apache-2.0\n\
         overrides:\n  deb:\n    {deb}\
         contents:\n{contents}",
        rfc3339(epoch)?,
        deb = if libraries.is_empty() { "depends: []\n".to_owned() } else { libraries },
    ))
}

/// A time as nfpm reads it.
fn rfc3339(epoch: u64) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "-d", &format!("@{epoch}"), "+%Y-%m-%dT%H:%M:%SZ"]);
    let text = crate::shell::output(&mut date)?;
    Ok(String::from_utf8(text)?.trim().to_owned())
}

fn nfpm() -> Result<PathBuf> {
    let path = cache()?.join(format!("nfpm-{VERSION}/nfpm"));
    go::built(path, "nfpm", |folder| {
        let mut go = go::command("install", "");
        go.arg(format!("{NFPM}@{VERSION}")).env("GOBIN", folder).env("GOTOOLCHAIN", "auto");
        go
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_archive_has_its_place() {
        assert_eq!(place("pintle").as_deref(), Some("/usr/bin/pintle"));
        assert_eq!(place("man/man1/pintle.1").as_deref(), Some("/usr/share/man/man1/pintle.1.gz"));
        assert_eq!(place("completions/_pintle.ps1"), None);
    }

    #[test]
    fn a_program_with_its_own_libraries_depends_on_nothing() {
        let settings =
            |triple| settings_of("1.0.0", 0, Target::named(triple).expect("a target"), "").expect("settings");
        assert!(settings("x86_64-unknown-linux-musl").contains("  deb:\n    depends: []\n"));
        let arm = settings("armv7-unknown-linux-gnueabihf");
        assert!(arm.contains("arch: arm7\n") && arm.contains("depends: [\"libc6 (>= 2.28)\"]\n"), "{arm}");
        assert!(arm.contains("mtime: 1970-01-01T00:00:00Z\n"), "{arm}");
    }
}
