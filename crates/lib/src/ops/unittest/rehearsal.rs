//! Rehearsals of tests, on the embedded cluster.

use std::path::{Path, PathBuf};

use pintle_unittest::{RehearsalFinding, RehearsalRequest};
use pintle_values::ValuesLayer;

use super::{UnittestHost, lifecycle};
use crate::rehearse::{Finding, RehearseRequest, Severity};

/// Rehearses a chart.
///
/// # Errors
/// When a path of the test does not exist, or the Kubernetes version is not supported.
pub(super) fn rehearse(
    host: &dyn UnittestHost,
    chart: &Path,
    request: &RehearsalRequest<'_>,
) -> Result<Vec<RehearsalFinding>, String> {
    let folder = Path::new(request.suite_file).parent().unwrap_or(Path::new(""));
    let rehearse = RehearseRequest {
        chart: chart.into(),
        from: (!request.settings.from.is_empty()).then(|| folder.join(&request.settings.from).into()),
        fixtures: request.settings.given.iter().map(|path| folder.join(path)).collect::<Vec<PathBuf>>(),
        // The default release name and namespace of tests are in upper case, which Kubernetes rejects.
        name: request.target.release.name.to_lowercase(),
        namespace: request.target.release.namespace.to_lowercase(),
        values: vec![ValuesLayer::Tree(request.values.clone())],
        kube_version: request.settings.kube_version.clone(),
        events: lifecycle::lifecycle(request.permissions).map_err(|error| error.to_string())?,
        ..RehearseRequest::default()
    };
    let rehearsal = host.rehearse(&rehearse).map_err(|error| error.to_string())?;
    Ok(rehearsal.findings.iter().map(finding).collect())
}

fn finding(finding: &Finding) -> RehearsalFinding {
    let mut location = finding.stage.to_owned();
    if !finding.object.is_empty() {
        location.push_str(&format!(": {}", finding.object));
    }
    if !finding.file.is_empty() {
        location.push_str(&format!(" ({}:{})", finding.file, finding.line));
    }
    RehearsalFinding {
        is_error: finding.severity == Severity::Error,
        is_warning: finding.severity == Severity::Warning,
        text: format!("{location}: {}", finding.message),
    }
}
