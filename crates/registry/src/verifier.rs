//! Verification of server certificates, with the same results as Go's library.
//!
//! The chain is verified by `webpki`. Go also trusts a certificate that is itself among the trusted ones, whoever
//! issued it: the usual way to trust a server with a self-signed certificate. Its name, validity period and key usage are
//! still checked. Go also accepts a CA certificate as server certificate, which `webpki` rejects.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::oid::db::{rfc4519, rfc5280};
use x509_cert::der::{Decode as _, Encode as _, Header, Reader as _, SliceReader};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::spki::AlgorithmIdentifierOwned;

/// Verifies certificates of servers, and their signatures.
#[derive(Debug)]
pub(crate) struct Verifier {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) trust: Trust,
}

/// Which certificates are trusted.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Any (`--insecure-skip-tls-verify`).
    Any,
    /// Certificates that chain to one of `trusted`, and those in `trusted` themselves.
    Certificates {
        /// `None` if there are no root certificates.
        authorities: Option<Arc<WebPkiServerVerifier>>,
        trusted: Vec<CertificateDer<'static>>,
    },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
        let Trust::Certificates { authorities, trusted } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict = match authorities {
            Some(known) => known.verify_server_cert(certificate, intermediates, server, revocation, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        let problem = match verdict {
            Err(Error::InvalidCertificate(problem)) => problem,
            verdict => return verdict,
        };
        // Both libraries check the validity period first. Go checks the name before it builds the chain.
        if matches!(problem, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }) {
            return Err(problem.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, server)
            .map_err(|error| legacy_name(certificate, server).unwrap_or(error))?;
        match problem {
            _ if trusted.contains(certificate) && may_serve(certificate) => {
                Ok(ServerCertVerified::assertion())
            }
            _ if trusted.contains(certificate) => Err(CertificateError::InvalidPurpose.into()),
            // For example a CA certificate used as server certificate, which Go accepts.
            CertificateError::Other(_) if self.is_issued_authority(certificate, trusted, now) => {
                if may_serve(certificate) {
                    Ok(ServerCertVerified::assertion())
                } else {
                    Err(CertificateError::InvalidPurpose.into())
                }
            }
            CertificateError::Other(_) => Err(CertificateError::UnknownIssuer.into()),
            problem => Err(problem.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Verifier {
    /// Whether a certificate is a CA certificate that was issued directly by a trusted CA. Name constraints and chains with
    /// intermediates are left to `webpki`, so such certificates stay rejected.
    fn is_issued_authority(
        &self,
        certificate: &CertificateDer<'_>,
        trusted: &[CertificateDer<'static>],
        now: UnixTime,
    ) -> bool {
        let Ok(issued) = Certificate::from_der(certificate) else { return false };
        if !is_authority(&issued) || !is_known(&issued) || !is_valid(&issued, now) {
            return false;
        }
        trusted.iter().any(|der| {
            let Ok(issuer) = Certificate::from_der(der) else { return false };
            issuer.tbs_certificate.subject == issued.tbs_certificate.issuer
                && is_authority(&issuer)
                && is_known(&issuer)
                && is_valid(&issuer, now)
                && may_serve(der)
                && self.has_signed(&issuer, &issued).unwrap_or(false)
        })
    }

    /// Whether the key of `issuer` has signed `issued`; `None` if the certificates cannot be decoded.
    fn has_signed(&self, issuer: &Certificate, issued: &Certificate) -> Option<bool> {
        let key = &issuer.tbs_certificate.subject_public_key_info;
        let key_algorithm = content(&key.algorithm)?;
        let algorithm = content(&issued.signature_algorithm)?;
        let message = issued.tbs_certificate.to_der().ok()?;
        let (key, signature) = (key.subject_public_key.as_bytes()?, issued.signature.as_bytes()?);
        let known = self.provider.signature_verification_algorithms.all.iter();
        let mut fitting = known.filter(|known| {
            known.signature_alg_id().as_ref() == algorithm
                && known.public_key_alg_id().as_ref() == key_algorithm
        });
        Some(fitting.any(|known| known.verify_signature(key, &message, signature).is_ok()))
    }
}

/// The DER content of an `AlgorithmIdentifier`, without the header of its SEQUENCE.
fn content(algorithm: &AlgorithmIdentifierOwned) -> Option<Vec<u8>> {
    let der = algorithm.to_der().ok()?;
    let mut reader = SliceReader::new(&der).ok()?;
    Header::decode(&mut reader).ok()?;
    reader.read_slice(reader.remaining_len()).ok().map(<[u8]>::to_vec)
}

/// Whether a certificate is a CA certificate that may sign others.
fn is_authority(certificate: &Certificate) -> bool {
    let certificate = &certificate.tbs_certificate;
    let is_marked =
        certificate.get::<BasicConstraints>().is_ok_and(|found| found.is_some_and(|(_, basic)| basic.ca));
    let may_sign = match certificate.get::<KeyUsage>() {
        Ok(usage) => usage.is_none_or(|(_, usage)| usage.key_cert_sign()),
        Err(_) => false,
    };
    is_marked && may_sign
}

/// Whether a certificate has no name constraints and no unknown critical extension.
fn is_known(certificate: &Certificate) -> bool {
    const KNOWN: [ObjectIdentifier; 5] = [
        rfc5280::ID_CE_BASIC_CONSTRAINTS,
        rfc5280::ID_CE_CERTIFICATE_POLICIES,
        rfc5280::ID_CE_EXT_KEY_USAGE,
        rfc5280::ID_CE_KEY_USAGE,
        rfc5280::ID_CE_SUBJECT_ALT_NAME,
    ];
    let mut extensions = certificate.tbs_certificate.extensions.iter().flatten();
    extensions.all(|extension| {
        let is_about_names = extension.extn_id == rfc5280::ID_CE_NAME_CONSTRAINTS;
        !is_about_names && (!extension.critical || KNOWN.contains(&extension.extn_id))
    })
}

/// Whether the time is within the validity period.
fn is_valid(certificate: &Certificate, now: UnixTime) -> bool {
    let validity = &certificate.tbs_certificate.validity;
    let [from, to] = [validity.not_before, validity.not_after].map(|time| time.to_unix_duration().as_secs());
    (from..=to).contains(&now.as_secs())
}

/// Whether the extended key usage, if there is any, includes server authentication.
fn may_serve(certificate: &CertificateDer<'_>) -> bool {
    let Ok(certificate) = Certificate::from_der(certificate) else { return false };
    match certificate.tbs_certificate.get::<ExtendedKeyUsage>() {
        Ok(None) => true,
        Ok(Some((_, ExtendedKeyUsage(purposes)))) => purposes
            .iter()
            .any(|purpose| [rfc5280::ID_KP_SERVER_AUTH, rfc5280::ANY_EXTENDED_KEY_USAGE].contains(purpose)),
        Err(_) => false,
    }
}

/// The error for a certificate without SANs that has the server's name only as Common Name, which Go no longer accepts.
fn legacy_name(certificate: &CertificateDer<'_>, server: &ServerName<'_>) -> Option<Error> {
    const ALTERNATIVE_NAMES: ObjectIdentifier = rfc5280::ID_CE_SUBJECT_ALT_NAME;
    let certificate = Certificate::from_der(certificate).ok()?.tbs_certificate;
    let mut extensions = certificate.extensions.iter().flatten();
    if extensions.any(|extension| extension.extn_id == ALTERNATIVE_NAMES) {
        return None;
    }
    let mut attributes = certificate.subject.0.iter().flat_map(|names| names.0.iter());
    let name = attributes.find(|attribute| attribute.oid == rfc4519::CN)?;
    let is_name = name.value.value().eq_ignore_ascii_case(server.to_str().as_bytes());
    is_name.then(|| CertificateError::Other(OtherError(Arc::new(LegacyName))).into())
}

#[derive(Debug)]
struct LegacyName;

impl fmt::Display for LegacyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("certificate relies on legacy Common Name field, use SANs instead")
    }
}

impl std::error::Error for LegacyName {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::RootCertStore;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    /// Days after the certificates were issued.
    const VALID: u64 = 1_800_000_000;

    /// The certificates with an own name, with a legacy name, and for clients.
    fn self_signed() -> [CertificateDer<'static>; 3] {
        let text = include_bytes!("verifier/self_signed.pem");
        let all: Vec<_> = CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().expect("PEM");
        all.try_into().expect("three certificates")
    }

    /// The result of verifying `certificate` if only `trusted` is trusted.
    fn verdict(
        certificate: &CertificateDer<'_>,
        trusted: &CertificateDer<'static>,
        host: &str,
        now: u64,
    ) -> Result<(), String> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).expect("a certificate");
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let trust = Trust::Certificates {
            authorities: Some(authorities.build().expect("there is a root")),
            trusted: vec![trusted.clone()],
        };
        let server = ServerName::try_from(host.to_owned()).expect("a host");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        let verdict = Verifier { provider, trust }.verify_server_cert(certificate, &[], &server, &[], now);
        match verdict {
            Ok(_) => Ok(()),
            Err(Error::InvalidCertificate(problem)) => {
                let text = crate::go_words::of_certificate(&problem, host);
                Err(text.trim_start_matches("tls: failed to verify certificate: x509: ").to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_certificate_that_is_itself_trusted_is_accepted_for_its_names_and_dates() {
        let [own, other, _] = self_signed();
        assert_eq!(verdict(&own, &own, "127.0.0.1", VALID), Ok(()));
        assert_eq!(verdict(&own, &own, "localhost", VALID), Ok(()));
        let refused = |trusted, host, now| verdict(&own, trusted, host, now).expect_err("it is refused");
        assert_eq!(refused(&other, "localhost", VALID), "certificate signed by unknown authority");
        assert_eq!(
            refused(&own, "example.com", VALID),
            "certificate is valid for localhost, not example.com"
        );
        assert_eq!(refused(&other, "127.0.0.2", VALID), "certificate is valid for 127.0.0.1, not 127.0.0.2");
        assert!(refused(&own, "localhost", 5_000_000_000).contains(" is after 2126-10-24T17:07:24Z"));
        assert!(refused(&own, "localhost", 1_000_000_000).contains(" is before 2026-11-17T17:07:24Z"));
    }

    #[test]
    fn a_certificate_of_an_authority_is_accepted_for_a_server_if_another_one_has_issued_it() {
        let text = include_bytes!("verifier/authorities.pem");
        let all: Vec<_> = CertificateDer::pem_slice_iter(text).collect::<Result<_, _>>().expect("PEM");
        let [authority, namesake, constrained, server, client, under, odd] =
            <[_; 7]>::try_from(all).expect("seven certificates");
        assert_eq!(verdict(&server, &authority, "127.0.0.1", VALID), Ok(()));
        let unknown = Err("certificate signed by unknown authority".to_owned());
        // The CA of the same name has not signed it, and neither `server` nor `constrained` is accepted as issuer of `under`.
        assert_eq!(verdict(&server, &namesake, "127.0.0.1", VALID), unknown);
        assert_eq!(verdict(&under, &server, "localhost", VALID), unknown);
        assert_eq!(verdict(&under, &constrained, "localhost", VALID), unknown);
        assert_eq!(
            verdict(&odd, &authority, "localhost", VALID),
            Err("unhandled critical extension".to_owned())
        );
        assert_eq!(
            verdict(&client, &authority, "localhost", VALID),
            Err("certificate specifies an incompatible key usage".to_owned())
        );
        assert_eq!(
            verdict(&server, &authority, "example.com", VALID),
            Err("certificate is valid for localhost, not example.com".to_owned())
        );
        assert!(verdict(&server, &authority, "localhost", 5_000_000_000).is_err());
    }

    #[test]
    fn names_in_the_subject_and_other_purposes_do_not_count() {
        let [_, legacy, client] = self_signed();
        assert_eq!(
            verdict(&legacy, &legacy, "registry.example.com", VALID),
            Err("certificate relies on legacy Common Name field, use SANs instead".to_owned())
        );
        assert_eq!(
            verdict(&client, &client, "localhost", VALID),
            Err("certificate specifies an incompatible key usage".to_owned())
        );
    }
}
