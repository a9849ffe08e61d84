//! The controller as a process: watches, the work queue and its workers by `kube`'s runtime, leader election, and graceful
//! shutdown.
//!
//! Everything but rendering runs on one thread: the operations of the library wait for the API server most of the time, and
//! a thousand releases need no second core for that.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::stream::LocalBoxStream;
use futures::{FutureExt as _, Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{Action, Config as QueueConfig};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, applier, reflector, watcher};
use pintle::cluster::{Cluster, crds};
use pintle::repo::Proxies;
use pintle::{Cancel, LeaseHolder, SystemClock};
use pintle_tree::{LogLevel, LogLine};
use tokio::time::Instant;

use crate::charts::Charts;
use crate::leader::{Candidate, LeaderElection, Leadership};
use crate::metrics::Metrics;
use crate::reconcile::{ClusterCache, Log, Reconciler};
use crate::request::{ArchiveKind, HelmRequest, WATCH_LABEL};
use crate::serve::Health;
use crate::value_files::ValueFiles;
use crate::{Error, Result};

/// How long a resolved chart reference is cached at most.
const CHART_MAX_AGE: Duration = Duration::from_secs(60);

/// How long discovery is cached: charts see new kinds in `.Capabilities` after that at the latest.
pub(crate) const DISCOVERY_MAX_AGE: Duration = Duration::from_secs(60);

/// How the controller runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace to watch; all if empty.
    pub namespace: String,
    /// A label selector for requests, for sharding; all if empty.
    pub selector: String,
    /// How many requests are reconciled at once.
    pub concurrent: u16,
    /// The service account for requests that name none; the controller's own rights if empty.
    pub default_service_account: String,
    /// How much intervals vary, in percent.
    pub jitter: u8,
    /// How often a dependency that is not ready is checked.
    pub requeue_dependency: Duration,
    /// How long running operations may take to end when the controller stops; then they are cancelled.
    pub graceful_shutdown: Duration,
    /// Whether ConfigMaps and Secrets with the label `helm.sh/watch` are watched.
    pub watch_values: bool,
    /// The folder of cached charts.
    pub cache: PathBuf,
    /// The proxies for repositories.
    pub proxies: Proxies,
    /// The election, if there is one.
    pub election: Option<LeaderElection>,
    /// Who we are; unique for each process.
    pub identity: String,
    /// Who we are in leases on releases, if there is no election; by `identity` if not set.
    pub holder: Option<LeaseHolder>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            namespace: String::new(),
            selector: String::new(),
            concurrent: 10,
            default_service_account: "default".to_owned(),
            jitter: 5,
            requeue_dependency: Duration::from_secs(30),
            graceful_shutdown: Duration::from_secs(600),
            watch_values: false,
            cache: PathBuf::from("pintle-controller-cache"),
            proxies: Proxies::default(),
            election: None,
            identity: "pintle-controller".to_owned(),
            holder: None,
        }
    }
}

impl Options {
    /// The name of a lease, which differs for each shard.
    pub fn lease_name(selector: &str) -> String {
        use sha2::Digest as _;
        match selector {
            "" => "pintle-controller".to_owned(),
            shard => {
                let digest = crate::request::hex(&sha2::Sha256::digest(shard));
                format!("pintle-controller-{}", &digest[..8])
            }
        }
    }

    /// Who we are in leases on releases. While we lead, other processes of the same election do not: what they left is
    /// taken over at once, without waiting for its lease to expire.
    fn holder(&self, leadership: Option<&Leadership>) -> LeaseHolder {
        let (Some(election), Some(leadership)) = (&self.election, leadership) else {
            return self.holder.clone().unwrap_or_else(|| LeaseHolder::new(self.identity.clone()));
        };
        let prefix = format!("{}/{} ", election.namespace, election.name);
        let name = format!("{prefix}{}", self.identity);
        let (leads, me) = (leadership.clone(), name.clone());
        let is_dead = move |other: &str| leads.is_current() && other.starts_with(&prefix) && other != me;
        let leads = leadership.clone();
        LeaseHolder::new(name).with_is_dead(is_dead).with_is_current(move || leads.is_current())
    }
}

