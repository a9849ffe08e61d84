//! Fetching over HTTP, by the rules of Helm's getter and with its texts.
//!
//! Credentials go to the server of the repository and to nobody else unless the user says so, also when that server
//! redirects elsewhere. The bytes stream into what the caller gives, up to a limit.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::MultiGzDecoder;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, USER_AGENT,
};
use http::{StatusCode, Uri};
use pintle_registry::{Answer, Proxies, Settings, Transport};
use pintle_tree::redact::redacted;

use crate::address::{Address, unescape};
use crate::chartmuseum::AccessToken;
use crate::error::{Error, Result};
use crate::index::Validators;
use crate::oci::Registries;

/// How many redirects are followed, as Go's client does.
const REDIRECTS: usize = 10;

/// How to reach a server: our identity and the trusted certificates.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The user to log in as.
    pub username: String,
    /// The password.
    pub password: String,
    /// The client certificate.
    pub cert_file: String,
    /// Its key.
    pub key_file: String,
    /// The authorities to trust instead of the system's.
    pub ca_file: String,
    /// Whether to take any certificate.
    pub insecure_skip_tls_verify: bool,
    /// Whether other hosts get the credentials too.
    pub pass_credentials_all: bool,
    /// A token, which is used if there is no user with a password.
    pub token: Option<AccessToken>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords stay out of whatever is printed.
        f.debug_struct("Access").field("username", &self.username).finish_non_exhaustive()
    }
}

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// What to fetch.
    pub url: &'r str,
    /// The URL that the credentials belong to.
    pub home: &'r str,
    /// How to reach the server.
    pub access: Access,
    /// The `Accept` header, if any.
    pub accept: &'r str,
    /// What is there already; the server may say that it is still good.
    pub known: Option<&'r Validators>,
    /// Whether the answer may be compressed on its way.
    pub compressed: bool,
    /// The most that is taken, in bytes.
    pub limit: u64,
}

/// What came back, besides the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Whether what is there already is still good; then there were no bytes.
    pub unchanged: bool,
    /// What the server said about the bytes.
    pub validators: Validators,
}

/// Hears of the bytes of one download as they come; dropped at its end.
pub type Meter = Box<dyn FnMut(u64) + Send>;

/// Makes a meter for a download, by its name and its size in bytes if that is known.
pub type DownloadProgress = Arc<dyn Fn(&str, Option<u64>) -> Meter + Send + Sync>;

/// Fetches what URLs of other schemes than HTTP name.
pub trait SchemeGetter: Send + Sync {
    /// Whether it is the one for a scheme.
    fn knows(&self, scheme: &str) -> bool;

    /// Fetches.
    ///
    /// # Errors
    /// Why there is nothing.
    fn get(&self, request: &Request<'_>) -> Result<Vec<u8>>;
}

/// Fetches over HTTP, and by other schemes if it was given a getter for these. Not for threads that run futures.
pub struct Getter {
    proxies: Proxies,
    pub(crate) timeout: Duration,
    pub(crate) agent: String,
    transports: Mutex<BTreeMap<String, Arc<Transport>>>,
    registries: Option<Registries>,
    progress: Option<DownloadProgress>,
    schemes: Option<Box<dyn SchemeGetter>>,
}

impl Getter {
    /// A getter. `timeout` is for the whole of a request with its answer; none if it is zero.
    pub fn new(proxies: Proxies, timeout: Duration, agent: impl Into<String>) -> Getter {
        Getter {
            proxies,
            timeout,
            agent: agent.into(),
            transports: Mutex::default(),
            registries: None,
            progress: None,
            schemes: None,
        }
    }

    /// The same getter, which fetches charts from registries too.
    #[must_use]
    pub fn with_registries(self, registries: Registries) -> Getter {
        Getter { registries: Some(registries), ..self }
    }

    /// The same getter, which tells of its downloads.
    #[must_use]
    pub fn with_progress(self, progress: Option<DownloadProgress>) -> Getter {
        Getter { progress, ..self }
    }

    /// A meter for a download; one that does nothing if nobody wants to know.
    pub(crate) fn meter(&self, name: &str, size: Option<u64>) -> Meter {
        match &self.progress {
            Some(progress) => progress(name, size),
            None => Box::new(|_| {}),
        }
    }

    /// The same getter, which asks another one for schemes that are neither HTTP nor those of registries.
    #[must_use]
    pub fn with_schemes(self, schemes: impl SchemeGetter + 'static) -> Getter {
        Getter { schemes: Some(Box::new(schemes)), ..self }
    }

    /// The getter for a scheme that is neither HTTP nor that of registries.
    fn other(&self, scheme: &str) -> Option<&dyn SchemeGetter> {
        let is_own = matches!(scheme, "" | "http" | "https" | "oci");
        self.schemes.as_deref().filter(|schemes| !is_own && schemes.knows(scheme))
    }

