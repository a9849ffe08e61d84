//! Logs in to and out of registries.

use std::path::PathBuf;
use std::sync::Arc;

use pintle_registry::{Client, forget_login, keep_login, login_key};
use pintle_tree::LogLine;
use pintle_tree::quote::quote;

use crate::error::RemoteError;
use crate::{Error, Reporter, Result};

/// A login to check and store.
#[derive(Clone, Default)]
pub struct LoginRequest {
    /// The registry, or a path in it.
    pub host: String,
    /// The user; empty for a token.
    pub user: String,
    /// The password or the token.
    pub password: String,
    /// The file of logins.
    pub file: PathBuf,
    /// The credential helper that a new file names.
    pub helper: Option<String>,
    /// Whether paths are refused, as in Helm.
    pub only_hosts: bool,
}

impl std::fmt::Debug for LoginRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords must not appear in debug output.
        formatter.debug_struct("LoginRequest").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Logs in to a registry, and stores the login. Needs the runtime of tokio.
///
/// # Errors
/// When the registry does not accept the login, or it cannot be stored.
pub async fn login(client: &Arc<Client>, request: &LoginRequest, reporter: &mut dyn Reporter) -> Result<()> {
    let LoginRequest { host, user, password, file, helper, only_hosts } = request;
    let registry = host.split('/').next().unwrap_or_default();
    let refused = |host: &str| RemoteError::RegistryHost { host: host.to_owned() };
    if registry != host && *only_hosts {
        let attributes = vec![("host", host.clone()), ("suggested", registry.to_owned())];
        let message = "registry login currently only supports registry hostname, not a repository path";
        reporter.log(LogLine::warn(message, attributes));
        return Err(refused(host).into());
    }
    if !is_host(registry) {
        return Err(refused(registry).into());
    }
    let during = |error: pintle_registry::Error| RemoteError::During {
        doing: format!("authenticating to {}", quote(host.as_bytes())),
        cause: Box::new(error.into()),
    };
    client.check_login(registry, user, password).await.map_err(during)?;
    Ok(keep_login(file, login_key(host), user, password, helper.as_deref()).await?)
}

fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "0"));
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
    !host.is_empty() && host.bytes().all(inner) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A login to remove.
#[derive(Clone, Debug, Default)]
pub struct LogoutRequest {
    /// The registry, or a path in it.
    pub host: String,
    /// The file of logins.
    pub file: PathBuf,
}

/// Removes the stored login of a registry. Needs the runtime of tokio.
///
/// # Errors
/// When it cannot be removed.
pub async fn logout(request: &LogoutRequest) -> Result<()> {
    let key = login_key(&request.host);
    forget_login(&request.file, key).await.map_err(|error| {
        let doing = format!("failed to delete the credential for {key}");
        Error::from(RemoteError::During { doing, cause: Box::new(error.into()) })
    })
}
