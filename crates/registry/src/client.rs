//! Requests to a registry: URLs, authentication, redirects and retries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, LOCATION, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use tokio::sync::OnceCell;

use crate::auth::challenge::Challenge;
use crate::auth::keychain::Keychain;
use crate::auth::token::{self, Scope, Token};
use crate::error::{Error, NO_LOGIN, Result, is_transient};
use crate::name::Repository;
use crate::settings::{Login, Settings, is_loopback};
use crate::transport::{Answer, Body, Transport, as_go_error, error_body, full, shown};

/// The maximum number of redirects followed.
const MAX_REDIRECTS: usize = 8;

/// The longest wait between retries, whatever `Retry-After` says.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// How long one request may wait for retries in all.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Pauses that a registry asks for are reported from this length.
const REPORTED_WAIT: Duration = Duration::from_secs(2);

/// The maximum size of a token server's response, in bytes.
pub(crate) const TOKEN_LIMIT: usize = 1 << 20;

/// The `User-Agent` header.
pub(crate) const AGENT: &str = concat!("pintle/", env!("CARGO_PKG_VERSION"));

/// A client for any number of registries with one set of settings. Challenges and tokens are cached.
pub struct Client {
    transport: Transport,
    settings: Settings,
    keychain: Keychain,
    /// The challenge of each registry, from its last 401.
    challenges: Mutex<BTreeMap<String, Arc<(Challenge, Uri)>>>,
    /// Cached tokens. The inner lock is held while a token is fetched, so that concurrent requests fetch it once.
    tokens: Mutex<BTreeMap<(String, Scope), Slot>>,
    /// Scheme and host of each registry: whether it speaks TLS is probed once.
    bases: Mutex<BTreeMap<String, Arc<OnceCell<String>>>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

/// A request to a registry.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) scope: Scope,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn new(method: Method, uri: Uri, scope: Scope) -> Call {
        Call { method, uri, scope, headers: Vec::new(), body: Bytes::new() }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Call {
        // Invalid header values are dropped; all callers pass ASCII.
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// Builds the request. The token is sent only if `home`, the registry itself, is the target: a redirect target
    /// must not see it.
    fn request(
        &self,
        uri: &Uri,
        home: &Uri,
        token: Option<&HeaderValue>,
        body: Body,
    ) -> Result<Request<Body>> {
        let mut builder = Request::builder().method(self.method.clone()).uri(uri.clone());
        builder = builder.header(USER_AGENT, AGENT);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        if let Some(token) = token.filter(|_| origin(uri) == origin(home)) {
            builder = builder.header(AUTHORIZATION, token);
        }
        builder
            .body(body)
            .map_err(|error| Error::Network { url: shown(uri), reason: format!("no request: {error}") })
    }
}

impl Client {
    /// Creates a client and reads the files that the settings name.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is invalid.
    pub fn new(settings: Settings) -> Result<Client> {
        Ok(Client {
            transport: Transport::new(&settings)?,
            keychain: Keychain::read(&settings.login_files)?,
            settings,
            challenges: Mutex::default(),
            tokens: Mutex::default(),
            bases: Mutex::default(),
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// A URL in a repository.
    pub(crate) async fn address(&self, repository: &Repository, rest: &str) -> Result<Uri> {
        let base = self.base(repository.registry()).await;
        let text = format!("{base}/v2/{}/{rest}", repository.path());
        text.parse()
            .map_err(|error: http::uri::InvalidUri| Error::Network { url: text, reason: error.to_string() })
    }

    /// The scheme and host of a registry.
    async fn home(&self, registry: &str) -> Result<Uri> {
        let base = self.base(registry).await;
        base.parse()
            .map_err(|error: http::uri::InvalidUri| Error::Network { url: base, reason: error.to_string() })
    }

    pub(crate) async fn base(&self, registry: &str) -> String {
        let host = match registry {
            "docker.io" | "index.docker.io" => "registry-1.docker.io",
            // Go, too, ignores an empty port.
            host => host.strip_suffix(':').unwrap_or(host),
        };
        if self.settings.plain_http {
            return format!("http://{host}");
        }
        let secure = format!("https://{host}");
        if self.settings.always_tls || !is_loopback(host) {
            return secure;
        }
        // Loopback registries often run without TLS, so they are probed; all others must speak TLS.
        let cell = self
            .bases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(host.to_owned())
            .or_default()
            .clone();
        let base = cell.get_or_init(|| async {
            let probe = Request::builder().uri(format!("{secure}/v2/")).header(USER_AGENT, AGENT);
            let Ok(probe) = probe.body(full(Bytes::new())) else { return secure.clone() };
            if self.transport.reaches_tls(probe).await { secure.clone() } else { format!("http://{host}") }
        });
        base.await.clone()
    }

    /// Sends a request, retrying transient failures and answering a challenge.
    pub(crate) async fn call(&self, call: &Call) -> Result<Answer> {
        let home = self.home(call.scope.repository().registry()).await?;
        let mut tries = 0;
        let mut asked = false;
        let mut waited = Duration::ZERO;
        loop {
            let token = self.authorize(&call.scope).await.map_err(|error| nameless(error, call))?;
            let asked_to_wait = match self.follow(call, &home, token.as_ref()).await {
                Ok(answer) if answer.status == StatusCode::UNAUTHORIZED && !asked => {
                    asked = true;
                    self.challenged(call, &home, answer, token).await?;
                    continue;
                }
                Ok(answer) if is_denied(answer.status) => return Err(denied(call, answer).await),
                Ok(answer) if !is_transient(answer.status) => return Ok(answer),
                Ok(answer) if tries >= self.settings.retries || is_too_long(waited, &answer) => {
                    return Err(answer.error().await);
                }
                Ok(answer) => retry_after(&answer),
                Err(error) if !error.is_transient() || tries >= self.settings.retries => return Err(error),
                Err(_) => None,
            };
            waited += asked_to_wait.unwrap_or_default().min(MAX_BACKOFF);
            self.pause_for(&call.uri, tries, asked_to_wait).await;
            tries += 1;
        }
    }

    /// Sends a request whose body can be sent only once. A challenge is recorded for the next attempt.
    pub(crate) async fn send_once(&self, call: &Call, body: Body) -> Result<Answer> {
        let home = self.home(call.scope.repository().registry()).await?;
        let token = self.authorize(&call.scope).await?;
        let request = call.request(&call.uri, &home, token.as_ref(), body)?;
        let answer = self.transport.send_without_timeout(request).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            let url = shown(&call.uri);
            self.challenged(call, &home, answer, token).await?;
            return Err(Error::Network { url, reason: "the token was too old".into() });
        }
        Ok(answer)
    }

    /// Waits before a retry: exponential backoff, or what the registry asks for.
    pub(crate) async fn pause(&self, tries: u32, wanted: Option<Duration>) {
        let doubled = self.settings.pause.saturating_mul(1 << tries.min(10));
        tokio::time::sleep(wanted.unwrap_or(doubled).min(MAX_BACKOFF)).await;
    }

    /// As [`Client::pause`] for what a server asked for, and tells the user about a long one.
    pub(crate) async fn pause_for(&self, uri: &Uri, tries: u32, wanted: Option<Duration>) {
        let reported = wanted.map(|wanted| wanted.min(MAX_BACKOFF)).filter(|pause| *pause >= REPORTED_WAIT);
        if let (Some(notice), Some(pause)) = (&self.settings.on_wait, reported) {
            notice.call(uri.host().unwrap_or_default(), pause);
        }
        self.pause(tries, wanted).await;
    }

    /// One attempt, following redirects.
    async fn follow(&self, call: &Call, home: &Uri, token: Option<&HeaderValue>) -> Result<Answer> {
        let mut uri = call.uri.clone();
        for _ in 0..MAX_REDIRECTS {
            let request = call.request(&uri, home, token, full(call.body.clone()))?;
            let answer = self.transport.send(request).await?;
            let follows = matches!(call.method, Method::GET | Method::HEAD);
            if !follows || !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            uri = location(&answer, &uri)?;
        }
        let reason = format!("it leads on and on, more than {MAX_REDIRECTS} times");
        Err(Error::Manifest { what: shown(&call.uri), reason })
    }

    /// The `Authorization` header for a scope, fetched if the challenge is known.
    async fn authorize(&self, scope: &Scope) -> Result<Option<HeaderValue>> {
        let registry = scope.repository().registry().to_owned();
        let slot = {
            let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.entry((registry.clone(), scope.clone())).or_default().clone()
        };
        let mut slot = slot.lock().await;
        if let Some(token) = slot.as_ref().filter(|token| token.is_valid()) {
            return Ok(Some(token.header.clone()));
        }
        let challenge =
            self.challenges.lock().unwrap_or_else(PoisonError::into_inner).get(&registry).cloned();
        let Some(challenge) = challenge else { return Ok(None) };
        let token = self.fetch_token(scope, &challenge.0, &challenge.1).await?;
        let header = token.header.clone();
        *slot = Some(token);
        Ok(Some(header))
    }

    /// Records a challenge and drops the token that was rejected.
    async fn challenged(
        &self,
        call: &Call,
        home: &Uri,
        answer: Answer,
        used: Option<HeaderValue>,
    ) -> Result<()> {
        // A challenge from a redirect target is ignored: it must not learn the login.
        let is_home = origin(&answer.uri) == origin(home);
        let Some(challenge) = Challenge::from_headers(&answer.headers).filter(|_| is_home) else {
            return Err(denied(call, answer).await);
        };
        let registry = call.scope.repository().registry().to_owned();
        let slot = {
            let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.get(&(registry.clone(), call.scope.clone())).cloned()
        };
        if let Some(slot) = slot {
            let mut slot = slot.lock().await;
            if slot.as_ref().map(|token| &token.header) == used.as_ref() {
                *slot = None;
            }
        }
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        challenges.insert(registry, Arc::new((challenge, home.clone())));
        Ok(())
    }

    async fn fetch_token(&self, scope: &Scope, challenge: &Challenge, registry: &Uri) -> Result<Token> {
        let repository = scope.repository();
        let login = match &self.settings.login {
            Some(login) => Some(login.clone()),
            None => self.keychain.login(repository).await?,
        };
        let refused = |detail: &str| Error::Denied {
            repository: repository.to_string(),
            action: scope.action(),
            detail: detail.to_owned(),
            answer: String::new(),
        };
        if let Some(Login::Bearer(token)) = &login {
            return Token::bearer(token, None)
                .ok_or_else(|| refused("the token of the file is not a valid header value"));
        }
        let (realm, service) = match challenge {
            Challenge::Bearer { realm, service } => (realm, service),
            Challenge::Basic => {
                let pair = login.as_ref().and_then(token::pair).ok_or_else(|| refused(NO_LOGIN))?;
                return Token::basic(pair.0, pair.1)
                    .ok_or_else(|| refused("the password has odd characters"));
            }
        };
        let realm: Uri = realm.parse().map_err(|_| refused("the server for tokens has no address"))?;
        if registry.scheme_str() == Some("https") && realm.scheme_str() != Some("https") {
            return Err(refused("the server for tokens does without TLS, so it gets no login"));
        }
        self.request_token(scope, &realm, service, login.as_ref()).await
    }

    /// Requests a token from a token server.
    async fn request_token(
        &self,
        scope: &Scope,
        realm: &Uri,
        service: &str,
        login: Option<&Login>,
    ) -> Result<Token> {
        let mut tries = 0;
        let mut waited = Duration::ZERO;
        loop {
            let request = token_request(scope, realm, service, login)?;
            let outcome = self.transport.send(request).await;
            let asked_to_wait = match outcome {
                Ok(answer) if answer.status == StatusCode::OK => {
                    let text = answer.content(TOKEN_LIMIT).await?;
                    return Token::read(&text).ok_or_else(|| Error::Network {
                        url: shown(realm),
                        reason: "the response contains no token".into(),
                    });
                }
                Ok(answer) if !is_transient(answer.status) => return Err(denied_for(scope, answer).await),
                Ok(answer) if tries >= self.settings.retries || is_too_long(waited, &answer) => {
                    return Err(answer.error().await);
                }
                Ok(answer) => retry_after(&answer),
                Err(error) if !error.is_transient() || tries >= self.settings.retries => return Err(error),
                Err(_) => None,
            };
            waited += asked_to_wait.unwrap_or_default().min(MAX_BACKOFF);
            self.pause_for(realm, tries, asked_to_wait).await;
            tries += 1;
        }
    }
}

fn token_request(scope: &Scope, realm: &Uri, service: &str, login: Option<&Login>) -> Result<Request<Body>> {
    let unusable = |error: http::Error| Error::Network { url: shown(realm), reason: error.to_string() };
    let builder = Request::builder().header(USER_AGENT, AGENT);
    if let Some(Login::Identity(identity)) = login {
        let form = token::form(service, scope, identity);
        let builder = builder.method(Method::POST).uri(realm.clone());
        let builder = builder.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        return builder.body(full(form.into())).map_err(unusable);
    }
    let sign = if realm.query().is_some() { '&' } else { '?' };
    let mut builder = builder.uri(format!("{realm}{sign}{}", token::query(service, scope)));
    if let Some(basic) = login.and_then(token::pair).and_then(|(user, password)| Token::basic(user, password))
    {
        builder = builder.header(AUTHORIZATION, basic.header);
    }
    builder.body(full(Bytes::new())).map_err(unusable)
}

/// Adds the request to an error about a missing login or a broken credential helper, as Go's library does.
fn nameless(error: Error, call: &Call) -> Error {
    match error {
        Error::Denied { repository, action, detail, answer } if answer.is_empty() && detail == NO_LOGIN => {
            let answer = format!("{} \"{}\": basic credential not found", call.method, shown(&call.uri));
            Error::Denied { repository, action, detail, answer }
        }
        error @ (Error::NoHelper { .. } | Error::Helper { .. }) => {
            let (method, url) = (&call.method, shown(&call.uri));
            let text = format!("{method} \"{url}\": failed to resolve credential: {error}");
            Error::Transfer { text, source: Box::new(error) }
        }
        other => other,
    }
}

fn is_denied(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

async fn denied(call: &Call, answer: Answer) -> Error {
    denied_for(&call.scope, answer).await
}

async fn denied_for(scope: &Scope, answer: Answer) -> Error {
    let status = answer.status;
    let (method, url) = (answer.method.clone(), shown(&answer.uri));
    let body = error_body(answer).await;
    let answer = as_go_error(&method, &url, status, &body.answer);
    let detail = if body.detail.is_empty() { status.to_string() } else { body.detail };
    Error::Denied { repository: scope.repository().to_string(), action: scope.action(), detail, answer }
}

/// The delay of a `Retry-After` header in seconds.
pub(crate) fn retry_after(answer: &Answer) -> Option<Duration> {
    answer.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}

/// Whether another pause that an answer asks for would be one too many.
fn is_too_long(waited: Duration, answer: &Answer) -> bool {
    waited + retry_after(answer).unwrap_or_default().min(MAX_BACKOFF) > MAX_WAIT
}

/// Scheme, host and port, which decide whether credentials may be sent.
fn origin(uri: &Uri) -> (Option<&str>, Option<&str>, Option<u16>) {
    let port = uri.port_u16().or(match uri.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    });
    (uri.scheme_str(), uri.host(), port)
}

/// The absolute `Location` of a response.
pub(crate) fn location(answer: &Answer, from: &Uri) -> Result<Uri> {
    let bad = |reason: &str| Error::Manifest { what: shown(from), reason: reason.to_owned() };
    let text = answer.header(LOCATION.as_str()).ok_or_else(|| bad("the answer leads nowhere"))?;
    let uri: Uri = if text.starts_with('/') && !text.starts_with("//") {
        let scheme = from.scheme_str().unwrap_or("https");
        let host = from.authority().map_or("", |authority| authority.as_str());
        format!("{scheme}://{host}{text}").parse().map_err(|_| bad("the answer leads nowhere"))?
    } else {
        text.parse().map_err(|_| bad("the answer leads nowhere"))?
    };
    match (from.scheme_str(), uri.scheme_str()) {
        (_, Some("https")) | (Some("http"), Some("http")) => Ok(uri),
        (_, Some("http")) => Err(bad("the answer leads away from TLS")),
        _ => Err(bad("the answer leads nowhere")),
    }
}
