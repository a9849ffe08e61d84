//! Where the release of a request is, and the uninstall of what the request has there.
//!
//! The status remembers where the release was when its name, one of its namespaces or its cluster changes. It only says where to
//! look: whether a release is uninstalled is decided by its records, which say who installed or adopted it.

use pintle::Session;
use pintle::cluster::Cluster;
use pintle::ops::{self, HistoryPrecondition};
use tokio::time::Instant;

use super::Reconciliation;
use crate::conditions::REMEDIATED;
use crate::error::{Error, Result};
use crate::origin_labels;
use crate::report::Collected;
use crate::request::{
    DELETION_POLICY_ANNOTATION, HelmRequest, HelmRequestStatus, KubeConfig, ORPHAN, SecretKeyReference,
};
use crate::state::Action;

/// Where a release is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) name: String,
    pub(super) namespace: String,
    /// The namespace of the records.
    pub(super) storage: String,
    /// The Secret with the kubeconfig of the cluster; `None` for that of the request.
    pub(super) kube_config: Option<KubeConfig>,
}

impl Location {
    /// Where the release of a request is to be.
    pub(super) fn of_request(request: &HelmRequest) -> Location {
        Location {
            name: request.release_name(),
            namespace: request.release_namespace().to_owned(),
            storage: request.storage_namespace().to_owned(),
            kube_config: normalized(request.spec.kube_config.as_ref()),
        }
    }

    /// Where the release was, if it was anywhere.
    pub(super) fn of_status(status: &HelmRequestStatus) -> Option<Location> {
        (!status.release_name.is_empty()).then(|| Location {
            name: status.release_name.clone(),
            namespace: status.release_namespace.clone(),
            storage: status.storage_namespace().to_owned(),
            kube_config: normalized(status.kube_config.as_ref()),
        })
    }
}

/// An empty key means the same as none.
fn normalized(config: Option<&KubeConfig>) -> Option<KubeConfig> {
    config.map(|config| {
        let SecretKeyReference { name, key } = config.secret_ref.clone();
        KubeConfig { secret_ref: SecretKeyReference { name, key: key.filter(|key| !key.is_empty()) } }
    })
}

impl Reconciliation<'_> {
    /// Notes in the status where the release is; `cluster` is the one in which it was found.
    pub(super) fn note_location(&mut self, cluster: &Cluster) {
        let Location { name, namespace, storage, kube_config } = Location::of_request(&self.request);
        let status = &mut self.status;
        (status.release_name, status.release_namespace, status.storage_namespace) =
            (name, namespace, storage);
        status.cluster_server =
            if kube_config.is_some() { cluster.address().to_owned() } else { String::new() };
        status.kube_config = kube_config;
    }

    /// The error for a location that the status reports, if its kubeconfig has another API server than when the release was
    /// found there. Its release is still in the former cluster, and nothing here says how to reach that.
    fn cluster_changed(&self, location: &Location, cluster: &Cluster) -> Option<Error> {
        let before = &self.status.cluster_server;
        let config = location.kube_config.as_ref()?;
        let is_reported = Location::of_status(&self.status).as_ref() == Some(location);
        (is_reported && !before.is_empty() && before != cluster.address()).then(|| Error::ClusterChanged {
            release: format!("{}/{}", location.namespace, location.name),
            secret: config.secret_ref.name.clone(),
            before: before.clone(),
            now: cluster.address().to_owned(),
        })
    }

    /// Fails if the kubeconfig of the release leads to another cluster than before. A cluster in which the release is, by its
    /// records, is the same under another name.
    pub(super) async fn check_cluster(&mut self, session: &Session) -> Result<()> {
        let Some(changed) = self.cluster_changed(&Location::of_request(&self.request), &session.cluster)
        else {
            return Ok(());
        };
        let history = self.history(session).await?;
        if origin_labels::is_managed_by(&history, self.request.uid()) {
            return Ok(());
        }
        match self.orphans_releases() {
            true => self.status.forget_release(),
            false => return Err(changed),
        }
        Ok(())
    }

    /// Whether the user wants releases to be left as they are.
    pub(super) fn orphans_releases(&self) -> bool {
        self.request.annotation(DELETION_POLICY_ANNOTATION) == ORPHAN
    }

    /// The condition under which a release is uninstalled.
    pub(super) fn is_ours(&self) -> HistoryPrecondition {
        let uid = self.request.uid().to_owned();
        HistoryPrecondition::new(move |history| match origin_labels::is_managed_by(history, &uid) {
            true => Ok(()),
            false => Err("this request did not install or adopt it".to_owned()),
        })
    }

    /// Uninstalls a release if this request installed or adopted it, and returns whether it did.
    pub(super) async fn uninstall_at(&self, location: &Location, log: &mut Collected) -> Result<bool> {
        let cluster = self.clusters_at(location.kube_config.as_ref()).await?.target;
        let session = self.session(&cluster, &location.namespace, &location.storage)?;
        let request = self.uninstall_request(&location.name, &location.namespace)?;
        let begin = Instant::now();
        let outcome = Box::pin(ops::uninstall(&session, &request, log)).await;
        let changed = || self.cluster_changed(location, &cluster);
        let outcome = match outcome {
            Err(pintle::Error::PreconditionFailed { .. }) => return changed().map_or(Ok(false), Err),
            Ok(None) => match changed() {
                Some(changed) => return Err(changed),
                None => Ok(None),
            },
            // Already deleted, with its history kept.
            Err(pintle::Error::AlreadyDeleted { .. }) => Ok(None),
            outcome => outcome,
        };
        let word = if outcome.is_ok() { "success" } else { "failure" };
        self.reconciler.metrics.action("uninstall", word, begin.elapsed());
        Ok(outcome?.is_some())
    }

    /// Uninstalls the release that the request had before its name, one of its namespaces or its cluster changed.
    pub(super) async fn uninstall_former_release(&mut self) -> Result<()> {
        let Some(former) = Location::of_status(&self.status) else { return Ok(()) };
        if former == Location::of_request(&self.request) {
            return Ok(());
        }
        let release = format!("{}/{}", former.namespace, former.name);
        let is_uninstalled = match self.orphans_releases() {
            true => false,
            false => self.uninstall_at(&former, &mut Collected::default()).await.map_err(|source| {
                Error::FormerRelease { release: release.clone(), source: Box::new(source) }
            })?,
        };
        self.status.forget_release();
        if is_uninstalled {
            let text = format!("uninstalled {release}, because the request names another release now");
            self.succeeded(Action::Uninstall, "UninstallSucceeded", &text);
            self.status.remove_condition(REMEDIATED);
        }
        Ok(())
    }
}
