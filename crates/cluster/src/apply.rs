//! Executes plans as Helm does: server-side apply, client-side apply, replace, delete.
//!
//! The requests themselves are in `write`. This module adds Helm's semantics on top of them: which conflicts are
//! retried, how field ownership moves from client-side to server-side apply, and the wording of errors. The steps of
//! one kind run concurrently, and kinds run one after the other.

mod batch;
mod client_side;
mod delete;
mod server_side;

use std::collections::BTreeSet;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use pintle_objects::{Object, ObjectId};
use pintle_plan::managed_fields::Managers;
use pintle_plan::patch::MergeKeys;
use pintle_plan::{Action, Change, ConflictPolicy, Method, Step};

pub use batch::{MAX_CONCURRENCY, run_concurrently, run_in_batches};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::write::{FieldValidation, PatchType, PropagationPolicy, WriteParams, WrittenObject};

/// How often a request is sent that can conflict with other writers. As client-go's `retry.DefaultRetry`, which Helm
/// uses: five steps.
const MAX_ATTEMPTS: u32 = 5;
/// The delay between two attempts; also that of `retry.DefaultRetry`.
const BACKOFF: Duration = Duration::from_millis(10);

/// How the steps of a plan are executed.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// Server-side apply, client-side apply or replace.
    pub method: Method,
    /// What server-side apply does about fields that other managers own.
    pub conflicts: ConflictPolicy,
    /// Whether fields owned by our client-side apply are moved to server-side apply first, so that fields dropped
    /// from the manifest are removed.
    pub upgrade_field_manager: bool,
    /// The `fieldValidation` of requests. Client-side apply leaves it to the server's default, as Helm does.
    pub validation: FieldValidation,
    /// Whether requests are sent with `dryRun=All`.
    pub dry_run: bool,
    /// What happens to the dependents of a deleted object.
    pub propagation: PropagationPolicy,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        ApplyOptions {
            method: Method::ServerSide,
            conflicts: ConflictPolicy::Fail,
            upgrade_field_manager: false,
            validation: FieldValidation::Strict,
            dry_run: false,
            propagation: PropagationPolicy::Background,
        }
    }
}

impl ApplyOptions {
    /// The parameters of requests that ask for field validation.
    fn validated(&self) -> WriteParams {
        WriteParams { dry_run: self.dry_run, validation: self.validation, ..WriteParams::default() }
    }

    fn unvalidated(&self) -> WriteParams {
        WriteParams { dry_run: self.dry_run, ..WriteParams::default() }
    }
}

/// The result of a step.
#[derive(Clone, Debug)]
pub enum Applied {
    /// No request was needed.
    Unchanged,
    /// The object as the server returned it.
    Written(WrittenObject),
    /// The server accepted the deletion; finalizers may still keep the object.
    Deleted,
    /// The object to delete did not exist.
    NotFound,
}

impl Cluster {
    /// Executes one step. The desired object must already have its namespace set.
    ///
    /// # Errors
    /// Helm's message: what could not be done, and why.
    pub async fn execute(&self, step: &Step<'_>, apply_options: &ApplyOptions) -> Result<Applied> {
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
            // What a deletion does is known without a request: the object exists or not.
            (Change::Delete, _) if apply_options.dry_run => match step.live {
                Some(_) => Ok(Applied::Deleted),
                None => Ok(Applied::NotFound),
            },
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
                // Skipped in a dry run: it would not affect the dry run of the apply, which resolves these conflicts.
                if let (true, false, Some(live)) =
                    (apply_options.upgrade_field_manager, apply_options.dry_run, step.live)
                {
                    let params = apply_options.validated();
                    self.upgrade_field_manager(live, Managers::Current, &params).await?;
                }
                self.apply_resolving(object, step.live, apply_options).await
            }
        }
    }

    /// Executes steps, concurrently within a kind and one kind after the other. A failed step does not stop the
    /// others. The results are in the order of the steps.
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

    /// Fetches the merge keys of all steps up front, which saves a round trip per group. Errors are ignored here; the
    /// step that needs the keys reports them.
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

/// Retries while `is_retryable` holds, up to [`MAX_ATTEMPTS`].
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

/// An object as Helm's errors name it: `namespace/name group/version, Kind=kind`.
fn describe(id: &ObjectId) -> String {
    format!("{}/{} {}/{}, Kind={}", id.namespace, id.name, id.group, id.version, id.kind)
}
