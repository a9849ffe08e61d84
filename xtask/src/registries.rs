//! `registries`: real registries for the tests that copy images.

use std::fs;
use std::path::Path;

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

/// CNCF Distribution, and one with the referrers API.
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
        let sources = root().join("testbed").join(self.sources);
        let folder = cache()?.join(self.folder);
        let (path, stamp) = (folder.join("registry"), folder.join(format!("of-{}", go::digest(&sources)?)));
        // Remove builds of other sources; tests expect one name.
        if !stamp.is_file() && path.is_file() {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        let build = |target: &Path| {
            let mut go = go::command("build", "");
            go.arg("-o").arg(target.join("registry")).arg(".").current_dir(&sources);
            go.env("GOTOOLCHAIN", "local");
            go
        };
        go::built(path, self.name, build).context("the tests of copies need a registry")?;
        fs::write(&stamp, "").with_context(|| format!("cannot write {}", stamp.display()))
    }
}
