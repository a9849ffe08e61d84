//! `approval: Manual`: the rendered objects and what would happen to live ones are frozen as a plan, and nothing but that plan
//! is executed once its digest is approved.
//!
//! The objects are kept in a Secret, because they may hold secrets and random values that no second rendering would give
//! again. Whoever may write Secrets may edit it, so the objects are compared with the approved digest each time before they are
//! deployed. Before the first try, the plan is computed again on the live state, too; if that has changed what would happen, the
//! digest differs and the new plan waits.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use pintle::Session;
use pintle::cluster::{Cluster, WriteParams};
use pintle::objects::{Object, ObjectId};
use pintle::ops::{self, PlanRequest, PlannedAction, PlannedObject, ReleasePlan};
use pintle::release::Summary;
use pintle_tree::{Map, Node};
use sha2::{Digest as _, Sha256};

use super::actions::is_over_limits;
use super::{Desired, Reconciliation};
use crate::FIELD_MANAGER;
use crate::error::{Error, Result};
use crate::post_render::Capture;
use crate::report::Collected;
use crate::request::{APPROVE_ANNOTATION, ArchiveKind, HelmRequest, hex};
use crate::state::Action;
use crate::values;

/// How many objects the status lists.
const MAX_OBJECTS: usize = 100;
/// How many fields of an object the status lists.
const MAX_FIELDS: usize = 10;
/// The largest plan that fits into a Secret, compressed.
const MAX_COMPRESSED: usize = 700 << 10;
/// The largest plan, uncompressed.
const MAX_PLAN: u64 = 64 << 20;
/// The annotation of the Secret with the digest of chart and values that it was rendered from.
const CONFIG_ANNOTATION: &str = "helm.sh/request-digest";
const KEY: &str = "objects.yaml.gz";
/// The length of each part of a plan's digest; 160 bits.
const DIGEST_DIGITS: usize = 40;

impl Reconciliation<'_> {
    /// Returns the objects of the plan if it is approved. Otherwise the status says what waits for an approval.
    pub(super) async fn approved(
        &mut self,
        local: &Cluster,
        session: &Session,
        action: Action,
        desired: &Desired,
        history: &[Summary],
    ) -> Result<Option<Vec<u8>>> {
        let saved = load(local, &self.request, &desired.digest).await?;
        let approval = self.request.annotation(APPROVE_ANNOTATION);
        let was_tried = self.status.last_attempted_digest == desired.digest;
        // What was approved and tried before is tried again. A try that failed has changed live objects, so that what would
        // happen to them is not compared, but the objects of the plan are: anyone may have edited the Secret since then.
        if let Some(objects) = saved.as_ref().filter(|_| was_tried)
            && approval
                .split_once('-')
                .is_some_and(|(approved, _)| approved == objects_digest(&desired.digest, objects))
        {
            self.clear_plan();
            return Ok(saved);
        }
        let (objects, plan) = self.plan(session, action, desired, history, saved.clone()).await?;
        let digest = digest(&plan, &desired.digest, &objects);
        if saved.is_some() && approval == digest {
            self.clear_plan();
            return Ok(Some(objects));
        }
        if saved.is_none() {
            save(local, &self.request, &desired.digest, &objects).await?;
        }
        self.status.plan_summary = self.summary(action, desired, history, &plan);
        self.status.plan_objects = plan.objects.iter().filter_map(describe).take(MAX_OBJECTS).collect();
        let summary = &self.status.plan_summary;
        let text = format!("{summary}; to approve it, set the annotation {APPROVE_ANNOTATION}: {digest}");
        self.status.plan_digest = digest;
        self.failure = Some(("AwaitingApproval", text));
        Ok(None)
    }

    fn clear_plan(&mut self) {
        self.status.plan_digest.clear();
        self.status.plan_summary.clear();
        self.status.plan_objects.clear();
    }

    /// What would happen with the frozen objects, or with what the chart renders now.
    async fn plan(
        &self,
        session: &Session,
        action: Action,
        desired: &Desired,
        history: &[Summary],
        frozen: Option<Vec<u8>>,
    ) -> Result<(Vec<u8>, ReleasePlan)> {
        let capture = Arc::new(Capture::default());
        let chart = desired.chart.clone();
        let (values, digest) = (desired.values.clone(), desired.digest.clone());
        let desired = Desired { chart, values, digest, frozen };
        let mut log = Collected::default();
        let request = match action {
            Action::Install => {
                let mut request = self.install_request(&desired, history)?;
                request.render.post_render.renderers.push(Arc::clone(&capture) as _);
                PlanRequest::Install(Box::new(request))
            }
            _ => {
                let mut request = self.upgrade_request(&desired, history)?;
                request.target.render.post_render.renderers.push(Arc::clone(&capture) as _);
                PlanRequest::Upgrade(Box::new(request))
            }
        };
        let planned = Box::pin(ops::plan(session, &request, &mut log)).await;
        let planned = planned.map_err(|error| {
            let can_grow = self.reconciler.memory.after(self.limits.0).is_some();
            match is_over_limits(&error) && can_grow {
                true => self.out_of_memory(),
                false => Error::Plan(format!("{} cannot be planned: {error}", action.as_str())),
            }
        })?;
        Ok((capture.taken(), planned.plan))
    }

    fn summary(&self, action: Action, desired: &Desired, history: &[Summary], plan: &ReleasePlan) -> String {
        let metadata = &desired.chart.chart.metadata;
        let from = match history.last() {
            Some(last) => format!(" from {}-{}", last.chart_name, last.chart_version),
            None => String::new(),
        };
        let count = |wanted: &[PlannedAction]| {
            plan.objects.iter().filter(|object| wanted.contains(&object.action)).count()
        };
        let mut text = format!(
            "{} {}{from} to {}-{}: {} to create, {} to change, {} to delete, {} hooks",
            action.as_str(),
            self.request.release_name(),
            metadata.name,
            metadata.version,
            count(&[PlannedAction::Create]),
            count(&[PlannedAction::Update, PlannedAction::Adopt, PlannedAction::Recreate]),
            count(&[PlannedAction::Delete]),
            plan.hooks.len()
        );
        if let Some(object) = plan.problems().next() {
            let problem = object.problem.as_deref().unwrap_or_default();
            text.push_str(&format!("; {} would fail: {problem}", name(&object.id)));
        }
        if let Some(deferred) = &plan.deferred {
            text.push_str(&format!("; {deferred}"));
        }
        text
    }
}

