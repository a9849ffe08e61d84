//! The controller as a process: watches, the work queue and its workers by `kube`'s runtime, leader election, and graceful
//! shutdown.
//!
//! Each reconciliation is a task of the multi-threaded runtime, so that all cores work. What takes long without waiting, such
//! as rendering, is done on blocking threads by the operations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt as _, Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{Action, Config as QueueConfig};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, applier, reflector, watcher};
use kube::{Api, Resource as _, ResourceExt as _};
use pintle::cluster::{Cluster, crds};
use pintle::repo::Proxies;
use pintle::{Cancel, LeaseHolder, SystemClock};
use pintle_tree::{LogLevel, LogLine};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::address::AddressRules;
use crate::charts::Charts;
use crate::fair_queue::FairQueue;
use crate::leader::{Candidate, LeaderElection, Leadership};
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::reconcile::{ClusterCache, Log, Reconciler};
use crate::request::{ArchiveKind, FINALIZER, HelmRequest, RequestHead, Undecodable, WATCH_LABEL};
use crate::ring::{Gains, Refusal, Share, slot_of};
use crate::serve::Health;
use crate::value_files::ValueFiles;
use crate::{Error, Result};

/// How long a resolved chart reference is cached at most.
const CHART_MAX_AGE: Duration = Duration::from_secs(60);

/// How long discovery is cached: charts see new kinds in `.Capabilities` after that at the latest.
pub(crate) const DISCOVERY_MAX_AGE: Duration = Duration::from_secs(60);

/// How much memory reconciliations may use together, if nothing else is known.
const DEFAULT_MEMORY: u64 = 1 << 30;

/// When a reconciliation that was revoked is tried again.
const REVOKED_RETRY: Duration = Duration::from_secs(1);

