//! `registries`: real registries for the tests that copy images.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::go;
use crate::shell::{cache, root};

/// A registry whose sources are in `testbed/`.
struct Registry {
    sources: &'static str,
    /// The folder in the cache, where the tests of `registry` look for it.
    folder: &'static str,
    name: &'static str,
}

/// The one that most of the world runs, and one that keeps track of signatures by itself.
const REGISTRIES: [Registry; 2] = [
    Registry {
        sources: "distribution",
        folder: "distribution-v3.1.2",
        name: "the registry of the Distribution project",
    },
    Registry { sources: "referrers", folder: "testbed/referrers", name: "a registry with referrers" },
];

/// Builds all of them on first use.
pub(crate) fn build() -> Result<()> {
    REGISTRIES.iter().try_for_each(Registry::build)
}

impl Registry {
    fn build(&self) -> Result<()> {
        let path = cache()?.join(self.folder).join("registry");
        let mut go = Command::new("go");
        go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"]).arg(&path).arg(".");
        go.current_dir(root().join("testbed").join(self.sources));
        go.env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOTOOLCHAIN", "local");
        go::build(&mut go, self.name).context("the tests of copies need a registry")
    }
}
