//! Private keys for certificates: encoding, public keys and signatures.

use p256::ecdsa::signature::Signer as _;
use rsa::pkcs1::{EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::{BigUint, RsaPrivateKey};

use super::der::{self, bit_string, element, object_identifier, sequence, unsigned};
use super::{pem, rsa_signature};

/// Encoded object identifiers (content only).
pub(super) mod identifier {
    pub(in super::super) const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    pub(in super::super) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub(in super::super) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    pub(in super::super) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub(in super::super) const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    pub(in super::super) const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
    pub(in super::super) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    pub(in super::super) const P384: &[u8] = &[0x2b, 0x81, 4, 0, 34];
    pub(in super::super) const P521: &[u8] = &[0x2b, 0x81, 4, 0, 35];
    pub(in super::super) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
}

/// The numbers of a DSA key.
pub(super) struct DsaKey {
    pub(super) p: BigUint,
    pub(super) q: BigUint,
    pub(super) g: BigUint,
    pub(super) y: BigUint,
    pub(super) x: BigUint,
}

/// A private key.
pub(super) enum PrivateKey {
    Rsa(Box<RsaPrivateKey>),
    P256(Box<p256::ecdsa::SigningKey>),
    P384(Box<p384::ecdsa::SigningKey>),
    P521(Box<p521::ecdsa::SigningKey>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
    Dsa(Box<DsaKey>),
}

/// The public key in a certificate.
pub(super) struct PublicKey {
    /// The encoded algorithm identifier.
    pub(super) algorithm: Vec<u8>,
    /// The content of the key's bit string.
    pub(super) bits: Vec<u8>,
}

impl PrivateKey {
    /// Encodes the key as Helm does: every kind in its traditional form, Ed25519 as PKCS#8.
    pub(super) fn to_pem(&self) -> Result<String, String> {
        let (label, bytes) = match self {
            PrivateKey::Rsa(key) => {
                let bytes = key.to_pkcs1_der().map_err(|error| error.to_string())?;
                ("RSA PRIVATE KEY", bytes.as_bytes().to_vec())
            }
            PrivateKey::Dsa(key) => {
                let numbers =
                    [&key.p, &key.q, &key.g, &key.y, &key.x].map(|number| unsigned(&number.to_bytes_be()));
                let [p, q, g, y, x] = &numbers;
                ("DSA PRIVATE KEY", sequence(&[&unsigned(&[0]), p, q, g, y, x]))
            }
            PrivateKey::Ed25519(key) => {
                // RFC 8410 wraps the seed in an octet string inside of the key's octet string.
                let seed = element(der::OCTET_STRING, &[&element(der::OCTET_STRING, &[key.as_bytes()])]);
                let algorithm = sequence(&[&object_identifier(identifier::ED25519)]);
                ("PRIVATE KEY", sequence(&[&unsigned(&[0]), &algorithm, &seed]))
            }
            PrivateKey::P256(key) => ("EC PRIVATE KEY", self.elliptic(identifier::P256, &key.to_bytes())),
            PrivateKey::P384(key) => ("EC PRIVATE KEY", self.elliptic(identifier::P384, &key.to_bytes())),
            PrivateKey::P521(key) => ("EC PRIVATE KEY", self.elliptic(identifier::P521, &key.to_bytes())),
        };
        Ok(pem::encode(label, &bytes))
    }

    /// SEC 1 form: version, secret, curve, public point.
    fn elliptic(&self, curve: &[u8], secret: &[u8]) -> Vec<u8> {
        let point = self.public().map(|public| public.bits).unwrap_or_default();
        sequence(&[
            &unsigned(&[1]),
            &element(der::OCTET_STRING, &[secret]),
            &element(der::context(0), &[&object_identifier(curve)]),
            &element(der::context(1), &[&bit_string(&point)]),
        ])
    }

    /// The public key, for kinds that certificates support.
    pub(super) fn public(&self) -> Result<PublicKey, String> {
        let elliptic = |curve, bits: &[u8]| PublicKey {
            algorithm: sequence(&[&object_identifier(identifier::EC), &object_identifier(curve)]),
            bits: bits.to_vec(),
        };
        Ok(match self {
            PrivateKey::Rsa(key) => PublicKey {
                // The parameters of RSA are NULL, not absent (RFC 3279).
                algorithm: sequence(&[&object_identifier(identifier::RSA), der::NULL]),
                bits: key
                    .to_public_key()
                    .to_pkcs1_der()
                    .map_err(|error| error.to_string())?
                    .as_bytes()
                    .to_vec(),
            },
            PrivateKey::P256(key) => {
                elliptic(identifier::P256, key.verifying_key().to_encoded_point(false).as_bytes())
            }
            PrivateKey::P384(key) => {
                elliptic(identifier::P384, key.verifying_key().to_encoded_point(false).as_bytes())
            }
            PrivateKey::P521(key) => {
                let public = p521::ecdsa::VerifyingKey::from(key.as_ref());
                elliptic(identifier::P521, public.to_encoded_point(false).as_bytes())
            }
            PrivateKey::Ed25519(key) => PublicKey {
                algorithm: sequence(&[&object_identifier(identifier::ED25519)]),
                bits: key.verifying_key().as_bytes().to_vec(),
            },
            PrivateKey::Dsa(_) => return Err("x509: unsupported public key type: *dsa.PublicKey".to_owned()),
        })
    }

    /// The encoded identifier of the signatures that [`PrivateKey::sign`] makes.
    pub(super) fn signature_algorithm(&self) -> Result<Vec<u8>, String> {
        let named = |name| sequence(&[&object_identifier(name)]);
        Ok(match self {
            PrivateKey::Rsa(_) => sequence(&[&object_identifier(identifier::SHA256_WITH_RSA), der::NULL]),
            PrivateKey::P256(_) => named(identifier::ECDSA_WITH_SHA256),
            PrivateKey::P384(_) => named(identifier::ECDSA_WITH_SHA384),
            PrivateKey::P521(_) => named(identifier::ECDSA_WITH_SHA512),
            PrivateKey::Ed25519(_) => named(identifier::ED25519),
            PrivateKey::Dsa(_) => {
                // Go reads DSA keys but cannot sign with them.
                return Err("x509: certificate private key does not implement crypto.Signer".to_owned());
            }
        })
    }

    /// Signs a message with the hash for the kind of key.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            PrivateKey::Rsa(key) => rsa_signature::sign(key, message),
            PrivateKey::P256(key) => {
                let signature: p256::ecdsa::Signature =
                    key.try_sign(message).map_err(|error| error.to_string())?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            PrivateKey::P384(key) => {
                let signature: p384::ecdsa::Signature =
                    key.try_sign(message).map_err(|error| error.to_string())?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            PrivateKey::P521(key) => {
                let signature: p521::ecdsa::Signature =
                    key.try_sign(message).map_err(|error| error.to_string())?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            PrivateKey::Ed25519(key) => Ok(key.sign(message).to_bytes().to_vec()),
            PrivateKey::Dsa(_) => Err("x509: only RSA, ECDSA and Ed25519 keys supported".to_owned()),
        }
    }
}
