//! `drift`: how the live objects of a release differ from what was recorded, who changed them, and how to undo that.
//!
//! What the release recorded is applied as a dry run that takes over all fields. What that would change has drifted, so
//! defaults and other spellings of the same value are not reported.

use futures::FutureExt as _;
use pintle_cluster::FieldValidation;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_diff::redacted_pair;
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::diff::{differences, equate_nulls, pointer};
use pintle_plan::field_owners::managers;
use pintle_plan::managed_fields::is_our_manager;
use pintle_plan::{self as planner, Action, ConflictPolicy, MergeBase, Step};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::diff::tidied;
use crate::deploy::{AdoptionPolicy, PlanOptions, ThreeWayState};
use crate::lifecycle::record_metadata;
use crate::options::{CrdPolicy, Method};
use crate::records::{Records, newest_deployed};
use crate::{Error, ObjectSelector, Result, Session, crds};

/// Which release to compare, and what to do about differences.
#[derive(Clone, Debug, Default)]
pub struct DriftRequest {
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// What others may change.
    pub ignore: Vec<DriftIgnoreRule>,
    /// Whether changes are undone. The release gets no new version.
    pub correct: bool,
}

/// Fields that others may change.
#[derive(Clone, Debug, Default)]
pub struct DriftIgnoreRule {
    /// JSON pointers; an empty one is the whole object.
    pub paths: Vec<String>,
    /// Which objects.
    pub target: ObjectSelector,
}

/// The label or annotation by which an object opts out, with the value `disabled`.
pub const DRIFT_DETECTION: &str = "helm.sh/drift-detection";

/// How the objects of a release have drifted.
#[derive(Clone, Debug)]
pub struct ReleaseDrift {
    /// The version that was compared.
    pub version: ReleaseVersion,
    /// The objects that have drifted, in the order of the manifest.
    pub objects: Vec<DriftedObject>,
    /// How many objects were compared.
    pub compared: usize,
}

/// An object that differs from what was recorded.
#[derive(Clone, Debug)]
pub struct DriftedObject {
    /// The object.
    pub id: ObjectId,
    /// Whether it does not exist any more.
    pub is_missing: bool,
    /// The fields that differ.
    pub fields: Vec<DriftedField>,
    /// Why it could not be compared or corrected.
    pub problem: Option<String>,
    /// Whether the changes were undone.
    pub is_corrected: bool,
}

impl DriftedObject {
    /// An object that could not be compared.
    fn unknown(id: ObjectId, error: &pintle_cluster::Error) -> Self {
        let problem = Some(error.to_string());
        DriftedObject { id, is_missing: false, fields: Vec::new(), problem, is_corrected: false }
    }

    /// Whether it is unknown if the object has drifted, because comparing it failed; the problem says why.
    pub fn is_unchecked(&self) -> bool {
        self.problem.is_some() && self.fields.is_empty() && !self.is_missing
    }

