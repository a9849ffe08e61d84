//! Client settings: trust, credentials, proxies, retries and timeouts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::address::AddressCheck;

/// Settings for one side of a copy.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The login to use, overriding the files.
    pub login: Option<Login>,
    /// Files in Docker's `config.json` format; the first one that lists a registry is used.
    pub login_files: Vec<PathBuf>,
    /// Whether to use plain HTTP.
    pub plain_http: bool,
    /// Whether TLS is used for loopback registries too, without probing, unless `plain_http` is set.
    pub always_tls: bool,
    /// Whether to skip certificate verification.
    pub insecure: bool,
    /// A PEM file of additional certificate authorities.
    pub authorities: Option<PathBuf>,
    /// Whether the authorities of the system are trusted too.
    pub system_authorities: bool,
    /// The client certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The proxies.
    pub proxies: Proxies,
    /// The maximum number of retries.
    pub retries: u32,
    /// The initial backoff; doubles with each retry.
    pub pause: Duration,
    /// The idle timeout: how long a connection may go without any traffic.
    pub idle_timeout: Duration,
    /// Which addresses may be connected to; all if it is not set. A proxy resolves names itself, so behind one only
    /// addresses in URLs are checked.
    pub addresses: Option<AddressCheck>,
    /// Called before a long pause that a registry asked for.
    pub on_wait: Option<WaitNotice>,
}

/// Called with the host and the time before a long pause that a server asked for, so that a user knows what happens.
#[derive(Clone)]
pub struct WaitNotice(Arc<OnWait>);

type OnWait = dyn Fn(&str, Duration) + Send + Sync;

impl WaitNotice {
    /// Calls a function.
    pub fn new(notice: impl Fn(&str, Duration) + Send + Sync + 'static) -> WaitNotice {
        WaitNotice(Arc::new(notice))
    }

    pub(crate) fn call(&self, host: &str, pause: Duration) {
        (self.0)(host, pause);
    }
}

impl fmt::Debug for WaitNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WaitNotice")
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            login: None,
            login_files: Vec::new(),
            plain_http: false,
            always_tls: false,
            insecure: false,
            authorities: None,
            system_authorities: true,
            certificate: None,
            proxies: Proxies::default(),
            retries: 5,
            pause: Duration::from_millis(500),
            idle_timeout: Duration::from_secs(60),
            addresses: None,
            on_wait: None,
        }
    }
}

/// Proxies, with the semantics of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// The proxy for plain HTTP.
    pub http: String,
    /// The proxy for HTTPS.
    pub https: String,
    /// Hosts that bypass the proxies.
    pub none: String,
}

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// An identity token, exchanged for access tokens (OAuth2 refresh token).
    Identity(String),
    /// A bearer token that is sent as is.
    Bearer(String),
}

impl Login {
    /// Parses `user:password`.
    pub fn pair(text: &str) -> Option<Login> {
        let (user, password) = text.split_once(':')?;
        if user.is_empty() {
            return None;
        }
        Some(Login::Password { user: user.to_owned(), password: password.to_owned() })
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets must not appear in debug output.
        let kind = match self {
            Login::Password { .. } => "Password",
            Login::Identity(_) => "Identity",
            Login::Bearer(_) => "Bearer",
        };
        write!(f, "{kind}(…)")
    }
}

/// Whether a host is this machine, by its name.
pub fn is_loopback(registry: &str) -> bool {
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.is_empty() => host,
        _ => registry,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for host in [
            "localhost",
            "localhost:5000",
            "127.0.0.1",
            "127.1.2.3:80",
            "[::1]:5000",
            "[::1]",
            "a.localhost:1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.com", "localhost.example.com:5000", "10.0.0.1:5000", "[fd00::1]:5000"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn logins_do_not_show_their_secrets() {
        let login = Login::pair("me:hunter2:x").unwrap();
        assert_eq!(login, Login::Password { user: "me".into(), password: "hunter2:x".into() });
        assert!(!format!("{login:?}").contains("hunter2"));
        assert!(Login::pair("me").is_none());
        assert!(Login::pair(":x").is_none());
    }
}
