//! Credentials from plugins (`exec` in the kubeconfig): used for all requests of a client, and renewed
//! before they expire or when the server refuses them.

mod plugin;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::{AUTHORIZATION, HeaderValue};
use kube::client::Body;
use kube::config::{AuthInfo, ExecConfig};
use tokio::sync::Mutex;

pub(crate) use plugin::PluginError;
use plugin::{Credential, run};

use crate::error::Error;
use crate::wait::unix_now;

/// How many seconds before it expires a credential is renewed, as in kube.
const MARGIN: i64 = 60;

/// The error for a server whose credentials could not be obtained.
pub(crate) fn failure(server: &str, error: &PluginError) -> Error {
    let stderr = match error {
        PluginError::Failed { stderr, .. } => stderr.clone(),
        _ => String::new(),
    };
    Error::Credentials { url: format!("{server}/version"), cause: error.to_string(), stderr }
}

/// The credential of a plugin, which its client has to renew. Certificates, and tokens that no header can hold, are in the
/// configuration of the user as well.
pub(crate) struct Obtained {
    plugin: Arc<ExecConfig>,
    credential: Credential,
}

/// Runs the plugin of a user once, if that is where the user's credentials come from.
///
/// # Errors
///
/// The plugin cannot be run, or returns no credential.
pub(crate) fn obtain(user: &mut AuthInfo) -> Result<Option<Obtained>, PluginError> {
    let others = user.auth_provider.is_some()
        || (user.username.is_some() && user.password.is_some())
        || user.token.is_some()
        || user.token_file.is_some();
    // The order of precedence is kube's.
    let Some(plugin) = user.exec.take().filter(|_| !others) else { return Ok(None) };
    let credential = run(&plugin)?;
    let is_token = credential.certificate.is_none();
    if !is_token || credential.token.as_deref().is_some_and(|token| bearer(token).is_err()) {
        store(user, credential.clone());
    }
    Ok(Some(Obtained { plugin: Arc::new(plugin), credential }))
}

/// When a credential expires, as Unix time. Without a time it is valid until the server refuses it.
fn expiration(credential: &Credential) -> i64 {
    credential.expires.map_or(i64::MAX, |expires| expires.unix())
}

/// Stores a credential where kube reads it.
fn store(user: &mut AuthInfo, credential: Credential) {
    if let Some((certificate, key)) = credential.certificate {
        // kube expects the PEM text in base64, as it is in a kubeconfig.
        user.client_certificate_data = Some(STANDARD.encode(certificate));
        user.client_key_data = Some(STANDARD.encode(key).into());
    }
    user.token = credential.token.map(Into::into);
}

/// The `Authorization` header of a token.
fn bearer(token: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))?;
    // Keeps the token out of debug output and out of HPACK's dynamic table.
    value.set_sensitive(true);
    Ok(value)
}

/// Sends requests with one credential.
#[derive(Clone)]
struct Sender {
    client: kube::Client,
    authorization: Option<HeaderValue>,
}

impl Sender {
    async fn send(&self, mut request: Request<Body>) -> Result<http::Response<Body>, tower::BoxError> {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        Ok(self.client.send(request).await?)
    }
}

/// Makes the sender for a credential.
type Build = dyn Fn(Credential) -> Result<Sender, tower::BoxError> + Send + Sync;

/// A client whose credential is renewed before it expires, and when the server has refused it: a plugin need not say when
/// that will be.
#[derive(Clone)]
pub(crate) struct RenewedClient {
    plugin: Arc<ExecConfig>,
    build: Arc<Build>,
    current: Arc<Mutex<Current>>,
}

struct Current {
    sender: Sender,
    credential: Credential,
    /// How often it was renewed.
    generation: u64,
}

impl RenewedClient {
    /// Uses the credential of a plugin for `client`, which was made from the configuration.
    ///
    /// # Errors
    ///
    /// The credential is a token that cannot be a header.
    pub(crate) fn new(
        config: kube::Config,
        obtained: Obtained,
        client: kube::Client,
    ) -> Result<RenewedClient, tower::BoxError> {
        if obtained.credential.certificate.is_some() {
            // A certificate belongs to a connection, so that a new one needs a new client.
            let build = move |credential: Credential| {
                let mut config = config.clone();
                store(&mut config.auth_info, credential);
                let client = kube::client::ClientBuilder::try_from(config)?.build();
                Ok(Sender { client, authorization: None })
            };
            let first = Sender { client, authorization: None };
            return Ok(Self::with_build(obtained, first, Arc::new(build)));
        }
        let build = move |credential: Credential| {
            let token = credential.token.ok_or(PluginError::Empty)?;
            Ok(Sender { client: client.clone(), authorization: Some(bearer(&token)?) })
        };
        let first = build(obtained.credential.clone())?;
        Ok(Self::with_build(obtained, first, Arc::new(build)))
    }

