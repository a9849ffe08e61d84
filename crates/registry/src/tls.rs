//! TLS configuration: the system's certificate authorities, and those that the user adds.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore};

use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::verifier::{Trust, Verifier};

/// Builds the configuration from the settings.
pub(crate) fn config(settings: &Settings) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Settings { what: "TLS".into(), reason: error.to_string() })?;
    let trust = if settings.insecure { Trust::Any } else { trust(settings, provider.clone())? };
    let builder =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier { provider, trust }));
    let Some((certificate, key)) = &settings.certificate else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    builder.with_client_auth_cert(chain, private).map_err(|error| unusable(certificate, error))
}

fn unusable(file: &Path, error: impl std::fmt::Display) -> Error {
    Error::Settings { what: file.display().to_string(), reason: error.to_string() }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, error))?;
    let read: Vec<_> = read.collect::<std::result::Result<_, _>>().map_err(|error| unusable(file, error))?;
    if read.is_empty() { Err(unusable(file, "it contains no certificate")) } else { Ok(read) }
}

/// Trusts the authorities of the system, and those of a file.
fn trust(settings: &Settings, provider: Arc<CryptoProvider>) -> Result<Trust> {
    let mut trusted = Vec::new();
    let mut roots = RootCertStore::empty();
    if settings.system_authorities {
        trusted = rustls_native_certs::load_native_certs().certs;
        roots.add_parsable_certificates(trusted.iter().cloned());
    }
    if let Some(file) = settings.authorities.as_deref() {
        let added = certificates(file)?;
        let (usable, _) = roots.add_parsable_certificates(added.iter().cloned());
        if usable == 0 {
            return Err(unusable(file, "none of its certificates can be used"));
        }
        trusted.extend(added);
    }
    let authorities = match roots.is_empty() {
        true => None,
        false => {
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
            let built = builder.build();
            Some(built.map_err(|error| Error::Settings { what: "TLS".into(), reason: error.to_string() })?)
        }
    };
    Ok(Trust::Certificates { authorities, trusted })
}

/// Whether an error shows that the peer speaks TLS, because it occurred inside the protocol.
pub(crate) fn is_tls_error(error: &(dyn StdError + 'static)) -> bool {
    use rustls::Error::{AlertReceived, InvalidCertificate, PeerIncompatible};
    let is_within = |tls_error: &rustls::Error| {
        matches!(tls_error, AlertReceived(_) | InvalidCertificate(_) | PeerIncompatible(_))
    };
    tls_error(error).is_some_and(is_within)
}

/// What is wrong with the certificate that an error is about.
pub(crate) fn certificate_problem(error: &(dyn StdError + 'static)) -> Option<CertificateError> {
    match tls_error(error) {
        Some(rustls::Error::InvalidCertificate(problem)) => Some(problem.clone()),
        _ => None,
    }
}

/// The alert that an error is about.
pub(crate) fn alert_in(error: io::Error) -> Option<rustls::Error> {
    tls_error(&error).filter(|tls_error| matches!(tls_error, rustls::Error::AlertReceived(_))).cloned()
}

/// The first TLS error in the source chain.
fn tls_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls_error) = error.downcast_ref::<rustls::Error>() {
            return Some(tls_error);
        }
        // `io::Error` does not report its inner error as source.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, InvalidMessage};

    use super::*;

    #[test]
    fn tls_errors_are_distinguished_from_plain_text() {
        let held = |error: rustls::Error| io::Error::other(io::Error::other(error));
        assert!(is_tls_error(&held(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))));
        assert!(is_tls_error(&rustls::Error::AlertReceived(AlertDescription::CertificateRequired)));
        // A plain-text response fails as an invalid TLS message.
        assert!(!is_tls_error(&held(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType))));
        assert!(!is_tls_error(&io::Error::from(io::ErrorKind::ConnectionReset)));
    }
}
