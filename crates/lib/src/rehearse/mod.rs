//! `rehearse`: run the whole lifecycle of a release in a fresh embedded cluster, and report what happens.
//!
//! Reports are reproducible: the same chart gives the same bytes, whenever it runs.

mod check;
mod fixtures;
mod listener;
mod observer;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pintle_cluster::store::NativeStore;
use pintle_objects::{HookEvent, Object, ObjectId};
use pintle_release::{HookPhase, ReleaseVersion, StoredHook, VersionRef};
use pintle_values::ValuesLayer;

use crate::embedded::{self, Embedded};
use crate::ops::{
    InstallRequest, RollbackRequest, TestRequest, UninstallRequest, UpgradeRequest, install, rollback, test,
    uninstall, upgrade,
};
use crate::options::{DeployOptions, WaitStrategy};
use crate::{ChartRef, Clock, LeaseHolder, Lifecycle, Result, SchemaLoader, Session, Silent, SystemClock};
use listener::{RecordingReporter, ScriptLog};
use observer::Observer;
pub use report::{EventLine, Finding, HookState, ObjectState, Rehearsal, Severity, Stage};

/// What to rehearse, and how.
#[derive(Clone)]
pub struct RehearseRequest {
    /// The chart.
    pub chart: ChartRef,
    /// The chart to install first and upgrade from; `None` installs `chart` itself.
    pub from: Option<ChartRef>,
    /// Files or folders of objects to apply first, or charts whose CRDs are applied.
    pub fixtures: Vec<PathBuf>,
    /// The name of the release.
    pub name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// The user's values.
    pub values: Vec<ValuesLayer>,
    /// The values for the chart to upgrade from, if they are others.
    pub from_values: Option<Vec<ValuesLayer>>,
    /// The Kubernetes version to emulate, such as `1.37`; the newest supported one if empty.
    pub kube_version: String,
    /// Limit of each wait in real time. The embedded cluster settles within moments, so a few seconds are enough.
    pub timeout: Duration,
    /// Source of time and random bits.
    pub clock: Arc<dyn Clock>,
    /// The handlers of lifecycle events. Script logs become part of the report.
    pub events: Lifecycle,
    /// Loads schemas that charts refer to by URL.
    pub schemas: SchemaLoader,
}

/// A wait that fails takes this long. The embedded cluster settles within moments.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3);

impl Default for RehearseRequest {
    fn default() -> Self {
        RehearseRequest {
            chart: ChartRef::default(),
            from: None,
            fixtures: Vec::new(),
            name: "rehearsal".to_owned(),
            namespace: "default".to_owned(),
            values: Vec::new(),
            from_values: None,
            kube_version: String::new(),
            timeout: DEFAULT_TIMEOUT,
            clock: Arc::new(SystemClock),
            events: Lifecycle::default(),
            schemas: SchemaLoader::default(),
        }
    }
}

/// Rehearses a chart.
///
/// # Errors
/// When the chart or the values cannot be read, or the Kubernetes version is not supported. Failures of the chart in
/// the cluster are part of the report.
pub async fn rehearse(request: &RehearseRequest) -> Result<Rehearsal> {
    let mut request = request.clone();
    for chart in request.from.iter_mut().chain([&mut request.chart]) {
        if let Some(fetched) = crate::ops::fetched_chart(chart, &mut Silent).await? {
            *chart = fetched;
        }
    }
    let request = &request;
    let embedded = Embedded { kube_version: request.kube_version.clone(), seed: 1, ..Embedded::default() };
    let api = embedded.open().await?;
    let cluster = embedded::cluster(&api, &request.namespace);
    let script_log = ScriptLog::default();
    let events = request.events.clone();
    #[cfg(feature = "lua")]
    let events = events.without_remembered_consent().with_script_listener(|before| script_log.with(before));
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster)))
        .with_clock(Arc::clone(&request.clock))
        .with_holder(LeaseHolder::new("rehearsal"))
        .with_events(events)
        .with_schemas(request.schemas.clone());
    let mut rehearsing = Rehearsing {
        request,
        session: &session,
        observer: Observer::new(api, &request.namespace),
        script_log: &script_log,
        report: Rehearsal {
            release: request.name.clone(),
            namespace: request.namespace.clone(),
            ..Rehearsal::default()
        },
    };
    rehearsing.report.kube_version = rehearsing.observer.kube_version();
    rehearsing.run().await?;
    Ok(rehearsing.report)
}

struct Rehearsing<'r> {
    request: &'r RehearseRequest,
    session: &'r Session,
    observer: Observer,
    script_log: &'r ScriptLog,
    report: Rehearsal,
}

