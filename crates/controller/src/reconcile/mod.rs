//! One reconciliation of a request: determine the state of its release, act until nothing is left to do, and write the status.

mod actions;
mod approval;
mod drift;
mod finalizer;
mod location;
mod status;

use std::sync::Arc;
use std::time::Duration;

use pintle::cluster::store::HistoryCache;
use pintle::cluster::{Cluster, ListParams, crds};
use pintle::objects::Object;
use pintle::release::{Status, Summary};
use pintle::{Cancel, Clock, LeaseHolder, Session};
use pintle_tree::{LogLevel, LogLine};
use tokio::time::Instant;

use crate::address::AddressRules;
use crate::charts::{Charts, LoadedChart, config_digest, inventory_entry};
use crate::clusters::{Clusters, RequestClusters};
use crate::conditions::{READY, REMEDIATED};
use crate::error::{Error, Result};
use crate::events::PendingEvent;
use crate::fair_queue::Permit;
use crate::health;
use crate::helm_releases::HelmReleases;
use crate::memory::{Memory, Reservation, StageLimits};
use crate::metrics::Metrics;
use crate::request::{
    Approval, DriftMode, FORCE_ANNOTATION, HelmRequest, HelmRequestStatus, HistoryEntry, KubeConfig, Phase,
    RECONCILE_ANNOTATION, RESET_ANNOTATION,
};
use crate::settled::{Found, Settled, Source, records_state};
use crate::state::{Action, Attempts, Facts, Newest, Next, Tests};
use crate::value_files::ValueFiles;
use crate::{dependency, origin_labels, values};

/// How many versions the status shows.
const MAX_HISTORY: usize = 10;
/// How many objects the status lists.
const MAX_INVENTORY: usize = 500;

/// Receives the log lines of the controller.
pub type Log = Arc<dyn Fn(&LogLine) + Send + Sync>;

/// What all requests share.
pub struct Reconciler {
    /// The cluster, with the controller's own rights.
    pub cluster: Cluster,
    /// The charts.
    pub charts: Charts,
    /// Files with values.
    pub value_files: ValueFiles,
    /// Connections to other clusters, and what is known about all of them.
    pub clusters: ClusterCache,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who we are in leases on releases.
    pub holder: LeaseHolder,
    /// The service account for requests that name none; the controller's own rights if empty.
    pub default_service_account: String,
    /// How much intervals vary, in percent.
    pub jitter: u8,
    /// How often a dependency that is not ready is checked.
    pub requeue_dependency: Duration,
    /// Stops all operations.
    pub cancel: Cancel,
    /// The memory that reconciliations may use together.
    pub memory: Memory,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Receives log lines.
    pub log: Log,
}

/// Caches by cluster: connections to those that requests name by a kubeconfig, the releases that Helm has there, and the
/// histories of ours.
#[derive(Default)]
pub struct ClusterCache {
    pub(crate) connections: Clusters,
    pub(crate) helm_releases: Arc<HelmReleases>,
    pub(crate) histories: Arc<HistoryCache>,
}

impl ClusterCache {
    /// Connects only to servers at addresses that the rules allow.
    pub fn new(addresses: AddressRules) -> ClusterCache {
        ClusterCache { connections: Clusters::new(addresses), ..ClusterCache::default() }
    }
}

/// When to reconcile a request again; `None` to wait for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requeue(pub Option<Duration>);

impl Reconciler {
    /// Reconciles the release of a request. Failures are recorded in the status of the request; an error is returned only
    /// when that cannot be written.
    ///
    /// # Errors
    /// When the API server refuses changes of the request.
    pub async fn reconcile(&self, request: HelmRequest) -> Result<Requeue> {
        Ok(self.reconcile_due(request, Instant::now(), None, None).await?.0)
    }

    /// As [`Reconciler::reconcile`], for a request that became due at `due`, and perhaps as another holder. The worker is lent to
    /// others while objects are waited for. Also returns whether the request is ready.
    pub(crate) async fn reconcile_due(
        &self,
        request: HelmRequest,
        due: Instant,
        worker: Option<Arc<Permit>>,
        holder: Option<LeaseHolder>,
    ) -> Result<(Requeue, bool)> {
        self.metrics.begin();
        let begin = Instant::now();
        let mut reconciliation = Reconciliation { worker, ..Reconciliation::new(self, request, due) };
        reconciliation.holder = holder.unwrap_or_else(|| self.holder.clone());
        let done = Box::pin(reconciliation.run()).await;
        self.count_reconciliation(&reconciliation, &done, begin);
        Ok((done?, reconciliation.status.is_true(READY)))
    }

