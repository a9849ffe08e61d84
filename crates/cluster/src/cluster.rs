//! The connection and what all of its requests share: client, rate limiter, discovery cache, warnings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::connect::{self, Settings};
use crate::discovery::{DiscoveryCache, Resource, RestMapping};
use crate::error::{Error, Result};
use crate::in_flight::InFlight;
use crate::offline::DiscardService;
use crate::openapi::Schemas;
use crate::rate_limit::RateLimiter;
use crate::untrusted::{AllowedAddress, Limits};
use crate::warning::Warnings;

/// A connection to a Kubernetes cluster. Clones share caches and the rate limiter.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    client: kube::Client,
    /// Tells connections apart, whatever their addresses say.
    connection: u64,
    /// The server's URL, for error messages.
    address: String,
    /// Whether the server was chosen by whoever sees its answers.
    is_trusted: bool,
    default_namespace: String,
    limiter: Option<Arc<RateLimiter>>,
    /// How many requests are under way at once; see [`Cluster::with_in_flight_limit`].
    in_flight: Option<Arc<InFlight>>,
    discovery_cache: Arc<DiscoveryCache>,
    schemas: Arc<Schemas>,
    warnings: Arc<Warnings>,
    /// The impersonation headers of every request; see [`Cluster::impersonate`].
    impersonation: HeaderMap,
    /// Kinds that are about to be served; see [`Cluster::with_kinds`].
    announced: Vec<Resource>,
    rest_mapping: RestMapping,
    /// The connection that answers discovery and `lookup` when this one discards writes; see
    /// [`Cluster::discarding_writes`].
    upstream: Option<Cluster>,
    /// Why the configuration is unusable, if that was known before the first request.
    config_error: Option<String>,
    limits: Limits,
    on_wait: Option<OnWait>,
    /// Called once, when the server takes long to answer.
    on_silence: Option<OnSilence>,
}

/// Called with the address of a server that takes long to answer.
type OnSilence = Arc<dyn Fn(&str) + Send + Sync>;

/// Called with the server and the time before a long pause that it asked for.
type OnWait = Arc<dyn Fn(&str, std::time::Duration) + Send + Sync>;

impl Cluster {
    /// Prepares a connection as kubectl and Helm resolve it. Nothing is sent yet.
    ///
    /// # Errors
    /// When the configuration cannot be read or contradicts itself.
    pub async fn connect(settings: &Settings) -> Result<Self> {
        let made = connect::client(settings).await?;
        let limiter = (settings.qps > 0.0).then(|| RateLimiter::new(settings.qps, settings.burst));
        Ok(Self::assemble(made.client, made.address, made.namespace, limiter.map(Arc::new)))
    }

    /// Prepares a connection from the text of a kubeconfig. Certificates, keys and tokens must be inline: programs and local
    /// files are rejected, because the author of the text may not have access to them. Nor may they have access to the server:
    /// only addresses that `allowed` accepts are connected to, what the server sends is limited, and errors do not quote
    /// answers that are none of an API server.
    ///
    /// # Errors
    /// When the text is not a kubeconfig, or refers to programs or files.
    pub async fn from_kubeconfig(text: &str, user_agent: &str, allowed: AllowedAddress) -> Result<Self> {
        let made = connect::client_of_text(text, user_agent, allowed).await?;
        let cluster = Self::assemble(made.client, made.address, made.namespace, None);
        let inner = Inner { is_trusted: false, limits: Limits::UNTRUSTED, ..(*cluster.inner).clone() };
        Ok(Cluster { inner: Arc::new(inner) })
    }

    /// The same connection with other limits for answers.
    #[cfg(test)]
    pub(crate) fn with_limits(self, limits: Limits) -> Self {
        Cluster { inner: Arc::new(Inner { limits, ..(*self.inner).clone() }) }
    }

    /// The same connection, on which at most so many requests are under way at once, and half as many whenever the server
    /// answers that it has too many (429). Watches and logs do not count. Connections as other users share the limit.
    #[must_use]
    pub fn with_in_flight_limit(self, most: usize) -> Self {
        let in_flight = Some(InFlight::new(most));
        Cluster { inner: Arc::new(Inner { in_flight, ..(*self.inner).clone() }) }
    }

    pub(crate) fn in_flight(&self) -> Option<&Arc<InFlight>> {
        self.inner.in_flight.as_ref()
    }

