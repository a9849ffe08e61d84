//! Signatures of cosign. With a key: a payload that names the digest of a manifest, and a signature over it, or a bundle that
//! has both. Without a key (`keyless`): the same with a certificate that says who signed, and an entry of a public log.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::DecodePublicKey as _;
use p256::ecdsa::signature::Verifier as _;
use pintle_tree::Node;

use crate::error::{Error, Result};

/// The value of `critical.type` in a payload.
pub(crate) const KIND: &str = "cosign container image signature";

/// A signature as cosign stores it beside a manifest.
#[derive(Clone, Copy, Debug, Default)]
pub struct CosignSignature<'s> {
    /// The payload that was signed, or the whole bundle.
    pub content: &'s [u8],
    /// Whether it is a bundle, which includes the other fields.
    pub is_bundle: bool,
    /// The signature in Base64.
    pub signature: &'s str,
    /// The certificate of the signer (PEM); empty for signatures with a key.
    pub certificate: &'s str,
    /// The transparency log entry (JSON); may be empty.
    pub log_entry: &'s str,
    /// The timestamp of an authority (JSON); may be empty.
    pub timestamp: &'s str,
}

/// A public key to verify with.
#[derive(Clone, Debug)]
pub struct PublicKey {
    kind: Kind,
    pem: String,
}

#[derive(Clone, Debug)]
enum Kind {
    P256(p256::ecdsa::VerifyingKey),
    Ed25519(ed25519_dalek::VerifyingKey),
}

impl PublicKey {
    /// Reads a key as `cosign generate-key-pair` writes it: `-----BEGIN PUBLIC KEY-----`, for ECDSA on P-256 or Ed25519.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn read(text: &[u8]) -> Result<PublicKey> {
        let text = std::str::from_utf8(text).unwrap_or_default().trim();
        let pem = text.to_owned();
        if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_pem(text) {
            return Ok(PublicKey { kind: Kind::P256(key), pem });
        }
        if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_pem(text) {
            return Ok(PublicKey { kind: Kind::Ed25519(key), pem });
        }
        Err(Error::CosignKey)
    }

    /// The key as it was read.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn has_signed(&self, payload: &[u8], signature: &[u8]) -> bool {
        match &self.kind {
            Kind::P256(key) => p256::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify(payload, &signature).is_ok()),
            Kind::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(payload, &signature).is_ok()),
        }
    }
}

/// Checks that one of `signatures` was made with the key, and is about the manifest with this digest (`sha256:…`).
///
/// # Errors
///
/// When none is.
pub fn verify_cosign(key: &PublicKey, signatures: &[CosignSignature<'_>], manifest: &str) -> Result<()> {
    let is_good = |one: &&CosignSignature<'_>| {
        if one.is_bundle {
            return crate::keyless::is_bundle_by(key, one.content, manifest);
        }
        // The payload is parsed only after its signature was verified.
        let signature = STANDARD.decode(one.signature.trim()).unwrap_or_default();
        key.has_signed(one.content, &signature) && is_about(one.content, manifest)
    };
    match (signatures.iter().find(is_good), signatures.len()) {
        (Some(_), _) => Ok(()),
        (None, 0) => Err(Error::NoCosignSignature),
        (None, found) => Err(Error::OtherCosignSignature { found }),
    }
}

/// Whether a payload of cosign is about the manifest with this digest.
pub(crate) fn is_about(payload: &[u8], manifest: &str) -> bool {
    let Ok(payload) = pintle_tree::json::read_exact(payload) else { return false };
    let Some(critical) = payload.get("critical") else { return false };
    let digest = critical.get("image").and_then(|image| image.get("docker-manifest-digest")?.as_str());
    critical.get("type").and_then(Node::as_str) == Some(KIND) && digest == Some(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::signature::Signer as _;
    use p256::pkcs8::EncodePublicKey as _;

    const MANIFEST: &str = "sha256:0123";

    fn payload(kind: &str, digest: &str) -> Vec<u8> {
        format!(
            r#"{{"critical":{{"identity":{{"docker-reference":"r.io/web"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{kind}"}},"optional":null}}"#
        )
        .into_bytes()
    }

    fn signed(key: &p256::ecdsa::SigningKey, payload: &[u8]) -> String {
        let signature: p256::ecdsa::Signature = key.sign(payload);
        STANDARD.encode(signature.to_der().as_bytes())
    }

    fn simple<'s>(content: &'s [u8], signature: &'s str) -> CosignSignature<'s> {
        CosignSignature { content, signature, ..CosignSignature::default() }
    }

    fn public(key: &p256::ecdsa::SigningKey) -> PublicKey {
        let text = key.verifying_key().to_public_key_pem(p256::pkcs8::LineEnding::LF).unwrap();
        PublicKey::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_signature_counts_for_its_key_its_payload_and_its_manifest() {
        let (key, other) = ([1; 32], [2; 32]);
        let [key, other] = [key, other].map(|seed| p256::ecdsa::SigningKey::from_slice(&seed).unwrap());
        let good = payload(KIND, MANIFEST);
        let signature = signed(&key, &good);
        let check = |key: &PublicKey, payload: &[u8], signature: &str| {
            verify_cosign(key, &[simple(payload, signature)], MANIFEST)
        };
        assert_eq!(check(&public(&key), &good, &signature), Ok(()));
        let refused = Err(Error::OtherCosignSignature { found: 1 });
        assert_eq!(check(&public(&other), &good, &signature), refused);
        assert_eq!(check(&public(&key), &payload(KIND, "sha256:0124"), &signature), refused);
        for (kind, digest) in [(KIND, "sha256:0124"), ("something else", MANIFEST)] {
            let payload = payload(kind, digest);
            assert_eq!(check(&public(&key), &payload, &signed(&key, &payload)), refused, "{kind} {digest}");
        }
        assert_eq!(check(&public(&key), &good, "no base64!"), refused);
        assert_eq!(verify_cosign(&public(&key), &[], MANIFEST), Err(Error::NoCosignSignature));
        // One good signature among others is enough.
        let bad = signed(&other, &good);
        let both = [simple(&good, &bad), simple(&good, &signature)];
        assert_eq!(verify_cosign(&public(&key), &both, MANIFEST), Ok(()));
    }

    #[test]
    fn other_kinds_of_keys_are_refused() {
        for text in ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert_eq!(PublicKey::read(text.as_bytes()).unwrap_err(), Error::CosignKey);
        }
        let key = ed25519_dalek::SigningKey::from_bytes(&[3; 32]);
        let text = ed25519_dalek::pkcs8::EncodePublicKey::to_public_key_pem(
            &key.verifying_key(),
            ed25519_dalek::pkcs8::spki::der::pem::LineEnding::LF,
        );
        let public = PublicKey::read(text.unwrap().as_bytes()).unwrap();
        let good = payload(KIND, MANIFEST);
        let signature = STANDARD.encode(ed25519_dalek::Signer::sign(&key, &good).to_bytes());
        assert_eq!(verify_cosign(&public, &[simple(&good, &signature)], MANIFEST), Ok(()));
    }
}
