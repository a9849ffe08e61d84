//! The custom resources of the native store, and their installation.
//!
//! The definitions are the files of `deploy/crds`, so that an administrator can apply the same ones beforehand.

use std::time::Duration;

use pintle_objects::Object;

use crate::cluster::Cluster;
use crate::discovery::Resource;
use crate::error::{Error, Result};
use crate::request::Request;
use crate::write::WriteParams;

/// The `CustomResourceDefinition` of `Release`.
pub const RELEASE: &str = include_str!("../crds/release.yaml");
/// The `CustomResourceDefinition` of `ReleaseVersion`.
pub const RELEASE_VERSION: &str = include_str!("../crds/release-version.yaml");

/// The `CustomResourceDefinition` of `HelmRequest`, which only the controller needs.
pub const HELM_REQUEST: &str = include_str!("../crds/helm-request.yaml");
/// The `CustomResourceDefinition` of `HelmRequestSet`, which only the controller needs.
pub const HELM_REQUEST_SET: &str = include_str!("../crds/helm-request-set.yaml");

/// The group of our kinds.
pub const GROUP: &str = "helm.sh";
/// The version of our kinds.
pub const VERSION: &str = "v3";

/// How long a new CRD may take to be established.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(30);
/// How often to check whether the CRDs are served.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The resource of releases.
pub fn releases() -> Resource {
    Resource::new(GROUP, VERSION, "Release", "releases")
}

/// The resource of release versions.
pub fn release_versions() -> Resource {
    Resource::new(GROUP, VERSION, "ReleaseVersion", "releaseversions")
}

/// The resource of requests to the controller.
pub fn helm_requests() -> Resource {
    Resource::new(GROUP, VERSION, "HelmRequest", "helmrequests")
}

/// The resource of sets of requests.
pub fn helm_request_sets() -> Resource {
    Resource::new(GROUP, VERSION, "HelmRequestSet", "helmrequestsets")
}

/// Applies the definitions of `HelmRequest` and `HelmRequestSet`, besides those of the store, and waits until the server serves it.
///
/// # Errors
/// When the server rejects the request or does not answer, or does not serve the kinds in time.
pub async fn install_for_controller(cluster: &Cluster) -> Result<()> {
    for text in [HELM_REQUEST, HELM_REQUEST_SET] {
        for definition in Object::read_manifest(text.as_bytes(), "deploy/crds").expect("our own file is good")
        {
            cluster.apply(&definition, true, &WriteParams::default()).await?;
        }
    }
    install(cluster).await?;
    wait_until_served(cluster, &[helm_requests(), helm_request_sets()]).await
}

/// Both definitions of the store as objects.
pub fn definitions() -> Vec<Object> {
    [RELEASE, RELEASE_VERSION]
        .into_iter()
        .flat_map(|text| {
            Object::read_manifest(text.as_bytes(), "deploy/crds").expect("our own files are good")
        })
        .collect()
}

/// Applies the definitions and waits until the server serves the kinds.
///
/// # Errors
/// When the server rejects the request or does not answer, or does not serve the kinds in time.
pub async fn install(cluster: &Cluster) -> Result<()> {
    // The store takes the existence of `Release` as a sign that both kinds exist, so `Release` comes last in case we
    // are killed in between.
    for definition in definitions().into_iter().rev() {
        cluster.apply(&definition, true, &WriteParams::default()).await?;
    }
    wait_until_served(cluster, &[releases(), release_versions()]).await
}

async fn wait_until_served(cluster: &Cluster, resources: &[Resource]) -> Result<()> {
    let served = async {
        for resource in resources {
            let path = format!("/apis/{GROUP}/{VERSION}/{}?limit=1", resource.plural);
            loop {
                match cluster.send(&Request::get(&path)).await {
                    Err(error) if error.is_not_found() => tokio::time::sleep(POLL_INTERVAL).await,
                    // A 403 means that the kind is served: a missing kind would be a 404.
                    Err(error) if !error.is_forbidden() => return Err(error),
                    _ => break,
                }
            }
        }
        Ok(())
    };
    let waited = tokio::time::timeout(ESTABLISH_TIMEOUT, served).await;
    waited.unwrap_or_else(|_| {
        Err(Error::Configuration("the server does not serve the new kinds yet".into()))
    })?;
    cluster.invalidate_discovery().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_for_the_kinds_that_the_store_asks_for() {
        let definitions = definitions();
        for (definition, resource) in definitions.iter().zip([releases(), release_versions()]) {
            assert_eq!(definition.name(), format!("{}.{}", resource.plural, resource.group));
            assert_eq!(definition.text(&["spec", "names", "kind"]), resource.kind);
            let versions = definition.at(&["spec", "versions"]).and_then(pintle_tree::Node::as_list);
            let version = &versions.expect("has versions")[0];
            assert_eq!(version.get("name").and_then(pintle_tree::Node::as_str), Some(VERSION));
            assert!(version.get("additionalPrinterColumns").is_some());
        }
        assert_eq!(definitions.len(), 2);
    }
}
