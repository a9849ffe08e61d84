//! TLS to the database, with the verification that the connection string sets.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::connection_string::{CertificateCheck, TlsSettings};
use crate::error::Error;

/// The TLS configuration of a connection string.
pub(crate) fn config(tls: &TlsSettings) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let authorities = match tls.check {
        CertificateCheck::NoTls | CertificateCheck::None => None,
        CertificateCheck::Authority | CertificateCheck::AuthorityAndHost => {
            let roots = Arc::new(roots(&tls.root_file)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
            Some(verifier.map_err(|error| unusable(&tls.root_file, error))?)
        }
    };
    let verifier = Verifier {
        provider: provider.clone(),
        authorities,
        any_name: tls.check != CertificateCheck::AuthorityAndHost,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("TLS", error))?
        // rustls has no mode for `require`, which encrypts without verifying, nor for `verify-ca`.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    if tls.certificate_file.is_empty() {
        return Ok(builder.with_no_client_auth());
    }
    let chain = certificates(&tls.certificate_file)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key_file).map_err(|error| unusable(&tls.key_file, error))?;
    builder.with_client_auth_cert(chain, key).map_err(|error| unusable(&tls.certificate_file, error))
}

fn unusable(file: &str, error: impl std::fmt::Display) -> Error {
    Error::Certificate { file: file.to_owned(), reason: error.to_string() }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(file).map_err(|error| unusable(file, error))?;
    read.collect::<Result<_, _>>().map_err(|error| unusable(file, error))
}

/// The CA certificates of a file, or the system's.
fn roots(file: &str) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let found =
        if file.is_empty() { rustls_native_certs::load_native_certs().certs } else { certificates(file)? };
    roots.add_parsable_certificates(found);
    Ok(roots)
}

/// Verifies a server's certificate as far as configured.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// The trusted CAs; `None` to trust any certificate.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// Whether the host name is not verified.
    any_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, intermediates, server, revocation, now) {
            // The name is verified last, so everything else was valid.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
