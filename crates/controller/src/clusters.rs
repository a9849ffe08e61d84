//! The clusters of requests: the controller's own, or another one by a kubeconfig in a Secret, each with the rights of the
//! request.

use std::sync::{Arc, Mutex, PoisonError};

use pintle::cluster::Cluster;

use crate::address::AddressRules;
use crate::breaker::Breakers;
use crate::error::{Error, Result};
use crate::recent::Recent;
use crate::request::{ArchiveKind, HelmRequest, KubeConfig};
use crate::values;

/// How many connections to other clusters are kept.
const MAX_CLUSTERS: usize = 64;

const USER_AGENT: &str = concat!("pintle-controller/", env!("CARGO_PKG_VERSION"));

/// Connections to other clusters, by the Secret that describes them. Requests for the same cluster share a connection pool
/// and the results of discovery.
pub(crate) struct Clusters {
    connections: Mutex<Recent<Cluster>>,
    breakers: Breakers,
    addresses: AddressRules,
}

/// The rights of a request.
pub(crate) struct RequestClusters {
    /// In the cluster of the request: for values, charts and dependencies.
    pub(crate) local: Cluster,
    /// In the cluster of the release.
    pub(crate) target: Cluster,
}

impl Default for Clusters {
    fn default() -> Clusters {
        Clusters::new(AddressRules::default())
    }
}

impl Clusters {
    /// Connects only to servers at addresses that the rules allow.
    pub(crate) fn new(addresses: AddressRules) -> Clusters {
        Clusters {
            connections: Mutex::new(Recent::new(MAX_CLUSTERS)),
            breakers: Breakers::default(),
            addresses,
        }
    }

    /// Returns the clusters of a request whose release is in the cluster of `kube_config`. `default_account` is impersonated
    /// for requests that name no service account; the
    /// rights of `own` are used if it is empty.
    ///
    /// # Errors
    /// When the kubeconfig is missing or cannot be used.
    pub(crate) async fn of(
        &self,
        own: &Cluster,
        request: &HelmRequest,
        kube_config: Option<&KubeConfig>,
        default_account: &str,
    ) -> Result<RequestClusters> {
        let named = request.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        let local = impersonate(own, request, named.unwrap_or(default_account))?;
        let target = match kube_config {
            None => local.clone(),
            // The default account applies to the controller's own cluster only.
            Some(reference) => {
                let remote = self.remote(&local, request, reference).await?;
                impersonate(&remote, request, named.unwrap_or_default())?
            }
        };
        Ok(RequestClusters { local, target })
    }

    /// The cluster of a kubeconfig, if it answers.
    async fn remote(&self, local: &Cluster, request: &HelmRequest, config: &KubeConfig) -> Result<Cluster> {
        let (cluster, known) = self.connect(local, request, config).await?;
        let probe = async {
            match cluster.kube_client().apiserver_version().await {
                // The connection failed, so that there is no answer of which a message could show anything.
                Err(error @ (kube::Error::Service(_) | kube::Error::HyperError(_))) => {
                    Err(with_sources(&error))
                }
                // It answers, whatever it says.
                Ok(_) | Err(_) => Ok(()),
            }
        };
        let checked = self.breakers.check(&known, probe).await;
        let secret = &config.secret_ref.name;
        checked.map_err(|error| Error::KubeConfig(format!("kubeConfig Secret {secret}: {error}")))?;
        Ok(cluster)
    }

    /// A connection, and by what it is known.
    async fn connect(
        &self,
        local: &Cluster,
        request: &HelmRequest,
        config: &KubeConfig,
    ) -> Result<(Cluster, String)> {
        let reference = &config.secret_ref;
        let failed =
            |text: String| Error::KubeConfig(format!("kubeConfig Secret {}: {text}", reference.name));
        let resource = values::resource(ArchiveKind::Secret);
        let found = local.get_by_name(&resource, request.namespace(), &reference.name).await;
        let found = found.map_err(|error| failed(error.to_string()))?;
        let secret = found.ok_or_else(|| failed("it does not exist".to_owned()))?;
        let keys: &[&str] = match reference.key.as_deref().filter(|key| !key.is_empty()) {
            Some(key) => &[key],
            None => &["value", "value.yaml", "kubeconfig"],
        };
        let known = format!("{} {} {}", secret.uid(), secret.resource_version(), keys.join(" "));
        if let Some(cluster) = self.connections.lock().unwrap_or_else(PoisonError::into_inner).get(&known) {
            return Ok((cluster.clone(), known));
        }
        let bytes = keys.iter().find_map(|key| values::data(&secret, ArchiveKind::Secret, key).transpose());
        let bytes = bytes.ok_or_else(|| failed(format!("it has none of the keys {}", keys.join(", "))))?;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("the kubeconfig is no text".to_owned()))?;
        let rules = self.addresses.clone();
        let allowed = move |host: &str, address| rules.allow(host, address);
        let cluster = Cluster::from_kubeconfig(&text, USER_AGENT, Arc::new(allowed)).await;
        let cluster = cluster.map_err(|error| failed(error.to_string()))?;
        let cluster = cluster.with_in_flight_limit(crate::run::MAX_IN_FLIGHT);
        cluster.refresh_discovery_after(crate::run::DISCOVERY_MAX_AGE);
        let mut clusters = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        clusters.insert(known.clone(), cluster.clone(), 1);
        Ok((cluster, known))
    }
}

/// An error with what caused it: the outermost one often only says that something failed.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}

fn impersonate(cluster: &Cluster, request: &HelmRequest, account: &str) -> Result<Cluster> {
    if account.is_empty() {
        return Ok(cluster.clone());
    }
    // The API server adds the groups of service accounts by itself.
    Ok(cluster.impersonate(&format!("system:serviceaccount:{}:{account}", request.namespace()), &[])?)
}
