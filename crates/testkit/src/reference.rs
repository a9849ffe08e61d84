//! The programs that tests compare with or run against: the real Helm and registries, which `cargo xtask` builds from Go.

use std::path::PathBuf;

/// Skips what needs a program built from Go, even if it is installed: `cargo xtask test` needs nothing but Rust.
const WITHOUT: &str = "PINTLE_TEST_WITHOUT_GO";

/// The real Helm 4 that we are measured against.
pub fn real_helm() -> Option<PathBuf> {
    reference_program("PINTLE_HELM", "helm-v4.3.1/helm")
}

/// The last real Helm 3.
pub fn real_helm3() -> Option<PathBuf> {
    reference_program("PINTLE_HELM3", "helm-v3.22.0/helm")
}

/// The program that `variable` names, or the one at `path` in the cache of `cargo xtask`.
pub fn reference_program(variable: &str, path: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    if std::env::var_os(WITHOUT).is_some() {
        return None;
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let path = cache.join("pintle").join(path);
    path.is_file().then_some(path)
}
