//! Signatures that cosign makes with a key: a payload that names the digest of a manifest, and a signature over it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::DecodePublicKey as _;
use p256::ecdsa::signature::Verifier as _;
use pintle_tree::Node;

use crate::error::{Error, Result};

/// What a payload says that it is.
const KIND: &str = "cosign container image signature";

/// A public key to verify with.
#[derive(Clone, Debug)]
pub struct PublicKey(Kind);

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
        if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_pem(text) {
            return Ok(PublicKey(Kind::P256(key)));
        }
        if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_pem(text) {
            return Ok(PublicKey(Kind::Ed25519(key)));
        }
        Err(Error::CosignKey)
    }

    fn has_signed(&self, payload: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Kind::P256(key) => p256::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify(payload, &signature).is_ok()),
            Kind::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(payload, &signature).is_ok()),
        }
    }
}

/// Checks that one of `signatures` (payloads, each with a signature in Base64) was made with the key, and is about the
/// manifest with this digest (`sha256:…`).
///
/// # Errors
///
/// When none is.
pub fn verify_cosign<'s>(
    key: &PublicKey,
    signatures: impl IntoIterator<Item = (&'s [u8], &'s str)>,
    manifest: &str,
) -> Result<()> {
    let mut found = 0;
    for (payload, signature) in signatures {
        found += 1;
        let Ok(signature) = STANDARD.decode(signature.trim()) else { continue };
        // What was not signed is not even read.
        if key.has_signed(payload, &signature) && is_about(payload, manifest) {
            return Ok(());
        }
    }
    Err(if found == 0 { Error::NoCosignSignature } else { Error::OtherCosignSignature { found } })
}

fn is_about(payload: &[u8], manifest: &str) -> bool {
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
            verify_cosign(key, [(payload, signature)], MANIFEST)
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
        assert_eq!(verify_cosign(&public(&key), [], MANIFEST), Err(Error::NoCosignSignature));
        // One good signature among others is enough.
        let bad = signed(&other, &good);
        let both = [(good.as_slice(), bad.as_str()), (good.as_slice(), signature.as_str())];
        assert_eq!(verify_cosign(&public(&key), both, MANIFEST), Ok(()));
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
        assert_eq!(verify_cosign(&public, [(good.as_slice(), signature.as_str())], MANIFEST), Ok(()));
    }
}
