//! Building the Go programs of the test cluster, once for each version of their sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::go;
use crate::shell::{cache, output, root};

/// A Kubernetes that can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// The minor version, such as `1.37`.
    pub(crate) minor: &'static str,
    /// The file that pins all its modules.
    modules: &'static str,
}

/// Newest first.
pub(crate) const RELEASES: [Release; 4] = [
    Release { minor: "1.37", modules: "go.mod" },
    Release { minor: "1.36", modules: "1.36.mod" },
    Release { minor: "1.35", modules: "1.35.mod" },
    Release { minor: "1.34", modules: "1.34.mod" },
];

impl Release {
    /// The release with this minor version.
    pub(crate) fn named(minor: &str) -> Result<Release> {
        let found = RELEASES.into_iter().find(|release| release.minor == minor);
        let known = RELEASES.map(|release| release.minor).join(", ");
        found.with_context(|| format!("there is no Kubernetes `{minor}` here; there are {known}"))
    }

    /// The full version, from its module file.
    fn version(self) -> Result<String> {
        let path = sources().join(self.modules);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"));
        Ok(line.with_context(|| format!("{} names no Kubernetes", path.display()))?.to_owned())
    }
}

fn sources() -> PathBuf {
    root().join("testbed/kubernetes")
}

/// The folder with `kubeall`, which is all components of a cluster in one program.
pub(crate) fn kubernetes(release: Release) -> Result<PathBuf> {
    let sums = Path::new(release.modules).with_extension("sum");
    let sources = sources();
    let inputs = [sources.join("main.go"), sources.join(release.modules), sources.join(sums)];
    let folder = folder("kubernetes", &inputs)?;
    let modules = format!("-modfile={}", release.modules);
    let version = release.version()?;
    let name = format!("Kubernetes {version}");
    build(&sources, &name, &[&modules], &linker_flags(&version), folder.join("kubeall"))?;
    Ok(folder)
}

/// The program that is the first process of every pod.
pub(super) fn pause() -> Result<PathBuf> {
    let sources = root().join("testbed/pause");
    let path = folder("pause", &[sources.join("main.go"), sources.join("go.mod")])?.join("pause");
    build(&sources, "the first process of pods", &[], "", path)
}

/// Without these the server calls itself v0.0.0-master, and no chart with a `kubeVersion` can be installed.
fn linker_flags(version: &str) -> String {
    let mut flags = String::new();
    let numbers: Vec<&str> = version.split('.').collect();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        let mut set = |name: &str, value: &str| flags.push_str(&format!(" -X {package}.{name}={value}"));
        set("gitVersion", &format!("v{version}"));
        set("gitMajor", numbers.first().copied().unwrap_or_default());
        set("gitMinor", numbers.get(1).copied().unwrap_or_default());
        set("gitCommit", &"0".repeat(40));
        set("gitTreeState", "archive");
        set("buildDate", "1970-01-01T00:00:00Z");
    }
    flags
}

/// Where a program built from `inputs` with this machine's Go is kept.
fn folder(name: &str, inputs: &[PathBuf]) -> Result<PathBuf> {
    let mut digest = Sha256::new();
    for input in inputs {
        digest.update(fs::read(input).with_context(|| format!("cannot read {}", input.display()))?);
    }
    digest.update(
        output(Command::new("go").args(["env", "GOVERSION", "GOARCH"]).env("GOTOOLCHAIN", "local"))
            .context("the test cluster is built with Go, which is not here")?,
    );
    let key = hex(&digest.finalize()[..6]);
    let folder = cache()?.join("testbed").join(format!("{name}-{key}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds the program in `sources`, unless it is there.
fn build(sources: &Path, name: &str, flags: &[&str], linker_flags: &str, target: PathBuf) -> Result<PathBuf> {
    let file = target.file_name().unwrap_or_default().to_owned();
    let command = |folder: &Path| {
        let mut go = go::command("build", linker_flags);
        go.args(flags).arg("-o").arg(folder.join(file)).arg(".").current_dir(sources);
        go.env("GOTOOLCHAIN", "local");
        go
    };
    go::built(target, name, command)
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_is_pinned_with_all_its_numbers() {
        for release in RELEASES {
            let version = release.version().unwrap();
            assert!(version.starts_with(&format!("{}.", release.minor)), "{version}");
        }
        assert!(Release::named("1.2").unwrap_err().to_string().contains("1.37, 1.36, 1.35, 1.34"));
    }

    #[test]
    fn the_server_is_told_its_version() {
        let flags = linker_flags("1.37.1");
        assert!(flags.contains("-X k8s.io/component-base/version.gitVersion=v1.37.1 "));
        assert!(flags.contains("-X k8s.io/client-go/pkg/version.gitMinor=37 "));
    }
}