    /// The managers that own the fields that differ, without Helm's and ours.
    pub fn managers(&self) -> Vec<String> {
        let mut names: Vec<String> = self.fields.iter().flat_map(|field| field.managers.clone()).collect();
        names.retain(|name| !is_our_manager(name));
        names.sort();
        names.dedup();
        names
    }
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftedField {
    /// The path.
    pub path: String,
    /// The recorded value.
    pub recorded: Option<Node>,
    /// The live value.
    pub live: Option<Node>,
    /// The field managers that own it now.
    pub managers: Vec<String>,
}

impl DriftedField {
    /// The path as a JSON pointer.
    pub fn pointer(&self) -> String {
        pointer(&self.path)
    }
}

/// Compares the live objects of a release with the version that was deployed last, and undoes changes if the request
/// says so.
///
/// # Errors
/// When there is no deployed version, its objects cannot be read, or, for a correction, another client is working on the
/// release.
pub async fn drift(session: &Session, request: &DriftRequest) -> Result<ReleaseDrift> {
    let (records, mut history) =
        Records::find_with_history(session, &request.namespace, &request.name).await?;
    if history.is_empty() {
        return Err(records.missing().await);
    }
    let deployed = newest_deployed(&history);
    let deployed = deployed.ok_or_else(|| Error::NoDeployedReleases { name: request.name.clone() })?;
    let version = records.load(deployed.number).await?;
    let comparing = compare(session, request, &records, version);
    let Some(last) = history.last_mut().filter(|_| request.correct) else { return comparing.await };
    // What another client is about to change must not be corrected, and while it is corrected nobody may deploy.
    records.ensure_unlocked(last).await?;
    records.while_leased(last, comparing).await
}

async fn compare(
    session: &Session,
    request: &DriftRequest,
    records: &Records<'_>,
    version: ReleaseVersion,
) -> Result<ReleaseDrift> {
    let method = Method::from_record(&version.apply_method);
    let options = PlanOptions {
        method,
        // Someone may have removed the labels of ownership; that is drift to report, not a reason to refuse.
        adoption: AdoptionPolicy::Unchecked,
        validation: Validation::Ignore,
        ordered: false,
    };
    let mut state = ThreeWayState::load(session, &version, Some(&version), options).await?;
    state.complete(session).await?;
    state.set_owner(records.store().as_ref()).await?;
    let plan = state.plan().map_err(|cause| Error::CannotContinue { operation: "drift", cause })?;
    let comparison = Comparison { session, request, method };
    let found = run_concurrently(&plan.steps, |step| comparison.object(step).boxed()).await;
    let definitions = definitions(session, &version).await?;
    let found_crds = run_concurrently(&definitions, |crd| comparison.definition(crd).boxed()).await;
    // Definitions that the user may not read were not compared.
    let found_crds: Vec<Option<DriftedObject>> = found_crds.into_iter().flatten().collect();
    let compared = plan.steps.len() + found_crds.len();
    let objects = found_crds.into_iter().chain(found).flatten().collect();
    Ok(ReleaseDrift { version, objects, compared })
}

/// The CRDs of the chart's `crds/` folders.
async fn definitions(session: &Session, version: &ReleaseVersion) -> Result<Vec<Object>> {
    let chart = record_metadata::chart(&version.chart);
    if chart.crds().is_empty() {
        return Ok(Vec::new());
    }
    let steps = crds::steps(session, &chart, &version.namespace, CrdPolicy::Helm).await?;
    Ok(steps.into_iter().map(|step| step.object).collect())
}

struct Comparison<'a> {
    session: &'a Session,
    request: &'a DriftRequest,
    method: Method,
}

