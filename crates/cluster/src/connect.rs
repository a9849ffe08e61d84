//! Builds a client from settings, resolving them as kubectl and Helm do.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Once;

use http::{HeaderValue, header::USER_AGENT};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext};
use pintle_tree::redact::redacted;

use crate::credentials::{self, PluginError, RenewedClient};
use crate::error::{Error, Result};
use crate::kubeconfig::{ResolvedConfig, error_text};
use crate::transport::INVALID_TOKEN;
use crate::untrusted::{self, AllowedAddress};

/// What client-go connects to without any configuration.
pub(crate) const DEFAULT_SERVER: &str = "http://localhost:8080";

/// How to reach a cluster. Flags and environment variables are resolved by the caller; empty means not set.
#[derive(Clone, Default, PartialEq)]
pub struct Settings {
    /// The kubeconfig files, in order of precedence. Files that do not exist are skipped.
    pub kubeconfig: Vec<PathBuf>,
    /// Whether the one file was named by the user and so must exist.
    pub explicit_kubeconfig: bool,
    /// The context to use instead of the current one.
    pub context: String,
    /// The server's address.
    pub server: String,
    /// A bearer token.
    pub token: String,
    /// A CA bundle to verify the server with.
    pub ca_file: String,
    /// The name to verify in the server's certificate.
    pub tls_server_name: String,
    /// Whether the server's certificate is not verified.
    pub insecure: bool,
    /// The user to impersonate.
    pub as_user: String,
    /// The groups to impersonate.
    pub as_groups: Vec<String>,
    /// The default namespace.
    pub namespace: String,
    /// The client-side rate limit in requests per second; 0 for none.
    pub qps: f32,
    /// How many requests may be sent at once before the rate limit applies.
    pub burst: u32,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The proxies for clusters whose kubeconfig names none.
    pub proxies: Proxies,
}

impl fmt::Debug for Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tokens, and passwords in URLs, must not reach logs.
        out.debug_struct("Settings")
            .field("kubeconfig", &self.kubeconfig)
            .field("context", &self.context)
            .field("server", &redacted(&self.server))
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// The proxy settings of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `https` servers.
    pub https: String,
    /// For `http` servers.
    pub http: String,
    /// The hosts to connect to directly, separated by commas.
    pub none: String,
}

impl fmt::Debug for Proxies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Proxies { https, http, none } = self;
        let (https, http) = (redacted(https), redacted(http));
        out.debug_struct("Proxies").field("https", &https).field("http", &http).field("none", none).finish()
    }
}

/// A client with what is needed to describe it.
pub(crate) struct Connection {
    pub(crate) client: kube::Client,
    pub(crate) address: String,
    pub(crate) namespace: String,
}

/// Builds a client. No request is sent, but a credential plugin may run.
pub(crate) async fn client(settings: &Settings) -> Result<Connection> {
    install_crypto();
    let config = load_config(settings).await.map_err(unreachable)?;
    from_config(config, None).await
}

/// Builds a client from the text of an untrusted kubeconfig: it may neither run programs nor refer to local files.
pub(crate) async fn client_of_text(
    text: &str,
    user_agent: &str,
    allowed: AllowedAddress,
) -> Result<Connection> {
    install_crypto();
    let wrong = |error: kube::config::KubeconfigError| Error::Configuration(error_text(&error));
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(wrong)?;
    ensure_self_contained(&kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(wrong)?;
    let agent = HeaderValue::from_str(user_agent);
    let agent = agent.map_err(|error| Error::Configuration(format!("user agent: {error}")))?;
    config.headers.push((USER_AGENT, agent));
    config.default_retry = false;
    from_config(config, Some(allowed)).await
}

fn ensure_self_contained(kubeconfig: &Kubeconfig) -> Result<()> {
    let refuse = |what: &str| {
        let text =
            format!("the kubeconfig has `{what}`, which is not allowed here; put the data itself into it");
        Err(Error::Configuration(text))
    };
    for cluster in kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref()) {
        if cluster.certificate_authority.is_some() {
            return refuse("certificate-authority");
        }
    }
    for user in kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref()) {
        for (what, is_set) in [
            ("exec", user.exec.is_some()),
            ("auth-provider", user.auth_provider.is_some()),
            ("tokenFile", user.token_file.is_some()),
            ("client-certificate", user.client_certificate.is_some()),
            ("client-key", user.client_key.is_some()),
        ] {
            if is_set {
                return refuse(what);
            }
        }
    }
    Ok(())
}

fn unreachable(error: Error) -> Error {
    Error::Unreachable(Box::new(error))
}

/// Builds a client; one that connects only to allowed addresses, if there is such a rule.
async fn from_config(config: kube::Config, allowed: Option<AllowedAddress>) -> Result<Connection> {
    // For display only; requests use the configured URL.
    let address = redacted(config.cluster_url.to_string().trim_end_matches('/')).into_owned();
    let namespace = config.default_namespace.clone();
    let client = match build_client(config, allowed).await? {
        Ok(client) => client,
        Err(ClientError::Plugin(error)) => return Err(unreachable(credentials::failure(&address, &error))),
        Err(ClientError::Refused(kube::Error::Auth(error))) => {
            let (url, cause) = (format!("{address}/version"), error.to_string());
            return Err(unreachable(Error::Credentials { url, cause, stderr: String::new() }));
        }
        Err(ClientError::Refused(error)) => {
            return Err(unreachable(Error::Configuration(error_text(&error))));
        }
        Err(ClientError::Panicked(why)) => return Err(unreachable(client_error(&address, &why))),
    };
    Ok(Connection { client, address, namespace })
}

