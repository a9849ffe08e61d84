//! `init`: prepare the cluster for releases that are stored as custom resources.

use crate::{Result, Session};

/// Installs or updates the CRDs of releases.
///
/// # Errors
/// When the cluster is not reachable or rejects them.
pub async fn init(session: &Session) -> Result<()> {
    session.cluster.check_reachable().await?;
    Ok(pintle_cluster::crds::install(&session.cluster).await?)
}
