//! Credentials from plugins (`exec` in the kubeconfig): used for all requests of a client, and renewed before they expire.

mod plugin;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{HeaderName, Request};
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

/// A credential of a plugin that has to be renewed.
pub(crate) enum Expiring {
    Token(ExpiringToken),
    Certificate(ExpiringCertificate),
}

/// Runs the plugin of a user once. Certificates, and tokens that do not expire, are stored in `user`; what has to be renewed is
/// returned.
///
/// # Errors
///
/// The plugin cannot be run, or returns no credential.
pub(crate) fn obtain(user: &mut AuthInfo) -> Result<Option<Expiring>, PluginError> {
    let others = user.auth_provider.is_some()
        || (user.username.is_some() && user.password.is_some())
        || user.token.is_some()
        || user.token_file.is_some();
    // The order of precedence is kube's.
    let Some(plugin) = user.exec.take().filter(|_| !others) else { return Ok(None) };
    let credential = run(&plugin)?;
    let plugin = Arc::new(plugin);
    match (&credential.certificate, &credential.token, credential.expires) {
        (None, Some(token), Some(expires)) => {
            let token = Token { text: token.clone(), expires: expires.unix() };
            Ok(Some(Expiring::Token(ExpiringToken { plugin, current: Arc::new(Mutex::new(token)) })))
        }
        (certificate, ..) => {
            let expires = expiration(&credential);
            let certificate = certificate.is_some().then_some(ExpiringCertificate { plugin, expires });
            store(user, credential);
            Ok(certificate.map(Expiring::Certificate))
        }
    }
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

/// The certificate of a plugin.
pub(crate) struct ExpiringCertificate {
    plugin: Arc<ExecConfig>,
    /// Unix time, in seconds.
    expires: i64,
}

/// Makes a client for a credential.
type Build = dyn Fn(Credential) -> Result<kube::Client, tower::BoxError> + Send + Sync;

/// A client whose certificate is renewed before it expires, or after the server has refused it. A certificate belongs to a
/// connection, so that a new one needs a new client.
#[derive(Clone)]
pub(crate) struct RenewedClient {
    plugin: Arc<ExecConfig>,
    build: Arc<Build>,
    current: Arc<Mutex<CurrentClient>>,
}

struct CurrentClient {
    client: kube::Client,
    /// How often it was renewed.
    generation: u64,
    /// Unix time, in seconds.
    expires: i64,
}

impl RenewedClient {
    /// Replaces `client`, which has the configuration and the certificate, when that expires.
    pub(crate) fn new(
        config: kube::Config,
        certificate: ExpiringCertificate,
        client: kube::Client,
    ) -> RenewedClient {
        let build = move |credential: Credential| {
            let mut config = config.clone();
            store(&mut config.auth_info, credential);
            Ok(kube::client::ClientBuilder::try_from(config)?.build())
        };
        Self::with_build(certificate, client, Arc::new(build))
    }

    fn with_build(
        certificate: ExpiringCertificate,
        client: kube::Client,
        build: Arc<Build>,
    ) -> RenewedClient {
        let current = CurrentClient { client, generation: 0, expires: certificate.expires };
        RenewedClient { plugin: certificate.plugin, build, current: Arc::new(Mutex::new(current)) }
    }

    /// Sends a request with a certificate that is valid.
    pub(crate) async fn send(self, request: Request<Body>) -> Result<http::Response<Body>, tower::BoxError> {
        let (client, generation) = self.client().await?;
        let answer = client.send(request).await?;
        if answer.status() == http::StatusCode::UNAUTHORIZED {
            let mut current = self.current.lock().await;
            // As in client-go, the answer stands, and the next request has a new certificate.
            if current.generation == generation {
                current.expires = 0;
            }
        }
        Ok(answer)
    }

    async fn client(&self) -> Result<(kube::Client, u64), tower::BoxError> {
        // Held while the plugin runs, so that concurrent requests do not start it several times.
        let mut current = self.current.lock().await;
        if unix_now() + MARGIN >= current.expires {
            let (plugin, build) = (Arc::clone(&self.plugin), Arc::clone(&self.build));
            let renew = move || -> Result<(kube::Client, i64), tower::BoxError> {
                let credential = run(&plugin)?;
                let expires = expiration(&credential);
                Ok((build(credential)?, expires))
            };
            let (client, expires) = tokio::task::spawn_blocking(renew).await??;
            let generation = current.generation + 1;
            *current = CurrentClient { client, generation, expires };
        }
        Ok((current.client.clone(), current.generation))
    }
}

/// The token of a plugin, which is run again when it is about to expire.
#[derive(Clone)]
pub(crate) struct ExpiringToken {
    plugin: Arc<ExecConfig>,
    current: Arc<Mutex<Token>>,
}

struct Token {
    text: String,
    /// Unix time, in seconds.
    expires: i64,
}

impl ExpiringToken {
    /// Adds the token to a request.
    pub(crate) async fn authorize(
        self,
        mut request: Request<Body>,
    ) -> Result<Request<Body>, tower::BoxError> {
        let (name, value) = self.header().await?;
        request.headers_mut().insert(name, value);
        Ok(request)
    }

    /// The `Authorization` header. A token that is not a valid header value is an error of the request.
    pub(crate) async fn header(&self) -> Result<(HeaderName, HeaderValue), tower::BoxError> {
        // Held while the plugin runs, so that concurrent requests do not start it several times.
        let mut token = self.current.lock().await;
        if unix_now() + MARGIN >= token.expires {
            let plugin = Arc::clone(&self.plugin);
            let Credential { token: text, expires, .. } =
                tokio::task::spawn_blocking(move || run(&plugin)).await??;
            *token = Token {
                text: text.ok_or(PluginError::Empty)?,
                expires: expires.map_or(i64::MAX, |expires| expires.unix()),
            };
        }
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.text))?;
        // Keeps the token out of debug output and out of HPACK's dynamic table.
        value.set_sensitive(true);
        Ok((AUTHORIZATION, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plugin that counts its runs in a file, whose tokens expire at once or never.
    fn plugin(file: &std::path::Path, expires: &str) -> ExecConfig {
        let script = format!(
            r#"echo >> "$0"; printf '{{"apiVersion":"v","status":{{"token":"%s","expirationTimestamp":"{expires}"}}}}' "$(wc -l < "$0" | tr -d ' ')""#
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

    #[tokio::test]
    async fn a_token_is_renewed_only_when_it_is_about_to_expire() {
        let folder = tempfile::tempdir().unwrap();
        for (expires, tokens) in
            [("2000-01-01T00:00:00Z", ["Bearer 2", "Bearer 3"]), ("2999-01-01T00:00:00Z", ["Bearer 1"; 2])]
        {
            let file = folder.path().join(&expires[..4]);
            let Some(Expiring::Token(token)) = obtain(&mut user(plugin(&file, expires))).unwrap() else {
                panic!("it expires");
            };
            for wanted in tokens {
                assert_eq!(token.header().await.unwrap().1, wanted);
            }
        }
    }

    /// A plugin whose certificates are numbered, and a client that answers with the number of its certificate, or refuses it.
    fn numbered(file: &std::path::Path, expires: &str) -> RenewedClient {
        let script = format!(
            r#"echo >> "$0"; n=$(wc -l < "$0" | tr -d ' '); printf '{{"apiVersion":"v","status":{{"clientCertificateData":"%s","clientKeyData":"k"{expires}}}}}' "$n""#
        );
        let args = vec!["-c".to_owned(), script, file.to_string_lossy().into_owned()];
        let mut user = user(ExecConfig { args: Some(args), ..plugin(file, "") });
        let Some(Expiring::Certificate(certificate)) = obtain(&mut user).unwrap() else {
            panic!("it is a certificate");
        };
        let answering = |number: String| {
            let service = tower::service_fn(move |request: Request<Body>| {
                let refuses = request.uri().path() == format!("/refused-{number}");
                let answer = http::Response::builder().status(if refuses { 401 } else { 200 });
                std::future::ready(answer.header("certificate", number.as_str()).body(Body::empty()))
            });
            kube::Client::new(service, "default")
        };
        let first = STANDARD.decode(user.client_certificate_data.unwrap()).unwrap();
        let first = answering(String::from_utf8(first).unwrap());
        let build = move |credential: Credential| Ok(answering(credential.certificate.unwrap().0));
        RenewedClient::with_build(certificate, first, Arc::new(build))
    }

    async fn certificate(client: &RenewedClient, path: &str) -> String {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = client.clone().send(request).await.unwrap();
        answer.headers()["certificate"].to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_certificate_is_renewed_when_it_expires_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let expired = r#","expirationTimestamp":"2000-01-01T00:00:00Z""#;
        let client = numbered(&folder.path().join("expired"), expired);
        assert_eq!([certificate(&client, "/").await, certificate(&client, "/").await], ["2", "3"]);
        for (name, expires) in [("later", r#","expirationTimestamp":"2999-01-01T00:00:00Z""#), ("never", "")]
        {
            let client = numbered(&folder.path().join(name), expires);
            assert_eq!([certificate(&client, "/").await, certificate(&client, "/").await], ["1", "1"]);
            assert_eq!(certificate(&client, "/refused-1").await, "1");
            assert_eq!([certificate(&client, "/").await, certificate(&client, "/").await], ["2", "2"]);
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
