//! `get`: show one recorded version of a release.

use pintle_release::{RecordPart, ReleaseVersion, Summary, VersionRef};
use pintle_tree::{LogLine, Map, Node};
use pintle_values::NullRules;

use super::name;
use crate::lifecycle::record_metadata;
use crate::records::Records;
use crate::{Error, Result, Session};

/// Loads a version of a release.
///
/// # Errors
/// When there is no such release or version.
pub async fn get(session: &Session, namespace: &str, name: &str, at: &VersionRef) -> Result<ReleaseVersion> {
    session.cluster.check_reachable().await?;
    content(session, namespace, name, at).await
}

/// Loads a version without checking first that the cluster is reachable.
pub(super) async fn content(
    session: &Session,
    namespace: &str,
    name: &str,
    at: &VersionRef,
) -> Result<ReleaseVersion> {
    check_name(name)?;
    Records::find(session, namespace, name).await?.resolve(at).await
}

fn check_name(name: &str) -> Result<()> {
    if name::is_valid(name) {
        return Ok(());
    }
    Err(Error::InvalidName { prefix: "releaseContent: Release name is invalid", name: name.to_owned() })
}

/// Loads the newest version of a release without the files of its chart, for comparisons.
pub(super) async fn newest_without_files(
    session: &Session,
    namespace: &str,
    name: &str,
) -> Result<ReleaseVersion> {
    session.cluster.check_reachable().await?;
    check_name(name)?;
    Records::find(session, namespace, name).await?.newest(RecordPart::WithoutFiles).await
}

/// Returns the newest version of a release, if it exists.
///
/// # Errors
/// When the store cannot be read.
pub async fn exists(session: &Session, namespace: &str, name: &str) -> Result<Option<Summary>> {
    Ok(Records::find(session, namespace, name).await?.history().await?.pop())
}

/// Computes the values that a version was rendered with: the user's values over the chart's defaults, with the
/// changes of `pre-render` handlers.
///
/// # Errors
/// When the values cannot be merged.
pub fn computed_values(version: &ReleaseVersion, log: &mut Vec<LogLine>) -> Result<Map<Node>> {
    if let Some(values) = record_metadata::rendered_values(version) {
        return Ok(values);
    }
    let given = version.config.clone().unwrap_or_default();
    Ok(pintle_values::coalesce(&version.chart.to_chart(), &given, NullRules::Helm4, log)?)
}