/// How long giving up the leader's lease may take.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// How the controller runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace to watch; all if empty.
    pub namespace: String,
    /// A label selector for requests, for sharding; all if empty.
    pub selector: String,
    /// How many requests are reconciled at once.
    pub concurrent: u16,
    /// How many requests of one namespace are reconciled at once; half of `concurrent` if it is 0.
    pub concurrent_per_namespace: u16,
    /// The service account for requests that name none; the controller's own rights if empty.
    pub default_service_account: String,
    /// How much memory reconciliations may use together, in bytes.
    pub memory: u64,
    /// How much intervals vary, in percent.
    pub jitter: u8,
    /// How often a dependency that is not ready is checked.
    pub requeue_dependency: Duration,
    /// How long running operations may take to end when the controller stops; then they are cancelled.
    pub graceful_shutdown: Duration,
    /// How long operations that were cancelled may take to record that. What has not ended by then is left to the next
    /// leader. The chart gives the pod 30 seconds more than its graceful shutdown.
    pub cancel_timeout: Duration,
    /// Whether ConfigMaps and Secrets with the label `helm.sh/watch` are watched.
    pub watch_values: bool,
    /// The folder of cached charts.
    pub cache: PathBuf,
    /// The proxies for repositories.
    pub proxies: Proxies,
    /// Which addresses the URLs of requests may lead to.
    pub addresses: AddressRules,
    /// The election, if there is one.
    pub election: Option<LeaderElection>,
    /// Whether `HelmRequestSet`s are reconciled, too.
    pub request_sets: bool,
    /// Whether the replicas share the requests, instead of one that leads and others that stand by. The names and the times are
    /// those of `election`.
    pub replicas_share: bool,
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
            concurrent_per_namespace: 0,
            default_service_account: "default".to_owned(),
            memory: DEFAULT_MEMORY,
            jitter: 5,
            requeue_dependency: Duration::from_secs(30),
            graceful_shutdown: Duration::from_secs(600),
            cancel_timeout: Duration::from_secs(15),
            watch_values: false,
            cache: PathBuf::from("pintle-controller-cache"),
            proxies: Proxies::default(),
            addresses: AddressRules::default(),
            election: None,
            request_sets: false,
            replicas_share: false,
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

    /// How many requests of one namespace are reconciled at once.
    fn share(&self) -> u16 {
        match self.concurrent_per_namespace {
            0 => self.concurrent.div_ceil(2),
            share => share,
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
/// end is cancelled, recorded as failed, and taken over by the next leader. It returns `cancel_timeout` after
/// that time at the latest, whatever still runs.
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
    if let Some(ring) = options.election.clone().filter(|_| options.replicas_share) {
        return crate::ring::run(cluster, options, ring, health, log, stop).await;
    }
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
    let reconciler = Arc::new(reconciler(&cluster, &options, holder, &health.metrics, &log, &cancel));
    let (end, ended) = tokio::sync::watch::channel(false);
    let work = run_workers(cluster.clone(), options.clone(), reconciler, health.clone(), ended, None);
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
                    let ended = tokio::time::timeout(options.cancel_timeout, &mut work).await;
                    ended.unwrap_or_else(|_| {
                        log(&LogLine::warn("some operations did not end in time", Vec::new()));
                        Ok(())
                    })
                }
            }
        }
    };
    health.metrics.set_leader(false);
    if let Some(candidate) = &mut candidate {
        // Without an answer, the lease expires by itself.
        let _ = tokio::time::timeout(RELEASE_TIMEOUT, candidate.release()).await;
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

pub(crate) fn reconciler(
    cluster: &Cluster,
    options: &Options,
    holder: LeaseHolder,
    metrics: &Arc<Metrics>,
    log: &Log,
    cancel: &Cancel,
) -> Reconciler {
    let memory = Memory::new(options.memory);
    Reconciler {
        cluster: cluster.clone(),
        charts: Charts::new(
            options.cache.clone(),
            options.proxies.clone(),
            options.addresses.clone(),
            CHART_MAX_AGE,
        )
        .with_memory(&memory),
        value_files: ValueFiles::new(options.proxies.clone(), options.addresses.clone()),
        clusters: ClusterCache::new(options.addresses.clone()),
        clock: Arc::new(SystemClock),
        holder,
        default_service_account: options.default_service_account.clone(),
        jitter: options.jitter,
        requeue_dependency: options.requeue_dependency,
        cancel: cancel.clone(),
        memory,
        metrics: Arc::clone(metrics),
        log: Arc::clone(log),
    }
}

/// What a reconciliation needs besides the request.
struct Worker {
    reconciler: Arc<Reconciler>,
    queue: Arc<FairQueue>,
    /// Failures to read a request or to write its status in a row, by uid.
    failures: Mutex<BTreeMap<String, u32>>,
    known: Arc<Known>,
    /// Which requests are ours, if replicas share them.
    share: Option<Arc<Share>>,
}

/// What is known about requests besides their heads, by uid.
#[derive(Default)]
struct Known {
    /// When each request was last seen to change.
    changed: Mutex<BTreeMap<String, Instant>>,
    /// The objects from which a request takes values or its chart, as of its last reconciliation.
    sources: Mutex<BTreeMap<String, Vec<(ArchiveKind, String)>>>,
}

/// A poisoned lock is fine: each change of these maps is a single call.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn forget(&self, uid: &str) {
        lock(&self.changed).remove(uid);
        lock(&self.sources).remove(uid);
    }
}

/// An error that ends a reconciliation, for `kube`'s runtime.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct ReconcileError(Error);