    fn with_build(obtained: Obtained, sender: Sender, build: Arc<Build>) -> RenewedClient {
        let Obtained { plugin, credential } = obtained;
        let current = Current { sender, credential, generation: 0 };
        RenewedClient { plugin, build, current: Arc::new(Mutex::new(current)) }
    }

    /// Sends a request with a valid credential. One that is refused is sent once more if the plugin has another credential
    /// now. client-go leaves that to the next request, so that a controller would fail once each time its token ends.
    pub(crate) async fn send(self, request: Request<Body>) -> Result<http::Response<Body>, tower::BoxError> {
        let (sender, generation) = self.sender().await?;
        let again = copy(&request);
        let answer = sender.send(request).await?;
        if answer.status() != http::StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        // As in client-go, a plugin that fails now leaves the answer as it is.
        let renewed = self.renew_refused(generation).await.ok().flatten();
        match (renewed, again) {
            (Some(renewed), Some(again)) => renewed.send(again).await,
            _ => Ok(answer),
        }
    }

    async fn sender(&self) -> Result<(Sender, u64), tower::BoxError> {
        // Held while the plugin runs, so that concurrent requests do not start it several times.
        let mut current = self.current.lock().await;
        if unix_now() + MARGIN >= expiration(&current.credential) {
            self.renew(&mut current).await?;
        }
        Ok((current.sender.clone(), current.generation))
    }

    /// Renews the credential that the server has refused, unless another request has done so; `None` if the plugin still
    /// has the same.
    async fn renew_refused(&self, generation: u64) -> Result<Option<Sender>, tower::BoxError> {
        let mut current = self.current.lock().await;
        if current.generation == generation && !self.renew(&mut current).await? {
            return Ok(None);
        }
        Ok(Some(current.sender.clone()))
    }

    /// Runs the plugin, and returns whether it has another credential now.
    async fn renew(&self, current: &mut Current) -> Result<bool, tower::BoxError> {
        let (plugin, build) = (Arc::clone(&self.plugin), Arc::clone(&self.build));
        let renew = move || -> Result<(Sender, Credential), tower::BoxError> {
            let credential = run(&plugin)?;
            Ok((build(credential.clone())?, credential))
        };
        let (sender, credential) = tokio::task::spawn_blocking(renew).await??;
        let is_same = current.credential.is_same(&credential);
        *current = Current { sender, credential, generation: current.generation + 1 };
        Ok(!is_same)
    }
}

