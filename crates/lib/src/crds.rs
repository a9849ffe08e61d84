//! The CustomResourceDefinitions of a chart's `crds/` folders, which come before anything else of the chart.

use std::time::Duration;

use futures::TryStreamExt as _;
use pintle_chart::{Chart, File};
use pintle_cluster::apply::ApplyOptions;
use pintle_cluster::wait::{Strategy, WaitFor, WaitOptions, Waiter};
use pintle_cluster::{Cluster, ListParams, Resource};
use pintle_objects::{Built, Object, ObjectId, Validation};
use pintle_plan::crd::{LostField, lost_fields, lost_versions};
use pintle_plan::{Action, ConflictPolicy, MergeBase, Step};

use crate::options::{CrdPolicy, Method};
use crate::{Error, Reporter, Result, Session, deploy};

/// Limit for a CRD to become established, the same as Helm's.
const ESTABLISHED_TIMEOUT: Duration = Duration::from_secs(60);

/// Pause between two discovery requests while new kinds are not listed yet.
const DISCOVERY_INTERVAL: Duration = Duration::from_millis(100);

/// What is done about one CRD.
pub(crate) struct CrdStep {
    pub(crate) object: Object,
    /// The live definition, where the policy depends on it.
    pub(crate) live: Option<Object>,
    pub(crate) action: CrdAction,
    /// What an update would lose.
    pub(crate) problems: Vec<String>,
    path: String,
}

/// What is done about a CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrdAction {
    /// It is applied as Helm does: an existing one is changed by server-side apply, and left alone otherwise.
    ApplyAsHelm,
    /// It does not exist, and is created.
    Create,
    /// It exists, and is brought to the definition of the chart.
    Update(ConflictPolicy),
    /// It exists, and is left alone.
    Leave,
}

/// Applies the CRDs of a chart and its subcharts, file by file, and waits until the API server serves the new kinds.
///
/// # Errors
/// The first file that is not a CRD or that the API server rejects, or all definitions whose update would lose
/// something. These are found before the first one is applied.
pub(crate) async fn install(
    session: &Session,
    chart: &Chart,
    namespace: &str,
    policy: CrdPolicy,
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    for crd in &chart.crds() {
        session.record_objects.check_text(&crd.file.data, &crd.path, reporter)?;
    }
    apply(session, &steps(session, chart, namespace, policy).await?, method, reporter).await
}

/// Decides what is done about each CRD of a chart.
///
/// # Errors
/// The first file that is not a CRD.
pub(crate) async fn steps(
    session: &Session,
    chart: &Chart,
    namespace: &str,
    policy: CrdPolicy,
) -> Result<Vec<CrdStep>> {
    let files = chart.crds();
    // All files are checked before the first is applied, so that a broken one leaves the cluster untouched.
    for crd in &files {
        check(crd.file).map_err(|reason| failed(&crd.file.name, reason))?;
    }
    let mut steps = Vec::new();
    for crd in &files {
        let text = String::from_utf8_lossy(&crd.file.data);
        let objects = deploy::build_objects(&session.cluster, &text, namespace, Validation::Ignore)
            .await
            .map_err(|error| failed(&crd.file.name, error.to_string()))?;
        for object in objects {
            steps.push(step(&session.cluster, object, &crd.file.name, policy).await?);
        }
    }
    Ok(steps)
}

/// Decides what is done about CRDs that were read from a plan.
///
/// # Errors
/// When the cluster cannot be read.
pub(crate) async fn steps_for(
    session: &Session,
    objects: Vec<Object>,
    policy: CrdPolicy,
) -> Result<Vec<CrdStep>> {
    let mut steps = Vec::new();
    for object in objects {
        let path = object.name().to_owned();
        steps.push(step(&session.cluster, object, &path, policy).await?);
    }
    Ok(steps)
}