    /// Reports that the spec of a request cannot be decoded. `request` has an empty one.
    pub(crate) async fn reject(&self, request: HelmRequest, reason: String) -> Result<Requeue> {
        self.metrics.begin();
        let begin = Instant::now();
        let mut reconciliation = Reconciliation::new(self, request, begin);
        let done = reconciliation.reject(Error::InvalidSpec(reason)).await;
        self.count_reconciliation(&reconciliation, &done, begin);
        done
    }

    fn count_reconciliation(
        &self,
        reconciliation: &Reconciliation<'_>,
        done: &Result<Requeue>,
        begin: Instant,
    ) {
        let outcome = match done {
            Err(_) => "error",
            Ok(_) if reconciliation.status.is_true(READY) => "ready",
            Ok(_) => "not-ready",
        };
        self.metrics.end(outcome, begin.elapsed());
    }

    fn log(&self, request: &HelmRequest, level: LogLevel, message: String) {
        let attributes =
            vec![("namespace", request.namespace().to_owned()), ("name", request.name().to_owned())];
        (self.log)(&LogLine { level, message: message.into(), attributes });
    }

    /// An interval that differs a little from that of other requests, so that they do not all come at once.
    pub(crate) fn jittered(&self, interval: Duration) -> Duration {
        let spread = f64::from(self.jitter.min(100)) / 100.0;
        let random = (self.clock.random() % 10_000) as f64 / 10_000.0;
        interval.mul_f64(1.0 + spread * (2.0 * random - 1.0))
    }
}

/// A reconciliation.
pub(crate) struct Reconciliation<'r> {
    pub(crate) reconciler: &'r Reconciler,
    pub(crate) request: HelmRequest,
    /// Who we are in the lease on the release.
    pub(crate) holder: LeaseHolder,
    /// When the request became due: caches must not be older, so that earlier changes by others are seen.
    due: Instant,
    pub(crate) status: HelmRequestStatus,
    /// The status as the API server has it.
    written: HelmRequestStatus,
    /// What went wrong, as condition reason and message.
    failure: Option<(&'static str, String)>,
    last_success: &'static str,
    /// The actions so far.
    taken: Vec<Action>,
    /// The history as the last action left it, if that is known without reading it again.
    known_history: Option<Vec<Summary>>,
    /// Events that are not published yet.
    events: Vec<PendingEvent>,
    /// The objects that chart and values were read from.
    sources: Vec<Source>,
    /// The worker, if there is a limit of them.
    worker: Option<Arc<Permit>>,
    /// How much memory the stages may take together.
    limits: StageLimits,
    /// What is reserved of it now.
    reserved: Option<Arc<Reservation>>,
}

/// What is to be deployed.
pub(crate) struct Desired {
    pub(crate) chart: LoadedChart,
    pub(crate) values: pintle_tree::Map<pintle_tree::Node>,
    pub(crate) digest: String,
    /// The rendered objects of an approved plan, which are deployed instead of rendering the chart again.
    pub(crate) frozen: Option<Vec<u8>>,
}

