//! `registries`: real registries for the tests that copy images.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::shell::{cache, root, run, say};

/// The registry that most others are made of. The tests of `registry` look for this version, too.
const DISTRIBUTION: &str = "v3.1.2";

/// Builds both on first use: one that most of the world runs, and one that keeps track of signatures by itself.
pub(crate) fn build() -> Result<()> {
    let distribution = distribution()?;
    let referrers = referrers()?;
    say(&format!("registries: {}, {}", distribution.display(), referrers.display()));
    Ok(())
}

fn distribution() -> Result<PathBuf> {
    let folder = cache()?.join(format!("distribution-{DISTRIBUTION}"));
    let path = folder.join("registry");
    if !path.is_file() {
        say(&format!("building the registry of the Distribution project, {DISTRIBUTION} (once)"));
        let module = format!("github.com/distribution/distribution/v3/cmd/registry@{DISTRIBUTION}");
        run(Command::new("go").args(["install", &module]).env("GOBIN", &folder))
            .context("the tests of copies need a registry, which is built with Go")?;
    }
    Ok(path)
}

fn referrers() -> Result<PathBuf> {
    let folder = cache()?.join("testbed/referrers");
    let path = folder.join("registry");
    // Go itself knows whether there is anything to do.
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-o"]).arg(&path).arg(".").current_dir(root().join("testbed/referrers"));
    run(go.env("CGO_ENABLED", "0").env("GOWORK", "off")).context("the tests of copies need a registry")?;
    Ok(path)
}