/// Runs the controller until `stop` completes or the lease is lost. Running operations then have time to end; what does not
/// end is cancelled, recorded as failed, and taken over by the next leader.
///
/// # Errors
/// When the requests cannot be read.
pub async fn run(
    cluster: Cluster,
    options: Options,
    health: Health,
    log: Log,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let stop = stop.shared();
    cluster.refresh_discovery_after(DISCOVERY_MAX_AGE);
    let mut candidate = options.election.clone().map(|election| Candidate::new(cluster.clone(), election));
    if let Some(candidate) = &mut candidate {
        // A standby replica counts as ready.
        health.ready.store(true, Ordering::Relaxed);
        log(&LogLine::info("waiting for the leader's lease"));
        tokio::select! {
            () = candidate.acquire() => {}
            () = stop.clone() => return Ok(()),
        }
    }
    health.metrics.set_leader(true);
    log(&LogLine::info("reconciling requests"));
    let cancel = Cancel::default();
    let holder = options.holder(candidate.as_ref().map(Candidate::leadership));
    let reconciler = Rc::new(reconciler(&cluster, &options, holder, &health.metrics, &log, &cancel));
    let (end, ended) = tokio::sync::watch::channel(false);
    let work = tokio::task::LocalSet::new();
    let work =
        work.run_until(run_workers(cluster.clone(), options.clone(), reconciler, health.clone(), ended));
    let mut work = std::pin::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        lost = hold(&mut candidate, &stop) => {
            let _ = end.send(true);
            // After losing the lease, stop at once: another leader may be at work already.
            let grace = if lost { Duration::ZERO } else { options.graceful_shutdown };
            let text = if lost { "the lease was lost" } else { "stopping" };
            log(&LogLine::info(text));
            match tokio::time::timeout(grace, &mut work).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    cancel.cancel();
                    work.await
                }
            }
        }
    };
    health.metrics.set_leader(false);
    if let Some(candidate) = &mut candidate {
        candidate.release().await;
    }
    outcome
}

/// Waits until the lease is lost (true) or the process is to stop (false), and keeps renewing until then.
async fn hold(candidate: &mut Option<Candidate>, stop: &(impl Future<Output = ()> + Clone)) -> bool {
    match candidate {
        Some(candidate) => tokio::select! {
            () = candidate.hold() => true,
            () = stop.clone() => false,
        },
        None => {
            stop.clone().await;
            false
        }
    }
}

fn reconciler(
    cluster: &Cluster,
    options: &Options,
    holder: LeaseHolder,
    metrics: &Arc<Metrics>,
    log: &Log,
    cancel: &Cancel,
) -> Reconciler {
    Reconciler {
        cluster: cluster.clone(),
        charts: Charts::new(options.cache.clone(), options.proxies.clone(), CHART_MAX_AGE),
        value_files: ValueFiles::new(options.proxies.clone()),
        clusters: ClusterCache::default(),
        clock: Arc::new(SystemClock),
        holder,
        default_service_account: options.default_service_account.clone(),
        jitter: options.jitter,
        requeue_dependency: options.requeue_dependency,
        cancel: cancel.clone(),
        metrics: Arc::clone(metrics),
        log: Arc::clone(log),
    }
}

/// What a reconciliation needs besides the request.
struct Worker {
    reconciler: Rc<Reconciler>,
    /// The resource version of the last write to each request, by uid: the watch may be behind it.
    written: RefCell<BTreeMap<String, u64>>,
    /// Failures to write the status in a row, by uid.
    failures: RefCell<BTreeMap<String, u32>>,
    /// When each request last changed, by uid.
    changed: Changed,
}

/// When requests were last seen to change, by uid.
type Changed = Rc<RefCell<BTreeMap<String, Instant>>>;

/// An error that ends a reconciliation, for `kube`'s runtime.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct ReconcileError(Error);

/// Watches requests and reconciles them until `ended` says so and the running ones are done.
async fn run_workers(
    cluster: Cluster,
    options: Options,
    reconciler: Rc<Reconciler>,
    health: Health,
    ended: tokio::sync::watch::Receiver<bool>,
) -> Result<()> {
    let changed = Changed::default();
    let (reader, triggers) = requests(&cluster, &options, Rc::clone(&changed));
    #[allow(
        clippy::arc_with_non_send_sync,
        reason = "`applier` takes an `Arc`, and everything stays on this thread"
    )]
    let worker =
        Arc::new(Worker { reconciler, written: RefCell::default(), failures: RefCell::default(), changed });
    let queue = triggers.chain_values(&cluster, &options, &reader);
    let mut end = ended;
    let queue = queue.take_until(async move {
        let _ = end.wait_for(|ended| *ended).await;
    });
    let config = QueueConfig::default().concurrency(options.concurrent.max(1));
    let reconciliations = applier(
        |request: Arc<HelmRequest>, worker: Arc<Worker>| {
            let task = tokio::task::spawn_local(reconcile(request, worker));
            task.map(|done| match done {
                Ok(done) => done,
                // A panic in one reconciliation must not end the controller.
                Err(_) => Ok(Action::requeue(Duration::from_secs(60))),
            })
        },
        |request, error, worker| worker.back_off(&request, error),
        worker,
        reader.clone(),
        queue,
        config,
    );
    let ready = health.ready.clone();
    let store = reader.clone();
    tokio::task::spawn_local(async move {
        if store.wait_until_ready().await.is_ok() {
            ready.store(true, Ordering::Relaxed);
        }
    });
    let mut reconciliations = std::pin::pin!(reconciliations);
    while reconciliations.next().await.is_some() {
        health.metrics.set_requests(reader.len());
    }
    Ok(())
}