/// A copy of a request, if its body is in memory.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plugin that counts its runs in a file and in its tokens, which may say when they expire.
    fn plugin(file: &std::path::Path, expires: &str) -> ExecConfig {
        let expires = match expires {
            "" => String::new(),
            time => format!(r#","expirationTimestamp":"{time}""#),
        };
        let script = format!(
            r#"echo >> "$0"; printf '{{"apiVersion":"v","status":{{"token":"%s"{expires}}}}}' "$(wc -l < "$0" | tr -d ' ')""#
        );
        ExecConfig {
            api_version: Some("v".to_owned()),
            command: Some("/bin/sh".to_owned()),
            args: Some(vec!["-c".to_owned(), script, file.to_string_lossy().into_owned()]),
            ..ExecConfig::default()
        }
    }

    fn user(plugin: ExecConfig) -> AuthInfo {
        AuthInfo { exec: Some(plugin), ..AuthInfo::default() }
    }

    /// A client that answers with the credential of a request and its body, or refuses it if its path says so.
    fn answering(certificate: Option<String>) -> kube::Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let certificate = certificate.clone();
            async move {
                let (head, body) = request.into_parts();
                let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
                let token = token.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
                let credential = certificate.or(token).unwrap_or_default();
                let refused = head.uri.path().trim_start_matches("/refused/");
                let code = if refused.split(',').any(|one| one == credential) { 401 } else { 200 };
                let body = String::from_utf8(body.collect_bytes().await.unwrap().to_vec()).unwrap();
                let answer = http::Response::builder().status(code).header("answer", credential + &body);
                answer.body(Body::empty())
            }
        });
        kube::Client::new(service, "default")
    }

    fn with_tokens(file: &std::path::Path, expires: &str) -> RenewedClient {
        let mut user = user(plugin(file, expires));
        let obtained = obtain(&mut user).unwrap().expect("it has a token");
        assert!(user.token.is_none(), "kube would not renew it");
        let config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:1"));
        RenewedClient::new(config, obtained, answering(None)).expect("a valid header")
    }

    /// The code, the number of the credential and the body of the answer to a request.
    async fn answer(client: &RenewedClient, path: &str, body: &str) -> String {
        let request = Request::post(path).body(Body::from(body.as_bytes().to_vec())).unwrap();
        let answer = client.clone().send(request).await.unwrap();
        format!("{} {}", answer.status().as_u16(), answer.headers()["answer"].to_str().unwrap())
    }

    fn runs(file: &std::path::Path) -> usize {
        std::fs::read_to_string(file).unwrap().lines().count()
    }

    #[tokio::test]
    async fn a_token_is_renewed_only_when_it_is_about_to_expire() {
        let folder = tempfile::tempdir().unwrap();
        for (expires, tokens) in
            [("2000-01-01T00:00:00Z", ["200 2", "200 3"]), ("2999-01-01T00:00:00Z", ["200 1"; 2])]
        {
            let client = with_tokens(&folder.path().join(&expires[..4]), expires);
            for wanted in tokens {
                assert_eq!(answer(&client, "/", "").await, wanted);
            }
        }
    }

    #[tokio::test]
    async fn a_token_that_is_refused_is_renewed_whether_or_not_it_has_an_expiry() {
        let folder = tempfile::tempdir().unwrap();
        for (name, expires) in [("never", ""), ("later", "2999-01-01T00:00:00Z")] {
            let file = folder.path().join(name);
            let client = with_tokens(&file, expires);
            assert_eq!(answer(&client, "/", "").await, "200 1");
            assert_eq!(answer(&client, "/refused/1", " body").await, "200 2 body", "sent again as it was");
            assert_eq!(answer(&client, "/", "").await, "200 2");
            // If the next one is refused too, that is the answer.
            assert_eq!(answer(&client, "/refused/2,3", "").await, "401 3");
            assert_eq!(runs(&file), 3);
        }
    }

    #[tokio::test]
    async fn requests_that_are_refused_together_run_the_plugin_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs");
        let client = with_tokens(&file, "");
        let answers = (0..20).map(|_| answer(&client, "/refused/1", ""));
        assert_eq!(futures::future::join_all(answers).await, ["200 2"; 20]);
        assert_eq!(runs(&file), 2);
    }

    #[tokio::test]
    async fn a_refusal_stands_when_the_plugin_has_nothing_better() {
        let folder = tempfile::tempdir().unwrap();
        for (name, then) in [("same", "n=1"), ("failing", "exit 1")] {
            let file = folder.path().join(name);
            let script = format!(
                r#"echo >> "$0"; n=$(wc -l < "$0" | tr -d ' '); if [ "$n" != 1 ]; then {then}; fi; printf '{{"apiVersion":"v","status":{{"token":"%s"}}}}' "$n""#
            );
            let args = vec!["-c".to_owned(), script, file.to_string_lossy().into_owned()];
            let mut user = user(ExecConfig { args: Some(args), ..plugin(&file, "") });
            let obtained = obtain(&mut user).unwrap().expect("it has a token");
            let config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:1"));
            let client = RenewedClient::new(config, obtained, answering(None)).expect("a valid header");
            assert_eq!(answer(&client, "/refused/1", "").await, "401 1");
            assert_eq!((answer(&client, "/", "").await.as_str(), runs(&file)), ("200 1", 2));
        }
    }

    /// A client with a plugin whose certificates are numbered.
    fn with_certificates(file: &std::path::Path, expires: &str) -> RenewedClient {
        let script = format!(
            r#"echo >> "$0"; n=$(wc -l < "$0" | tr -d ' '); printf '{{"apiVersion":"v","status":{{"clientCertificateData":"%s","clientKeyData":"k"{expires}}}}}' "$n""#
        );
        let args = vec!["-c".to_owned(), script, file.to_string_lossy().into_owned()];
        let mut user = user(ExecConfig { args: Some(args), ..plugin(file, "") });
        let obtained = obtain(&mut user).unwrap().expect("it has a certificate");
        let first = STANDARD.decode(user.client_certificate_data.unwrap()).unwrap();
        let sender =
            |certificate: String| Sender { client: answering(Some(certificate)), authorization: None };
        let first = sender(String::from_utf8(first).unwrap());
        let build = move |credential: Credential| Ok(sender(credential.certificate.unwrap().0));
        RenewedClient::with_build(obtained, first, Arc::new(build))
    }

    #[tokio::test]
    async fn a_certificate_is_renewed_when_it_expires_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let expired = r#","expirationTimestamp":"2000-01-01T00:00:00Z""#;
        let client = with_certificates(&folder.path().join("expired"), expired);
        assert_eq!([answer(&client, "/", "").await, answer(&client, "/", "").await], ["200 2", "200 3"]);
        for (name, expires) in [("later", r#","expirationTimestamp":"2999-01-01T00:00:00Z""#), ("never", "")]
        {
            let client = with_certificates(&folder.path().join(name), expires);
            assert_eq!([answer(&client, "/", "").await, answer(&client, "/", "").await], ["200 1"; 2]);
            assert_eq!(answer(&client, "/refused/1", "").await, "200 2");
            assert_eq!([answer(&client, "/", "").await, answer(&client, "/", "").await], ["200 2"; 2]);
        }
    }

    #[test]
    fn a_plugin_is_not_run_where_the_user_has_other_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs");
        let token = Some("t".to_owned().into());
        let mut user = AuthInfo { token, ..user(plugin(&file, "2999-01-01T00:00:00Z")) };
        assert!(obtain(&mut user).unwrap().is_none() && user.exec.is_none() && !file.exists());
    }
}