/// The name of the thread that builds clients. A panic there is caught and returned as an error, so panic hooks can
/// ignore this thread.
pub const CLIENT_THREAD: &str = "cluster-client";

enum ClientError {
    Plugin(PluginError),
    Refused(kube::Error),
    Panicked(String),
}

/// Builds a client on its own thread, because a credential plugin may take its time, and catches panics: kube panics on a
/// token that is not a valid header value, and a token from a plugin cannot be checked beforehand.
async fn build_client(
    config: kube::Config,
    allowed: Option<AllowedAddress>,
) -> Result<Result<kube::Client, ClientError>> {
    let runtime = tokio::runtime::Handle::current();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name(CLIENT_THREAD.to_owned());
    let thread = thread.spawn(move || {
        let _entered = runtime.enter();
        let made = catch_unwind(AssertUnwindSafe(|| match allowed {
            Some(allowed) => untrusted::client(config, allowed).map_err(ClientError::Refused),
            None => authenticated_client(config),
        }));
        let made = made.unwrap_or_else(|panic| Err(ClientError::Panicked(panic_message(&*panic))));
        // Fails only if the receiver was dropped, after a cancellation.
        let _ = sender.send(made);
    });
    thread.map_err(|error| Error::Configuration(format!("cannot start a thread: {error}")))?;
    Ok(receiver.await.unwrap_or_else(|_| Err(ClientError::Panicked(String::new()))))
}

fn authenticated_client(mut config: kube::Config) -> Result<kube::Client, ClientError> {
    let obtained = credentials::obtain(&mut config.auth_info).map_err(ClientError::Plugin)?;
    let namespace = config.default_namespace.clone();
    let renewed = config.clone();
    // Panics on a token of a plugin that is not a valid header, which is then the error.
    let client = ClientBuilder::try_from(config).map_err(ClientError::Refused)?.build();
    let Some(obtained) = obtained else { return Ok(client) };
    let client = RenewedClient::new(renewed, obtained, client)
        .map_err(|error| ClientError::Refused(kube::Error::Service(error)))?;
    Ok(kube::Client::new(tower::service_fn(move |request| client.clone().send(request)), namespace))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default().to_owned()
}

/// Maps a failure to build a client to the message of Go's client, where it has one.
fn client_error(address: &str, why: &str) -> Error {
    if !why.contains("not valid header") {
        return Error::Configuration(format!("cannot create a client for {address}: {why}"));
    }
    Error::Transport {
        verb: "Get".to_owned(),
        url: format!("{address}/version"),
        cause: INVALID_TOKEN.to_owned(),
        sent: false,
    }
}

/// Installs one crypto provider for the whole process; an earlier one stays.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

async fn load_config(settings: &Settings) -> Result<kube::Config> {
    let resolved = ResolvedConfig::resolve(settings)?;
    let mut config = if resolved.is_default() && in_cluster_is_possible() {
        in_cluster(settings)?
    } else {
        from_resolved(resolved, settings).await?
    };
    if !settings.namespace.is_empty() {
        config.default_namespace = settings.namespace.clone();
    }
    if !settings.user_agent.is_empty() {
        let value = HeaderValue::from_str(&settings.user_agent);
        let value = value.map_err(|error| Error::Configuration(format!("user agent: {error}")))?;
        config.headers.push((USER_AGENT, value));
    }
    // Retries are handled in `request`, with the rules of client-go.
    config.default_retry = false;
    Ok(config)
}

async fn from_resolved(resolved: ResolvedConfig, settings: &Settings) -> Result<kube::Config> {
    let proxy = resolved.proxy(&settings.proxies)?;
    let name = "chosen".to_owned();
    let ResolvedConfig { cluster, user, mut context, .. } = resolved;
    context.cluster = name.clone();
    context.user = Some(name.clone());
    if context.namespace.as_deref() == Some("") {
        context.namespace = None;
    }
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster { name: name.clone(), cluster: Some(cluster), ..Default::default() }],
        auth_infos: vec![NamedAuthInfo { name: name.clone(), auth_info: Some(user), ..Default::default() }],
        contexts: vec![NamedContext { name: name.clone(), context: Some(context), ..Default::default() }],
        current_context: Some(name),
        ..Kubeconfig::default()
    };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| Error::Configuration(error_text(&error)))?;
    config.proxy_url = proxy;
    Ok(config)
}

/// Whether this process runs in a pod with a service account.
fn in_cluster_is_possible() -> bool {
    kube::Config::incluster().is_ok()
}

/// The in-cluster configuration. Of the flags, only server, token and CA file apply, as in client-go.
fn in_cluster(settings: &Settings) -> Result<kube::Config> {
    let config = kube::Config::incluster();
    let mut config = config.map_err(|error| Error::Configuration(error_text(&error)))?;
    if !settings.token.is_empty() {
        config.auth_info.token_file = None;
        config.auth_info.token = Some(settings.token.clone().into());
    }
    if !settings.ca_file.is_empty() {
        config.root_cert_file = Some(PathBuf::from(&settings.ca_file));
    }
    Ok(config)
}
