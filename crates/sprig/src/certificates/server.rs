//! A certificate for a server of this program.

use std::net::IpAddr;

use super::{Request, generate, pem, serial, validity, x509};

/// How long it lasts. It is made anew at every start.
const DAYS: i64 = 365;

/// A certificate and its private key, as PEM.
pub struct ServerCertificate {
    /// The certificate, which is also what clients trust: it signed itself and cannot sign others.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Makes a certificate for these addresses and for `localhost`, with a new key on the curve P-256.
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
