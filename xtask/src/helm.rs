//! The real Helm, against which everything is measured.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell::{cache, run, say};

/// The release whose behaviour is the reference.
pub(crate) const VERSION: &str = "v4.2.4";

/// The path of the real Helm, built from its published module on first use. `PINTLE_HELM` names another one.
pub(crate) fn helm() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PINTLE_HELM") {
        return Ok(path.into());
    }
    let folder = cache()?.join(format!("helm-{VERSION}"));
    let path = folder.join("helm");
    if !path.is_file() {
        say(&format!("building Helm {VERSION} (once)"));
        let module = format!("helm.sh/helm/v4/cmd/helm@{VERSION}");
        run(Command::new("go").args(["install", &module]).env("GOBIN", &folder))
            .context("the real Helm is needed here; install Go, or name a helm with PINTLE_HELM")?;
    }
    Ok(path)
}

/// A command that runs `program` as both programs are always compared: no home, no cluster, UTC.
pub(crate) fn bare(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", "/nonexistent").env("TZ", "UTC").env("KUBECONFIG", "/nonexistent");
    command
}
