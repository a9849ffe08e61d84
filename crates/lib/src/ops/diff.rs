//! `diff upgrade`: the recorded and the rendered manifest of a release, to be compared.

use futures::FutureExt as _;
use pintle_cluster::apply::{Applied, ApplyOptions, run_concurrently};
use pintle_cluster::{Detail, FieldValidation};
use pintle_objects::{Object, ObjectId, Validation};
use pintle_plan::{Action, MergeBase, Method as PlanMethod, Step, ownership};
use pintle_release::ReleaseVersion;
use pintle_tree::{LogLine, Node};
use pintle_values::ValuesLayer;

use super::get::newest_without_files;
use super::locate::LoadingChart;
use super::template::{Purpose, TemplateRequest, Templated, template_offline};
use super::template_on_cluster::template_loaded;
use super::{InstallRequest, UpgradeRequest, ValuesPolicy, upgrade};
use crate::deploy::build_objects;
use crate::options::{DryRun, RenderOptions};
use crate::prepare::push_document;
use crate::{Error, OfflineSession, Reporter, Result, Session};

/// What to compare a release with.
#[derive(Clone, Debug, Default)]
pub struct DiffUpgradeRequest {
    /// The chart and how it is rendered.
    pub target: TemplateRequest,
    /// Which values of the release are reused.
    pub values: ReusedValues,
    /// Compares a release that does not exist with nothing, instead of failing.
    pub allow_unreleased: bool,
    /// How the chart is rendered.
    pub rendering: DiffRendering,
    /// Shows everything as added, whether or not the release exists. Its record is not read for the comparison.
    pub as_new: bool,
    /// Compares with the live objects, merged as client-side apply would merge them.
    pub three_way: bool,
    /// Reports existing objects of other releases as taken over; implies `three_way`.
    pub take_ownership: bool,
}

/// Which values of the release are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReusedValues {
    /// All, defaults of the chart included, unless values are set.
    #[default]
    AllIfNoneGiven,
    /// All, defaults of the chart included.
    All,
    /// Those that the user set.
    User,
    /// None.
    None,
}

/// How the chart is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffRendering {
    /// As `template --dry-run=server`: with the capabilities of the cluster and validated by it.
    #[default]
    Cluster,
    /// As `template`: without asking the cluster.
    Offline,
    /// As `upgrade --dry-run=server`.
    UpgradeDryRun,
}

/// The two manifests.
#[derive(Clone, Debug, Default)]
pub struct DiffedManifests {
    /// What is recorded, or live.
    pub old: Vec<u8>,
    /// What the upgrade would record, or write.
    pub new: Vec<u8>,
    /// Existing objects that other releases own, or none.
    pub taken_over: Vec<TakenOver>,
}

/// An object that is taken over.
#[derive(Clone, Debug)]
pub struct TakenOver {
    /// The live object as YAML, without status and volatile metadata.
    pub live: Vec<u8>,
    /// `NAMESPACE/NAME` of the release that owns it, or what is known of that.
    pub owner: String,
    /// `NAMESPACE/NAME` of the release that takes it over.
    pub new_owner: String,
}

/// Why two manifests cannot be compared: what was done, and its error.
#[derive(Debug)]
pub enum DiffError {
    /// The record of the release cannot be read.
    Record(Error),
    /// The chart cannot be rendered.
    Render(Error),
    /// The live objects cannot be read or merged.
    Merge(Error),
}

/// Returns the manifests that `diff upgrade` compares.
///
/// # Errors
/// When the release does not exist and that is not allowed, or the chart cannot be rendered.
pub async fn diff_upgrade(
    session: &Session,
    offline: &OfflineSession,
    request: &DiffUpgradeRequest,
    reporter: &mut dyn Reporter,
) -> Result<DiffedManifests, DiffError> {
    let target = request.target.fetched(reporter).await.map_err(DiffError::Render)?;
    let request = &DiffUpgradeRequest { target: target.into_owned(), ..request.clone() };
    let (chart, version) = load(session, request).await.map_err(DiffError::Record)?;
    let target = with_reused_values(request, version.as_ref(), reporter).map_err(DiffError::Record)?;
    let is_new = version.is_none();
    let merges = request.three_way || request.take_ownership;
    // Only these texts of the record are compared; the rest is dropped before the new chart is rendered, to save memory.
    let old = version.map(|mut version| {
        let hooks = if merges || target.no_hooks { Vec::new() } else { hooks_text(&version) };
        let mut text = std::mem::take(&mut version.manifest).into_bytes();
        text.reserve_exact(hooks.len() + 1);
        text.push(b'\n');
        text.extend(hooks);
        text
    });
    let new = render(session, offline, request, &target, chart, reporter).await.map_err(DiffError::Render)?;
    let mut manifests = DiffedManifests { old: old.unwrap_or_default(), new, ..DiffedManifests::default() };
    if merges {
        let merged = merged_manifests(session, &target.namespace, &manifests.old, &manifests.new).await;
        (manifests.old, manifests.new) = merged.map_err(DiffError::Merge)?;
    }
    // Also after a merge with live objects: all of a release that does not exist is shown as added.
    if is_new {
        manifests.old.clear();
    }
    if request.take_ownership {
        let taken_over = taken_over(session, &target, &manifests.new).await;
        manifests.taken_over = taken_over.map_err(DiffError::Merge)?;
    }
    Ok(manifests)
}

