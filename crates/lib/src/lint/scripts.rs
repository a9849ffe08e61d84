//! What is wrong with the scripts of a chart, without running them. Helm knows no scripts.

use std::path::Path;

use super::{Findings, Message, Severity};

/// Looks at the scripts, if there are any.
pub(super) fn check(folder: &Path, findings: &mut Findings) {
    if !folder.join("ext/lua").is_dir() {
        return;
    }
    // A chart that cannot be read is told about by other rules.
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
