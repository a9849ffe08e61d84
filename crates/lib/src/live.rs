//! Rendering for a live cluster: its capabilities, and `lookup` for templates.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_chart::Chart;
use pintle_cluster::{Cluster, ServerCapabilities};
use pintle_events::{CapabilityInfo, Event};
use pintle_objects::Object;
use pintle_render::{Capabilities, KubeVersion, Lookup, Release, Target};
use pintle_tree::{LogLevel, LogLine, Map, Node};
use tokio::runtime::Handle;

use crate::lifecycle::scripts::ScriptContext;
use crate::lifecycle::secrets::{self, SecretAccess};
use crate::lifecycle::{Lifecycle, context, spawn_blocking};
use crate::options::{CrdPolicy, Method, RenderOptions};
use crate::prepare::{self, PrepareOptions, Prepared, finish};
use crate::report::run_blocking;
use crate::{Progress, Reporter, Result, Session, Stage};

/// Answers `lookup` from the cluster. Templates call it synchronously; they run on a blocking thread, where
/// `block_on` is allowed.
struct LiveLookup {
    cluster: Cluster,
    handle: Handle,
    guard: SecretAccess,
    misses: Misses,
}

/// What `lookup` did not find, in the order of the calls.
type Misses = Arc<Mutex<Vec<Miss>>>;

enum Miss {
    /// An object, or all objects of a kind if the name is empty.
    Object { api_version: String, kind: String, namespace: String, name: String },
    /// A kind whose version the server does not serve, which fails the template.
    Version { group: String, version: String, kind: String, reason: &'static str },
}

impl Miss {
    fn report(&self, reporter: &mut dyn Reporter) {
        match self {
            Miss::Object { api_version, kind, namespace, name } => {
                let attributes = [
                    ("apiVersion", &**api_version),
                    ("kind", kind),
                    ("namespace", namespace),
                    ("name", name),
                ];
                if name.is_empty() {
                    reporter.debug("lookup: resource list not found", &attributes[..3]);
                } else {
                    reporter.debug("lookup: resource not found", &attributes);
                }
            }
            Miss::Version { group, version, kind, reason } => {
                let of_group = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
                let mut fail = |message: &'static str, what: (&'static str, String)| {
                    let attributes = vec![what, ("error", (*reason).to_owned())];
                    reporter.log_failure(LogLine {
                        level: LogLevel::Error,
                        message: message.into(),
                        attributes,
                    });
                };
                fail("unable to retrieve resource list", ("GroupVersion", of_group));
                let kind = format!("{group}/{version}, Kind={kind}");
                fail("unable to get apiresource", ("groupVersionKind", kind));
            }
        }
    }
}

impl LiveLookup {
    fn missed(&self, miss: Miss) -> std::result::Result<(), String> {
        self.misses.lock().map_err(|error| error.to_string())?.push(miss);
        Ok(())
    }
}

impl Lookup for LiveLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Map<Node>, String> {
        let answer = self.cluster.lookup(api_version, kind, namespace, name);
        let found = match self.handle.block_on(answer) {
            Ok(found) => found,
            Err(error) => {
                let text = error.to_string();
                if let pintle_cluster::Error::UnservedVersion { group, version, kind, reason } = error {
                    self.missed(Miss::Version { group, version, kind, reason })?;
                }
                return Err(text);
            }
        };
        if found.is_empty() {
            let [api_version, kind, namespace, name] =
                [api_version, kind, namespace, name].map(str::to_owned);
            self.missed(Miss::Object { api_version, kind, namespace, name })?;
        }
        if let Some(guarded) = secrets::protected_kind(api_version, kind) {
            self.guard.check_for_template(guarded, &found)?;
        }
        Ok(found)
    }
}

/// Answers `lookup` from a cluster that a chart is not rendered for, with the same rights of charts.
pub(crate) struct GuardedLookup(LiveLookup);

