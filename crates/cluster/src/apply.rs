//! Carries plans out the way Helm does: server-side apply, client-side apply, replacing, deleting.
//!
//! Single requests are sent elsewhere; this adds what Helm makes of them: which conflicts are tried again, how fields
//! change owners, and the words in which failures are told. Many steps run at once, kind by kind.

mod batch;
mod client_side;
mod delete;
mod server_side;

use std::collections::BTreeSet;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use pintle_objects::{Object, ObjectId};
use pintle_plan::patch::MergeKeys;
use pintle_plan::{Action, Change, Method, Step};

pub use batch::{MAX_CONCURRENCY, run_concurrently, run_in_batches};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{FieldValidation, PatchType, PropagationPolicy, WriteParams, WrittenObject};

/// How often something is tried that others can get in the way of.
const MAX_ATTEMPTS: u32 = 5;
/// How long to wait before the next try.
const BACKOFF: Duration = Duration::from_millis(10);

/// How the steps of a plan are carried out.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// How objects are written.
    pub method: Method,
    /// Whether server-side apply takes fields that others own.
    pub force_conflicts: bool,
    /// Whether fields that our client-side apply owns are handed to server-side apply first.
    pub upgrade_field_manager: bool,
    /// What becomes of unknown fields; client-side apply leaves that to the server.
    pub validation: FieldValidation,
    /// Whether everything happens but the storing.
    pub dry_run: bool,
    /// What becomes of the objects that a deleted object owns.
    pub propagation: PropagationPolicy,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        ApplyOptions {
            method: Method::ServerSide,
            force_conflicts: false,
            upgrade_field_manager: false,
            validation: FieldValidation::Strict,
            dry_run: false,
            propagation: PropagationPolicy::Background,
        }
    }
}

impl ApplyOptions {
    /// How requests are made that tell the server about unknown fields.
    fn validated(&self) -> WriteParams {
        WriteParams { dry_run: self.dry_run, validation: self.validation, ..WriteParams::default() }
    }

    fn unvalidated(&self) -> WriteParams {
        WriteParams { dry_run: self.dry_run, ..WriteParams::default() }
    }
}

/// What a step came to.
#[derive(Clone, Debug)]
pub enum Applied {
    /// There was nothing to do.
    Unchanged,
    /// The object, as it is now.
    Written(WrittenObject),
    /// The object is on its way out.
    Deleted,
    /// The object to be deleted was gone already.
    NotFound,
}

impl Cluster {
    /// Carries out one step. The server sees the object that the step wants, in the namespace that it names.
    ///
    /// # Errors
    /// In Helm's words: what could not be done, and why.
    pub async fn execute(&self, step: &Step<'_>, apply_options: &ApplyOptions) -> Result<Applied> {
        if self.is_noop() {
            return Ok(Applied::Unchanged);
        }
        let update = matches!(step.action, Action::Update { .. } | Action::Adopt);
        let failed = |error: Error| error.during("failed to create patch");
        let keys = if update && apply_options.method.needs_merge_keys(&step.id) {
            Some(self.merge_keys(&step.id.api_version()).await.map_err(failed)?)
        } else {
            None
        };
        let none = MergeKeys::default();
        let change = Change::for_step(step, apply_options.method, keys.as_deref().unwrap_or(&none));
        let change = change.map_err(|error| failed(Error::Patch(Box::new(error))))?;
        match (change, step.desired) {
            (Change::Delete, _) => match self.delete_object(&step.id, apply_options.propagation).await? {
                true => Ok(Applied::Deleted),
                false => Ok(Applied::NotFound),
            },
            (Change::Unchanged, _) | (_, None) => Ok(Applied::Unchanged),
            (change, Some(object)) => {
                self.apply_change(step, change, object, apply_options).await.map(Applied::Written)
            }
        }
    }

    async fn apply_change(
        &self,
        step: &Step<'_>,
        change: Change,
        object: &Object,
        apply_options: &ApplyOptions,
    ) -> Result<WrittenObject> {
        match change {
            Change::Create => self.create_object(object, &apply_options.unvalidated()).await,
            Change::Replace => self.replace_object(object, step.live, &apply_options.validated()).await,
            Change::Strategic(patch) => {
                self.patch_object(&step.id, PatchType::Strategic, &patch, &apply_options.unvalidated()).await
            }
            Change::Merge(patch) => {
                self.patch_object(&step.id, PatchType::Merge, &patch, &apply_options.unvalidated()).await
            }
            Change::Apply | Change::Unchanged | Change::Delete => {
                if let (true, Some(live)) = (apply_options.upgrade_field_manager, step.live) {
                    self.upgrade_field_manager(live, &apply_options.validated()).await?;
                }
                self.apply_object(object, apply_options.force_conflicts, &apply_options.validated()).await
            }
        }
    }

    /// Carries out steps, those of one kind at once and kind by kind. Failures stop nothing. The results are in the
    /// order of the steps.
    pub fn execute_all<'a>(
        &'a self,
        steps: &'a [Step<'a>],
        apply_options: &'a ApplyOptions,
    ) -> BoxFuture<'a, Vec<Result<Applied>>> {
        let work = run_in_batches(
            steps,
            |step| &step.id.kind,
            move |step| self.execute(step, apply_options).boxed(),
        );
        async move {
            self.fetch_merge_keys(steps, apply_options.method).await;
            work.await
        }
        .boxed()
    }

    /// Fetches at once what the steps would otherwise fetch one after the other. Failures are told by the steps.
    async fn fetch_merge_keys(&self, steps: &[Step<'_>], method: Method) {
        let needed: BTreeSet<String> = steps
            .iter()
            .filter(|step| matches!(step.action, Action::Update { .. } | Action::Adopt))
            .filter(|step| method.needs_merge_keys(&step.id))
            .map(|step| step.id.api_version())
            .collect();
        let needed: Vec<String> = needed.into_iter().collect();
        run_concurrently(&needed, |api_version| self.merge_keys(api_version).map(drop).boxed()).await;
    }
}

/// Tries again while the failure is of the kind that goes away by itself.
async fn retry<T, A>(is_retryable: fn(&Error) -> bool, mut attempt: impl FnMut() -> A) -> Result<T>
where
    A: Future<Output = Result<T>>,
{
    let mut attempts = 1;
    loop {
        match attempt().await {
            Err(error) if attempts < MAX_ATTEMPTS && is_retryable(&error) => attempts += 1,
            other => return other,
        }
        tokio::time::sleep(BACKOFF).await;
    }
}

/// An object as Helm's errors name it.
fn describe(id: &ObjectId) -> String {
    format!("{}/{} {}/{}, Kind={}", id.namespace, id.name, id.group, id.version, id.kind)
}