/// Renders a chart without a cluster, for a comparison with nothing: as the upgrade would, with the handlers that it calls
/// before objects are applied.
///
/// # Errors
/// When the chart cannot be rendered.
pub async fn render_for_diff(
    session: &OfflineSession,
    target: &TemplateRequest,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    let target = &*target.fetched(reporter).await?;
    template_offline(session, target, Purpose::Diff, reporter)
}

/// Reads the record, and at the same time what rendering needs: the chart, and the kinds of the cluster, which the session
/// caches.
async fn load(
    session: &Session,
    request: &DiffUpgradeRequest,
) -> Result<(LoadingChart, Option<ReleaseVersion>)> {
    let target = &request.target;
    let chart = match request.rendering {
        DiffRendering::Cluster => LoadingChart::begin(&target.chart),
        DiffRendering::Offline | DiffRendering::UpgradeDryRun => LoadingChart::later(),
    };
    let discovery = async {
        if request.rendering == DiffRendering::Cluster {
            // Only fills the cache: whoever needs the capabilities asks again, and reports the error.
            let _ = session.cluster.capabilities().await;
        }
    };
    if request.as_new {
        return Ok((chart, None));
    }
    let record = newest_without_files(session, &target.namespace, &target.name);
    match futures::join!(record, discovery).0 {
        Ok(version) => Ok((chart, Some(version))),
        Err(Error::NoSuchRelease { .. }) if request.allow_unreleased => Ok((chart, None)),
        Err(error) => Err(error),
    }
}

/// The hooks of a version, as `get hooks` prints them.
fn hooks_text(version: &ReleaseVersion) -> Vec<u8> {
    let mut text = Vec::new();
    for hook in &version.hooks {
        push_document(&mut text, &hook.path, hook.manifest.as_bytes());
    }
    text
}

/// Puts the values of the release before the user's.
fn with_reused_values(
    request: &DiffUpgradeRequest,
    version: Option<&ReleaseVersion>,
    reporter: &mut dyn Reporter,
) -> Result<TemplateRequest> {
    let mut target = request.target.clone();
    target.is_upgrade = version.is_some();
    let Some(version) = version else { return Ok(target) };
    let reused = match request.values {
        ReusedValues::None => return Ok(target),
        ReusedValues::AllIfNoneGiven if !target.values.is_empty() => return Ok(target),
        ReusedValues::User => version.config.clone().unwrap_or_default(),
        ReusedValues::All | ReusedValues::AllIfNoneGiven => {
            let mut log: Vec<LogLine> = Vec::new();
            let values = super::computed_values(version, &mut log)?;
            log.into_iter().for_each(|line| reporter.log(line));
            values
        }
    };
    target.values.insert(0, ValuesLayer::Tree(reused));
    Ok(target)
}

async fn render(
    session: &Session,
    offline: &OfflineSession,
    request: &DiffUpgradeRequest,
    target: &TemplateRequest,
    chart: LoadingChart,
    reporter: &mut dyn Reporter,
) -> Result<Vec<u8>> {
    match request.rendering {
        DiffRendering::Cluster => {
            let loaded = chart.with_values(&target.chart, &target.values, reporter).await?;
            Ok(template_loaded(session, target, loaded, Purpose::Diff, reporter).await?.text)
        }
        DiffRendering::Offline => Ok(template_offline(offline, target, Purpose::Diff, reporter)?.text),
        DiffRendering::UpgradeDryRun => {
            let target = InstallRequest {
                chart: target.chart.clone(),
                name: target.name.clone(),
                namespace: target.namespace.clone(),
                values: target.values.clone(),
                take_ownership: request.take_ownership,
                dry_run: DryRun::Server,
                render: RenderOptions {
                    skip_schema: target.skip_schema,
                    disable_openapi: target.disable_openapi,
                    dns: target.dns,
                    nulls: target.nulls,
                    images: target.images.clone(),
                    record_objects: target.record_objects,
                    post_render: target.post_render.clone(),
                    ..RenderOptions::default()
                },
                ..InstallRequest::default()
            };
            let upgrade_request = UpgradeRequest {
                target,
                install: request.allow_unreleased,
                values_policy: ValuesPolicy::ReuseIfNoneGiven,
                ..UpgradeRequest::default()
            };
            let version = upgrade(session, &upgrade_request, reporter).await?.version;
            let mut text = version.manifest.clone().into_bytes();
            if !request.target.no_hooks {
                text.extend(hooks_text(&version));
            }
            Ok(text)
        }
    }
}

