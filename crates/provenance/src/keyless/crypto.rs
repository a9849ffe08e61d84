//! The cryptography that `sigstore-verify` uses: ring, as everywhere, and RustCrypto for signatures over digests.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use sha2::Digest as _;
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;

/// Installs the provider for the whole process.
pub(super) fn install() {
    // This fails only if a provider is already installed, and that is this one.
    let _ = install_default_provider(&Provider);
}

#[derive(Debug)]
struct Provider;

struct Hasher<D>(D);

impl<D: sha2::Digest + Send> HashContext for Hasher<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

impl CryptoProvider for Provider {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        Ok(match algorithm {
            HashAlgorithm::Sha2256 => Box::new(Hasher(sha2::Sha256::new())),
            HashAlgorithm::Sha2384 => Box::new(Hasher(sha2::Sha384::new())),
            HashAlgorithm::Sha2512 => Box::new(Hasher(sha2::Sha512::new())),
            other => return Err(Error::UnsupportedAlgorithm(format!("cannot compute {other} digests"))),
        })
    }

    fn verify_raw(&self, scheme: SigningScheme, key: &[u8], data: &[u8], signed: &[u8]) -> Result<()> {
        let algorithm = algorithm(scheme).ok_or_else(|| unsupported(scheme))?;
        UnparsedPublicKey::new(algorithm, key).verify(data, signed).map_err(|_| invalid(scheme))
    }

    /// Only for P-256, the curve of Fulcio's short-lived keys. RustCrypto, because ring cannot verify prehashed data.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signed: &[u8],
    ) -> Result<()> {
        if scheme != SigningScheme::EcdsaP256Sha256 {
            return Err(unsupported(scheme));
        }
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key).map_err(|_| invalid(scheme))?;
        let signed = p256::ecdsa::Signature::from_der(signed).map_err(|_| invalid(scheme))?;
        key.verify_prehash(digest, &signed).map_err(|_| invalid(scheme))
    }
}

fn algorithm(scheme: SigningScheme) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match scheme {
        SigningScheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &signature::ED25519,
        SigningScheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        _ => return None,
    })
}

fn unsupported(scheme: SigningScheme) -> Error {
    Error::UnsupportedAlgorithm(format!("{} signatures", scheme.name()))
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!("{} signature invalid", scheme.name()))
}
