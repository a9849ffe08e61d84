//! The controller as a process: watches, the work queue and its workers by `kube`'s runtime, leader election, and graceful
//! shutdown.
//!
//! Each reconciliation is a task of the multi-threaded runtime, so that all cores work. What takes long without waiting, such
//! as rendering, is done on blocking threads by the operations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
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
use crate::fair_queue::{FairQueue, Permit, Priority};
use crate::leader::{Candidate, LeaderElection, Leadership};
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::reconcile::{ClusterCache, Log, Reconciler};
use crate::request::{ArchiveKind, FINALIZER, HelmRequest, RequestHead, Undecodable, WATCH_LABEL};
use crate::ring::{Gains, Refusal, Share, slot_of};
use crate::serve::Health;
use crate::settled::Settled;
use crate::value_files::ValueFiles;
use crate::watched::{Coverage, Key, Kind, Users, Watched, key};
use crate::{Error, Result};

/// How long a resolved chart reference is cached at most.
const CHART_MAX_AGE: Duration = Duration::from_secs(60);

/// How long discovery is cached: charts see new kinds in `.Capabilities` after that at the latest.
pub(crate) const DISCOVERY_MAX_AGE: Duration = Duration::from_secs(60);

/// How many requests to a cluster are under way at once, if the server keeps up.
pub(crate) const MAX_IN_FLIGHT: usize = 32;

/// How much memory reconciliations may use together, if nothing else is known.
const DEFAULT_MEMORY: u64 = 1 << 30;

/// How many objects a page of a list of metadata has: a few hundred bytes each.
const METADATA_PAGE: u32 = 2_000;

/// How long a request waits for the first lists of the watches. Then it is looked at without them.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
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
    /// How many requests are worked on at once; any number may wait until their objects are ready.
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
    /// Whether all ConfigMaps and Secrets are watched, so that changes of any that a request reads are noticed at once, and
    /// nothing is read for requests whose objects did not change.
    pub watch_all_values: bool,
    /// Whether `Release` and `ReleaseVersion` objects are watched, so that nothing is read for those that did not change.
    pub watch_records: bool,
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
            concurrent: 16,
            concurrent_per_namespace: 0,
            default_service_account: "default".to_owned(),
            memory: DEFAULT_MEMORY,
            jitter: 5,
            requeue_dependency: Duration::from_secs(30),
            graceful_shutdown: Duration::from_secs(600),
            cancel_timeout: Duration::from_secs(15),
            watch_values: false,
            watch_all_values: false,
            watch_records: true,
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
    // The lease is renewed without it: it must not wait behind the work.
    let cluster = cluster.with_in_flight_limit(MAX_IN_FLIGHT);
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
    watched: Arc<Watched>,
    /// Which requests are ours, if replicas share them.
    share: Option<Arc<Share>>,
}

/// What is known about requests besides their heads, by uid.
#[derive(Default)]
struct Known {
    /// When each request was last seen to change.
    changed: Mutex<BTreeMap<String, Instant>>,
    /// Why a request is looked at next, if not because its interval is over.
    reasons: Mutex<BTreeMap<String, Priority>>,
    /// The requests that read an object, as of their last reconciliation.
    users: Mutex<Users<ObjectRef<RequestHead>>>,
}