async fn step(cluster: &Cluster, object: Object, path: &str, policy: CrdPolicy) -> Result<CrdStep> {
    let as_helm = policy == CrdPolicy::Helm;
    let live = if as_helm { None } else { cluster.get(&object.id()).await? };
    let action = match (&live, policy) {
        (_, CrdPolicy::Helm) => CrdAction::ApplyAsHelm,
        (_, CrdPolicy::Skip) => CrdAction::Leave,
        (None, _) => CrdAction::Create,
        (Some(_), CrdPolicy::Create) => CrdAction::Leave,
        (Some(_), CrdPolicy::Update) => CrdAction::Update(ConflictPolicy::YieldInjected),
        (Some(_), CrdPolicy::Force) => CrdAction::Update(ConflictPolicy::Take),
    };
    let problems = match (&live, policy) {
        (Some(live), CrdPolicy::Update) => losses(cluster, live, &object).await?,
        _ => Vec::new(),
    };
    Ok(CrdStep { object, live, action, problems, path: path.to_owned() })
}

/// Applies CRDs and waits until the API server serves the new kinds.
///
/// # Errors
/// The definitions whose update would lose something, or the first one that the API server rejects.
pub(crate) async fn apply(
    session: &Session,
    steps: &[CrdStep],
    method: Method,
    reporter: &mut dyn Reporter,
) -> Result<()> {
    let unsafe_updates: Vec<(String, Vec<String>)> = steps
        .iter()
        .filter(|step| !step.problems.is_empty())
        .map(|step| (step.object.name().to_owned(), step.problems.clone()))
        .collect();
    if !unsafe_updates.is_empty() {
        return Err(Error::UnsafeCrds { definitions: unsafe_updates });
    }
    let (mut made, mut kinds) = (Vec::new(), Vec::new());
    for step in steps {
        let object = &step.object;
        let left_alone = match step.action {
            CrdAction::Leave => Ok(true),
            CrdAction::ApplyAsHelm | CrdAction::Create => {
                deploy::create_or_apply(session, object, method).await
            }
            CrdAction::Update(conflicts) => {
                let options =
                    ApplyOptions { upgrade_field_manager: true, conflicts, ..ApplyOptions::default() };
                session.cluster.execute(&step.update(), &options).await.map(|_| false).map_err(Error::from)
            }
        };
        if left_alone.map_err(|error| failed(&step.path, error.to_string()))? {
            reporter.debug("CRD is already present. Skipping", &[("crd", &step.path)]);
        }
        if step.action == CrdAction::Leave {
            continue;
        }
        made.push(object.id());
        kinds.extend(Resource::from_crd(object));
    }
    wait_until_established(session, &made).await?;
    wait_until_served(session, &kinds).await;
    Ok(())
}

impl CrdStep {
    /// The update as a step of a plan.
    pub(crate) fn update(&self) -> Step<'_> {
        Step {
            id: self.object.id(),
            action: Action::Update { base: MergeBase::Live },
            desired: Some(&self.object),
            previous: None,
            live: self.live.as_ref(),
        }
    }
}

/// How many objects are named for each field that would be lost.
const MAX_EXAMPLES: usize = 3;

/// What an update of a definition would lose: versions in which objects are stored, and fields that objects have set.
async fn losses(cluster: &Cluster, live: &Object, desired: &Object) -> Result<Vec<String>> {
    let mut problems: Vec<String> = lost_versions(live, desired)
        .into_iter()
        .map(|version| format!("objects are stored in version {version}, which it does not have"))
        .collect();
    let lost = lost_fields(live, desired);
    for resource in Resource::from_crd(live) {
        let of_version: Vec<&LostField> =
            lost.iter().filter(|field| field.version == resource.version).collect();
        if !of_version.is_empty() {
            problems.extend(uses(cluster, &resource, &of_version).await?);
        }
    }
    Ok(problems)
}

