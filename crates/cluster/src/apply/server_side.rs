//! Server-side apply as Helm does it.

use pintle_objects::Object;
use pintle_plan::managed_fields;
use pintle_tree::json;

use super::{BACKOFF, MAX_ATTEMPTS, describe, retry};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{PatchType, WriteParams, WrittenObject};

impl Cluster {
    /// Applies an object, whether it exists or not. Only conflicts over a resource quota are retried; field conflicts
    /// are returned.
    ///
    /// # Errors
    /// Helm's message: what could not be applied, and why.
    pub async fn apply_object(
        &self,
        object: &Object,
        force: bool,
        params: &WriteParams,
    ) -> Result<WrittenObject> {
        if self.is_noop() {
            return Ok(WrittenObject { created: false, body: object.to_json().into() });
        }
        let applied = retry(is_quota_conflict, || self.apply(object, force, params)).await;
        applied.map_err(|error| {
            let target = describe(&object.id());
            match error.status() {
                Some(status) if status.code == 415 => {
                    error.during("server-side apply not available on the server")
                }
                _ if error.is_conflict() => {
                    error.during(format!("conflict occurred while applying object {target}"))
                }
                _ => error.during(format!("server-side apply failed for object {target}")),
            }
        })
    }

    /// Moves the fields of a live object that our client-side apply owns to our server-side apply, so that fields
    /// which are no longer in the manifest are removed. Returns whether there were any (client-go's `csaupgrade`).
    ///
    /// # Errors
    /// Helm's message: whose fields could not be moved, and why.
    pub async fn upgrade_field_manager(&self, live: &Object, params: &WriteParams) -> Result<bool> {
        let id = live.id();
        let mut fresh: Option<Object> = None;
        let mut attempts = 1;
        loop {
            let object = fresh.as_ref().unwrap_or(live);
            let patch = managed_fields::upgrade(object).map_err(|error| {
                let doing = format!("failed to upgrade managed fields for object {}", describe(&id));
                Error::Fields(error).during(doing)
            })?;
            let Some(patch) = patch else { return Ok(false) };
            let body = json::write_raw(&patch).unwrap_or_default();
            match self.patch(&id, PatchType::Json, body, params).await {
                Ok(_) => return Ok(true),
                Err(error) if error.is_conflict() && attempts < MAX_ATTEMPTS => attempts += 1,
                Err(error) if error.is_conflict() => return Err(error),
                Err(error) => {
                    let doing =
                        format!("failed to patch object to upgrade CSA field manager {}", describe(&id));
                    return Err(error.during(doing));
                }
            }
            tokio::time::sleep(BACKOFF).await;
            let read = self.get(&id).await;
            fresh = read.map_err(|error| error.during(format!("failed to get object {}", describe(&id))))?;
            if fresh.is_none() {
                return Ok(false);
            }
        }
    }
}

/// Whether the conflict is about a `ResourceQuota` that two requests updated at once; the server asks to retry it.
fn is_quota_conflict(error: &Error) -> bool {
    let quarrel = |text: &str| {
        text.contains("Operation cannot be fulfilled on resourcequotas")
            && text.contains("the object has been modified")
    };
    error.is_conflict() && error.status().is_some_and(|status| quarrel(&status.message))
}
