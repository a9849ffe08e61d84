//! The real Helm, against which everything is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::go;
use crate::shell::cache;

/// The program of Helm 4 in its module.
const MODULE: &str = "helm.sh/helm/v4/cmd/helm";

/// The release whose behaviour is the reference.
pub(crate) const VERSION: &str = "v4.3.1";

/// The Go that the official binaries of [`VERSION`] are built with. Texts of JSON errors and Unicode tables come from it, and
/// `go install` would take an older one.
pub(crate) const TOOLCHAIN: &str = "go1.27.2";

/// The Helm 3 release that shares clusters with ours.
const VERSION_3: &str = "v3.22.0";

/// The Go of [`VERSION_3`].
const TOOLCHAIN_3: &str = "go1.26.8";

/// The path of the real Helm, built from its published module on first use. `PINTLE_HELM` names another one.
pub(crate) fn helm() -> Result<PathBuf> {
    installed("PINTLE_HELM", MODULE, VERSION, TOOLCHAIN)
}

/// As [`helm`], for Helm 3. `PINTLE_HELM3` names another one.
pub(crate) fn helm3() -> Result<PathBuf> {
    installed("PINTLE_HELM3", "helm.sh/helm/v3/cmd/helm", VERSION_3, TOOLCHAIN_3)
}

/// Another version of Helm 4, built with a Go toolchain such as `go1.27.2`.
pub(crate) fn of_version(version: &str, toolchain: &str) -> Result<PathBuf> {
    // The toolchain is part of the path: the same version behaves differently with another one.
    let folder = if version == VERSION && toolchain == TOOLCHAIN {
        format!("helm-{version}")
    } else {
        format!("helm-{version}-{toolchain}")
    };
    build(&cache()?.join(folder).join("helm"), MODULE, version, toolchain)
}

fn installed(variable: &str, module: &str, version: &str, toolchain: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    let path = cache()?.join(format!("helm-{version}/helm"));
    build(&path, module, version, toolchain)
        .with_context(|| format!("the real Helm is needed here; {variable} can name one"))
}

fn build(path: &Path, module: &str, version: &str, toolchain: &str) -> Result<PathBuf> {
    let install = |folder: &Path| {
        let mut go = go::command("install", "");
        go.arg(format!("{module}@{version}")).env("GOBIN", folder).env("GOTOOLCHAIN", toolchain);
        go
    };
    go::built(path.to_owned(), &format!("Helm {version}"), install)
}

/// A command that runs `program` as both programs are always compared: no home, no cluster, UTC.
pub(crate) fn bare(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", "/nonexistent").env("TZ", "UTC").env("KUBECONFIG", "/nonexistent");
    command
}