    /// Whether another getter is asked for a scheme.
    pub fn knows_scheme(&self, scheme: &str) -> bool {
        self.other(scheme).is_some()
    }

    /// The registries that charts come from, if any.
    pub fn registries(&self) -> Option<&Registries> {
        self.registries.as_ref()
    }

    /// Reads the files for TLS, to find out early what is wrong with them.
    ///
    /// # Errors
    /// Files that cannot be read or used, in Helm's words.
    pub fn check_tls(&self, access: &Access) -> Result<()> {
        self.transport(access, true).map(|_| ())
    }

    /// Fetches into `sink`.
    ///
    /// # Errors
    /// Why there is nothing, in Helm's words. Some bytes may have been written by then.
    pub fn get(&self, request: &Request<'_>, sink: &mut dyn Write) -> Result<Response> {
        let scheme = request.url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        if let Some(other) = self.other(&scheme) {
            let bytes = other.get(request)?;
            if bytes.len() as u64 > request.limit {
                return Err(Error::Fetch(format!(
                    "{} is larger than {} bytes",
                    redacted(request.url),
                    request.limit
                )));
            }
            sink.write_all(&bytes).map_err(|error| Error::Fetch(error.to_string()))?;
            return Ok(Response::default());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Fetch(format!("cannot start: {error}")))?;
        let outcome = runtime.block_on(self.exchange(request, sink));
        // Looking up a name cannot be stopped, and is not worth waiting for.
        runtime.shutdown_background();
        outcome
    }

    /// Fetches into memory.
    ///
    /// # Errors
    /// As [`Getter::get`].
    pub fn get_bytes(&self, request: &Request<'_>) -> Result<(Response, Vec<u8>)> {
        let mut bytes = Vec::new();
        let response = self.get(request, &mut bytes)?;
        Ok((response, bytes))
    }

    async fn exchange(&self, request: &Request<'_>, sink: &mut dyn Write) -> Result<Response> {
        if self.timeout.is_zero() {
            let mut answer = self.follow(request).await?;
            return self.receive(request, &mut answer, sink).await;
        }
        let ends = tokio::time::Instant::now() + self.timeout;
        let late = |url: &str, where_: &str| {
            Error::Fetch(format!(
                "Get {}: context deadline exceeded ({where_})",
                pintle_tree::quote::quote(redacted(url).as_bytes())
            ))
        };
        let answer = tokio::time::timeout_at(ends, self.follow(request)).await;
        let mut answer =
            answer.map_err(|_| late(request.url, "Client.Timeout exceeded while awaiting headers"))??;
        match tokio::time::timeout_at(ends, self.receive(request, &mut answer, sink)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::Fetch(
                "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
                    .to_owned(),
            )),
        }
    }

    /// Sends the request, and again to wherever the answer sends us.
    async fn follow(&self, request: &Request<'_>) -> Result<Answer> {
        let mut address = Address::parse(request.url).map_err(Error::Fetch)?;
        let home = Address::parse(request.home)
            .map_err(|error| Error::Fetch(format!("unable to parse getter URL: {error}")))?;
        let access = &request.access;
        let is_home = home.scheme == address.scheme && home.host == address.host;
        let may_know = access.pass_credentials_all || is_home;
        let mut login = match &access.token {
            _ if !may_know => None,
            _ if !access.username.is_empty() && !access.password.is_empty() => {
                Some((AUTHORIZATION, basic(&access.username, &access.password)))
            }
            Some(token) => Some(token.to_header()?),
            None => None,
        };
        for _ in 0..REDIRECTS {
            let failed = |reason: String| {
                let url = pintle_tree::quote::quote(redacted(&address.to_string()).as_bytes());
                Error::Fetch(format!("Get {url}: {reason}"))
            };
            let transport = self.transport(access, address.scheme == "https")?;
            let uri = uri(&address).map_err(failed)?;
            let headers = self.headers(request, &address, login.as_ref()).map_err(failed)?;
            let answer = transport.get(&uri, headers).await.map_err(failed)?;
            let moved = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(location) = answer.header("location").filter(|_| moved) else {
                return if moved {
                    let status = answer.status.as_u16();
                    Err(failed(format!("{status} response missing Location header")))
                } else {
                    Ok(answer)
                };
            };
            let next = Address::parse(location)
                .map_err(|error| failed(format!("failed to parse Location header {location:?}: {error}")))?;
            let next = address.join(&next);
            if !matches!(next.scheme.as_str(), "http" | "https") {
                let [scheme, url] = [&next.scheme, &redacted(&next.to_string()).into_owned()]
                    .map(|text| pintle_tree::quote::quote(text.as_bytes()));
                return Err(Error::Fetch(format!("Get {url}: unsupported protocol scheme {scheme}")));
            }
            if !same_party(&address, &next) {
                login = None;
            }
            address = next;
        }
        let url = pintle_tree::quote::quote(redacted(&address.to_string()).as_bytes());
        Err(Error::Fetch(format!("Get {url}: stopped after {REDIRECTS} redirects")))
    }

