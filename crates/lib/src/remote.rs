//! How repositories and registries are reached: the settings of operations that need no cluster.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::channel::mpsc::unbounded;
use pintle_registry::Client;
use pintle_repo::{Getter, RepositoryPaths, Resolver};

use crate::{Error, Progress, Reporter, Result};

/// What operations on repositories and registries work with, as [`Session`](crate::Session) is for those on a cluster.
/// Cloning is cheap.
///
/// ```no_run
/// use std::time::Duration;
///
/// use pintle::ops::{SearchRequest, search};
/// use pintle::repo::{RepositoryPaths, Getter, Proxies};
/// use pintle::{Remote, Silent};
///
/// # async fn run() -> pintle::Result<()> {
/// let paths = RepositoryPaths {
///     repository_config: "repositories.yaml".into(),
///     repository_cache: "cache".into(),
///     content_cache: "content".into(),
/// };
/// let remote = Remote::new(paths, Getter::new(Proxies::default(), Duration::from_secs(120), "example/1.0"));
/// let request = SearchRequest { words: vec!["nginx".to_owned()], ..SearchRequest::default() };
/// for hit in search(&remote, &request, &mut Silent).await? {
///     println!("{} {}", hit.name, hit.version);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Remote {
    /// Where repositories.yaml and the caches are.
    pub paths: RepositoryPaths,
    /// Fetches over HTTP, from registries and by other schemes. Its timeout is that of each request.
    pub getter: Arc<Getter>,
    /// The client for pushes and for dependencies in registries; without one, these are refused.
    pub registry: Option<Arc<Client>>,
    /// Whether archives are accepted even if their digest differs from the one in the index.
    pub skip_digest: bool,
    /// Whether an index that cannot be read stops the search for the repository of a URL, as in Helm.
    pub needs_all_indexes: bool,
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Remote").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl Remote {
    /// Settings that check all digests and have no client for pushes.
    pub fn new(paths: RepositoryPaths, getter: Getter) -> Remote {
        let getter = Arc::new(getter);
        Remote { paths, getter, registry: None, skip_digest: false, needs_all_indexes: false }
    }

    /// Pushes and fetches dependencies with this client.
    #[must_use]
    pub fn with_registry(self, client: Arc<Client>) -> Remote {
        Remote { registry: Some(client), ..self }
    }

    /// What turns references into archives.
    pub(crate) fn resolver(&self) -> Resolver<'_> {
        Resolver {
            folders: self.paths.clone(),
            getter: &self.getter,
            skip_digest: self.skip_digest,
            needs_all_indexes: self.needs_all_indexes,
        }
    }

    /// The list of repositories.
    pub(crate) fn config(&self) -> &PathBuf {
        &self.paths.repository_config
    }
}

/// Runs work that waits for servers on a thread of its own, so that no thread of an async runtime waits. What it reports
/// arrives at the reporter while it runs. Needs no runtime.
pub(crate) async fn off_thread<T: Send + 'static>(
    reporter: &mut dyn Reporter,
    work: impl FnOnce(&mut dyn Reporter) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, mut progress) = unbounded();
    // Nobody listens any more when the operation was dropped; its blocking part ends with the request that it waits for.
    let mut forward = move |progress: Progress| drop(sender.unbounded_send(progress));
    let thread = std::thread::Builder::new()
        .spawn(move || work(&mut forward))
        .map_err(|error| Error::Input(format!("cannot start a thread: {error}")))?;
    while let Some(progress) = progress.next().await {
        reporter.report(progress);
    }
    // The sender is gone, so the thread has ended or is about to.
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
