//! Server-side apply as Helm does it.

use std::borrow::Cow;

use pintle_objects::Object;
use pintle_plan::ConflictPolicy;
use pintle_plan::conflicts::{CONFLICT_POLICY, Decision, check_rules, remove_field};
use pintle_plan::managed_fields::{self, Managers};
use pintle_tree::json;

use super::{ApplyOptions, BACKOFF, MAX_ATTEMPTS, describe, retry};
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

    /// As [`Cluster::apply_object`], but fields of other managers are yielded or taken over as the object's annotation
    /// and the policy say. Fields of earlier managers of ours are moved to our server-side apply.
    pub(super) async fn apply_resolving(
        &self,
        object: &Object,
        live: Option<&Object>,
        apply_options: &ApplyOptions,
    ) -> Result<WrittenObject> {
        let params = apply_options.validated();
        let rules = object.annotation(CONFLICT_POLICY);
        if let Some(Err(problem)) = rules.map(check_rules) {
            return Err(
                Error::InvalidRequest(problem).during(format!("cannot apply {}", describe(&object.id())))
            );
        }
        // With rules the conflicts must be seen first: forcing takes over all fields at once.
        let mut force = apply_options.conflicts == ConflictPolicy::Take && rules.is_none();
        let mut wanted = Cow::Borrowed(object);
        let mut yielded = Vec::new();
        let mut is_moved = false;
        loop {
            let error = match self.apply_object(&wanted, force, &params).await {
                Err(error) if error.is_conflict() && !force => error,
                applied => return applied.map(|written| WrittenObject { yielded, ..written }),
            };
            let (mut has_progress, mut is_ours) = (false, false);
            for conflict in error.field_conflicts() {
                match conflict.decide(object, apply_options.conflicts) {
                    Decision::Fail => return Err(error),
                    Decision::Take => force = true,
                    Decision::Ours => is_ours = true,
                    Decision::Yield => {
                        has_progress |= remove_field(wanted.to_mut(), &conflict.field);
                        yielded.push(conflict);
                    }
                }
            }
            match live {
                // A dry run cannot move fields first. Forcing has the same result.
                _ if is_ours && apply_options.dry_run => force = true,
                Some(live) if is_ours && !is_moved => {
                    is_moved = true;
                    has_progress |= self.upgrade_field_manager(live, Managers::Earlier, &params).await?;
                }
                // Moving the fields did not resolve the conflict, so that they are taken over.
                _ if is_ours => force = true,
                _ => {}
            }
            if !has_progress && !force {
                return Err(error);
            }
        }
    }

    /// Moves the fields of a live object that our client-side apply owns to our server-side apply, so that fields
    /// which are no longer in the manifest are removed. Returns whether there were any (client-go's `csaupgrade`).
    ///
    /// # Errors
    /// Helm's message: whose fields could not be moved, and why.
    pub async fn upgrade_field_manager(
        &self,
        live: &Object,
        managers: Managers,
        params: &WriteParams,
    ) -> Result<bool> {
        let id = live.id();
        let mut fresh: Option<Object> = None;
        let mut attempts = 1;
        loop {
            let object = fresh.as_ref().unwrap_or(live);
            let patch = managed_fields::upgrade(object, managers).map_err(|error| {
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
    let is_about_quota = |text: &str| {
        text.contains("Operation cannot be fulfilled on resourcequotas")
            && text.contains("the object has been modified")
    };
    error.is_conflict() && error.status().is_some_and(|status| is_about_quota(&status.message))
}