/// Reconciles one request.
async fn reconcile(
    request: Arc<HelmRequest>,
    worker: Arc<Worker>,
) -> std::result::Result<Action, ReconcileError> {
    let uid = request.uid().to_owned();
    let Some(fresh) = worker.fresh(&request).await.map_err(ReconcileError)? else {
        worker.written.borrow_mut().remove(&uid);
        worker.failures.borrow_mut().remove(&uid);
        return Ok(Action::await_change());
    };
    let due = worker.changed.borrow().get(&uid).copied().unwrap_or_else(Instant::now);
    let (requeue, version) = worker.reconciler.reconcile_tracked(fresh, due).await.map_err(ReconcileError)?;
    worker.failures.borrow_mut().remove(&uid);
    if let Some(version) = version {
        worker.written.borrow_mut().insert(uid, version);
    }
    Ok(requeue.0.map_or_else(Action::await_change, Action::requeue))
}

impl Worker {
    /// The request, read again if the watch is behind what we wrote; `None` when it is gone.
    async fn fresh(&self, request: &HelmRequest) -> Result<Option<HelmRequest>> {
        let known = self.written.borrow().get(request.uid()).copied().unwrap_or_default();
        let seen = request.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        if seen.is_some_and(|seen: u64| seen >= known) {
            return Ok(Some(request.clone()));
        }
        let cluster = &self.reconciler.cluster;
        let found = cluster.get_raw(&crds::helm_requests(), request.namespace(), request.name()).await?;
        Ok(found.and_then(|body| serde_json::from_slice(&body).ok()))
    }

    fn back_off(&self, request: &HelmRequest, error: &ReconcileError) -> Action {
        let mut failures = self.failures.borrow_mut();
        let count = failures.entry(request.uid().to_owned()).or_default();
        *count += 1;
        let attributes =
            vec![("namespace", request.namespace().to_owned()), ("name", request.name().to_owned())];
        let message = format!("cannot write the status: {error}").into();
        (self.reconciler.log)(&LogLine { level: LogLevel::Warn, message, attributes });
        Action::requeue(Duration::from_secs(1 << (*count).min(8)))
    }
}

/// The requests to reconcile, as a stream.
type Triggers = LocalBoxStream<'static, std::result::Result<ObjectRef<HelmRequest>, watcher::Error>>;

