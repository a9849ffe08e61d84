//! How to speak to registries: whom to trust, who we are, how patient to be.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How one side of a copy is spoken to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who we are, whatever the files say.
    pub login: Option<Login>,
    /// Files in Docker's format that may say who we are; the first that knows a registry counts.
    pub login_files: Vec<PathBuf>,
    /// Whether to speak without TLS.
    pub plain_http: bool,
    /// Whether to take any certificate.
    pub insecure: bool,
    /// Further authorities to trust.
    pub authorities: Option<PathBuf>,
    /// A certificate of our own and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Which proxies lead out.
    pub proxies: Proxies,
    /// How often to try again.
    pub retries: u32,
    /// How long to wait before trying again for the first time; it doubles after that.
    pub pause: Duration,
    /// How long nothing at all may happen on a connection.
    pub idle_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            login: None,
            login_files: Vec::new(),
            plain_http: false,
            insecure: false,
            authorities: None,
            certificate: None,
            proxies: Proxies::default(),
            retries: 5,
            pause: Duration::from_millis(500),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// Proxies in the manner of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// For plain HTTP.
    pub http: String,
    /// For HTTPS.
    pub https: String,
    /// Hosts that need none.
    pub none: String,
}

/// Who we are to a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Login {
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A token that buys other tokens.
    Identity(String),
    /// A token that opens the registry itself.
    Bearer(String),
}

impl Login {
    /// Reads `user:password`.
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
        // Secrets stay out of whatever is printed.
        let kind = match self {
            Login::Password { .. } => "Password",
            Login::Identity(_) => "Identity",
            Login::Bearer(_) => "Bearer",
        };
        write!(f, "{kind}(…)")
    }
}

/// Whether a host is this machine, by its name.
pub(crate) fn is_loopback(registry: &str) -> bool {
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