    /// The same connection, which calls a function with the address of the server before it waits for seconds because the
    /// server asks for it (`Retry-After`).
    #[must_use]
    pub fn with_wait_notice(
        self,
        notice: impl Fn(&str, std::time::Duration) + Send + Sync + 'static,
    ) -> Self {
        Cluster { inner: Arc::new(Inner { on_wait: Some(Arc::new(notice)), ..(*self.inner).clone() }) }
    }

    /// The same connection, which calls a function with the address of the server when a request has had no answer for two
    /// seconds; once, however many requests there are.
    #[must_use]
    pub fn with_silence_notice(self, notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let told = std::sync::Once::new();
        let once: OnSilence = Arc::new(move |address: &str| told.call_once(|| notice(address)));
        Cluster { inner: Arc::new(Inner { on_silence: Some(once), ..(*self.inner).clone() }) }
    }

    /// Whether somebody wants to know that the server is silent.
    pub(crate) fn tells_silence(&self) -> bool {
        self.inner.on_silence.is_some()
    }

    pub(crate) fn notify_silence(&self) {
        if let Some(notice) = &self.inner.on_silence {
            notice(&self.inner.address);
        }
    }

    pub(crate) fn notify_wait(&self, pause: std::time::Duration) {
        if let Some(notice) = &self.inner.on_wait {
            notice(&self.inner.address, pause);
        }
    }

    /// What the server may send at most.
    pub(crate) fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// As [`Cluster::connect`], but an unusable configuration is only reported by the first request. So an invalid
    /// chart is reported before a missing context, as in Helm.
    ///
    /// # Errors
    /// When a credential plugin fails.
    pub async fn connect_lazily(settings: &Settings) -> Result<Self> {
        match Self::connect(settings).await {
            Err(Error::Unreachable(cause)) => match *cause {
                Error::Configuration(text) => Ok(Self::unusable(settings.namespace.clone(), text)),
                cause => Err(Error::Unreachable(Box::new(cause))),
            },
            outcome => outcome,
        }
    }

    fn unusable(default_namespace: String, text: String) -> Self {
        let mut cluster = Self::offline(default_namespace);
        // There are no clones yet, so `get_mut` always succeeds.
        if let Some(inner) = Arc::get_mut(&mut cluster.inner) {
            inner.config_error = Some(text);
        }
        cluster
    }

    /// Returns the configuration error of [`Cluster::connect_lazily`], if there was one.
    pub(crate) fn check_usable(&self) -> Result<()> {
        match &self.inner.config_error {
            Some(text) => Err(Error::Unreachable(Box::new(Error::Configuration(text.clone())))),
            None => Ok(()),
        }
    }

    /// Uses an existing client, whatever serves its requests.
    pub fn from_client(client: kube::Client, default_namespace: impl Into<String>) -> Self {
        Self::assemble(client, String::new(), default_namespace.into(), None)
    }