/// Watches requests and reconciles them until `ended` says so and the running ones are done.
pub(crate) async fn run_workers(
    cluster: Cluster,
    options: Options,
    reconciler: Arc<Reconciler>,
    health: Health,
    ended: tokio::sync::watch::Receiver<bool>,
    share: Option<(Arc<Share>, Gains)>,
) -> Result<()> {
    let known = Arc::new(Known::default());
    let log = Arc::clone(&reconciler.log);
    let (set_log, sharing) = (Arc::clone(&log), share.as_ref().map(|(share, _)| Arc::clone(share)));
    let queue = FairQueue::new(options.concurrent.into(), options.share().into());
    let (reader, triggers) = requests(&cluster, &options, Arc::clone(&known), log);
    let worker = Arc::new(Worker {
        reconciler,
        queue: Arc::clone(&queue),
        failures: Mutex::default(),
        known: Arc::clone(&known),
        share: share.as_ref().map(|(share, _)| Arc::clone(share)),
    });
    let triggers = triggers.chain_values(&cluster, &options, &reader, &known);
    let triggers = match share {
        Some((_, gains)) => futures::stream::select(triggers, gained(gains, reader.clone())).boxed(),
        None => triggers,
    };
    let (mut end, closing) = (ended, Arc::clone(&queue));
    let triggers = triggers.take_until(async move {
        let _ = end.wait_for(|ended| *ended).await;
        closing.close();
    });
    // The queue decides how many run at once, and of which namespaces.
    let config = QueueConfig::default().concurrency(0);
    let reconciliations = applier(
        |head: Arc<RequestHead>, worker: Arc<Worker>| {
            // A task of its own, so that reconciliations run on all cores.
            let task = AbortOnDrop(tokio::task::spawn(reconcile(head, worker)));
            task.map(|done| match done {
                Ok(done) => done,
                // A panic in one reconciliation must not end the controller.
                Err(_) => Ok(Action::requeue(Duration::from_secs(60))),
            })
        },
        |head, error, worker| worker.back_off(&head, error),
        worker,
        reader.clone(),
        triggers,
        config,
    );
    let ready = health.ready.clone();
    let store = reader.clone();
    tokio::task::spawn(async move {
        if store.wait_until_ready().await.is_ok() {
            ready.store(true, Ordering::Relaxed);
        }
    });
    // Dropped with the workers: nothing of a set is left half done that the next reconciliation does not see.
    let sets = options.request_sets.then(|| crate::set::run_sets(cluster, options.clone(), sharing, set_log));
    let mut sets = std::pin::pin!(futures::future::OptionFuture::from(sets));
    let mut sets_end = options.request_sets;
    let mut reconciliations = std::pin::pin!(reconciliations);
    let mut all_ended = std::pin::pin!(queue.ended());
    loop {
        tokio::select! {
            next = reconciliations.next() => match next {
                Some(_) => health.metrics.set_requests(reader.len()),
                None => return Ok(()),
            },
            _ = &mut sets, if sets_end => sets_end = false,
            // The runtime itself ends only if the first list of requests succeeded.
            () = &mut all_ended => return Ok(()),
        }
    }
}

/// A task that ends with its owner: when the workers are dropped because the lease is lost, nothing of this process may go on.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = std::result::Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reconciles one request, when it is its turn.
async fn reconcile(
    head: Arc<RequestHead>,
    worker: Arc<Worker>,
) -> std::result::Result<Action, ReconcileError> {
    let namespace = head.namespace().unwrap_or_default();
    let queued = worker.reconciler.metrics.enqueue();
    let Some(_permit) = worker.queue.acquire(&namespace).await else { return Ok(Action::await_change()) };
    drop(queued);
    let Some(share) = &worker.share else { return reconcile_as(&head, &worker, None).await };
    let turn = match share.enter(slot_of(&namespace, &head.name_any())) {
        Ok(turn) => turn,
        Err(Refusal::NotOurs) => return Ok(Action::await_change()),
        Err(Refusal::Unsure(later)) => return Ok(Action::requeue(later)),
    };
    tokio::select! {
        done = reconcile_as(&head, &worker, Some(turn.holder())) => done,
        // Dropped where it stands: whether others act on the request by now is not known.
        () = turn.revoked() => Ok(Action::requeue(REVOKED_RETRY)),
    }
}

