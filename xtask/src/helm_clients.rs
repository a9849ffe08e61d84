//! `helm-clients`: programs that call Helm, with the real one and with ours in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::runner::Suite;
use crate::shell::{cache, output, root};
use crate::steps::Outcome;
use crate::{go, helm};

/// A program that calls Helm, or that Helm calls.
struct Client {
    /// The name under which the tests of `cli` look for it.
    program: &'static str,
    package: &'static str,
}

/// Their versions are in `testbed/helm-clients/go.mod`.
const CLIENTS: [Client; 3] = [
    Client { program: "kustomize", package: "sigs.k8s.io/kustomize/kustomize/v5" },
    Client { program: "untt", package: "github.com/helm-unittest/helm-unittest/cmd/helm-unittest" },
    Client { program: "helmfile", package: "github.com/helmfile/helmfile" },
];

/// The module of the one client that is a Helm plugin; its manifest must be beside its program.
const PLUGIN: &str = "github.com/helm-unittest/helm-unittest";

const MANIFEST: &str = "plugin.yaml";

/// Builds all of them on first use, and returns their folder.
pub(crate) fn build() -> Result<PathBuf> {
    let sources = root().join("testbed/helm-clients");
    let folder = cache()?.join(format!("testbed/helm-clients-{}", go::digest(&sources)?));
    for client in &CLIENTS {
        client.build(&sources, &folder)?;
    }
    copy_manifest(&sources, &folder.join(MANIFEST))?;
    Ok(folder)
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
    let programs = build()?;
    // The tests as `cargo xtask ci` builds them, so that nothing is built twice.
    let suite = Suite::build(&["--workspace"])?.packages(&["cli"]);
    let suite = suite.filters(&[format!("helm_clients::{only}")]);
    suite.env("PINTLE_HELM", helm).env("PINTLE_HELM_CLIENTS", programs).run("helm-clients")?;
    Ok(Outcome::Passed)
}

impl Client {
    fn build(&self, sources: &Path, folder: &Path) -> Result<PathBuf> {
        let build = |target: &Path| {
            let mut go = go::command("build", "");
            go.arg("-o").arg(target.join(self.program)).arg(self.package).current_dir(sources);
            // The Go of the real Helm, whose compiled packages are used again.
            go.env("GOTOOLCHAIN", helm::TOOLCHAIN);
            go
        };
        go::built(folder.join(self.program), self.program, build)
    }
}

/// Puts the manifest of the plugin beside its program.
fn copy_manifest(sources: &Path, copy: &Path) -> Result<()> {
    if copy.is_file() {
        return Ok(());
    }
    let mut list = Command::new("go");
    list.args(["list", "-m", "-f", "{{.Dir}}", PLUGIN]).current_dir(sources).env("GOWORK", "off");
    let module = String::from_utf8(output(&mut list)?).context("the path of a module is not UTF-8")?;
    let manifest = Path::new(module.trim()).join(MANIFEST);
    // Modules are read-only, and a copy would be so too.
    let text = fs::read(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    fs::write(copy, text).with_context(|| format!("cannot write {}", copy.display()))
}
