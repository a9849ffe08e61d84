//! `template` with a cluster: its capabilities and `lookup`, and validation of the result on it.

use pintle_chart::Chart;
use pintle_events::Event as LifecycleEvent;
use pintle_objects::{Sorted, Validation};
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node};

use super::template::{Purpose, TemplateRequest, Templated, output, output_sorted};
use super::{locate, name};
use crate::deploy::{AdoptionPolicy, Parts, PlanOptions, ThreeWayState};
use crate::live::{self, CrdStage, LiveInput};
use crate::options::{DeployOptions, Method};
use crate::prepare::{Prepared, push_document};
use crate::report::run_blocking;
use crate::{Error, Reporter, Result, Session, Silent, manifest};

/// The lifecycle events of `template` with a cluster.
const EVENTS: [LifecycleEvent; 6] = [
    LifecycleEvent::ChartLoaded,
    LifecycleEvent::PreRender,
    LifecycleEvent::PostRender,
    LifecycleEvent::PreValidate,
    LifecycleEvent::PostValidate,
    LifecycleEvent::PostTemplate,
];

/// The lifecycle events of `diff`: those of the operation that it foresees.
const DIFF_EVENTS: [LifecycleEvent; 7] = [
    LifecycleEvent::ChartLoaded,
    LifecycleEvent::PreRender,
    LifecycleEvent::PostRender,
    LifecycleEvent::PreValidate,
    LifecycleEvent::PostValidate,
    LifecycleEvent::PreInstall,
    LifecycleEvent::PreUpgrade,
];

pub(super) async fn template(
    session: &Session,
    request: &TemplateRequest,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    let (chart, values) = (request.chart.clone(), request.values.clone());
    let load = move |log: &mut dyn Reporter| locate::load_with_values(&chart, &values, log);
    let loaded = run_blocking("loading the chart failed", reporter, load).await?;
    template_loaded(session, request, loaded, Purpose::Template, reporter).await
}

/// As [`template`], with a chart and values that are loaded already.
pub(super) async fn template_loaded(
    session: &Session,
    request: &TemplateRequest,
    (chart, user): (Chart, Map<Node>),
    purpose: Purpose,
    reporter: &mut dyn Reporter,
) -> Result<Templated> {
    session.cluster.check_reachable().await.map_err(Error::ReachabilityCheck)?;
    name::check(&request.name, reporter)?;
    let input = LiveInput {
        chart,
        user,
        release: request.target().release,
        render: &request.render_options(),
        crds: if request.skip_crds { CrdStage::Skip } else { CrdStage::Warn },
        lookup: true,
        remember: false,
        wait: DeployOptions::default().timeout,
        events: Some(match purpose {
            Purpose::Template => &EVENTS,
            Purpose::Diff => &DIFF_EVENTS,
        }),
    };
    let (session, prepared) = live::prepare(session, input, reporter).await?;
    let last = purpose.final_event(request, &session.events, reporter);
    let is_final =
        !std::iter::once(LifecycleEvent::PostValidate).chain(last).any(|event| session.events.listens(event));
    if is_final {
        // Sorted once, for validation and output.
        let sorted = prepared.objects()?;
        validate(&session, request, &prepared, &sorted).await?;
        session.events.report(reporter);
        return output_sorted(request, &prepared, &sorted, reporter);
    }
    validate(&session, request, &prepared, &prepared.objects()?).await?;
    let prepared = live::emit_rendered(LifecycleEvent::PostValidate, prepared).await?;
    let Some(last) = last else {
        session.events.report(reporter);
        return output(request, &prepared, reporter);
    };
    let prepared = live::emit_rendered(last, prepared).await?;
    session.events.report(reporter);
    if session.events.listens(last) {
        validate(&session, request, &prepared, &prepared.objects()?).await?;
    }
    output(request, &prepared, reporter)
}

/// Checks that the cluster knows all kinds, and that no existing object has another owner.
async fn validate(
    session: &Session,
    request: &TemplateRequest,
    prepared: &Prepared,
    sorted: &Sorted<'_>,
) -> Result<()> {
    prepared.record_objects.check(sorted, &mut Silent)?;
    let (manifest, _) = manifest::split_hooks(sorted, false, &mut Silent)?;
    let objects = load(session, request, manifest).await?;
    // CRDs that are shown count as objects of the release. They are loaded by themselves, because the kinds that they
    // would bring are not known to Helm here.
    let crds = match request.include_crds {
        true => Some(load(session, request, crd_manifest(prepared)).await?),
        false => None,
    };
    for state in crds.iter().chain([&objects]) {
        state.plan().map_err(|source| Error::CannotContinue { operation: "install", cause: source })?;
    }
    Ok(())
}

/// Loads the heads of objects. For an upgrade the owners of the live ones are not checked.
async fn load(session: &Session, request: &TemplateRequest, manifest: String) -> Result<ThreeWayState> {
    let version = ReleaseVersion {
        name: request.name.clone(),
        namespace: request.namespace.clone(),
        manifest,
        ..ReleaseVersion::default()
    };
    let adoption = match () {
        () if request.is_upgrade => AdoptionPolicy::Unchecked,
        () if request.take_ownership => AdoptionPolicy::All,
        () => AdoptionPolicy::OwnedOnly,
    };
    let validation = if request.disable_openapi { Validation::Ignore } else { Validation::Strict };
    let options = PlanOptions { method: Method::ServerSide, adoption, validation, ordered: false };
    ThreeWayState::load_parts(session, &version, None, options, Parts::Head).await
}

/// The CRDs of the chart as one manifest.
fn crd_manifest(prepared: &Prepared) -> String {
    let mut text = Vec::new();
    for crd in prepared.chart.crds() {
        push_document(&mut text, &crd.path, &crd.file.data);
    }
    String::from_utf8_lossy(&text).into_owned()
}