impl GuardedLookup {
    pub(crate) fn new(cluster: Cluster, handle: Handle, release: &Release, network: bool) -> Self {
        let guard =
            SecretAccess { release: release.name.clone(), namespace: release.namespace.clone(), network };
        GuardedLookup(LiveLookup { cluster, handle, guard, misses: Misses::default() })
    }
}

impl Lookup for GuardedLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Map<Node>, String> {
        self.0.lookup(api_version, kind, namespace, name)
    }
}

/// Returns the release, capabilities and lookup that a chart is rendered with. With `misses`, `lookup` asks the cluster;
/// otherwise it finds nothing.
fn target(
    session: &Session,
    facts: &ServerCapabilities,
    release: Release,
    options: &RenderOptions,
    misses: Option<&Misses>,
) -> Target {
    let guard = SecretAccess {
        release: release.name.clone(),
        namespace: release.namespace.clone(),
        network: session.events.may_use_network(),
    };
    let mut target = Target::offline(release, capabilities(facts));
    target.dns = options.dns;
    target.limits = options.limits;
    if let Some(misses) = misses {
        target.lookup = Arc::new(LiveLookup {
            cluster: session.cluster.clone(),
            handle: Handle::current(),
            guard,
            misses: Arc::clone(misses),
        });
    }
    target
}

fn capabilities(facts: &ServerCapabilities) -> Capabilities {
    let version = &facts.version;
    Capabilities {
        kube_version: KubeVersion {
            version: version.git_version.clone(),
            normalized: version.git_version.clone(),
            major: version.major.clone(),
            minor: version.minor.clone(),
        },
        api_versions: facts.api_versions.clone().into(),
        ..Capabilities::default()
    }
}

/// Returns what handlers see of the cluster, with the kinds that a plan has announced.
///
/// # Errors
/// When the cluster cannot be asked.
pub(crate) async fn capability_info(session: &Session) -> Result<CapabilityInfo> {
    Ok(context::capability_info(&capabilities(&known_capabilities(session).await?)))
}

/// The capabilities of the cluster, with the kinds that a plan has announced.
async fn known_capabilities(session: &Session) -> Result<ServerCapabilities> {
    let mut facts = session.cluster.capabilities().await?;
    for kind in session.cluster.announced_kinds() {
        let version = kind.api_version();
        facts.api_versions.extend([format!("{version}/{}", kind.kind), version]);
    }
    Ok(facts)
}

/// What is done about the CRDs in `crds/` of a chart before it is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrdStage {
    /// Nothing: they are installed already, or the user manages them.
    Skip,
    /// Warns that the result may be inaccurate without them.
    Warn,
    /// Treats their kinds as if they were served, for plans.
    Announce,
    /// Applies them and waits until their kinds are served.
    Install(CrdPolicy, Method),
}

/// Helm's warning for dry runs of charts with CRDs.
const CRDS_NOT_INSTALLED: &str =
    "This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.";

/// A chart that is to be rendered for a release in the cluster.
pub(crate) struct LiveInput<'a> {
    /// The chart as loaded.
    pub(crate) chart: Chart,
    /// The user's values.
    pub(crate) user: Map<Node>,
    /// The release that it is rendered for.
    pub(crate) release: Release,
    /// How it is rendered.
    pub(crate) render: &'a RenderOptions,
    /// What to do about its CRDs.
    pub(crate) crds: CrdStage,
    /// Whether `lookup` reads the cluster.
    pub(crate) lookup: bool,
    /// Whether consent given now also applies to later operations on the release.
    pub(crate) remember: bool,
    /// How long handlers may postpone readiness.
    pub(crate) wait: Duration,
    /// The events that the operation may emit; `None` if permissions are asked for in any case.
    pub(crate) events: Option<&'static [Event]>,
}

