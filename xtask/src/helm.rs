//! The real Helm, against which everything is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::go;
use crate::shell::cache;

/// The release whose behaviour is the reference.
pub(crate) const VERSION: &str = "v4.2.4";

/// The Helm 3 release that shares clusters with ours.
const VERSION_3: &str = "v3.21.4";

/// The path of the real Helm, built from its published module on first use. `PINTLE_HELM` names another one.
pub(crate) fn helm() -> Result<PathBuf> {
    installed("PINTLE_HELM", "helm.sh/helm/v4/cmd/helm", VERSION)
}

/// As [`helm`], for Helm 3. `PINTLE_HELM3` names another one.
pub(crate) fn helm3() -> Result<PathBuf> {
    installed("PINTLE_HELM3", "helm.sh/helm/v3/cmd/helm", VERSION_3)
}

fn installed(variable: &str, module: &str, version: &str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    let path = cache()?.join(format!("helm-{version}/helm"));
    let install = |folder: &Path| {
        let mut go = go::command("install", "");
        go.arg(format!("{module}@{version}")).env("GOBIN", folder);
        go
    };
    go::built(path, &format!("Helm {version}"), install)
        .with_context(|| format!("the real Helm is needed here; {variable} can name one"))
}

/// A command that runs `program` as both programs are always compared: no home, no cluster, UTC.
pub(crate) fn bare(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", "/nonexistent").env("TZ", "UTC").env("KUBECONFIG", "/nonexistent");
    command
}