impl<'r> Reconciliation<'r> {
    fn new(reconciler: &'r Reconciler, request: HelmRequest, due: Instant) -> Reconciliation<'r> {
        let status = request.status.clone().unwrap_or_default();
        let written = status.clone();
        Reconciliation {
            reconciler,
            request,
            holder: reconciler.holder.clone(),
            due,
            status,
            written,
            failure: None,
            last_success: "",
            taken: Vec::new(),
            known_history: None,
            events: Vec::new(),
            sources: Vec::new(),
            worker: None,
            limits: StageLimits(reconciler.memory.first()),
            reserved: None,
        }
    }

    async fn run(&mut self) -> Result<Requeue> {
        if self.request.is_deleted() {
            return self.finalize().await;
        }
        if self.request.spec.suspend {
            return self.suspend().await;
        }
        if !self.request.has_finalizer() {
            self.add_finalizer().await?;
        }
        let outcome = loop {
            match Box::pin(self.reconcile()).await {
                Err(Error::Memory { .. }) if self.grow() => {}
                outcome => break outcome,
            }
        };
        self.finish(outcome).await
    }

    /// Reserves the memory of this reconciliation, if it has less now. What it has is given back first, so that
    /// reconciliations cannot wait for each other.
    async fn reserve(&mut self) {
        if self.reserved.as_ref().is_some_and(|reserved| reserved.size() >= self.limits.0) {
            return;
        }
        self.reserved = None;
        let namespace = self.request.namespace().to_owned();
        let reserved = self.reconciler.memory.reserve(&namespace, self.limits.0).await;
        self.reserved = Some(Arc::new(reserved));
    }

    /// Lets the next try have more memory; false if there is no more for it.
    fn grow(&mut self) -> bool {
        self.reserved = None;
        let next = self.reconciler.memory.after(self.limits.0);
        self.limits = StageLimits(next.unwrap_or(self.limits.0));
        next.is_some()
    }

    /// Writes why the spec of the request cannot be decoded. A request that is being deleted stays until it is corrected:
    /// which release it has, and as whom to uninstall it, is in its spec.
    async fn reject(&mut self, error: Error) -> Result<Requeue> {
        match self.request.is_deleted() {
            true => self.finalize_undecodable(&error).await,
            false => self.finish(Err(error)).await,
        }
    }

    /// The clusters of the request, with its rights.
    async fn clusters(&self) -> Result<RequestClusters> {
        self.clusters_at(self.request.spec.kube_config.as_ref()).await
    }

    /// The same, for a release in the cluster of a kubeconfig.
    async fn clusters_at(&self, kube_config: Option<&KubeConfig>) -> Result<RequestClusters> {
        let Reconciler { cluster, clusters, default_service_account, .. } = self.reconciler;
        clusters.connections.of(cluster, &self.request, kube_config, default_service_account).await
    }

    async fn suspend(&mut self) -> Result<Requeue> {
        self.status.phase = Phase::Suspended;
        self.write_status().await?;
        Ok(Requeue(None))
    }

    async fn reconcile(&mut self) -> Result<Next> {
        self.reserve().await;
        self.validate().await?;
        if self.request.is_requested(RESET_ANNOTATION, &self.status.last_handled_reset_at) {
            self.forget_failures();
            self.status.last_handled_reset_at = self.request.annotation(RESET_ANNOTATION).to_owned();
        }
        let clusters = self.clusters().await?;
        dependency::check(&clusters.local, &self.request).await?;
        self.uninstall_former_release().await?;
        let storage = self.request.storage_namespace().to_owned();
        let session = self.session(&clusters.target, self.request.release_namespace(), &storage)?;
        self.check_cluster(&session).await?;
        let fresh = self.is_reconcile_requested();
        let mut desired = self.desired(&clusters.local, fresh).await?;
        if self.status.last_attempted_digest != desired.digest {
            self.forget_failures();
        }
        loop {
            let history = match self.known_history.take() {
                Some(history) => history,
                None => self.history(&session).await?,
            };
            let facts = self.facts(&session, &history, &desired).await?;
            self.note_history(&history, &clusters.target);
            let spec = &self.request.spec;
            let action = match facts.next(spec, &self.taken) {
                Next::Act(action) => action,
                next => {
                    if next == Next::Done {
                        self.note_settled(&session, &storage, &desired);
                    }
                    return Ok(next);
                }
            };
            if matches!(action, Action::Install | Action::Upgrade) && spec.approval == Approval::Manual {
                let approved = self.approved(&clusters.local, &session, action, &desired, &history).await?;
                match approved {
                    Some(objects) => desired.frozen = Some(objects),
                    None => return Ok(Next::AwaitApproval),
                }
            }
            self.note_progress(action, &clusters.target)?;
            Box::pin(self.act(&session, action, &desired, &history)).await?;
            self.taken.push(action);
        }
    }

    /// Checks the spec, on a thread that nobody else waits for: it has patterns, patches and expressions to parse.
    async fn validate(&self) -> Result<()> {
        let spec = self.request.spec.clone();
        let check = move || {
            spec.validate()?;
            health::rules(&spec.health_check_exprs).map(drop)
        };
        let checked = tokio::task::spawn_blocking(check).await;
        checked.unwrap_or_else(|_| Err("the spec cannot be checked".to_owned())).map_err(Error::InvalidSpec)
    }

    fn is_reconcile_requested(&self) -> bool {
        self.request.annotation(RECONCILE_ANNOTATION) != self.status.last_handled_reconcile_at
    }

    fn forget_failures(&mut self) {
        let status = &mut self.status;
        (status.failures, status.install_failures, status.upgrade_failures) = (0, 0, 0);
        status.remediated = false;
        status.remove_condition(REMEDIATED);
    }

    async fn desired(&mut self, cluster: &Cluster, fresh: bool) -> Result<Desired> {
        let (mut of_chart, mut of_values) = (Vec::new(), Vec::new());
        let Reconciler { charts, value_files, .. } = self.reconciler;
        let chart = charts.get(cluster, &self.request, fresh, self.limits, &mut of_chart);
        let values = values::compose(cluster, value_files, &self.request, self.limits, &mut of_values);
        let (chart, values) = futures::try_join!(chart, values)?;
        self.sources = of_chart.into_iter().chain(of_values).collect();
        let digest = config_digest(&chart.digest, &values, &self.request.spec);
        Ok(Desired { chart, values, digest, frozen: None })
    }

    /// Notes what was read, so that the next turns need not read it again if nothing changed.
    fn note_settled(&mut self, session: &Session, storage: &str, desired: &Desired) {
        let release = self.request.release_name();
        let read = self.reconciler.clusters.histories.states(&session.cluster, storage, &release);
        let settled = read.and_then(|(version, versions)| {
            let is_object = self.request.spec.chart.archive.is_some();
            let found = Found {
                now: self.reconciler.clock.now().unix(),
                default_account: &self.reconciler.default_service_account,
                chart: if is_object { "" } else { &desired.chart.digest },
                sources: &self.sources,
                records: records_state(&release, &version, &versions),
            };
            Settled::of(&self.request, &found)
        });
        let before = Settled::parse(&self.status.settled);
        match (settled, before) {
            (Some(settled), Some(before)) if settled.is_covered_by(&before) => {}
            (settled, _) => {
                self.status.settled = settled.map(|settled| settled.to_text()).unwrap_or_default();
            }
        }
    }

    /// All versions of the release, oldest first.
    pub(crate) async fn history(&self, session: &Session) -> Result<Vec<Summary>> {
        let (namespace, name) = (self.request.release_namespace(), self.request.release_name());
        Ok(pintle::ops::versions(session, namespace, &name).await?)
    }

    async fn facts(&mut self, session: &Session, history: &[Summary], desired: &Desired) -> Result<Facts> {
        let newest = history.last();
        if let Some(newest) = newest {
            self.check_owner(newest).await?;
        }
        let attempts = Attempts {
            digest: self.status.last_attempted_digest.clone(),
            install_failures: self.status.install_failures,
            upgrade_failures: self.status.upgrade_failures,
            remediated: self.status.remediated,
        };
        let now = self.reconciler.clock.now();
        let mut facts = Facts {
            newest: newest.map(|version| Newest {
                status: version.status,
                digest: origin_labels::digest(version, self.request.uid()),
                held: version
                    .lease
                    .as_ref()
                    .is_some_and(|lease| !self.holder.can_take_over(&lease.holder, lease.is_expired(now))),
            }),
            has_good_version: has_good_version(history),
            desired: desired.digest.clone(),
            attempts,
            tests: self.tests(history),
            drifted: false,
            force: self.request.is_requested(FORCE_ANNOTATION, &self.status.last_handled_force_at),
        };
        if facts.state() == crate::state::State::InSync && !self.taken.contains(&Action::CorrectDrift) {
            facts.drifted = self.detect_drift(session).await?;
        }
        Ok(facts)
    }

    fn tests(&self, history: &[Summary]) -> Tests {
        let spec = &self.request.spec;
        let (newest, earlier) = history.split_last().unzip();
        let id = newest.map(version_id).unwrap_or_default();
        if !spec.test.enable {
            return Tests::Unwanted;
        }
        if self.status.tested_version != id {
            return Tests::Pending;
        }
        let release = match earlier.is_some_and(has_good_version) {
            true => &spec.upgrade.release,
            false => &spec.install.release,
        };
        let is_ignored = spec.test.ignore_failures || release.remediation.ignore_test_failures;
        if self.status.tests_failed && !is_ignored { Tests::Failed } else { Tests::Passed }
    }

    /// Fails if another request that exists has made the release, so that two requests do not fight.
    async fn check_owner(&self, newest: &Summary) -> Result<()> {
        let Some(owner) = origin_labels::owner(newest) else { return Ok(()) };
        if owner.uid == self.request.uid() || newest.status == Status::Uninstalled {
            return Ok(());
        }
        match self.is_existing(&owner).await? {
            true => Err(Error::OwnedByAnother {
                release: newest.name.clone(),
                owner: format!("{}/{}", owner.namespace, owner.name),
            }),
            false => Ok(()),
        }
    }

    /// Whether the request that a record names exists. This is the only thing that is read about other requests with the
    /// controller's own rights, or a request that must not read them could take over their releases. It says nothing to
    /// whoever does not know the uid.
    async fn is_existing(&self, owner: &origin_labels::Owner) -> Result<bool> {
        let own = &self.reconciler.cluster;
        let found = own.get_metadata(&crds::helm_requests(), &owner.namespace, &owner.name).await?;
        if found.is_some_and(|found| found.uid() == owner.uid) {
            return Ok(true);
        }
        if !owner.is_shortened() {
            return Ok(false);
        }
        let params = ListParams { metadata_only: true, ..ListParams::default() };
        let all = own.list(&crds::helm_requests(), &owner.namespace, &params).await?;
        Ok(all.iter().any(|found| found.uid() == owner.uid))
    }

    /// Notes the history after an install or upgrade that succeeded, where it is known without reading the records again. Tests
    /// and drift detection read them anyway, and versions beyond the limit were deleted.
    fn note_deployed(&mut self, history: &[Summary], version: &pintle::release::ReleaseVersion) {
        let spec = &self.request.spec;
        let is_pruned = spec.max_history() > 0 && history.len() as u64 >= spec.max_history();
        if is_pruned || spec.test.enable || spec.drift_detection.mode != DriftMode::Disabled {
            return;
        }
        let mut history = history.to_vec();
        for earlier in history.iter_mut().filter(|earlier| earlier.status == Status::Deployed) {
            earlier.status = Status::Superseded;
        }
        history.push(Summary::from_version(version));
        self.known_history = Some(history);
    }

    fn note_history(&mut self, history: &[Summary], cluster: &Cluster) {
        let uid = self.request.uid().to_owned();
        let time =
            |time: Option<pintle::release::Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
        let entry = |version: &Summary| HistoryEntry {
            number: version.number,
            id: version_id(version),
            status: version.status.as_str().to_owned(),
            chart_name: version.chart_name.clone(),
            chart_version: version.chart_version.clone(),
            app_version: version.app_version.clone(),
            digest: origin_labels::digest(version, &uid).unwrap_or_default(),
            first_deployed: time(version.first_deployed),
            last_deployed: time(version.last_deployed),
        };
        self.status.history = history.iter().rev().take(MAX_HISTORY).map(entry).collect();
        if let Some(newest) = history.last() {
            self.status.current_version = version_id(newest);
            self.status.chart_version.clone_from(&newest.chart_version);
        }
        if origin_labels::is_managed_by(history, &uid) {
            self.note_location(cluster);
        }
    }

    /// Notes the objects of a version.
    pub(crate) fn note_inventory(&mut self, version: &pintle::release::ReleaseVersion) {
        let objects = Object::read_readable(version.manifest.as_bytes());
        let entries =
            objects.iter().take(MAX_INVENTORY).map(|object| inventory_entry(object, &version.namespace));
        self.status.inventory = entries.collect();
    }
}

/// Whether a version was deployed once.
fn has_good_version(history: &[Summary]) -> bool {
    history.iter().any(|version| matches!(version.status, Status::Deployed | Status::Superseded))
}

/// The id of a version; its number where the store has no ids.
pub(crate) fn version_id(version: &Summary) -> String {
    version.id.map_or_else(|| version.number.to_string(), |id| id.to_string())
}