/// Reconciles one request, as a holder of leases on releases.
async fn reconcile_as(
    head: &RequestHead,
    worker: &Worker,
    holder: Option<LeaseHolder>,
) -> std::result::Result<Action, ReconcileError> {
    let uid = head.uid().unwrap_or_default();
    let reconciler = &worker.reconciler;
    let due = lock(&worker.known.changed).get(&uid).copied().unwrap_or_else(Instant::now);
    let requeue = match worker.read(head).await.map_err(ReconcileError)? {
        None => {
            lock(&worker.failures).remove(&uid);
            return Ok(Action::await_change());
        }
        Some(Err(undecodable)) => {
            let Undecodable { request, reason } = *undecodable;
            reconciler.reject(request, reason).await.map_err(ReconcileError)?
        }
        Some(Ok(request)) => {
            lock(&worker.known.sources).insert(uid.clone(), sources(&request));
            reconciler.reconcile_due(request, due, holder).await.map_err(ReconcileError)?
        }
    };
    lock(&worker.failures).remove(&uid);
    Ok(requeue.0.map_or_else(Action::await_change, Action::requeue))
}

/// The requests in slots that this replica gained.
fn gained(gains: Gains, reader: Store<RequestHead>) -> Triggers {
    let due = gains.flat_map(move |slots| {
        let is_ours = |head: &Arc<RequestHead>| {
            slots.contains(&slot_of(&head.namespace().unwrap_or_default(), &head.name_any()))
        };
        let heads = reader.state().into_iter().filter(is_ours);
        let heads: Vec<_> = heads.map(|head| Ok(ObjectRef::from_obj(&*head))).collect();
        futures::stream::iter(heads)
    });
    due.boxed()
}

/// The objects from which a request takes values or its chart.
fn sources(request: &HelmRequest) -> Vec<(ArchiveKind, String)> {
    let spec = &request.spec;
    let values = spec.values_from.iter();
    let values = values.filter_map(|source| Some((source.object_kind()?, source.name.clone())));
    let archive = spec.chart.archive.as_ref().map(|archive| (archive.kind, archive.name.clone()));
    values.chain(archive).collect()
}

impl Worker {
    /// Reads the request; `None` when it is gone. The watch keeps only heads, and may be behind what we wrote.
    async fn read(
        &self,
        head: &RequestHead,
    ) -> Result<Option<std::result::Result<HelmRequest, Box<Undecodable>>>> {
        let (namespace, name) = (head.namespace().unwrap_or_default(), head.name_any());
        let cluster = &self.reconciler.cluster;
        let Some(body) = cluster.get_raw(&crds::helm_requests(), &namespace, &name).await? else {
            return Ok(None);
        };
        let read = HelmRequest::decode(&body);
        read.map(Some).map_err(|error| Error::InvalidSpec(format!("the request is no object: {error}")))
    }

    fn back_off(&self, head: &RequestHead, error: &ReconcileError) -> Action {
        let mut failures = lock(&self.failures);
        let count = failures.entry(head.uid().unwrap_or_default()).or_default();
        *count += 1;
        let attributes = vec![("namespace", head.namespace().unwrap_or_default()), ("name", head.name_any())];
        let message = format!("cannot read the request or write its status: {error}").into();
        (self.reconciler.log)(&LogLine { level: LogLevel::Warn, message, attributes });
        Action::requeue(Duration::from_secs(1 << (*count).min(8)))
    }
}

/// The requests to reconcile, as a stream.
type Triggers = BoxStream<'static, std::result::Result<ObjectRef<RequestHead>, watcher::Error>>;