/// Which of the fields objects have set.
async fn uses(cluster: &Cluster, resource: &Resource, fields: &[&LostField]) -> Result<Vec<String>> {
    let mut users: Vec<Vec<String>> = vec![Vec::new(); fields.len()];
    let selection = ListParams::default();
    let mut pages = std::pin::pin!(cluster.pages(resource, "", &selection));
    while let Some(page) = pages.try_next().await? {
        for object in &page.objects {
            for (field, users) in fields.iter().zip(&mut users) {
                if users.len() <= MAX_EXAMPLES && field.is_set_in(object) {
                    users.push(match object.namespace() {
                        "" => object.name().to_owned(),
                        namespace => format!("{namespace}/{}", object.name()),
                    });
                }
            }
        }
    }
    let in_use = fields.iter().zip(users).filter(|(_, users)| !users.is_empty());
    Ok(in_use
        .map(|(field, mut users)| {
            if users.len() > MAX_EXAMPLES {
                users[MAX_EXAMPLES] = "others".to_owned();
            }
            let (path, why) = (field.path_text(), &field.why);
            format!("{path} of version {} is set in {}, but {why}", field.version, users.join(", "))
        })
        .collect())
}

/// Returns the kinds that CRDs bring and that the cluster does not serve yet.
pub(crate) async fn new_kinds(cluster: &Cluster, definitions: &[&Object]) -> Vec<Resource> {
    let mut new = Vec::new();
    let resources: Vec<Resource> =
        definitions.iter().flat_map(|definition| Resource::from_crd(definition)).collect();
    for resource in resources {
        if matches!(cluster.serves_kind(&resource.api_version(), &resource.kind).await, Ok(false)) {
            new.push(resource);
        }
    }
    new
}

/// The CRDs in a manifest.
pub(crate) fn in_manifest(manifest: &str) -> Vec<Object> {
    if !manifest.contains("CustomResourceDefinition") {
        return Vec::new();
    }
    // One after the other: all trees of a manifest take far more memory than its text.
    let documents = pintle_objects::build(manifest.as_bytes(), Validation::Ignore).flatten();
    let objects = documents.flat_map(|document| match document {
        Built::Object(object) => vec![object],
        Built::List { members, .. } => members.into_iter().flatten().collect(),
    });
    objects.filter(|object| object.kind() == "CustomResourceDefinition").collect()
}

/// Waits until discovery lists the kinds. The API server updates discovery shortly after it marks a CRD as
/// established. A kind that is still missing after the limit is not an error here: building its objects reports it.
pub(crate) async fn wait_until_served(session: &Session, kinds: &[Resource]) {
    let limit = tokio::time::Instant::now() + ESTABLISHED_TIMEOUT;
    for kind in kinds {
        let version = kind.api_version();
        while !session.cluster.serves_kind(&version, &kind.kind).await.unwrap_or(false)
            && tokio::time::Instant::now() < limit
        {
            tokio::time::sleep(DISCOVERY_INTERVAL).await;
            session.cluster.invalidate_discovery().await;
        }
    }
}

/// Checks that a file contains objects. Runs over all files before the first one is sent, so that a bad file leaves
/// the cluster untouched.
fn check(file: &File) -> std::result::Result<(), String> {
    let mut problems = Vec::new();
    let mut count = 0;
    for document in pintle_objects::build(&file.data, Validation::Ignore) {
        match document {
            Ok(Built::Object(_)) => count += 1,
            Ok(Built::List { members, .. }) => {
                count += members.len();
                problems.extend(members.into_iter().filter_map(|member| Some(member.err()?.to_string())));
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    match (problems.is_empty(), count) {
        (false, _) => Err(pintle_objects::aggregate(problems)),
        (true, 0) => Err("resources are empty".to_owned()),
        (true, _) => Ok(()),
    }
}

fn failed(path: &str, reason: String) -> Error {
    Error::Crd { path: path.to_owned(), reason }
}

/// Waits until CRDs are established, and drops the cached discovery.
///
/// # Errors
/// When the limit is exceeded.
pub(crate) async fn wait_until_established(session: &Session, made: &[ObjectId]) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let waiting = WaitOptions {
        wait_for: WaitFor::Ready,
        strategy: Strategy::Watcher,
        timeout: ESTABLISHED_TIMEOUT,
        fail_fast: None,
        readiness_annotations: false,
    };
    Waiter::new(&session.cluster, waiting).wait(made, &mut |_| {}).await.map_err(Box::new)?;
    session.cluster.invalidate_discovery().await;
    Ok(())
}