/// The live objects, and what client-side apply would make of them: the server merges in a dry run.
async fn merged_manifests(
    session: &Session,
    namespace: &str,
    old: &[u8],
    new: &[u8],
) -> Result<(Vec<u8>, Vec<u8>)> {
    let build = async |what: &'static str, text: &[u8]| {
        build_objects(&session.cluster, &String::from_utf8_lossy(text), namespace, Validation::Ignore)
            .await
            .map_err(|cause| Error::Build { what, cause: Box::new(cause) })
    };
    let previous = build("original release manifest", old).await?;
    let desired = build("new release manifest", new).await?;
    let ids: Vec<ObjectId> = desired.iter().map(Object::id).collect();
    let live = session.cluster.snapshot(&ids, Detail::Full).await?;
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for object in previous.iter().filter(|object| !ids.contains(&object.id())) {
        push_object(&mut before, object)?;
    }
    let steps = desired.iter().zip(&ids).map(|(object, id)| {
        let previous = previous.iter().find(|previous| previous.id() == *id);
        let live = live.get(id);
        let action = match (live, previous) {
            (None, _) => Action::Create,
            (Some(_), Some(_)) => Action::Update { base: MergeBase::Previous },
            (Some(_), None) => Action::Adopt,
        };
        Step { id: id.clone(), action, desired: Some(object), previous, live }
    });
    let steps: Vec<Step<'_>> = steps.collect();
    let options = ApplyOptions {
        method: PlanMethod::ClientSide { custom_three_way: false },
        validation: FieldValidation::Unset,
        dry_run: true,
        ..ApplyOptions::default()
    };
    let merged = run_concurrently(&steps, |step| merge(session, step, &options).boxed()).await;
    for (step, merged) in steps.iter().zip(merged) {
        if let Some(live) = step.live {
            push_object(&mut before, &tidied(live))?;
        }
        push_object(&mut after, &merged?)?;
    }
    Ok((before, after))
}

/// What a step would make of an object.
async fn merge(session: &Session, step: &Step<'_>, options: &ApplyOptions) -> Result<Object> {
    let (Some(desired), Some(live)) = (step.desired, step.live) else {
        return Ok(step.desired.cloned().unwrap_or_else(|| Object::from_id(&step.id)));
    };
    match session.cluster.execute(step, options).await? {
        Applied::Written(written) => Ok(tidied(&written.object()?)),
        Applied::Unchanged => Ok(tidied(live)),
        Applied::Deleted | Applied::NotFound => Ok(desired.clone()),
    }
}

fn push_object(text: &mut Vec<u8>, object: &Object) -> Result<()> {
    text.extend_from_slice(b"\n---\n");
    pintle_yaml::write_to(object.body(), text).map_err(|error| Error::Input(error.to_string()))
}

/// An object without its status and the metadata that changes by itself.
pub(crate) fn tidied(object: &Object) -> Object {
    let mut object = object.clone();
    object.body_mut().remove("status");
    let metadata = object.metadata_mut();
    for field in ["managedFields", "generation", "creationTimestamp", "resourceVersion", "uid"] {
        metadata.remove(field);
    }
    if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
        for name in
            [ownership::RELEASE_NAME, ownership::RELEASE_NAMESPACE, "deployment.kubernetes.io/revision"]
        {
            annotations.remove(name);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

/// The existing objects of a manifest that do not belong to the release.
async fn taken_over(session: &Session, target: &TemplateRequest, manifest: &[u8]) -> Result<Vec<TakenOver>> {
    let text = String::from_utf8_lossy(manifest);
    let objects = build_objects(&session.cluster, &text, &target.namespace, Validation::Ignore).await?;
    let ids: Vec<ObjectId> = objects.iter().map(Object::id).collect();
    let snapshot = session.cluster.snapshot(&ids, Detail::Full).await?;
    let new_owner = format!("{}/{}", target.namespace, target.name);
    let mut found = Vec::new();
    for live in ids.iter().filter_map(|id| snapshot.get(id)) {
        let mut owner =
            live.annotation(ownership::RELEASE_NAMESPACE).map(|text| format!("{text}/")).unwrap_or_default();
        owner.push_str(live.annotation(ownership::RELEASE_NAME).unwrap_or_default());
        if owner != new_owner {
            let text =
                pintle_yaml::write(tidied(live).body()).map_err(|error| Error::Input(error.to_string()))?;
            found.push(TakenOver { live: text, owner, new_owner: new_owner.clone() });
        }
    }
    Ok(found)
}
