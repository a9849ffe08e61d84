//! TLS configuration: the system's certificate authorities, and those that the user adds.

use std::error::Error as StdError;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, Result};
use crate::settings::Settings;

/// Builds the configuration from the settings.
pub(crate) fn config(settings: &Settings) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Settings { what: "TLS".into(), reason: error.to_string() })?;
    let builder = if settings.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate { provider }))
    } else {
        builder.with_root_certificates(roots(settings)?)
    };
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

/// The authorities of the system, and those of a file.
fn roots(settings: &Settings) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let file = settings.authorities.as_deref();
    if settings.system_authorities {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if let Some(file) = file {
        let (added, _) = roots.add_parsable_certificates(certificates(file)?);
        if added == 0 {
            return Err(unusable(file, "none of its certificates can be used"));
        }
    }
    Ok(roots)
}

/// Whether an error shows that the peer speaks TLS, because it occurred inside the protocol.
pub(crate) fn is_tls_error(error: &(dyn StdError + 'static)) -> bool {
    use rustls::Error::{AlertReceived, InvalidCertificate, PeerIncompatible};
    let is_within =
        |said: &rustls::Error| matches!(said, AlertReceived(_) | InvalidCertificate(_) | PeerIncompatible(_));
    said(error).is_some_and(is_within)
}

/// The alert that an error is about.
pub(crate) fn alert_in(error: io::Error) -> Option<rustls::Error> {
    said(&error).filter(|said| matches!(said, rustls::Error::AlertReceived(_))).cloned()
}

/// The error of TLS that led to another.
fn said<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(said) = error.downcast_ref::<rustls::Error>() {
            return Some(said);
        }
        // `io::Error` does not report its inner error as source.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
    }
    None
}

/// Accepts any certificate (`--insecure`).
#[derive(Debug)]
struct AcceptAnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError, InvalidMessage};

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
