//! The clusters of the view: a session for each context, with the rights of whoever looks.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use pintle::Session;

/// Who looks: a user that a proxy has authenticated, or that a token of the file belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Viewer {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Whether requests to the cluster are sent as this user, by impersonation.
    pub is_impersonated: bool,
}

/// A context of the kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The name.
    pub name: String,
    /// The cluster.
    pub cluster: String,
    /// The namespace.
    pub namespace: String,
    /// The user.
    pub user: String,
}

/// All contexts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contexts {
    /// The name of the one that is used unless a request names another.
    pub current: String,
    /// The namespace that the program was started with.
    pub namespace: String,
    /// All of them.
    pub all: Vec<Context>,
}

/// Connects to clusters. The program knows how: flags, kubeconfig, environment.
pub trait Clusters: Send + Sync + 'static {
    /// The contexts that can be connected to.
    fn contexts(&self) -> Contexts;

    /// Opens a session; `viewer` is set when requests must have the rights of someone else than the user of the program.
    fn connect(&self, context: &str, viewer: Option<&Viewer>) -> BoxFuture<'static, pintle::Result<Session>>;

    /// The flags that choose a context on the command line.
    fn flags(&self, context: &str) -> Vec<String>;
}

/// How many sessions are kept. Each holds what discovery has found.
const MAX_SESSIONS: usize = 16;

type Key = (String, Option<Viewer>);

/// The sessions that are open, the last used first.
#[derive(Default)]
pub(crate) struct SessionPool(Mutex<Vec<(Key, Session)>>);

impl SessionPool {
    pub(crate) async fn session(
        &self,
        clusters: &dyn Clusters,
        context: &str,
        viewer: Option<&Viewer>,
    ) -> pintle::Result<Session> {
        let viewer = viewer.filter(|viewer| viewer.is_impersonated);
        let key = (context.to_owned(), viewer.cloned());
        if let Some(session) = self.take_first(&key) {
            return Ok(session);
        }
        let session = clusters.connect(context, viewer).await?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(0, (key, session.clone()));
        sessions.truncate(MAX_SESSIONS);
        Ok(session)
    }

    fn take_first(&self, key: &Key) -> Option<Session> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = sessions.iter().position(|(known, _)| known == key)?;
        let entry = sessions.remove(index);
        let session = entry.1.clone();
        sessions.insert(0, entry);
        Some(session)
    }
}