impl Comparison<'_> {
    async fn object(&self, step: &Step<'_>) -> Option<DriftedObject> {
        let desired = step.desired?;
        let rules = self.request.ignore.iter().filter(|rule| rule.target.matches(desired));
        let mut ignored: Vec<&str> = rules.flat_map(|rule| &rule.paths).map(String::as_str).collect();
        if ignored.contains(&"") || opts_out(desired) || step.live.is_some_and(opts_out) {
            return None;
        }
        if step.live.is_some_and(is_scaled_by_controller) {
            ignored.push(REPLICAS);
        }
        let mut wanted = desired.clone();
        if let Some(live) = step.live {
            for pointer in &ignored {
                // What others may change is applied as they left it.
                keep_live(wanted.body_mut(), live.body(), pointer);
            }
        }
        let step = Step { desired: Some(&wanted), ..step.clone() };
        let mut drifted = self.compare(&step).await?;
        // `keep_live` cannot copy a field whose parents are missing in one of the objects; such differences are
        // dropped here.
        drifted.fields.retain(|field| !ignored.iter().any(|pointer| is_below(&field.pointer(), pointer)));
        if drifted.fields.is_empty() && !drifted.is_missing && drifted.problem.is_none() {
            return None;
        }
        self.correct(&step, &mut drifted).await;
        Some(drifted)
    }

    /// A CRD of `crds/`. An upgrade does not change it, so that it may be of an earlier chart: only what other managers
    /// changed has drifted. `None` if it cannot be compared, `Some(None)` if it has not drifted.
    async fn definition(&self, definition: &Object) -> Option<Option<DriftedObject>> {
        let live = match self.session.cluster.get(&definition.id()).await {
            Ok(live) => live,
            // Users with access to a single namespace can still compare the rest of the release.
            Err(error) if error.is_forbidden() => return None,
            Err(error) => return Some(Some(DriftedObject::unknown(definition.id(), &error))),
        };
        let action = match live {
            Some(_) => Action::Update { base: MergeBase::Live },
            None => Action::Create,
        };
        let step = Step {
            id: definition.id(),
            action,
            desired: Some(definition),
            previous: None,
            live: live.as_ref(),
        };
        // CRDs of `crds/` have no previous manifest, without which client-side apply cannot tell what was removed.
        let by_server = Comparison { method: Method::ServerSide, ..*self };
        let Some(mut drifted) = by_server.compare(&step).await else { return Some(None) };
        let by_others = |field: &DriftedField| {
            !field.managers.is_empty() && !field.managers.iter().any(|name| is_our_manager(name))
        };
        drifted.fields.retain(by_others);
        if drifted.fields.is_empty() && !drifted.is_missing && drifted.problem.is_none() {
            return Some(None);
        }
        by_server.correct(&step, &mut drifted).await;
        Some(Some(drifted))
    }

    async fn compare(&self, step: &Step<'_>) -> Option<DriftedObject> {
        let drifted = |is_missing, fields| {
            let id = step.id.clone();
            Some(DriftedObject { id, is_missing, fields, problem: None, is_corrected: false })
        };
        let (Some(live), true) = (step.live, step.action != Action::Create) else {
            return drifted(true, Vec::new());
        };
        let restored = match self.session.cluster.execute(step, &self.options(true)).await {
            Ok(Applied::Written(written)) => written.object(),
            Ok(_) => return None,
            Err(error) => return Some(DriftedObject::unknown(step.id.clone(), &error)),
        };
        match restored {
            Ok(restored) => {
                let fields = fields(live, &restored);
                if fields.is_empty() { None } else { drifted(false, fields) }
            }
            Err(error) => Some(DriftedObject::unknown(step.id.clone(), &error)),
        }
    }

    /// Restores an object, if the request says so.
    async fn correct(&self, step: &Step<'_>, drifted: &mut DriftedObject) {
        if !self.request.correct || drifted.problem.is_some() {
            return;
        }
        match self.session.cluster.execute(step, &self.options(false)).await {
            Ok(_) => drifted.is_corrected = true,
            Err(error) => drifted.problem = Some(error.to_string()),
        }
    }

    fn options(&self, dry_run: bool) -> ApplyOptions {
        ApplyOptions {
            method: match self.method {
                Method::ServerSide => planner::Method::ServerSide,
                Method::ClientSide => planner::Method::ClientSide { custom_three_way: true },
            },
            // Whoever changed a field owns it now, so without taking it over every drift would be a conflict.
            conflicts: ConflictPolicy::Take,
            validation: FieldValidation::Ignore,
            dry_run,
            ..ApplyOptions::default()
        }
    }
}

/// The fields that restoring an object would change.
fn fields(live: &Object, restored: &Object) -> Vec<DriftedField> {
    let (mut before, mut after) = (tidied(live), tidied(restored));
    equate_nulls(before.body_mut(), after.body_mut());
    let yaml = |object: &Object| pintle_yaml::write(object.body()).ok();
    let (before, after) = redacted_pair(live.kind(), yaml(&before), yaml(&after));
    let read = |text: Option<Vec<u8>>| pintle_yaml::read_map(&text.unwrap_or_default()).unwrap_or_default();
    let (before, after) = (read(before), read(after));
    differences(&before, &after)
        .into_iter()
        .map(|difference| DriftedField {
            managers: managers(live, &difference.path),
            recorded: difference.after.cloned(),
            live: difference.before.cloned(),
            path: difference.path,
        })
        .collect()
}