    async fn receive(
        &self,
        request: &Request<'_>,
        answer: &mut Answer,
        sink: &mut dyn Write,
    ) -> Result<Response> {
        let header = |name: &str| answer.header(name).unwrap_or_default().to_owned();
        let mut response = Response {
            unchanged: answer.status == StatusCode::NOT_MODIFIED && request.known.is_some(),
            validators: Validators {
                url: request.url.to_owned(),
                etag: header("etag"),
                last_modified: header("last-modified"),
            },
        };
        if response.unchanged {
            if let Some(known) = request.known {
                response.validators.clone_from(known);
            }
            return Ok(response);
        }
        if answer.status != StatusCode::OK {
            let line = answer.status_line();
            // As Go writes it: what a URL may not contain is escaped.
            let url =
                Address::parse(request.url).map_or_else(|_| request.url.to_owned(), |url| url.to_string());
            return Err(Error::Fetch(format!("failed to fetch {} : {line}", redacted(&url))));
        }
        let zipped = request.compressed && header("content-encoding").eq_ignore_ascii_case("gzip");
        let size = header("content-length").parse().ok();
        let mut meter = self.meter(&file_name(request.url), size);
        let mut sink = Limited { sink, left: request.limit, full: false };
        let outcome = if zipped {
            let mut decoder = MultiGzDecoder::new(&mut sink);
            let copied = copy(answer, &mut decoder, &mut meter).await;
            copied.and_then(|()| decoder.try_finish().map_err(|error| error.to_string()))
        } else {
            copy(answer, &mut sink, &mut meter).await
        };
        match outcome {
            Ok(()) => Ok(response),
            Err(_) if sink.full => Err(Error::Fetch(format!(
                "failed to fetch {} : it is larger than {} bytes, which is the most that is taken",
                redacted(request.url),
                request.limit
            ))),
            Err(reason) => Err(Error::Fetch(reason)),
        }
    }

    fn headers(
        &self,
        request: &Request<'_>,
        address: &Address,
        login: Option<&(HeaderName, String)>,
    ) -> std::result::Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| format!("net/http: invalid header field value for {name:?}"))?;
            headers.insert(name, value);
            Ok::<(), String>(())
        };
        put(USER_AGENT, &self.agent)?;
        if !request.accept.is_empty() {
            put(ACCEPT, request.accept)?;
        }
        if request.compressed {
            put(ACCEPT_ENCODING, "gzip")?;
        }
        if let Some(known) = request.known.filter(|known| known.url == request.url) {
            if !known.etag.is_empty() {
                put(IF_NONE_MATCH, &known.etag)?;
            }
            if !known.last_modified.is_empty() {
                put(IF_MODIFIED_SINCE, &known.last_modified)?;
            }
        }
        match (login, &address.userinfo) {
            (Some((name, login)), _) => put(name.clone(), login)?,
            (None, Some(userinfo)) => {
                let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
                put(AUTHORIZATION, &basic(&unescape(user), &unescape(password)))?;
            }
            (None, None) => {}
        }
        Ok(headers)
    }

    /// The transport for one way of reaching servers. Without TLS, the authorities of the system need not be read.
    pub(crate) fn transport(&self, access: &Access, tls: bool) -> Result<Arc<Transport>> {
        let key = format!(
            "{tls}\n{}\n{}\n{}\n{}",
            access.cert_file, access.key_file, access.ca_file, access.insecure_skip_tls_verify
        );
        let mut transports = self.transports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(transport) = transports.get(&key) {
            return Ok(Arc::clone(transport));
        }
        let mut settings = tls_settings(access)?;
        settings.proxies = self.proxies.clone();
        // The time for the whole exchange is kept elsewhere.
        settings.idle_timeout = Duration::from_secs(3600).max(self.timeout.saturating_mul(2));
        settings.system_authorities = tls && access.ca_file.is_empty();
        let transport = Transport::new(&settings).map_err(|error| {
            let reason = match &error {
                pintle_registry::Error::Settings { what, .. } if *what == access.ca_file => {
                    "failed to append certificates from pem block".to_owned()
                }
                pintle_registry::Error::Settings { reason, .. } => {
                    format!("unable to load cert from key pair: {reason}")
                }
                other => other.to_string(),
            };
            Error::Fetch(format!("can't create TLS config for client: {reason}"))
        })?;
        let transport = Arc::new(transport);
        transports.insert(key, Arc::clone(&transport));
        Ok(transport)
    }
}

