//! Static checks of the scripts of a chart. Helm has no scripts.

use std::path::Path;

use super::{Findings, Message, Severity};

/// Checks the scripts, if there are any.
pub(super) fn check(folder: &Path, findings: &mut Findings) {
    if !folder.join("ext/lua").is_dir() {
        return;
    }
    // Other rules report a chart that cannot be loaded.
    let Ok(chart) = pintle_chart::load_any_version(folder, &mut Vec::new()) else { return };
    let mut note = |path: String, text: String| {
        findings.messages.push(Message { severity: Severity::Error, path, text })
    };
    match pintle_lua::check(&chart) {
        Ok(found) => {
            for finding in found {
                note(finding.file, format!("line {}: {}", finding.line, finding.message));
            }
        }
        Err(error) => note(pintle_chart::ext::PERMISSIONS.to_owned(), error.to_string()),
    }
}