fn is_below(field: &str, pointer: &str) -> bool {
    field.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn opts_out(object: &Object) -> bool {
    let is_disabled = |value: Option<&str>| value == Some("disabled");
    is_disabled(object.annotation(DRIFT_DETECTION)) || is_disabled(object.label(DRIFT_DETECTION))
}

/// The field that autoscalers change.
const REPLICAS: &str = "/spec/replicas";

/// Whether a HorizontalPodAutoscaler sets the number of replicas: its controller does that through the subresource `scale`.
/// Undoing that would be an endless fight with the controller.
fn is_scaled_by_controller(live: &Object) -> bool {
    let entries = live.at(&["metadata", "managedFields"]).and_then(Node::as_list).unwrap_or_default();
    let text = |entry: &Node, key: &str| entry.get(key).and_then(Node::as_str).map(str::to_owned);
    entries.iter().any(|entry| {
        text(entry, "subresource").as_deref() == Some("scale")
            && text(entry, "manager").as_deref() == Some("kube-controller-manager")
    })
}

/// Copies the live value at a JSON pointer. Does nothing if a parent is missing in either object.
fn keep_live(wanted: &mut Map<Node>, live: &Map<Node>, pointer: &str) {
    let Some(path) = pointer.strip_prefix('/') else { return };
    // In this order (RFC 6901): otherwise `~01`, which is `~1`, would become a slash.
    let keys: Vec<String> = path.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let Some((last, parents)) = keys.split_last() else { return };
    let (mut wanted, mut live) = (wanted, live);
    let mut rest = parents.iter();
    while let Some(key) = rest.next() {
        (wanted, live) = match (wanted.get_mut(key), live.get(key)) {
            (Some(Node::Map(wanted)), Some(Node::Map(live))) => (wanted, live),
            (Some(Node::List(wanted)), Some(Node::List(live))) => {
                // The next key is an index; no Kubernetes object has lists of lists.
                let index = rest.next().and_then(|key| key.parse::<usize>().ok());
                match index.and_then(|index| Some((wanted.get_mut(index)?, live.get(index)?))) {
                    Some((Node::Map(wanted), Node::Map(live))) => (wanted, live),
                    _ => return,
                }
            }
            _ => return,
        };
    }
    match live.get(last) {
        Some(value) => drop(wanted.insert(last.as_str().into(), value.clone())),
        None => drop(wanted.remove(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map<Node> {
        pintle_yaml::read_values(text.as_bytes()).expect("valid")
    }

    #[test]
    fn replicas_of_an_autoscaler_are_recognised_by_their_manager() {
        let scaled = |manager: &str| {
            let text = format!(
                "{{metadata: {{managedFields: [{{manager: helm}}, {{manager: {manager}, subresource: scale}}]}}}}"
            );
            is_scaled_by_controller(&Object::new(map(&text)))
        };
        assert!(scaled("kube-controller-manager"));
        assert!(!scaled("kubectl"), "a person who scales by hand has drifted");
    }

    #[test]
    fn an_ignored_field_is_applied_as_it_is() {
        let (live, mut wanted) =
            (map("{spec: {replicas: 3, paused: true}}"), map("{spec: {replicas: 1, size: 2}}"));
        keep_live(&mut wanted, &live, "/spec/replicas");
        keep_live(&mut wanted, &live, "/spec/size");
        assert_eq!(wanted, map("{spec: {replicas: 3}}"));
        let (live, mut wanted) = (map("{spec: {list: [{a: 3}]}}"), map("{spec: {list: [{a: 1, b: 2}]}}"));
        keep_live(&mut wanted, &live, "/spec/list/0/a");
        keep_live(&mut wanted, &live, "/spec/list/1/a");
        assert_eq!(wanted, map("{spec: {list: [{a: 3, b: 2}]}}"));
        assert!(is_below("/spec/replicas", "/spec") && !is_below("/specs", "/spec"));
    }
}
