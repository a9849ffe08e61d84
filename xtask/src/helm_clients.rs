//! `helm-clients`: programs that call Helm, with the real one and with ours in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::runner::Suite;
use crate::shell::{cache, output, root};
use crate::steps::Outcome;
use crate::{go, helm};

/// A program that calls Helm, or that Helm calls.
struct Client {
    /// The name of the program.
    program: &'static str,
    /// The folder in the cache, where the tests of `cli` look for it.
    folder: &'static str,
    source: Source,
}

enum Source {
    /// A package of a published module, built as its own `go.mod` says. `go install` refuses modules that replace others.
    Module { module: &'static str, version: &'static str, package: &'static str },
    /// A package that a module in `testbed/` selects.
    Testbed { folder: &'static str, package: &'static str },
}

const CLIENTS: [Client; 3] = [
    Client {
        program: "kustomize",
        folder: "kustomize-v5.8.1",
        source: Source::Module {
            module: "sigs.k8s.io/kustomize/kustomize/v5",
            version: "v5.8.1",
            package: ".",
        },
    },
    Client {
        program: "untt",
        folder: "helm-unittest-v1.1.2",
        source: Source::Module {
            module: "github.com/helm-unittest/helm-unittest",
            version: "v1.1.2",
            package: "./cmd/helm-unittest",
        },
    },
    Client {
        program: "helmfile",
        folder: "helmfile-v1.8.0",
        source: Source::Testbed { folder: "helmfile", package: "github.com/helmfile/helmfile" },
    },
];

/// The manifest of programs that are plugins.
const MANIFEST: &str = "plugin.yaml";

/// Builds all of them on first use.
pub(crate) fn build() -> Result<()> {
    CLIENTS.iter().try_for_each(|client| client.build().map(drop))
}

/// Runs `helm-clients [SCENARIO]`.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    if !go::is_available() {
        return Ok(Outcome::skipped(go::MISSING));
    }
    let only = match arguments {
        [] => "",
        [only] if !only.starts_with('-') => only,
        _ => bail!("usage: cargo xtask helm-clients [SCENARIO]"),
    };
    let helm = helm::helm()?;
    build()?;
    let suite = Suite::build(&["--workspace", "--test", "it"])?.packages(&["cli"]);
    let suite = suite.filters(&[format!("helm_clients::{only}")]);
    suite.env("PINTLE_HELM", helm).env("PINTLE_HELM_CLIENTS", cache()?).run("helm-clients")?;
    Ok(Outcome::Passed)
}

impl Client {
    fn build(&self) -> Result<PathBuf> {
        let path = cache()?.join(self.folder).join(self.program);
        if path.is_file() {
            return Ok(path);
        }
        let (folder, package) = match self.source {
            Source::Module { module, version, package } => {
                let sources = download(module, version)?;
                copy_manifest(&sources, &path)?;
                (sources, package)
            }
            Source::Testbed { folder, package } => (root().join("testbed").join(folder), package),
        };
        let build = |target: &Path| {
            let mut command = Command::new("go");
            command.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"]).arg(target.join(self.program));
            command.arg(package).current_dir(&folder).env("CGO_ENABLED", "0").env("GOWORK", "off");
            command
        };
        go::built(path, self.folder, build)
    }
}

/// The folder of a module's sources.
fn download(module: &str, version: &str) -> Result<PathBuf> {
    let mut command = Command::new("go");
    let described = output(command.args(["mod", "download", "-json", &format!("{module}@{version}")]))?;
    let described: Value = serde_json::from_slice(&described).context("Go prints no JSON")?;
    let folder = described.get("Dir").and_then(Value::as_str);
    folder.map(PathBuf::from).with_context(|| format!("Go names no folder for {module}"))
}

/// Puts the manifest of a plugin beside its program.
fn copy_manifest(sources: &Path, program: &Path) -> Result<()> {
    let (manifest, copy) = (sources.join(MANIFEST), program.with_file_name(MANIFEST));
    if !manifest.is_file() || copy.is_file() {
        return Ok(());
    }
    let folder = program.parent().with_context(|| format!("{} lies in no folder", program.display()))?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(&manifest, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    Ok(())
}
