//! Leader election on a `coordination.k8s.io` Lease, as client-go does it: the holder of the lease works, renews it, and stops
//! before it expires when renewing fails. On a graceful stop the lease is released, so that the next leader starts at once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle::cluster::{Cluster, Resource, WriteParams};
use pintle::objects::{Object, ObjectId};
use pintle::release::Timestamp;
use pintle_tree::{Map, Node};
use tokio::time::Instant;

use crate::FIELD_MANAGER;

/// The lease and its times.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Who we are; unique for each process.
    pub identity: String,
    /// How long the lease is valid without a renewal.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it stops. Shorter than the lease, so that two never work at once.
    pub renew_deadline: Duration,
    /// The pause between two tries.
    pub retry_period: Duration,
}

impl LeaderElection {
    /// The times of client-go.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> LeaderElection {
        LeaderElection {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// The time until which no other process can lead. The election extends it, and operations check it before they change
/// anything: a process that was suspended cannot know whether another one leads now, but it knows that this time has passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leadership(Arc<Mutex<Option<Instant>>>);

impl Leadership {
    /// Whether this process leads, and no other can lead yet.
    pub(crate) fn is_current(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn set(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// What we know about a lease that another holds: since when its record has not changed, by our own clock. The clocks of
/// two machines are never compared.
#[derive(Debug, Default)]
struct Observed {
    record: String,
    since: Option<Instant>,
}

/// Takes part in an election.
pub struct Candidate {
    cluster: Cluster,
    election: LeaderElection,
    observed: Observed,
    leadership: Leadership,
}

pub(crate) fn leases() -> Resource {
    Resource::new("coordination.k8s.io", "v1", "Lease", "leases")
}

impl Candidate {
    /// A candidate with the rights of `cluster`.
    pub fn new(cluster: Cluster, election: LeaderElection) -> Candidate {
        Candidate { cluster, election, observed: Observed::default(), leadership: Leadership::default() }
    }

    /// Whether we lead, for operations to check before they change anything.
    pub(crate) fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Waits until we hold the lease.
    pub async fn acquire(&mut self) {
        while !self.try_acquire().await.unwrap_or(false) {
            tokio::time::sleep(self.election.retry_period).await;
        }
    }

    /// Renews the lease until that does not succeed any more or someone else holds it.
    pub async fn hold(&mut self) {
        loop {
            tokio::time::sleep(self.election.retry_period).await;
            match self.try_acquire().await {
                Ok(true) => {}
                // The API server may be back before the lease expires.
                Err(_) if self.leadership.is_current() => {}
                Ok(false) | Err(_) => break,
            }
        }
        self.leadership.set(None);
    }

    /// Gives the lease up if we hold it.
    pub async fn release(&mut self) {
        self.leadership.set(None);
        let Ok(Some(mut lease)) = self.read().await else { return };
        if lease.text(&["spec", "holderIdentity"]) == self.election.identity {
            if let Some(Node::Map(spec)) = lease.body_mut().get_mut("spec") {
                spec.insert("holderIdentity".into(), "".into());
                spec.insert("leaseDurationSeconds".into(), Node::Int(1));
            }
            let _ = self.cluster.replace(&lease, &params()).await;
        }
    }

    async fn read(&self) -> pintle::cluster::Result<Option<Object>> {
        self.cluster.get_by_name(&leases(), &self.election.namespace, &self.election.name).await
    }

    /// Creates, takes or renews the lease, and returns whether we hold it.
    async fn try_acquire(&mut self) -> pintle::cluster::Result<bool> {
        // Before the write: others count from the moment at which they see the renewal, which is later.
        let begin = Instant::now();
        let is_ours = self.write_lease().await?;
        if is_ours {
            self.leadership.set(Some(begin + self.election.renew_deadline));
        }
        Ok(is_ours)
    }

    /// Writes the lease if nobody else holds it. Of two that try at once one gets a conflict.
    async fn write_lease(&mut self) -> pintle::cluster::Result<bool> {
        let Some(mut lease) = self.read().await? else {
            let id = ObjectId::new(
                "coordination.k8s.io/v1",
                "Lease",
                &self.election.namespace,
                &self.election.name,
            );
            let mut lease = Object::from_id(&id);
            lease.body_mut().insert("spec".into(), Node::Map(self.spec(0, None)));
            return won(self.cluster.create(&lease, &params()).await.map(drop));
        };
        let holder = lease.text(&["spec", "holderIdentity"]).to_owned();
        let is_ours = holder == self.election.identity;
        if !is_ours && !holder.is_empty() && !self.has_expired(&lease) {
            return Ok(false);
        }
        let transitions = lease.int(&["spec", "leaseTransitions"]).unwrap_or_default() + i64::from(!is_ours);
        let since = is_ours.then(|| lease.text(&["spec", "acquireTime"]).to_owned());
        lease.body_mut().insert("spec".into(), Node::Map(self.spec(transitions, since)));
        won(self.cluster.replace(&lease, &params()).await.map(drop))
    }

    /// Whether the lease of another was not renewed for its duration, by our own clock.
    fn has_expired(&mut self, lease: &Object) -> bool {
        let record = format!("{}/{}", lease.uid(), lease.resource_version());
        let seconds = lease.int(&["spec", "leaseDurationSeconds"]).unwrap_or_default();
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        match self.observed.since {
            Some(since) if self.observed.record == record => since.elapsed() > duration,
            _ => {
                self.observed = Observed { record, since: Some(Instant::now()) };
                false
            }
        }
    }

    fn spec(&self, transitions: i64, since: Option<String>) -> Map<Node> {
        let now = micro_time();
        let seconds = i64::try_from(self.election.lease_duration.as_secs()).unwrap_or(15).max(1);
        Map::from_entries(vec![
            ("holderIdentity".into(), self.election.identity.as_str().into()),
            ("leaseDurationSeconds".into(), Node::Int(seconds)),
            (
                "acquireTime".into(),
                since.filter(|time| !time.is_empty()).unwrap_or_else(|| now.clone()).into(),
            ),
            ("renewTime".into(), now.into()),
            ("leaseTransitions".into(), Node::Int(transitions)),
        ])
    }
}

pub(crate) fn params() -> WriteParams {
    WriteParams { field_manager: FIELD_MANAGER, ..WriteParams::default() }
}

/// A conflict means that another was faster.
fn won(written: pintle::cluster::Result<()>) -> pintle::cluster::Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.is_conflict() || error.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The time in the format of `MicroTime`.
pub(crate) fn micro_time() -> String {
    let now = pintle::Clock::now(&pintle::SystemClock);
    let whole = Timestamp::from_unix(now.unix(), 0).to_string();
    format!("{}.{:06}Z", whole.trim_end_matches('Z'), now.nanosecond() / 1000)
}
