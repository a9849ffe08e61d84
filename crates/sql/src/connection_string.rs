//! Connection strings as Go's `lib/pq` parses them: a URL, or `key=value` pairs.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use crate::error::Error;

/// How the server's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateCheck {
    /// No TLS (`disable`).
    NoTls,
    /// TLS without verification (`require`).
    None,
    /// The certificate must be signed by a trusted CA (`verify-ca`).
    Authority,
    /// And be valid for the host name (`verify-full`).
    AuthorityAndHost,
}

/// The TLS settings of a connection string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) check: CertificateCheck,
    pub(crate) root_file: String,
    pub(crate) certificate_file: String,
    pub(crate) key_file: String,
}

/// A parsed connection string.
#[derive(Debug)]
pub(crate) struct ConnectionString {
    pub(crate) config: Config,
    pub(crate) tls: TlsSettings,
}

impl ConnectionString {
    /// Parses a connection string.
    pub(crate) fn parse(text: &str) -> Result<ConnectionString, Error> {
        let (mut config, pairs) = if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let (base, query) = text.split_once('?').unwrap_or((text, ""));
            // The invalid part may be the password, so the text is not repeated.
            let config =
                base.parse().map_err(|_| Error::ConnectionString("it is not a database URL".into()))?;
            (config, query_pairs(query))
        } else {
            (Config::new(), words(text)?)
        };
        let mut tls = TlsSettings {
            check: CertificateCheck::None,
            root_file: String::new(),
            certificate_file: String::new(),
            key_file: String::new(),
        };
        let mut options = String::new();
        for (key, value) in pairs {
            apply(&mut config, &mut tls, &mut options, &key, value)?;
        }
        // As libpq: a root certificate with `require` implies `verify-ca`.
        if tls.check == CertificateCheck::None && !tls.root_file.is_empty() {
            tls.check = CertificateCheck::Authority;
        }
        if !options.is_empty() {
            config.options(options.trim());
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        // As lib/pq, never `prefer`: a server without TLS is an error rather than a connection in clear text.
        let mode = if tls.check == CertificateCheck::NoTls { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(mode);
        Ok(ConnectionString { config, tls })
    }
}

fn apply(
    config: &mut Config,
    tls: &mut TlsSettings,
    options: &mut String,
    key: &str,
    value: String,
) -> Result<(), Error> {
    let bad = || Error::ConnectionString(format!("{key} is {value:?}"));
    match key {
        "user" => drop(config.user(&value)),
        "password" => drop(config.password(&value)),
        "dbname" => drop(config.dbname(&value)),
        "host" => drop(config.host(&value)),
        "port" => drop(config.port(value.parse().map_err(|_| bad())?)),
        "application_name" | "fallback_application_name" => drop(config.application_name(&value)),
        "connect_timeout" => {
            let seconds = value.parse().map_err(|_| bad())?;
            if seconds > 0 {
                config.connect_timeout(Duration::from_secs(seconds));
            }
        }
        "options" => *options = format!("{options} {value}"),
        "sslmode" => {
            tls.check = match value.as_str() {
                "disable" => CertificateCheck::NoTls,
                "" | "require" => CertificateCheck::None,
                "verify-ca" => CertificateCheck::Authority,
                "verify-full" => CertificateCheck::AuthorityAndHost,
                _ => {
                    let text = format!(
                        "unsupported sslmode {value:?}; only \"require\" (default), \"verify-full\", \"verify-ca\", and \"disable\" supported"
                    );
                    return Err(Error::ConnectionString(text));
                }
            };
        }
        "sslrootcert" => tls.root_file = value,
        "sslcert" => tls.certificate_file = value,
        "sslkey" => tls.key_file = value,
        // Settings of Go's driver that do not concern the database.
        "sslinline"
        | "sslsni"
        | "sslpassword"
        | "krbsrvname"
        | "krbspn"
        | "binary_parameters"
        | "disable_prepared_binary_result" => {}
        // Everything else is a session setting.
        _ => {
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            *options = format!("{options} -c {key}={value}");
        }
    }
    Ok(())
}

/// The query parameters of a URL.
fn query_pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(key), unescape(value))
        })
        .collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hexadecimal = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (byte, hexadecimal.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(value)) => {
                bytes.push(value);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `key=value` pairs. Values with spaces are in single quotes, and a backslash escapes the next character.
fn words(text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        if characters.peek().is_none() {
            return Ok(pairs);
        }
        let mut key = String::new();
        while let Some(character) =
            characters.next_if(|character| *character != '=' && !character.is_whitespace())
        {
            key.push(character);
        }
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        if characters.next() != Some('=') {
            return Err(Error::ConnectionString(format!(
                "missing \"=\" after {key:?} in connection info string"
            )));
        }
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        let quoted = characters.next_if_eq(&'\'').is_some();
        let mut value = String::new();
        loop {
            match characters.next() {
                Some('\\') => value.extend(characters.next()),
                Some('\'') if quoted => break,
                Some(character) if !quoted && character.is_whitespace() => break,
                Some(character) => value.push(character),
                None if quoted => {
                    return Err(Error::ConnectionString(
                        "unterminated quoted string literal in connection string".into(),
                    ));
                }
                None => break,
            }
        }
        pairs.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    #[test]
    fn urls_and_key_value_pairs_mean_the_same() {
        for text in [
            "postgres://me:p%40ss@db.test:5433/helm?sslmode=disable&search_path=a%20b",
            r"host=db.test port = 5433 user=me password='p@ss' dbname=helm sslmode=disable search_path='a b'",
        ] {
            let address = ConnectionString::parse(text).expect("good");
            let config = &address.config;
            assert_eq!(config.get_hosts(), [Host::Tcp("db.test".into())]);
            assert_eq!((config.get_ports(), config.get_user()), (&[5433][..], Some("me")));
            assert_eq!((config.get_password(), config.get_dbname()), (Some(&b"p@ss"[..]), Some("helm")));
            assert_eq!(config.get_options(), Some(r"-c search_path=a\ b"));
            assert_eq!(address.tls.check, CertificateCheck::NoTls);
        }
    }

    #[test]
    fn tls_is_asked_for_unless_it_is_switched_off() {
        let check = |text: &str| ConnectionString::parse(text).expect("good").tls.check;
        assert_eq!(check("host=a"), CertificateCheck::None);
        assert_eq!(check("postgres://a/b?sslrootcert=/x"), CertificateCheck::Authority);
        assert_eq!(check("postgres://a/b?sslmode=verify-full"), CertificateCheck::AuthorityAndHost);
    }

    #[test]
    fn bad_strings_are_refused_without_repeating_the_password() {
        for text in
            ["postgres://me:secret@a:x/b", "host=a password='secret", "host=a sslmode=prefer", "secret"]
        {
            let error = ConnectionString::parse(text).expect_err("bad").to_string();
            assert!(!error.contains("me:secret") && !error.contains("='secret"), "{error}");
        }
    }
}
