//! Parts of error texts.

use super::Error;

pub(super) fn store_suffix(kept: Option<&'static str>) -> String {
    kept.map(|kept| format!(": it is stored {}", store_description(kept))).unwrap_or_default()
}

/// Describes where a store keeps releases.
pub(super) fn store_description(driver: &str) -> &'static str {
    match driver {
        "native" => "as Release objects",
        "Secret" => "in Helm's Secrets",
        "ConfigMap" => "in Helm's ConfigMaps",
        "SQL" => "in a database",
        _ => "in memory",
    }
}

/// Returns an error with all its causes in one line, because release records keep one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Lists refused permissions, each with the subcharts that request it.
#[cfg(feature = "lua")]
pub(super) fn missing_permissions(
    asked: &pintle_lua::PermissionRequests,
    missing: &pintle_lua::Permissions,
) -> String {
    let one = |permission: pintle_lua::Permission| match asked.subcharts_requesting(permission).as_slice() {
        [] => permission.to_string(),
        charts => format!("{permission} ({})", charts.join(", ")),
    };
    missing.iter().map(one).collect::<Vec<String>>().join(", ")
}

pub(super) fn join_errors(errors: &[Error], separator: &str) -> String {
    errors.iter().map(Error::to_string).collect::<Vec<_>>().join(separator)
}

/// What updates of CRDs would lose, one line for each.
pub(super) fn unsafe_crds(definitions: &[(String, Vec<String>)]) -> String {
    let lines = definitions
        .iter()
        .flat_map(|(name, problems)| problems.iter().map(move |problem| format!("\n  {name}: {problem}")));
    format!("the update of CRDs would lose data:{}", lines.collect::<String>())
}

/// What has changed since a plan was made, one line for each.
#[cfg(feature = "cluster")]
pub(super) fn stale_plan(moved: &[crate::ops::StaleReason]) -> String {
    moved.iter().map(|moved| format!("\n  {moved}")).collect()
}