/// The digest of a plan, in two parts: the objects with what they were made from, and what would happen to which field. The values
/// of fields are part of the objects.
fn digest(plan: &ReleasePlan, config: &str, objects: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(plan.operation.name().as_bytes());
    hash.update(plan.from.unwrap_or_default().to_be_bytes());
    for object in &plan.objects {
        hash.update(format!("{} {}\n", object.action.name(), name(&object.id)).as_bytes());
        for change in &object.changes {
            hash.update(format!("  {}\n", change.path).as_bytes());
        }
    }
    format!("{}-{}", objects_digest(config, objects), &hex(&hash.finalize())[..DIGEST_DIGITS])
}

/// The digest of the objects of a plan and of the chart and values that they were rendered from.
fn objects_digest(config: &str, objects: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(config.as_bytes());
    hash.update(b"\n");
    hash.update(objects);
    hex(&hash.finalize())[..DIGEST_DIGITS].to_owned()
}

fn name(id: &ObjectId) -> String {
    match id.namespace.as_str() {
        "" => format!("{}/{}", id.kind, id.name),
        namespace => format!("{}/{namespace}/{}", id.kind, id.name),
    }
}

/// A line of the status; `None` for an object that does not change.
fn describe(object: &PlannedObject) -> Option<String> {
    if !object.action.is_change() {
        return None;
    }
    let mut fields: Vec<&str> = object.changes.iter().map(|change| change.path.as_str()).collect();
    if fields.len() > MAX_FIELDS {
        fields.truncate(MAX_FIELDS);
        fields.push("…");
    }
    let line = format!("{} {}", object.action.name(), name(&object.id));
    Some(if fields.is_empty() { line } else { format!("{line}: {}", fields.join(", ")) })
}

fn secret_id(request: &HelmRequest) -> ObjectId {
    ObjectId::new("v1", "Secret", request.namespace(), &format!("sh.helm.plan.{}", request.name()))
}

/// The objects of the plan for this configuration, if there is one.
async fn load(cluster: &Cluster, request: &HelmRequest, config: &str) -> Result<Option<Vec<u8>>> {
    let id = secret_id(request);
    let failed = |text: String| Error::Plan(format!("Secret {}, which holds the plan: {text}", id.name));
    let found = cluster.get_by_name(&values::resource(ArchiveKind::Secret), &id.namespace, &id.name).await;
    let Some(secret) = found.map_err(|error| failed(error.to_string()))? else { return Ok(None) };
    let owner = secret.at(&["metadata", "ownerReferences"]).and_then(Node::as_list).unwrap_or_default();
    let is_ours = owner.iter().any(|owner| owner.get("uid").and_then(Node::as_str) == Some(request.uid()));
    if !is_ours || secret.annotation(CONFIG_ANNOTATION) != Some(config) {
        return Ok(None);
    }
    let Some(bytes) = values::data(&secret, ArchiveKind::Secret, KEY)? else { return Ok(None) };
    let mut objects = Vec::new();
    let read = GzDecoder::new(&bytes[..]).take(MAX_PLAN + 1).read_to_end(&mut objects);
    read.map_err(|error| failed(error.to_string()))?;
    check_size(&objects).map_err(failed)?;
    Ok(Some(objects))
}

/// Refuses a plan that would not be read back whole.
fn check_size(objects: &[u8]) -> std::result::Result<(), String> {
    match objects.len() as u64 > MAX_PLAN {
        true => Err(format!("the plan has more than {} MiB; use approval: Automatic", MAX_PLAN >> 20)),
        false => Ok(()),
    }
}

async fn save(cluster: &Cluster, request: &HelmRequest, config: &str, objects: &[u8]) -> Result<()> {
    let id = secret_id(request);
    let failed = |text: String| Error::Plan(format!("Secret {}, which holds the plan: {text}", id.name));
    check_size(objects).map_err(failed)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(objects).and_then(|()| encoder.finish());
    let compressed = compressed.map_err(|error| failed(error.to_string()))?;
    if compressed.len() > MAX_COMPRESSED {
        return Err(failed(format!(
            "the plan has {} bytes, and {MAX_COMPRESSED} fit; use approval: Automatic",
            compressed.len()
        )));
    }
    let map = |entries: Vec<(&str, Node)>| {
        Node::Map(Map::from_entries(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    };
    let mut secret = Object::from_id(&id);
    secret.set_annotation(CONFIG_ANNOTATION, config);
    let owner = map(vec![
        ("apiVersion", "helm.sh/v3".into()),
        ("kind", "HelmRequest".into()),
        ("name", request.name().into()),
        ("uid", request.uid().into()),
    ]);
    secret.metadata_mut().insert("ownerReferences".into(), Node::List(vec![owner]));
    secret.body_mut().insert("type".into(), "helm.sh/plan".into());
    let data = map(vec![(KEY, STANDARD.encode(compressed).into())]);
    secret.body_mut().insert("data".into(), data);
    let params = WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::default() };
    cluster.apply(&secret, true, &params).await.map_err(|error| failed(error.to_string()))?;
    Ok(())
}
