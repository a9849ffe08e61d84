//! Writes reports: for people, for programs, and for the services that show findings beside the code.

mod github;
mod json;
mod junit;
mod sarif;
mod text;

use crate::finding::{Finding, Report};
use crate::rule::Severity;

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    Text,
    /// JSON.
    Json,
    /// JUnit, for CI.
    JUnit,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    GitHub,
}

impl Format {
    /// The names of all formats.
    pub const NAMES: [&str; 5] = ["text", "json", "junit", "sarif", "github"];

    /// Finds a format by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            "junit" => Some(Format::JUnit),
            "sarif" => Some(Format::Sarif),
            "github" => Some(Format::GitHub),
            _ => None,
        }
    }
}

/// Writes reports about several charts.
pub fn write(format: Format, reports: &[Report], program_version: &str) -> String {
    match format {
        Format::Text => text::write(reports),
        Format::Json => json::write(reports),
        Format::JUnit => junit::write(reports),
        Format::Sarif => sarif::write(reports, program_version),
        Format::GitHub => github::write(reports),
    }
}

/// The path of the file of a finding, as the user would name it.
fn file(report: &Report, finding: &Finding) -> String {
    let chart = report.chart.trim_end_matches('/');
    match &finding.location {
        Some(location) if chart.is_empty() => location.file.clone(),
        Some(location) => format!("{chart}/{}", location.file),
        None => chart.to_owned(),
    }
}

/// How many values files a line names.
const MAX_NAMES: usize = 3;

/// The object, values and versions of a finding, as a phrase.
fn circumstances(finding: &Finding) -> String {
    let mut parts = Vec::new();
    parts.extend(finding.object.as_ref().map(ToString::to_string));
    if !finding.scenarios.is_empty() {
        let names: Vec<&str> = finding.scenarios.iter().map(String::as_str).collect();
        let (shown, more) = names.split_at(names.len().min(MAX_NAMES));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        parts.push(format!("with {}{more}", shown.join(", ")));
    }
    if !finding.versions.is_empty() {
        let versions: Vec<&str> = finding.versions.iter().map(String::as_str).collect();
        parts.push(format!("in Kubernetes {}", versions.join(", ")));
    }
    parts.join(", ")
}

/// How many findings of each severity there are: errors, warnings, and others.
fn counts(reports: &[Report]) -> [usize; 3] {
    [Severity::Error, Severity::Warning, Severity::Info]
        .map(|severity| reports.iter().map(|report| report.count(severity)).sum())
}

#[cfg(test)]
mod tests;
