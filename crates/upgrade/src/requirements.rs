//! What the new chart demands: required values, messages of `fail`, its schema, and a Kubernetes version.

use std::collections::BTreeSet;

use pintle_render::{LintMessage, LintMessageKind, render};
use pintle_semver::{Constraint, Version};
use pintle_tree::{Map, Node};
use pintle_values::SchemaCheck;

use crate::check::Request;
use crate::report::{Finding, FindingKind, Severity};
use crate::side::{Render, Side};

/// Checks the new chart with the values after all renames.
pub(crate) fn check(
    request: &Request<'_>,
    old: &Side<'_>,
    new: &Side<'_>,
    migrated: &Map<Node>,
    before: &Render,
) -> Vec<Finding> {
    let mut findings = kube_version(request);
    if request.schemas {
        findings.extend(schema(request, old, new, migrated));
    }
    match new.render(migrated) {
        Ok(after) => findings.extend(messages(before, &after)),
        Err(error) => findings.push(Finding::new(
            FindingKind::RenderError,
            Severity::Error,
            new.chart.name(),
            format!("the new chart does not render with these values: {error}"),
        )),
    }
    let is_known = findings.iter().any(|finding| finding.severity == Severity::Error);
    if !is_known && let Some(error) = strict_error(request, migrated) {
        findings.push(Finding::new(
            FindingKind::RenderError,
            Severity::Error,
            new.chart.name(),
            format!("the new chart does not render with these values: {error}"),
        ));
    }
    findings
}

/// What `required` and `fail` say that they did not say in the old chart.
fn messages(before: &Render, after: &Render) -> Vec<Finding> {
    let known: BTreeSet<&str> = before.messages.iter().map(|line| line.message.as_str()).collect();
    let mut seen = BTreeSet::new();
    let fresh = after.messages.iter().filter(|line| !known.contains(line.message.as_str()));
    fresh.filter(|line| seen.insert(line.message.clone())).map(finding).collect()
}

fn finding(line: &LintMessage) -> Finding {
    let kind = match line.kind {
        LintMessageKind::Fail => FindingKind::Fail,
        LintMessageKind::MissingValue | LintMessageKind::EmptyValue => FindingKind::RequiredValue,
    };
    let text = line.message.trim();
    let subject = text.lines().next().unwrap_or_default().to_owned();
    Finding::new(kind, Severity::Error, subject, format!("the new chart fails: {text}"))
}

/// The error of an ordinary render, in which `fail` stops.
fn strict_error(request: &Request<'_>, migrated: &Map<Node>) -> Option<String> {
    let mut log = Vec::new();
    let chart = pintle_values::process_dependencies(request.new.clone(), migrated, request.nulls, &mut log);
    let chart = match chart {
        Ok(chart) => chart,
        Err(error) => return Some(error.to_string()),
    };
    let values = match pintle_values::coalesce(&chart, migrated, request.nulls, &mut log) {
        Ok(values) => values,
        Err(error) => return Some(error.to_string()),
    };
    render(&chart, &values, request.target).err().map(|error| error.to_string())
}

fn schema(request: &Request<'_>, old: &Side<'_>, new: &Side<'_>, migrated: &Map<Node>) -> Vec<Finding> {
    let error_of = |side: &Side<'_>, user: &Map<Node>| -> Option<String> {
        let mut log = Vec::new();
        let chart =
            pintle_values::process_dependencies(side.chart.clone(), user, request.nulls, &mut log).ok()?;
        let load = &mut |location: &str| (request.load_schema)(location);
        pintle_values::render_values(&chart, user, request.nulls, SchemaCheck::Check, load, &mut log)
            .err()
            .map(|error| error.to_string())
    };
    let Some(error) = error_of(new, migrated) else { return Vec::new() };
    if error_of(old, request.user).as_ref() == Some(&error) {
        return Vec::new();
    }
    let message = format!("the values violate the schema of the new chart: {}", error.trim());
    vec![Finding::new(FindingKind::SchemaViolation, Severity::Error, new.chart.name(), message)]
}

/// The Kubernetes versions that the new chart supports, if they differ.
fn kube_version(request: &Request<'_>) -> Vec<Finding> {
    let (before, after) = (&request.old.metadata.kube_version, &request.new.metadata.kube_version);
    if after.is_empty() || before == after {
        return Vec::new();
    }
    let version = &request.target.capabilities.kube_version;
    let is_supported = match (Constraint::parse(after), Version::parse(&version.normalized)) {
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    };
    let was = if before.is_empty() { "any version".to_owned() } else { format!("`{before}`") };
    let (severity, end) = match is_supported {
        true => (Severity::Info, format!("; {} is", version.version)),
        false => (Severity::Error, format!("; {} is not", version.version)),
    };
    let message = format!("Kubernetes has to be `{after}` instead of {was}{end}");
    vec![Finding::new(FindingKind::KubeVersion, severity, "kubeVersion", message)]
}