/// The store of all requests, and those to reconcile. Changes that only we make (status, finalizers, managed fields) trigger
/// nothing.
fn requests(cluster: &Cluster, options: &Options, times: Changed) -> (Store<HelmRequest>, Triggers) {
    let client = cluster.kube_client().clone();
    let api: Api<HelmRequest> = match options.namespace.as_str() {
        "" => Api::all(client),
        namespace => Api::namespaced(client, namespace),
    };
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().labels(&options.selector);
    let mut known: BTreeMap<String, PredicateKey> = BTreeMap::new();
    let changed = watcher(api, config)
        .default_backoff()
        .modify(|request| {
            // What the controller never reads need not stay in memory.
            request.metadata.managed_fields = None;
            if let Some(annotations) = &mut request.metadata.annotations {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
        })
        .reflect(writer)
        .touched_objects()
        .filter_map(move |event| {
            let due = match event {
                Ok(request) => {
                    let key = PredicateKey::of(&request);
                    let is_new = known.get(request.uid()) != Some(&key);
                    match request.is_deleted() && !request.has_finalizer() {
                        true => {
                            known.remove(request.uid());
                            times.borrow_mut().remove(request.uid());
                        }
                        false => {
                            known.insert(request.uid().to_owned(), key);
                            if is_new {
                                times.borrow_mut().insert(request.uid().to_owned(), Instant::now());
                            }
                        }
                    }
                    is_new.then(|| Ok(ObjectRef::from_obj(&request)))
                }
                Err(error) => Some(Err(error)),
            };
            std::future::ready(due)
        });
    (reader, changed.boxed_local())
}

/// What the predicate compares: a request is reconciled when one of these changes.
#[derive(PartialEq, Eq)]
struct PredicateKey {
    generation: i64,
    is_deleted: bool,
    annotations: BTreeMap<String, String>,
}

impl PredicateKey {
    fn of(request: &HelmRequest) -> PredicateKey {
        PredicateKey {
            generation: request.generation(),
            is_deleted: request.is_deleted(),
            annotations: request.metadata.annotations.clone().unwrap_or_default(),
        }
    }
}

/// Adds the triggers of values to those of requests.
trait ChainValues {
    fn chain_values(self, cluster: &Cluster, options: &Options, reader: &Store<HelmRequest>) -> Triggers;
}

impl ChainValues for Triggers {
    fn chain_values(self, cluster: &Cluster, options: &Options, reader: &Store<HelmRequest>) -> Triggers {
        if !options.watch_values {
            return self;
        }
        let client = cluster.kube_client().clone();
        let config = watcher::Config::default().labels(&format!("{WATCH_LABEL}=true"));
        let namespace = options.namespace.as_str();
        // Only metadata: what the objects hold is read with the rights of the requests that use them.
        let config_maps: Api<PartialObjectMeta<ConfigMap>> = scoped(client.clone(), namespace);
        let secrets: Api<PartialObjectMeta<Secret>> = scoped(client, namespace);
        let config_maps = watcher(config_maps, config.clone()).default_backoff().touched_objects();
        let secrets = watcher(secrets, config).default_backoff().touched_objects();
        let config_maps = users(config_maps, ArchiveKind::ConfigMap, reader.clone());
        let secrets = users(secrets, ArchiveKind::Secret, reader.clone());
        futures::stream::select(self, futures::stream::select(config_maps, secrets)).boxed_local()
    }
}

fn scoped<K>(client: kube::Client, namespace: &str) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    if namespace.is_empty() { Api::all(client) } else { Api::namespaced(client, namespace) }
}

/// The requests that use an object that changed.
fn users<K>(
    changes: impl Stream<Item = std::result::Result<PartialObjectMeta<K>, watcher::Error>> + 'static,
    kind: ArchiveKind,
    reader: Store<HelmRequest>,
) -> Triggers
where
    K: 'static,
{
    let due = changes.flat_map(move |change| {
        let found: Vec<_> = match change {
            Ok(changed) => {
                let (namespace, name) = (changed.metadata.namespace, changed.metadata.name);
                let is_user = |request: &Arc<HelmRequest>| {
                    request.metadata.namespace == namespace
                        && uses(request, kind, name.as_deref().unwrap_or_default())
                };
                let users = reader.state().into_iter().filter(is_user);
                users.map(|request| Ok(ObjectRef::from_obj(&*request))).collect()
            }
            Err(error) => vec![Err(error)],
        };
        futures::stream::iter(found)
    });
    due.boxed_local()
}

/// Whether a request takes values or its chart from an object.
fn uses(request: &HelmRequest, kind: ArchiveKind, name: &str) -> bool {
    let spec = &request.spec;
    spec.values_from.iter().any(|reference| reference.object_kind() == Some(kind) && reference.name == name)
        || spec.chart.archive.as_ref().is_some_and(|archive| archive.kind == kind && archive.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_leases_of_their_own() {
        assert_eq!(Options::lease_name(""), "pintle-controller");
        assert_ne!(Options::lease_name("shard=a"), Options::lease_name("shard=b"));
    }

    #[test]
    fn only_earlier_leaders_of_the_same_election_are_dead() {
        let election = LeaderElection::new("system", "lease", "b");
        let options = Options { election: Some(election), identity: "b".to_owned(), ..Options::default() };
        let leadership = Leadership::default();
        let holder = options.holder(Some(&leadership));
        assert_eq!(holder.name, "system/lease b");
        assert!(!(holder.is_current)() && !(holder.is_dead)("system/lease a"), "we do not lead yet");
        leadership.set(Some(Instant::now() + Duration::from_secs(3600)));
        assert!((holder.is_current)() && (holder.is_dead)("system/lease a"));
        for other in ["system/lease b", "system/other a", "someone@host, pid 3"] {
            assert!(!(holder.is_dead)(other), "{other}");
        }
        leadership.set(Some(Instant::now()));
        assert!(!(holder.is_current)() && !(holder.is_dead)("system/lease a"), "another may lead by now");
        assert!(
            !(Options::default().holder(None).is_dead)("system/lease a"),
            "without an election nobody is known to be dead"
        );
    }
}