    /// A cluster served by a function in this process, such as the embedded API server. Requests still go through
    /// `kube::Client`. Must be called within a Tokio runtime.
    pub fn from_service_fn<F, A, B>(answer: F, default_namespace: impl Into<String>) -> Self
    where
        F: Fn(http::Request<kube::client::Body>) -> A + Send + 'static,
        A: Future<Output = http::Response<B>> + Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let namespace = default_namespace.into();
        let service = tower::service_fn(move |request| {
            let answer = answer(request);
            async move { Ok::<_, std::convert::Infallible>(answer.await) }
        });
        let client = kube::Client::new(service, namespace.clone());
        Self::assemble(client, "embedded".to_owned(), namespace, None)
    }

    /// A connection on which writes succeed and are discarded, as for Helm's `PrintingKubeClient`: there are no objects,
    /// applied objects need no waiting, and every kind exists. Capabilities and `lookup` are those of this connection.
    #[must_use]
    pub fn discarding_writes(self) -> Self {
        let namespace = self.inner.default_namespace.clone();
        let client = kube::Client::new(DiscardService, namespace.clone());
        let mut cluster = Self::assemble(client, self.inner.address.clone(), namespace, None);
        if let Some(inner) = Arc::get_mut(&mut cluster.inner) {
            inner.rest_mapping = RestMapping::Convention;
            inner.upstream = Some(self);
        }
        cluster
    }

    /// Whether writes are discarded; see [`Cluster::discarding_writes`].
    pub fn discards_writes(&self) -> bool {
        self.inner.upstream.is_some()
    }

    /// The connection that answers discovery and `lookup`.
    pub(crate) fn upstream(&self) -> &Cluster {
        self.inner.upstream.as_ref().unwrap_or(self)
    }

    pub(crate) fn rest_mapping(&self) -> RestMapping {
        self.inner.rest_mapping
    }

    fn assemble(
        client: kube::Client,
        address: String,
        default_namespace: String,
        limiter: Option<Arc<RateLimiter>>,
    ) -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            client,
            connection: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
            address,
            is_trusted: true,
            default_namespace,
            limiter,
            in_flight: None,
            discovery_cache: Arc::default(),
            schemas: Arc::default(),
            warnings: Arc::default(),
            impersonation: HeaderMap::new(),
            announced: Vec::new(),
            rest_mapping: RestMapping::Discovery,
            upstream: None,
            config_error: None,
            limits: Limits::OWN,
            on_wait: None,
            on_silence: None,
        };
        Cluster { inner: Arc::new(inner) }
    }

    /// The same connection as another user: every request carries the impersonation headers. Connection pool, rate
    /// limiter, discovery and schemas are shared, so that acting as many users costs no more than acting as one.
    ///
    /// # Errors
    /// When the name of the user or of a group cannot be a header.
    pub fn impersonate(&self, user: &str, groups: &[String]) -> Result<Self> {
        let value = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| {
                Error::Configuration(format!("`{text}` cannot be impersonated: it is no header value"))
            })
        };
        let mut impersonation = HeaderMap::new();
        impersonation.insert(HeaderName::from_static("impersonate-user"), value(user)?);
        for group in groups {
            impersonation.append(HeaderName::from_static("impersonate-group"), value(group)?);
        }
        // Warnings are not shared: those of one user's requests must not show up in the output of another.
        let inner = Inner { warnings: Arc::default(), impersonation, ..Inner::clone(&self.inner) };
        Ok(Cluster { inner: Arc::new(inner) })
    }

    /// The same connection, on which kinds of CRDs that are yet to be applied are known. Objects of these kinds can be
    /// built and compared; there are none so far.
    #[must_use]
    pub fn with_kinds(&self, kinds: Vec<Resource>) -> Self {
        let inner = Inner { announced: kinds, ..Inner::clone(&self.inner) };
        Cluster { inner: Arc::new(inner) }
    }

    /// The kinds of [`Cluster::with_kinds`].
    pub fn announced_kinds(&self) -> &[Resource] {
        &self.inner.announced
    }

    /// The headers by which this connection acts as another user.
    pub(crate) fn impersonation(&self) -> &HeaderMap {
        &self.inner.impersonation
    }

    /// The client underneath, for `kube`'s runtime. It does not impersonate: that is done for each request of
    /// [`Cluster`].
    pub fn kube_client(&self) -> &kube::Client {
        &self.inner.client
    }

    /// The namespace for objects that have none.
    pub fn default_namespace(&self) -> &str {
        &self.inner.default_namespace
    }

    /// The server's URL.
    pub fn address(&self) -> &str {
        &self.inner.address
    }

    /// Identifies the connection and the user that it impersonates, as a cache key for what that user has read. The address would
    /// not do: a kubeconfig may give a server that someone else runs the address of another one.
    pub fn identity(&self) -> String {
        let user = self.inner.impersonation.get("impersonate-user").and_then(|user| user.to_str().ok());
        format!("{} {}", self.inner.connection, user.unwrap_or_default())
    }

    /// Returns the warnings of the server since the last call, each once.
    pub fn take_warnings(&self) -> Vec<String> {
        self.inner.warnings.take()
    }

    /// Clears the seen warnings, so that each is reported again.
    pub fn clear_warnings(&self) {
        self.inner.warnings.forget();
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.inner.is_trusted
    }

    pub(crate) fn warnings(&self) -> &Warnings {
        &self.inner.warnings
    }

    pub(crate) fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    pub(crate) fn limiter(&self) -> Option<&RateLimiter> {
        self.inner.limiter.as_deref()
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        &self.inner.schemas
    }

    pub(crate) fn discovery_cache(&self) -> &DiscoveryCache {
        &self.inner.discovery_cache
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cluster").field("address", &self.inner.address).finish_non_exhaustive()
    }
}
