//! Transports, one for each way of reaching servers, and the files for TLS that they need.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use pintle_registry::{Settings, Transport};

use super::{Access, Getter, key_pair_problem};
use crate::error::{Error, Result};

impl Getter {
    /// Reads the files for TLS, to find out early what is wrong with them.
    ///
    /// # Errors
    /// Files that cannot be read or used, in Helm's words.
    pub fn check_tls(&self, access: &Access) -> Result<()> {
        self.transport(access, true).map(|_| ())
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
        settings.addresses = self.addresses.clone();
        // The timeout of the whole request is enforced by the caller.
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
    let mut read = |what: &str, file: &str| match pintle_chart::read_limited(file, pintle_chart::MAX_TEXT) {
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
    if let Some((certificate, key)) = &settings.certificate
        && let (Ok(certificate), Ok(key)) = (
            pintle_chart::read_limited(certificate, pintle_chart::MAX_TEXT),
            pintle_chart::read_limited(key, pintle_chart::MAX_TEXT),
        )
        && let Some(problem) = key_pair_problem(&certificate, &key)
    {
        wrong.insert(0, format!("unable to load cert from key pair: {problem}"));
    }
    if !wrong.is_empty() {
        let wrong = wrong.join("\n");
        return Err(Error::Fetch(format!("can't create TLS config for client: {wrong}")));
    }
    settings.insecure = *insecure_skip_tls_verify;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

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