/// The last part of the path of a URL, which names a download.
fn file_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

async fn copy(
    answer: &mut Answer,
    sink: &mut dyn Write,
    meter: &mut Meter,
) -> std::result::Result<(), String> {
    let cut = |error: pintle_registry::Error| match error
        .to_string()
        .to_ascii_lowercase()
        .contains("invalid chunk size")
    {
        true => "invalid byte in chunk length".to_owned(),
        false => "unexpected EOF".to_owned(),
    };
    while let Some(piece) = answer.chunk().await.map_err(cut)? {
        meter(piece.len() as u64);
        sink.write_all(&piece).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Lets so many bytes through.
struct Limited<'w> {
    sink: &'w mut dyn Write,
    left: u64,
    full: bool,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => {
                self.full = true;
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
        }
        self.sink.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Reads the files for TLS as Helm does, which complains about all of them at once.
fn tls_settings(access: &Access) -> Result<Settings> {
    let Access { cert_file, key_file, ca_file, insecure_skip_tls_verify, .. } = access;
    let mut settings = Settings::default();
    let wanted =
        !cert_file.is_empty() && !key_file.is_empty() || !ca_file.is_empty() || *insecure_skip_tls_verify;
    if !wanted {
        return Ok(settings);
    }
    let mut wrong = Vec::new();
    let mut read = |what: &str, file: &str| match std::fs::read(file) {
        Ok(_) => true,
        Err(source) => {
            let path = PathBuf::from(file);
            let error = pintle_chart::FileError { operation: "open", path, source };
            wrong.push(format!("{what}: {}: {error}", pintle_tree::quote::quote(file.as_bytes())));
            false
        }
    };
    if (!cert_file.is_empty() || !key_file.is_empty())
        && read("unable to read cert file", cert_file)
        && read("unable to read key file", key_file)
    {
        settings.certificate = Some((cert_file.into(), key_file.into()));
    }
    if !ca_file.is_empty() && read("can't read CA file", ca_file) {
        settings.authorities = Some(ca_file.into());
    }
    if !wrong.is_empty() {
        let wrong = wrong.join("\n");
        return Err(Error::Fetch(format!("can't create TLS config for client: {wrong}")));
    }
    settings.insecure = *insecure_skip_tls_verify;
    Ok(settings)
}

/// Whether whoever answers at `to` may see what was meant for `from`: the same host on the same port, or a host below
/// it, or the same host that now insists on TLS; never somebody who would send it on without TLS.
fn same_party(from: &Address, to: &Address) -> bool {
    if from.scheme == "https" && to.scheme != "https" {
        return false;
    }
    let split = |address: &Address| {
        let (host, port) = match address.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (address.host.as_str(), ""),
        };
        let usual = if address.scheme == "https" { "443" } else { "80" };
        (host.to_ascii_lowercase(), if port == usual { String::new() } else { port.to_owned() })
    };
    let ((from_host, from_port), (to_host, to_port)) = (split(from), split(to));
    let below = to_host.strip_suffix(&from_host).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    below && from_port == to_port
}

pub(crate) fn uri(address: &Address) -> std::result::Result<Uri, String> {
    let mut plain = address.clone();
    (plain.userinfo, plain.fragment) = (None, None);
    if plain.host.is_empty() {
        return Err("http: no Host in request URL".to_owned());
    }
    plain.to_string().parse().map_err(|error: http::uri::InvalidUri| error.to_string())
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_with_the_party_that_they_are_meant_for() {
        let party = |from: &str, to: &str| {
            let parse = |text: &str| Address::parse(text).expect("a URL");
            same_party(&parse(from), &parse(to))
        };
        assert!(party("http://h/a", "http://h/b"));
        assert!(party("http://h/a", "https://h/b"));
        assert!(party("https://h/a", "https://h:443/b"));
        assert!(party("https://h/a", "https://charts.h/b"));
        assert!(!party("https://h/a", "http://h/b"));
        assert!(!party("http://h:1/a", "http://h:2/b"));
        assert!(!party("http://h/a", "http://other/b"));
        assert!(!party("http://h/a", "http://nh/b"));
    }

    #[test]
    fn all_files_for_tls_that_cannot_be_read_are_named() {
        let access = Access { cert_file: "/no/cert".into(), ca_file: "/no/ca".into(), ..Access::default() };
        assert_eq!(
            tls_settings(&access).expect_err("there are none").to_string(),
            "can't create TLS config for client: unable to read cert file: \"/no/cert\": open /no/cert: no such file \
             or directory\ncan't read CA file: \"/no/ca\": open /no/ca: no such file or directory"
        );
        let alone = Access { cert_file: "/no/cert".into(), ..Access::default() };
        assert!(tls_settings(&alone).is_ok(), "a certificate without a key is nothing, as in Helm");
    }
}