impl Rehearsing<'_> {
    async fn run(&mut self) -> Result<()> {
        let request = self.request;
        self.create_namespace().await?;
        crate::ops::init(self.session).await?;
        fixtures::apply(self.session, &request.fixtures, &request.namespace).await?;
        self.observer.record_existing();
        let first = request.from.as_ref().unwrap_or(&request.chart);
        let mut goes_on = self.install(first).await?;
        if goes_on {
            goes_on = self.upgrade().await?;
        }
        if goes_on {
            self.test().await;
            self.rollback().await;
        }
        self.uninstall().await;
        self.report.sort();
        Ok(())
    }

    async fn create_namespace(&self) -> Result<()> {
        let namespace = Object::from_id(&ObjectId::new("v1", "Namespace", "", &self.request.namespace));
        crate::deploy::create_or_apply(self.session, &namespace, crate::Method::ServerSide).await.map(drop)
    }

    fn deploy_options(&self) -> DeployOptions {
        DeployOptions {
            wait: WaitStrategy::Watcher,
            wait_for_jobs: true,
            timeout: self.request.timeout,
            logs: crate::HookLogs::All,
            ..DeployOptions::default()
        }
    }

    fn target(&self, chart: &ChartRef) -> InstallRequest {
        InstallRequest {
            chart: chart.clone(),
            name: self.request.name.clone(),
            namespace: self.request.namespace.clone(),
            values: self.request.values.clone(),
            deploy: self.deploy_options(),
            ..InstallRequest::default()
        }
    }

    async fn install(&mut self, chart: &ChartRef) -> Result<bool> {
        let mut target = self.target(chart);
        if let Some(values) = &self.request.from_values {
            target.values = values.clone();
        }
        self.check("install", &target, false).await?;
        let mut listener = RecordingReporter::default();
        let outcome = install(self.session, &target, &mut listener).await;
        Ok(self.finish_stage("install", outcome, &listener).await)
    }

    async fn upgrade(&mut self) -> Result<bool> {
        let request =
            UpgradeRequest { target: self.target(&self.request.chart), ..UpgradeRequest::default() };
        self.check("upgrade", &request.target, true).await?;
        let mut listener = RecordingReporter::default();
        let outcome = upgrade(self.session, &request, &mut listener).await;
        Ok(self.finish_stage("upgrade", outcome.map(|upgraded| upgraded.version), &listener).await)
    }

    /// Runs the tests of the chart, if it has any. Failed tests do not prevent the rollback.
    async fn test(&mut self) {
        let is_test = |hook: &StoredHook| hook.events.contains(&HookEvent::Test);
        if !self.current().await.is_some_and(|version| version.hooks.iter().any(is_test)) {
            return;
        }
        let request = TestRequest {
            name: self.request.name.clone(),
            namespace: self.request.namespace.clone(),
            deploy: self.deploy_options(),
            ..TestRequest::default()
        };
        let mut listener = RecordingReporter::default();
        let tested = test(self.session, &request, &mut listener).await;
        let outcome = tested.and_then(|tested| tested.failure.map_or(Ok(tested.version), Err));
        self.finish_stage("test", outcome, &listener).await;
    }

    /// Returns the newest version of the release, if it exists.
    async fn current(&self) -> Option<ReleaseVersion> {
        let RehearseRequest { namespace, name, .. } = self.request;
        crate::ops::get(self.session, namespace, name, &VersionRef::Current).await.ok()
    }

    async fn rollback(&mut self) {
        let request = RollbackRequest {
            name: self.request.name.clone(),
            namespace: self.request.namespace.clone(),
            to: VersionRef::Before(1),
            deploy: self.deploy_options(),
            ..RollbackRequest::default()
        };
        let mut listener = RecordingReporter::default();
        let outcome = rollback(self.session, &request, &mut listener).await;
        self.finish_stage("rollback", outcome, &listener).await;
    }

    async fn uninstall(&mut self) {
        let request = UninstallRequest {
            name: self.request.name.clone(),
            namespace: self.request.namespace.clone(),
            ignore_not_found: true,
            deploy: self.deploy_options(),
            ..UninstallRequest::default()
        };
        let mut listener = RecordingReporter::default();
        let outcome = uninstall(self.session, &request, &mut listener).await;
        match outcome {
            Ok(None) => return,
            Ok(Some(done)) => drop(self.finish_stage("uninstall", Ok(done.version), &listener).await),
            Err(error) => drop(self.finish_stage("uninstall", Err(error), &listener).await),
        }
        let left = self.observer.remaining_objects();
        self.report.findings.extend(left);
    }

    /// Records the result of a stage. Returns whether the next stage can run.
    async fn finish_stage(
        &mut self,
        name: &'static str,
        outcome: Result<ReleaseVersion>,
        listener: &RecordingReporter,
    ) -> bool {
        let mut stage = Stage { name, ..Stage::default() };
        let version = match outcome {
            Ok(version) => Some(version),
            Err(error) => {
                stage.error = self.observer.normalize(&error.to_string());
                self.current().await
            }
        };
        if let Some(version) = &version {
            let metadata = &version.chart.metadata;
            stage.chart = format!("{}-{}", metadata.name, metadata.version);
            stage.hooks = self.hooks(version, name, listener);
            // Tests change no objects, and after an uninstall there are none.
            if !matches!(name, "test" | "uninstall") {
                stage.objects = self.objects(version).await;
            }
        }
        if !stage.error.is_empty() && !self.is_already_reported(&stage) {
            let finding = self.failure(&stage, version.as_ref());
            self.report.findings.push(finding);
        }
        for (severity, text) in self.script_log.take().into_iter().chain(listener.warnings()) {
            self.add_finding(name, severity, "", text);
        }
        stage.events = self.observer.events();
        stage.warnings = self.session.cluster.take_warnings();
        for warning in &stage.warnings {
            if !self.report.findings.iter().any(|it| it.message == *warning) {
                self.add_finding(name, Severity::Warning, "", warning.clone());
            }
        }
        for event in stage.events.iter().filter(|event| event.kind == "Warning") {
            let message = format!("{}: {}", event.reason, event.message);
            self.add_finding(name, Severity::Warning, &event.object, message);
        }
        let goes_on = stage.error.is_empty();
        self.report.stages.push(stage);
        goes_on
    }

    fn add_finding(&mut self, stage: &'static str, severity: Severity, object: &str, message: String) {
        let finding = Finding::for_stage(stage, severity, message);
        self.report.findings.push(Finding { object: object.to_owned(), ..finding });
    }

    /// Returns whether the object that a stage failed at was already reported by its dry run. Tests are checked
    /// together with the stages that render the chart.
    fn is_already_reported(&self, stage: &Stage) -> bool {
        self.report.findings.iter().any(|it| {
            let name = it.object.rsplit('/').next().unwrap_or_default();
            it.severity == Severity::Error
                && (it.stage == stage.name || stage.name == "test")
                && !name.is_empty()
                && stage.error.contains(name)
        })
    }

    /// Returns the finding for a failed stage, attributed to the hook or object that caused it.
    fn failure(&self, stage: &Stage, version: Option<&ReleaseVersion>) -> Finding {
        let mut finding = Finding::for_stage(stage.name, Severity::Error, stage.error.clone());
        let Some(version) = version else { return finding };
        if let Some(hook) = version.hooks.iter().find(|hook| hook.last_run.phase == HookPhase::Failed) {
            finding.object = format!("{}/{}", hook.kind, hook.name);
            finding.file.clone_from(&hook.path);
            return finding;
        }
        for document in crate::source_map::documents(&version.manifest) {
            let objects = Object::read_manifest(document.text.as_bytes(), &document.file).unwrap_or_default();
            for object in objects {
                let namespace =
                    if object.namespace().is_empty() { &version.namespace } else { object.namespace() };
                if stage.error.contains(&format!("{}/{namespace}/{} ", object.kind(), object.name())) {
                    finding.object = self.observer.name_of(object.kind(), namespace, object.name());
                    finding.file.clone_from(&document.file);
                    return finding;
                }
            }
        }
        finding
    }

    fn hooks(&self, version: &ReleaseVersion, stage: &str, listener: &RecordingReporter) -> Vec<HookState> {
        let runs = |event: &str| match stage {
            "uninstall" => event.ends_with("delete"),
            stage => event.ends_with(stage),
        };
        let hooks = version.hooks.iter().filter(|hook| hook.last_run.phase != HookPhase::Unset);
        let hooks = hooks.filter(|hook| hook.events.iter().any(|event| runs(event.as_str())));
        let state = |hook: &StoredHook| {
            let logs = listener.logs.iter().filter(|(source, _)| {
                source.pod == hook.name || source.pod.starts_with(&format!("{}-", hook.name))
            });
            let log: Vec<u8> = logs.flat_map(|(_, text)| text.clone()).collect();
            HookState {
                object: format!("{}/{}", hook.kind, hook.name),
                events: hook.events.iter().map(|event| event.as_str().to_owned()).collect(),
                phase: hook.last_run.phase.as_str().to_owned(),
                log: String::from_utf8_lossy(&log).into_owned(),
            }
        };
        hooks.map(state).collect()
    }

    /// Returns the readiness of the objects of a version.
    async fn objects(&self, version: &ReleaseVersion) -> Vec<ObjectState> {
        let Ok(objects) = Object::read_manifest(version.manifest.as_bytes(), "") else { return Vec::new() };
        let mut states = Vec::with_capacity(objects.len());
        for mut object in objects {
            let Ok(resource) = self.session.cluster.scope(&mut object, &version.namespace).await else {
                continue;
            };
            let live = self.session.cluster.get_by_name(&resource, object.namespace(), object.name()).await;
            let name = self.observer.name_of(object.kind(), object.namespace(), object.name());
            states.push(match live.ok().flatten() {
                Some(live) => {
                    let readiness = pintle_cluster::wait::ready(&live);
                    ObjectState {
                        object: name,
                        state: format!("{:?}", readiness.status),
                        message: self.observer.normalize(&readiness.detail),
                        ready: readiness.status == pintle_cluster::wait::Status::Current,
                    }
                }
                None => ObjectState {
                    object: name,
                    state: "NotFound".to_owned(),
                    message: "it is not there".to_owned(),
                    ready: false,
                },
            });
        }
        states
    }
}
