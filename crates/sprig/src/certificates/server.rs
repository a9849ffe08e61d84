//! A self-signed certificate for the API server of the embedded cluster (`cluster serve`).

use std::net::IpAddr;

use super::{Request, generate, pem, serial, validity, x509};

/// Its validity. A new one is created at every start.
const DAYS: i64 = 365;

/// A certificate and its private key, as PEM.
pub struct ServerCertificate {
    /// The certificate, which clients also trust: it is self-signed and cannot sign others.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Creates a certificate for these addresses and `localhost`, with a new P-256 key.
///
/// # Errors
/// When the operating system has no randomness.
pub fn server_certificate(addresses: &[IpAddr]) -> Result<ServerCertificate, String> {
    let (not_before, not_after) = validity(DAYS);
    let request = Request {
        common_name: b"pintle",
        addresses: addresses.to_vec(),
        names: vec![b"localhost"],
        not_before,
        not_after,
        serial: serial()?,
        is_authority: false,
    };
    let key = generate::elliptic_key();
    let certificate = x509::create(&request, &key, None)?;
    Ok(ServerCertificate { certificate: pem::encode("CERTIFICATE", &certificate), key: key.to_pem()? })
}