/// Runs all stages from a loaded chart to rendered files, with the capabilities of the cluster. Returns the session
/// with the handlers of the chart's scripts, too.
///
/// # Errors
/// The first stage that fails.
pub(crate) async fn prepare(
    session: &Session,
    input: LiveInput<'_>,
    reporter: &mut dyn Reporter,
) -> Result<(Session, Prepared)> {
    let LiveInput { chart, user, release, render: options, crds, lookup, remember, wait, events } = input;
    let rules = options.rules(&session.schemas);
    let chart = prepare::process(chart, &user, &rules, reporter)?;
    let (name, namespace) = (&release.name, &release.namespace);
    let context = ScriptContext { release: name, namespace, remember, wait, events };
    let mut session = session.with_chart_scripts(&chart, context).await?;
    let (chart, user) = emit_chart_loaded(&session, chart, user, reporter).await?;
    if crds != CrdStage::Skip && !chart.crds().is_empty() {
        match crds {
            CrdStage::Install(policy, method) => {
                crate::crds::install(&session, &chart, namespace, policy, method, reporter).await?;
            }
            CrdStage::Announce => announce(&mut session, &chart, namespace).await?,
            _ => reporter.log(LogLine::warn(CRDS_NOT_INSTALLED, Vec::new())),
        }
    }
    // Asked for after the CRDs are installed, because these add kinds.
    let facts = known_capabilities(&session).await?;
    let misses = Misses::default();
    let target = target(&session, &facts, release, options, lookup.then_some(&misses));
    reporter.report(Progress::Stage(Stage::Rendering));
    let prepared = render(chart, user, target, rules, &session.events, reporter).await;
    let misses = std::mem::take(&mut *misses.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    misses.iter().for_each(|miss| miss.report(reporter));
    let prepared = prepared?;
    let bytes = prepared.files.iter().map(|(_, text)| text.len()).sum();
    reporter.report(Progress::Rendered { bytes });
    Ok((session, prepared))
}

/// Lets the session know the kinds that the CRDs of a chart will bring.
async fn announce(session: &mut Session, chart: &Chart, namespace: &str) -> Result<()> {
    let steps = crate::crds::steps(session, chart, namespace, CrdPolicy::Helm).await?;
    let definitions: Vec<&Object> = steps.iter().map(|step| &step.object).collect();
    let new = crate::crds::new_kinds(&session.cluster, &definitions).await;
    session.cluster = session.cluster.with_kinds(new);
    Ok(())
}

/// Emits `chart-loaded` on a blocking thread. Returns the chart and values as the handlers left them.
async fn emit_chart_loaded(
    session: &Session,
    chart: Chart,
    user: Map<Node>,
    reporter: &mut dyn Reporter,
) -> Result<(Chart, Map<Node>)> {
    if !session.events.listens(Event::ChartLoaded) {
        return Ok((chart, user));
    }
    let events = session.events.clone();
    let capabilities = capability_info(session).await?;
    let work = move || {
        let mut log = Vec::new();
        prepare::emit_chart_loaded(chart, user, capabilities, &events, &mut log).map(|loaded| (loaded, log))
    };
    let (loaded, log) = spawn_blocking(Event::ChartLoaded, work).await?;
    log.into_iter().for_each(|line| reporter.log(line));
    Ok(loaded)
}

/// Emits an event about rendered objects on a blocking thread.
pub(crate) async fn emit_rendered(event: Event, mut prepared: Prepared) -> Result<Prepared> {
    spawn_blocking(event, move || prepared.emit(event).map(|()| prepared)).await
}

/// Renders on a blocking thread, because templates may wait for `lookup` and handlers may take long.
async fn render(
    chart: Chart,
    user: Map<Node>,
    target: Target,
    rules: PrepareOptions,
    events: &Lifecycle,
    reporter: &mut dyn Reporter,
) -> Result<Prepared> {
    let events = events.clone();
    let render = move |log: &mut dyn Reporter| {
        let mut prepared = finish(chart, user, &target, rules, &events, log)?;
        // The objects are validated against the cluster after this function, so handlers get their last chance to
        // change them here.
        prepared.emit(Event::PreValidate)?;
        Ok(prepared)
    };
    run_blocking("rendering template failed", reporter, render).await
}
