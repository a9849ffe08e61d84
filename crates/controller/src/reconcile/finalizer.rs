//! The finalizer: a request that is deleted stays until its release is uninstalled.

use pintle::cluster::{PatchType, WriteParams};
use pintle::objects::{Object, ObjectId};
use serde_json::json;

use super::actions::last_error;
use super::location::Location;
use super::status::backoff;
use super::{Reconciliation, Requeue};
use crate::FIELD_MANAGER;
use crate::conditions::{READY, RECONCILING};
use crate::error::{Error, Result};
use crate::events::Kind;
use crate::report::Collected;
use crate::request::{DELETION_POLICY_ANNOTATION, FINALIZER, LastError, ORPHAN, Phase};

impl Reconciliation<'_> {
    /// Uninstalls the release of a request that is being deleted, and removes the finalizer.
    pub(super) async fn finalize(&mut self) -> Result<Requeue> {
        if !self.request.has_finalizer() {
            return Ok(Requeue(None));
        }
        self.reserve().await;
        // As in Flux, a suspended release is left alone to the end.
        if !self.orphans_releases() && !self.request.spec.suspend {
            let reported = Location::of_status(&self.status);
            if reported.is_some() && self.status.phase != Phase::Deleting {
                self.status.phase = Phase::Deleting;
                self.condition(RECONCILING, true, "Progressing", "Running 'uninstall' action");
                self.write_status().await?;
            }
            // The release may be where no status says: a controller that was killed may have installed it without writing the
            // status, and the request may have changed since then.
            let wanted = Location::of_request(&self.request);
            let unreported = (reported.as_ref() != Some(&wanted)).then_some(wanted);
            for (location, is_reported) in reported
                .iter()
                .map(|location| (location, true))
                .chain(unreported.iter().map(|location| (location, false)))
            {
                if let Err(error) = self.uninstall_for_deletion(location, is_reported).await {
                    return self.note_failed_deletion(error).await;
                }
            }
        }
        self.remove_finalizer().await?;
        Ok(Requeue(None))
    }

    /// Handles the deletion of a request whose spec cannot be decoded.
    pub(super) async fn finalize_undecodable(&mut self, error: &Error) -> Result<Requeue> {
        if !self.request.has_finalizer() {
            return Ok(Requeue(None));
        }
        if self.request.annotation(DELETION_POLICY_ANNOTATION) == ORPHAN {
            self.remove_finalizer().await?;
            return Ok(Requeue(None));
        }
        let (step, message) = (error.step().to_owned(), error.to_string());
        self.note_failed_deletion(LastError { step, message, ..LastError::default() }).await
    }

    /// Uninstalls the release at a location, if it is that of the request.
    async fn uninstall_for_deletion(
        &mut self,
        location: &Location,
        is_reported: bool,
    ) -> std::result::Result<(), LastError> {
        let mut collected = Collected::default();
        match self.uninstall_at(location, &mut collected).await {
            Ok(_) => Ok(()),
            // Without a connection, or the right to read the records, nothing can have been installed.
            Err(Error::KubeConfig(_) | Error::InvalidSpec(_)) if !is_reported => Ok(()),
            Err(Error::Operation(error)) if !is_reported && error.is_forbidden_store() => Ok(()),
            Err(Error::Operation(error)) => Err(last_error("uninstall", &error, collected)),
            Err(error) => Err(LastError {
                step: "uninstall".to_owned(),
                message: error.to_string(),
                ..LastError::default()
            }),
        }
    }

    async fn note_failed_deletion(&mut self, error: LastError) -> Result<Requeue> {
        if self.reconciler.cancel.is_cancelled() {
            return Ok(Requeue(None));
        }
        let text = format!(
            "{}; to delete the request and leave the release as it is, set the annotation {DELETION_POLICY_ANNOTATION}: {ORPHAN}",
            error.message
        );
        let is_new = self.status.condition(READY).is_none_or(|ready| ready.message != text);
        self.status.failures = self.status.failures.saturating_add(1);
        self.condition(READY, false, "UninstallFailed", &text);
        self.note_last_error(error);
        if is_new {
            self.publish(Kind::Warning, "UninstallFailed", "uninstall", &text);
        }
        self.write_status().await?;
        Ok(Requeue(Some(backoff(self.status.failures))))
    }

    pub(super) fn id(&self) -> ObjectId {
        ObjectId::new("helm.sh/v3", "HelmRequest", self.request.namespace(), self.request.name())
    }

    pub(super) async fn add_finalizer(&mut self) -> Result<()> {
        let mut finalizers = self.request.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FINALIZER.to_owned());
        self.write_finalizers(finalizers).await
    }

    async fn remove_finalizer(&mut self) -> Result<()> {
        let mut finalizers = self.request.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| name != FINALIZER);
        match self.write_finalizers(finalizers).await {
            Err(Error::Cluster(error)) if error.is_not_found() => Ok(()),
            done => done,
        }
    }

    /// Writes the finalizers, unless the request has changed since it was read: others have finalizers in the same list.
    async fn write_finalizers(&mut self, finalizers: Vec<String>) -> Result<()> {
        let version = self.request.metadata.resource_version.clone();
        let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
        let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::default() };
        let body = serde_json::to_vec(&patch).unwrap_or_default();
        let written = self.reconciler.cluster.patch(&self.id(), PatchType::Merge, body, &params).await?;
        self.request.metadata.finalizers = Some(finalizers);
        self.note_written(&written.body);
        Ok(())
    }

    pub(super) fn note_written(&mut self, body: &[u8]) {
        if let Ok(object) = Object::read_json(body) {
            self.request.metadata.resource_version = Some(object.resource_version().to_owned());
        }
    }
}
