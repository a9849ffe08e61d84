//! `init`: make the cluster ready for releases that are kept as objects of their own kind.

use crate::{Result, Session};

/// Installs the custom resource definitions for releases, or brings them up to date.
///
/// # Errors
/// When the cluster cannot be asked, or refuses.
pub async fn init(session: &Session) -> Result<()> {
    session.cluster.check_reachable().await?;
    Ok(pintle_cluster::crds::install(&session.cluster).await?)
}
