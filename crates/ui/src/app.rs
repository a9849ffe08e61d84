//! What all requests share.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pintle::{Error, OfflineSession, Remote, Session};
use tokio::sync::Semaphore;

use crate::answer::{Answered, Request};
use crate::clusters::{Clusters, SessionPool};
use crate::error::{Failure, Result};
use crate::operations::Operations;
use crate::plans::Plans;
use crate::records::Explanations;
use crate::sign_in::SignIns;

/// Advice on an error, as the command line gives it.
pub type Hints = Arc<dyn Fn(&Error) -> Option<String> + Send + Sync>;

/// How those who may look are told from others.
#[derive(Clone)]
pub enum Authentication {
    /// By the address with a token that the program prints, once; then by a cookie.
    Link,
    /// By a token of a file, with the name of its user; also as `Authorization: Bearer`.
    Tokens(Vec<(String, String)>),
    /// By a header that a reverse proxy sets, to the name of the user; groups are in the header with `-Groups` instead of
    /// `-User` at its end. Requests to the cluster are sent as that user.
    Header(String),
}

impl Authentication {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Authentication::Link => "link",
            Authentication::Tokens(_) => "file",
            Authentication::Header(_) => "header",
        }
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tokens do not get into logs.
        formatter.write_str(self.word())
    }
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Tls {
    /// The certificates.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

/// Limits of what clients can use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Streams of events.
    pub streams: usize,
    /// Operations that run at once.
    pub running_operations: usize,
    /// Operations that are kept, with those that have ended.
    pub operations: usize,
    /// Plans that are kept until they are applied.
    pub plans: usize,
    /// How long a plan can be applied.
    pub plan_lifetime: Duration,
    /// The largest body of a request.
    pub body: usize,
    /// The most lines of a comparison.
    pub diff_lines: usize,
    /// The time to send the head or the body of a request, and the time that an answer may stay unread.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 64,
            streams: 32,
            running_operations: 8,
            operations: 64,
            plans: 32,
            plan_lifetime: Duration::from_secs(30 * 60),
            body: 4 << 20,
            diff_lines: 100_000,
            patience: Duration::from_secs(30),
        }
    }
}

/// What is served, and to whom.
#[derive(Clone)]
pub struct Settings {
    /// The clusters.
    pub clusters: Arc<dyn Clusters>,
    /// Repositories and registries; `None` for none.
    pub remote: Option<Remote>,
    /// What renders charts for explanations.
    pub offline: OfflineSession,
    /// Whether clusters can be changed.
    pub write: bool,
    /// Who may look.
    pub authentication: Authentication,
    /// Further names under which the server is reached, for the check of `Host`.
    pub hosts: Vec<String>,
    /// The certificate; `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// Whether charts and the list of repositories on the disk of the server can be used: when whoever looks is the user of the
    /// program.
    pub local_charts: bool,
    /// The name of the program in commands.
    pub program: String,
    /// Its version.
    pub version: String,
    /// Advice on errors.
    pub hints: Hints,
    /// Limits.
    pub limits: Limits,
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Settings");
        fields.field("write", &self.write).field("authentication", &self.authentication);
        fields.field("hosts", &self.hosts).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// The state of the server.
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) port: u16,
    pub(crate) sign_ins: SignIns,
    pub(crate) sessions: SessionPool,
    pub(crate) operations: Operations,
    pub(crate) plans: Plans,
    pub(crate) explanations: Explanations,
    pub(crate) streams: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(settings: Settings, port: u16, link: Option<&str>) -> App {
        App {
            port,
            sign_ins: SignIns::new(link),
            sessions: SessionPool::default(),
            operations: Operations::new(settings.limits),
            plans: Plans::default(),
            explanations: Explanations::default(),
            streams: Arc::new(Semaphore::new(settings.limits.streams)),
            settings,
        }
    }

    /// The context that a request is about.
    pub(crate) fn context(&self, request: &Request) -> Result<String> {
        let contexts = self.settings.clusters.contexts();
        match request.query.given("context") {
            None => Ok(contexts.current),
            Some(name) if contexts.all.iter().any(|context| context.name == name) => Ok(name.to_owned()),
            Some(name) => Err(Failure::not_found(format!("there is no context `{name}`"))
                .hint("`kubectl config get-contexts` lists all")),
        }
    }

    /// The session of a request.
    pub(crate) async fn session(&self, request: &Request) -> Result<Session> {
        let context = self.context(request)?;
        let clusters = self.settings.clusters.as_ref();
        let session = self.sessions.session(clusters, &context, request.viewer.as_ref()).await;
        session.map_err(|error| self.failure(&error))
    }

    pub(crate) fn failure(&self, error: &Error) -> Failure {
        Failure::of(error, &self.settings)
    }

    /// Refuses what needs a disk of whoever looks.
    pub(crate) fn check_local(&self, what: &str) -> Result<()> {
        if self.settings.local_charts {
            return Ok(());
        }
        let text = format!("{what} of the server cannot be used by others than its user");
        Err(Failure::new(403, "forbidden", text))
    }

    pub(crate) fn remote(&self) -> Result<&Remote> {
        let none = || Failure::input("this server reaches no repositories and registries");
        self.settings.remote.as_ref().ok_or_else(none)
    }
}

/// What a handler returns.
pub(crate) type Answering = futures::future::BoxFuture<'static, Result<Answered>>;

/// A list of a limited length, the last used first.
pub(crate) struct Recent<K, V> {
    entries: Mutex<VecDeque<(K, V)>>,
    limit: usize,
}

impl<K: PartialEq, V: Clone> Recent<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Recent { entries: Mutex::default(), limit }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.entries();
        let index = entries.iter().position(|(known, _)| known == key)?;
        let entry = entries.remove(index)?;
        let value = entry.1.clone();
        entries.push_front(entry);
        Some(value)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let mut entries = self.entries();
        entries.retain(|(known, _)| *known != key);
        entries.push_front((key, value));
        entries.truncate(self.limit);
    }

    pub(crate) fn remove(&self, key: &K) -> Option<V> {
        let mut entries = self.entries();
        let index = entries.iter().position(|(known, _)| known == key)?;
        entries.remove(index).map(|(_, value)| value)
    }

    /// A poisoned lock is fine: entries are moved as a whole.
    fn entries(&self) -> MutexGuard<'_, VecDeque<(K, V)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let recent = Recent::new(2);
        recent.insert(1, "one");
        recent.insert(2, "two");
        assert_eq!(recent.get(&1), Some("one"));
        recent.insert(3, "three");
        assert_eq!((recent.get(&1), recent.get(&2), recent.get(&3)), (Some("one"), None, Some("three")));
        assert_eq!((recent.remove(&3), recent.remove(&3)), (Some("three"), None));
    }
}
