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

/// How many seconds before it expires a token is renewed, as in kube.
const MARGIN: i64 = 60;

/// The error for a server whose credentials could not be obtained.
pub(crate) fn failure(server: &str, error: &PluginError) -> Error {
    let stderr = match error {
        PluginError::Failed { stderr, .. } => stderr.clone(),
        _ => String::new(),
    };
    Error::Credentials { url: format!("{server}/version"), cause: error.to_string(), stderr }
}

/// Runs the plugin of a user once. Certificates, and tokens that do not expire, are stored in `user`; a token that expires
/// is returned, so that it can be renewed.
///
/// # Errors
///
/// The plugin cannot be run, or returns no credential.
pub(crate) fn obtain(user: &mut AuthInfo) -> Result<Option<ExpiringToken>, PluginError> {
    let others = user.auth_provider.is_some()
        || (user.username.is_some() && user.password.is_some())
        || user.token.is_some()
        || user.token_file.is_some();
    // The order of precedence is kube's.
    let Some(plugin) = user.exec.take().filter(|_| !others) else { return Ok(None) };
    let Credential { token, certificate, expires } = run(&plugin)?;
    if let Some((certificate, key)) = certificate {
        // kube expects the PEM text in base64, as it is in a kubeconfig.
        user.client_certificate_data = Some(STANDARD.encode(certificate));
        user.client_key_data = Some(STANDARD.encode(key).into());
        return Ok(None);
    }
    match (token, expires) {
        (Some(token), Some(expires)) => {
            let token = Token { text: token, expires: expires.unix() };
            Ok(Some(ExpiringToken { plugin: Arc::new(plugin), current: Arc::new(Mutex::new(token)) }))
        }
        (token, _) => {
            user.token = token.map(Into::into);
            Ok(None)
        }
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
            let token = obtain(&mut user(plugin(&file, expires))).unwrap().unwrap();
            for wanted in tokens {
                assert_eq!(token.header().await.unwrap().1, wanted);
            }
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