/// The heads of all requests, and those to reconcile. Changes that only we make (status, finalizers, managed fields) trigger
/// nothing.
fn requests(
    cluster: &Cluster,
    options: &Options,
    known: Arc<Known>,
    log: Log,
) -> (Store<RequestHead>, Triggers) {
    let api: Api<RequestHead> = scoped(cluster.kube_client().clone(), &options.namespace);
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().labels(&options.selector);
    let mut keys: BTreeMap<String, PredicateKey> = BTreeMap::new();
    let changed = watcher(api, config)
        .default_backoff()
        .modify(|head| {
            // What the controller never reads need not stay in memory.
            head.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        })
        .inspect(move |event| {
            // The watch goes on by itself, but nothing is reconciled until then.
            if let Err(error) = event {
                log(&LogLine::warn(format!("cannot watch requests: {error}"), Vec::new()));
            }
        })
        .reflect(writer)
        .touched_objects()
        .filter_map(move |event| {
            let due = match event {
                Ok(head) => {
                    let (uid, key) = (head.uid().unwrap_or_default(), PredicateKey::of(&head));
                    let is_new = keys.get(&uid) != Some(&key);
                    match key.is_deleted && !head.finalizers().iter().any(|name| name == FINALIZER) {
                        true => {
                            keys.remove(&uid);
                            known.forget(&uid);
                        }
                        false => {
                            keys.insert(uid.clone(), key);
                            if is_new {
                                lock(&known.changed).insert(uid, Instant::now());
                            }
                        }
                    }
                    is_new.then(|| Ok(ObjectRef::from_obj(&head)))
                }
                Err(error) => Some(Err(error)),
            };
            std::future::ready(due)
        });
    (reader, changed.boxed())
}

/// What the predicate compares: a request is reconciled when one of these changes.
#[derive(PartialEq, Eq)]
struct PredicateKey {
    generation: i64,
    is_deleted: bool,
    annotations: BTreeMap<String, String>,
}

impl PredicateKey {
    fn of(head: &RequestHead) -> PredicateKey {
        PredicateKey {
            generation: head.meta().generation.unwrap_or_default(),
            is_deleted: head.meta().deletion_timestamp.is_some(),
            annotations: head.annotations().clone(),
        }
    }
}

/// Adds the triggers of values to those of requests.
trait ChainValues {
    fn chain_values(
        self,
        cluster: &Cluster,
        options: &Options,
        reader: &Store<RequestHead>,
        known: &Arc<Known>,
    ) -> Triggers;
}

impl ChainValues for Triggers {
    fn chain_values(
        self,
        cluster: &Cluster,
        options: &Options,
        reader: &Store<RequestHead>,
        known: &Arc<Known>,
    ) -> Triggers {
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
        let config_maps = users(config_maps, ArchiveKind::ConfigMap, reader.clone(), Arc::clone(known));
        let secrets = users(secrets, ArchiveKind::Secret, reader.clone(), Arc::clone(known));
        futures::stream::select(self, futures::stream::select(config_maps, secrets)).boxed()
    }
}

pub(crate) fn scoped<K>(client: kube::Client, namespace: &str) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    if namespace.is_empty() { Api::all(client) } else { Api::namespaced(client, namespace) }
}

/// The requests that use an object that changed.
fn users<K>(
    changes: impl Stream<Item = std::result::Result<PartialObjectMeta<K>, watcher::Error>> + Send + 'static,
    kind: ArchiveKind,
    reader: Store<RequestHead>,
    known: Arc<Known>,
) -> Triggers
where
    K: 'static,
{
    let due = changes.flat_map(move |change| {
        let found: Vec<_> = match change {
            Ok(changed) => {
                let (namespace, name) = (changed.metadata.namespace, changed.metadata.name);
                let wanted = (kind, name.unwrap_or_default());
                let sources = lock(&known.sources);
                let is_user = |head: &Arc<RequestHead>| {
                    let used = sources.get(head.meta().uid.as_deref().unwrap_or_default());
                    head.meta().namespace == namespace && used.is_some_and(|used| used.contains(&wanted))
                };
                let users = reader.state().into_iter().filter(is_user);
                users.map(|head| Ok(ObjectRef::from_obj(&*head))).collect()
            }
            Err(error) => vec![Err(error)],
        };
        futures::stream::iter(found)
    });
    due.boxed()
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