/// A poisoned lock is fine: each change of these maps is a single call.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn forget(&self, uid: &str) {
        lock(&self.changed).remove(uid);
        lock(&self.reasons).remove(uid);
        lock(&self.users).forget(uid);
    }

    /// Notes why a request is looked at next; the most urgent reason counts.
    fn expect(&self, uid: &str, reason: Priority) {
        let mut reasons = lock(&self.reasons);
        let known = reasons.entry(uid.to_owned()).or_insert(reason);
        *known = reason.min(*known);
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
    let watched = Watched::new(&options.namespace, coverage(&options));
    let (reader, triggers) =
        requests(&cluster, &options, Arc::clone(&known), Arc::clone(&queue), Arc::clone(&log));
    let worker = Arc::new(Worker {
        reconciler,
        queue: Arc::clone(&queue),
        failures: Mutex::default(),
        known: Arc::clone(&known),
        watched: Arc::clone(&watched),
        share: share.as_ref().map(|(share, _)| Arc::clone(share)),
    });
    let watches = Watches {
        cluster: cluster.clone(),
        options: options.clone(),
        watched,
        known,
        queue: Arc::clone(&queue),
        log,
    };
    let triggers = futures::stream::select(triggers, watches.triggers()).boxed();
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
    let uid = head.uid().unwrap_or_default();
    let namespace = head.namespace().unwrap_or_default();
    let slot = slot_of(&namespace, &head.name_any());
    let is_ours = worker.share.as_ref().is_none_or(|share| share.admits(slot));
    if is_ours && let Some(pause) = worker.settled_pause(&head, &uid).await {
        lock(&worker.known.reasons).remove(&uid);
        return Ok(Action::requeue(pause));
    }
    let priority = lock(&worker.known.reasons).get(&uid).copied().unwrap_or(Priority::Interval);
    let queued = worker.reconciler.metrics.enqueue();
    let Some(permit) = worker.queue.acquire(&namespace, &uid, priority).await else {
        return Ok(Action::await_change());
    };
    drop(queued);
    let permit = Arc::new(permit);
    let Some(share) = &worker.share else { return reconcile_as(&head, &uid, &worker, permit, None).await };
    let turn = match share.enter(slot) {
        Ok(turn) => turn,
        Err(Refusal::NotOurs) => return Ok(Action::await_change()),
        Err(Refusal::Unsure(later)) => return Ok(Action::requeue(later)),
    };
    tokio::select! {
        done = reconcile_as(&head, &uid, &worker, permit, Some(turn.holder())) => done,
        // Dropped where it stands: whether others act on the request by now is not known.
        () = turn.revoked() => {
            worker.known.expect(&uid, Priority::Failure);
            Ok(Action::requeue(REVOKED_RETRY))
        }
    }
}

