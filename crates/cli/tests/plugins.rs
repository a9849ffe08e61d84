//! Plugins: scenarios beside the real Helm, and what is ours.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

mod bad_input;
mod beside_helm;
mod hostile;
mod lua;
mod ours;
mod registry;
mod shapes;
#[cfg(feature = "wasm")]
mod wasm;

use std::path::Path;

/// Writes a file that can be run.
fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