/// Reconciles one request, as a holder of leases on releases.
async fn reconcile_as(
    head: &RequestHead,
    uid: &str,
    worker: &Worker,
    permit: Arc<Permit>,
    holder: Option<LeaseHolder>,
) -> std::result::Result<Action, ReconcileError> {
    // What comes from now on is another reason.
    lock(&worker.known.reasons).remove(uid);
    let done = worker.reconcile(head, uid, permit, holder).await.map_err(ReconcileError);
    if !matches!(&done, Ok((_, true))) {
        worker.known.expect(uid, Priority::Failure);
    }
    done.map(|(action, _)| action)
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

/// The objects that are read for a request in its namespace: for its values, its chart, and how to reach both.
fn sources(request: &HelmRequest) -> BTreeSet<(Kind, Key)> {
    let spec = &request.spec;
    let mut sources = BTreeSet::new();
    let mut add = |kind: ArchiveKind, name: &str| {
        sources.insert((Kind::from(kind), key(request.namespace(), name)));
    };
    for source in &spec.values_from {
        if let Some(kind) = source.object_kind() {
            add(kind, &source.name);
        }
    }
    if let Some(archive) = &spec.chart.archive {
        add(archive.kind, &archive.name);
    }
    let secrets = [
        spec.chart.credentials.as_ref().map(|credentials| &credentials.name),
        spec.chart.verify.as_ref().map(|verify| &verify.secret_ref.name),
        spec.kube_config.as_ref().map(|config| &config.secret_ref.name),
    ];
    for name in secrets.into_iter().flatten() {
        add(ArchiveKind::Secret, name);
    }
    sources
}

impl Worker {
    /// When to look at a request again for which nothing is to be done, and nothing to be read to know that.
    async fn settled_pause(&self, head: &RequestHead, uid: &str) -> Option<Duration> {
        let (meta, reconciler) = (head.meta(), &self.reconciler);
        let generation = meta.generation.unwrap_or_default();
        let settled = Settled::parse(head.settled()).filter(|settled| settled.is_of(generation))?;
        if meta.deletion_timestamp.is_some() {
            return None;
        }
        tokio::time::timeout(LIST_TIMEOUT, self.watched.listed()).await.ok()?;
        let namespace = head.namespace().unwrap_or_default();
        let request = (namespace.as_str(), generation, meta.annotations.as_ref());
        let (account, now) = (&reconciler.default_service_account, reconciler.clock.now().unix());
        if !settled.holds(request, &*self.watched, account, now) {
            return None;
        }
        let chart = settled.chart();
        let memory = (&reconciler.memory, namespace.as_str());
        if !chart.is_empty() && !reconciler.charts.is_current(uid, chart, memory).await {
            return None;
        }
        let of = |(kind, name): &(ArchiveKind, String)| (Kind::from(*kind), key(&namespace, name));
        let sources = settled.sources().iter().map(of).collect();
        lock(&self.known.users).set(uid, &ObjectRef::from_obj(head), sources);
        // What changed before that would have told nobody.
        if !settled.holds(request, &*self.watched, account, now) {
            return None;
        }
        reconciler.metrics.settled();
        Some(reconciler.jittered(settled.interval()))
    }

    /// Reads and reconciles a request. Also returns whether it is ready, or needs nothing more.
    async fn reconcile(
        &self,
        head: &RequestHead,
        uid: &str,
        permit: Arc<Permit>,
        holder: Option<LeaseHolder>,
    ) -> Result<(Action, bool)> {
        let reconciler = &self.reconciler;
        let due = lock(&self.known.changed).get(uid).copied().unwrap_or_else(Instant::now);
        let (requeue, is_ready) = match self.read(head).await? {
            None => {
                lock(&self.failures).remove(uid);
                return Ok((Action::await_change(), true));
            }
            Some(Err(undecodable)) => {
                let Undecodable { request, reason } = *undecodable;
                (reconciler.reject(request, reason).await?, false)
            }
            Some(Ok(request)) => {
                // Before they are read, so that no change is missed.
                lock(&self.known.users).set(uid, &ObjectRef::from_obj(head), sources(&request));
                reconciler.reconcile_due(request, due, Some(permit), holder).await?
            }
        };
        lock(&self.failures).remove(uid);
        // One that is not looked at again by itself, such as one that is deleted, waits for nothing.
        let is_done = is_ready || requeue.0.is_none();
        Ok((requeue.0.map_or_else(Action::await_change, Action::requeue), is_done))
    }

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
    queue: Arc<FairQueue>,
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
                                lock(&known.changed).insert(uid.clone(), Instant::now());
                                let reason = reason(&head);
                                known.expect(&uid, reason);
                                queue.promote(&head.namespace().unwrap_or_default(), &uid, reason);
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

/// Why a request is looked at that the watch shows.
fn reason(head: &RequestHead) -> Priority {
    let is_handled = head.meta().deletion_timestamp.is_none() && head.is_handled();
    if is_handled { Priority::FirstSight } else { Priority::Change }
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

/// How much of what requests depend on is watched.
fn coverage(options: &Options) -> [(Kind, Coverage); 4] {
    let records = if options.watch_records { Coverage::All } else { Coverage::None };
    let values = match (options.watch_all_values, options.watch_values) {
        (true, _) => Coverage::All,
        (false, true) => Coverage::Some,
        (false, false) => Coverage::None,
    };
    [(Kind::Release, records), (Kind::Version, records), (Kind::ConfigMap, values), (Kind::Secret, values)]
}

/// The watches of what requests depend on. Only metadata: what the objects hold is read with the rights of the requests that use
/// them.
struct Watches {
    cluster: Cluster,
    options: Options,
    watched: Arc<Watched>,
    known: Arc<Known>,
    queue: Arc<FairQueue>,
    log: Log,
}

impl Watches {
    /// Follows all of them. Changes of ConfigMaps and Secrets trigger the requests that read them; those of records are mostly
    /// ours, and those of others are found at the interval.
    fn triggers(self) -> Triggers {
        let client = self.cluster.kube_client().clone();
        let namespace = self.options.namespace.as_str();
        let config = watcher::Config::default().page_size(METADATA_PAGE);
        let values = match self.watched.coverage(Kind::ConfigMap) {
            // Records of Helm and payloads of ours are no values, and there are more of them than of anything else.
            Coverage::All => (config.clone(), config.clone().fields(NO_RECORDS)),
            _ => {
                let labelled = config.clone().labels(&format!("{WATCH_LABEL}=true"));
                (labelled.clone(), labelled)
            }
        };
        let config_maps: Api<PartialObjectMeta<ConfigMap>> = scoped(client.clone(), namespace);
        let secrets: Api<PartialObjectMeta<Secret>> = scoped(client.clone(), namespace);
        let releases = record_kind(&client, "Release", namespace);
        let versions = record_kind(&client, "ReleaseVersion", namespace);
        let all = [
            self.follow(Kind::ConfigMap, watcher(config_maps, values.0).boxed()),
            self.follow(Kind::Secret, watcher(secrets, values.1).boxed()),
            self.follow(Kind::Release, watcher(releases, config.clone()).boxed()),
            self.follow(Kind::Version, watcher(versions, config).boxed()),
        ];
        futures::stream::select_all(all).boxed()
    }

    /// Notes what a watch sees. The stream has the requests that read what changed, and never fails: without the watch, requests
    /// are looked at as if there was none.
    fn follow<K>(&self, kind: Kind, events: MetadataEvents<K>) -> Triggers
    where
        K: kube::Resource + 'static,
    {
        if self.watched.coverage(kind) == Coverage::None {
            return futures::stream::empty().boxed();
        }
        let (watched, known) = (Arc::clone(&self.watched), Arc::clone(&self.known));
        let (queue, log) = (Arc::clone(&self.queue), Arc::clone(&self.log));
        let events = events.map(|event| event.map(metadata_event)).default_backoff();
        let due = events.flat_map(move |event| {
            if let Err(error) = &event {
                log(&LogLine::warn(format!("cannot watch {kind:?} objects: {error}"), Vec::new()));
            }
            let changed = watched.note(kind, &event);
            let users = lock(&known.users);
            let found: Vec<_> = changed.into_iter().flat_map(|object| users.of(kind, object)).collect();
            drop(users);
            for (uid, request) in &found {
                known.expect(uid, Priority::Values);
                queue.promote(request.namespace.as_deref().unwrap_or_default(), uid, Priority::Values);
            }
            futures::stream::iter(found.into_iter().map(|(_, request)| Ok(request)))
        });
        due.boxed()
    }
}

/// Secrets that are no records of releases.
const NO_RECORDS: &str = "type!=helm.sh/release.v1,type!=helm.sh/release-payload.v3";

/// What a watch of metadata yields.
type MetadataEvents<K> = BoxStream<'static, watcher::Result<watcher::Event<PartialObjectMeta<K>>>>;

/// An event with the metadata alone.
fn metadata_event<K>(event: watcher::Event<PartialObjectMeta<K>>) -> watcher::Event<ObjectMeta> {
    match event {
        watcher::Event::Apply(object) => watcher::Event::Apply(object.metadata),
        watcher::Event::Delete(object) => watcher::Event::Delete(object.metadata),
        watcher::Event::InitApply(object) => watcher::Event::InitApply(object.metadata),
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitDone => watcher::Event::InitDone,
    }
}

/// The metadata of a kind of records.
fn record_kind(client: &kube::Client, kind: &str, namespace: &str) -> Api<PartialObjectMeta<DynamicObject>> {
    let kind = GroupVersionKind::gvk(crds::GROUP, crds::VERSION, kind);
    let resource = ApiResource::from_gvk(&kind);
    match namespace {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

pub(crate) fn scoped<K>(client: kube::Client, namespace: &str) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    if namespace.is_empty() { Api::all(client) } else { Api::namespaced(client, namespace) }
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
