//! Makes the signatures that [`crate::verify_cosign`] checks: with a private key of cosign, over the digest of a manifest, and over
//! statements about it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::{DecodePrivateKey as _, EncodePublicKey as _};
use pintle_tree::{Map, Node};
use poly1305::Poly1305;
use poly1305::universal_hash::KeyInit as _;
use salsa20::XSalsa20;
use salsa20::cipher::{KeyIvInit as _, StreamCipher as _};

use crate::error::{Error, Result};

/// The labels of encrypted keys, of cosign's second generation and of the first.
const ENCRYPTED: [&str; 2] = ["ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"];

/// The greatest cost of scrypt that a key may ask for: 128 MiB, and twice what cosign asks for.
const MAX_LOG_N: u32 = 17;
const MAX_P: u32 = 4;
const R: u32 = 8;

/// The bytes of the key of Poly1305, at the beginning of the key stream, and of its tag, at the beginning of the text.
const MAC_KEY: usize = 32;
const TAG: usize = 16;

/// A private key to sign with: ECDSA on P-256, which cosign makes.
#[derive(Clone)]
pub struct CosignKey(p256::ecdsa::SigningKey);

impl std::fmt::Debug for CosignKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CosignKey")
    }
}

impl CosignKey {
    /// Whether the key in this text needs a password.
    pub fn is_encrypted(text: &[u8]) -> bool {
        let text = String::from_utf8_lossy(text);
        ENCRYPTED.iter().any(|label| text.contains(&format!("-----BEGIN {label}-----")))
    }

    /// Reads a key as `cosign generate-key-pair` writes it, or one without a password in PKCS #8 or SEC 1.
    ///
    /// # Errors
    ///
    /// When it is something else, or the password is wrong.
    pub fn read(text: &[u8], password: &[u8]) -> Result<CosignKey> {
        let text = std::str::from_utf8(text).map_err(|_| Error::CosignPrivateKey)?.trim();
        let key = match ENCRYPTED.iter().find_map(|label| pem_body(text, label)) {
            Some(body) => {
                let opened = decrypt(&STANDARD.decode(body).map_err(|_| Error::CosignPrivateKey)?, password)?;
                SecretKey::from_pkcs8_der(&opened).map_err(|_| Error::CosignPrivateKey)?
            }
            None => SecretKey::from_pkcs8_pem(text)
                .or_else(|_| SecretKey::from_sec1_pem(text))
                .map_err(|_| Error::CosignPrivateKey)?,
        };
        Ok(CosignKey(key.into()))
    }

    /// The public key that belongs to it, in PEM, as `cosign.pub` has it.
    pub fn public_pem(&self) -> String {
        let line_ending = p256::pkcs8::LineEnding::LF;
        self.0.verifying_key().to_public_key_pem(line_ending).expect("a key on a curve can be encoded")
    }

    /// Signs the manifest with this digest. The reference, without tag, is what the signature says it was signed as.
    ///
    /// # Errors
    ///
    /// A reference that JSON cannot hold.
    pub fn sign_manifest(&self, reference: &str, manifest: &str) -> Result<SignedPayload> {
        let object = |entries: Vec<(&str, Node)>| {
            Node::from(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map<Node>>())
        };
        let payload = object(vec![
            (
                "critical",
                object(vec![
                    ("identity", object(vec![("docker-reference", reference.into())])),
                    ("image", object(vec![("docker-manifest-digest", manifest.into())])),
                    ("type", crate::cosign::KIND.into()),
                ]),
            ),
            ("optional", Node::Nil),
        ]);
        let payload = json(&payload)?;
        let signature = self.sign(&payload);
        Ok(SignedPayload { payload, signature })
    }

    /// Signs a statement (in-toto): a bundle of sigstore with an envelope, as `cosign attest` stores it.
    ///
    /// # Errors
    ///
    /// A statement that JSON cannot hold.
    pub fn sign_statement(&self, statement: &Node) -> Result<Vec<u8>> {
        let payload = json(statement)?;
        let kind = crate::keyless::STATEMENT;
        let mut signed = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
        signed.extend_from_slice(&payload);
        let signature = self.sign(&signed);
        let payload = STANDARD.encode(payload);
        let hint = self.hint();
        Ok(format!(
            r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"{hint}"}}}},"dsseEnvelope":{{"payload":"{payload}","payloadType":"{kind}","signatures":[{{"sig":"{signature}"}}]}}}}"#
        )
        .into_bytes())
    }

    /// Signs bytes: a bundle of sigstore with their digest, as `cosign sign-blob` writes it.
    pub fn sign_blob(&self, content: &[u8]) -> Vec<u8> {
        use sha2::Digest as _;
        let digest = STANDARD.encode(sha2::Sha256::digest(content));
        let (hint, signature) = (self.hint(), self.sign(content));
        format!(
            r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"{hint}"}}}},"messageSignature":{{"messageDigest":{{"algorithm":"SHA2_256","digest":"{digest}"}},"signature":"{signature}"}}}}"#
        )
        .into_bytes()
    }

    /// The signature of a text: in Base64, of the form of ASN.1. It is the same each time (RFC 6979).
    fn sign(&self, text: &[u8]) -> String {
        let signature: p256::ecdsa::Signature = self.0.sign(text);
        STANDARD.encode(signature.to_der().as_bytes())
    }

    /// By which verifiers find the public key: its digest.
    fn hint(&self) -> String {
        use sha2::Digest as _;
        let key = self.0.verifying_key().to_public_key_der().expect("a key on a curve can be encoded");
        STANDARD.encode(sha2::Sha256::digest(key.as_bytes()))
    }
}

/// What was signed about a manifest.
#[derive(Clone, Debug)]
pub struct SignedPayload {
    /// The payload, which names the manifest.
    pub payload: Vec<u8>,
    /// Its signature, in Base64.
    pub signature: String,
}

fn json(node: &Node) -> Result<Vec<u8>> {
    pintle_tree::json::write_raw(node).map_err(|error| Error::data(error.to_string()))
}

/// The text between the lines of a PEM block, without line breaks.
fn pem_body(text: &str, label: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    Some(body.split_whitespace().collect())
}

/// Opens what cosign encrypted: a key by scrypt, and NaCl's secret box.
fn decrypt(envelope: &[u8], password: &[u8]) -> Result<Vec<u8>> {
    let envelope = pintle_tree::json::read_exact(envelope).map_err(|_| Error::CosignPrivateKey)?;
    let field = |path: &[&str]| path.iter().try_fold(&envelope, |node, key| node.get(key));
    let text = |path: &[&str]| field(path).and_then(Node::as_str).ok_or(Error::CosignPrivateKey);
    let bytes = |path: &[&str]| STANDARD.decode(text(path)?).map_err(|_| Error::CosignPrivateKey);
    let number = |name: &str| match field(&["kdf", "params", name]) {
        Some(Node::Int(number)) => u32::try_from(*number).map_err(|_| Error::CosignPrivateKey),
        _ => Err(Error::CosignPrivateKey),
    };
    if text(&["kdf", "name"])? != "scrypt" || text(&["cipher", "name"])? != "nacl/secretbox" {
        return Err(Error::CosignPrivateKey);
    }
    let (n, r, p) = (number("N")?, number("r")?, number("p")?);
    let log_n = n.checked_ilog2().filter(|log| 1 << log == n && *log <= MAX_LOG_N);
    let log_n = log_n.filter(|_| r == R && (1..=MAX_P).contains(&p)).ok_or(Error::CosignPrivateKey)?;
    let log_n = u8::try_from(log_n).map_err(|_| Error::CosignPrivateKey)?;
    let params = scrypt::Params::new(log_n, r, p, 32).map_err(|_| Error::CosignPrivateKey)?;
    let mut key = [0; 32];
    scrypt::scrypt(password, &bytes(&["kdf", "salt"])?, &params, &mut key)
        .map_err(|_| Error::CosignPrivateKey)?;
    let nonce: [u8; 24] = bytes(&["cipher", "nonce"])?.try_into().map_err(|_| Error::CosignPrivateKey)?;
    let boxed = bytes(&["ciphertext"])?;
    let (tag, sealed) = boxed.split_at_checked(TAG).ok_or(Error::CosignPrivateKey)?;
    let mut stream = XSalsa20::new(&key.into(), &nonce.into());
    let mut mac_key = [0; MAC_KEY];
    stream.apply_keystream(&mut mac_key);
    let found = Poly1305::new(&mac_key.into()).compute_unpadded(sealed);
    // Whoever can measure this has the file and can try passwords without it.
    if found.as_slice() != tag {
        return Err(Error::CosignPassword);
    }
    let mut opened = sealed.to_vec();
    stream.apply_keystream(&mut opened);
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use p256::pkcs8::EncodePrivateKey as _;

    use super::*;
    use crate::cosign::{CosignSignature, PublicKey, verify_cosign};

    const MANIFEST: &str = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

    fn key() -> p256::SecretKey {
        p256::SecretKey::from_slice(&[7; 32]).unwrap()
    }

    /// A key as cosign writes it, with a small cost.
    fn encrypted(password: &[u8], n: u32) -> String {
        let (salt, nonce) = ([1; 32], [2; 24]);
        let mut derived = [0; 32];
        let params = scrypt::Params::new(4, 8, 1, 32).unwrap();
        scrypt::scrypt(password, &salt, &params, &mut derived).unwrap();
        let mut stream = XSalsa20::new(&derived.into(), &nonce.into());
        let mut mac_key = [0; MAC_KEY];
        stream.apply_keystream(&mut mac_key);
        let mut sealed = key().to_pkcs8_der().unwrap().as_bytes().to_vec();
        stream.apply_keystream(&mut sealed);
        let tag = Poly1305::new(&mac_key.into()).compute_unpadded(&sealed);
        let boxed = [tag.as_slice(), &sealed].concat();
        let base64 = |bytes: &[u8]| STANDARD.encode(bytes);
        let text = format!(
            r#"{{"kdf":{{"name":"scrypt","params":{{"N":{n},"r":8,"p":1}},"salt":"{}"}},"cipher":{{"name":"nacl/secretbox","nonce":"{}"}},"ciphertext":"{}"}}"#,
            base64(&salt),
            base64(&nonce),
            base64(&boxed)
        );
        format!("-----BEGIN {0}-----\n{1}\n-----END {0}-----\n", ENCRYPTED[0], base64(text.as_bytes()))
    }

    #[test]
    fn keys_are_opened_with_their_password_only() {
        let text = encrypted(b"secret", 16);
        assert!(CosignKey::is_encrypted(text.as_bytes()));
        let opened = CosignKey::read(text.as_bytes(), b"secret").unwrap();
        let plain = key().to_pkcs8_pem(p256::pkcs8::LineEnding::LF).unwrap();
        assert!(!CosignKey::is_encrypted(plain.as_bytes()));
        assert_eq!(opened.public_pem(), CosignKey::read(plain.as_bytes(), b"").unwrap().public_pem());
        assert_eq!(CosignKey::read(text.as_bytes(), b"Secret").unwrap_err(), Error::CosignPassword);
        // A cost that would take gigabytes, or none at all.
        for n in [1 << 30, 0, 15] {
            let refused = CosignKey::read(encrypted(b"secret", n).as_bytes(), b"secret").unwrap_err();
            assert_eq!(refused, Error::CosignPrivateKey, "{n}");
        }
        for text in [
            "",
            "x",
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----",
        ] {
            assert_eq!(CosignKey::read(text.as_bytes(), b"").unwrap_err(), Error::CosignPrivateKey);
        }
    }

    #[test]
    fn what_is_signed_here_is_verified_here() {
        let key = CosignKey(key().into());
        let public = PublicKey::read(key.public_pem().as_bytes()).unwrap();
        let signed = key.sign_manifest("r.io/web", MANIFEST).unwrap();
        let signature = CosignSignature {
            content: &signed.payload,
            signature: &signed.signature,
            ..CosignSignature::default()
        };
        assert_eq!(verify_cosign(&public, &[signature], MANIFEST), Ok(()));
        let other = MANIFEST.replace("2c26", "2c27");
        assert!(verify_cosign(&public, &[signature], &other).is_err());
        assert_eq!(key.sign_manifest("r.io/web", MANIFEST).unwrap().signature, signed.signature);
    }

    #[test]
    fn a_statement_is_signed_as_an_envelope_and_is_no_signature_of_its_chart() {
        let key = CosignKey(key().into());
        let public = PublicKey::read(key.public_pem().as_bytes()).unwrap();
        let statement = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"r.io/web","digest":{{"sha256":"{}"}}}}],"predicateType":"https://slsa.dev/provenance/v1","predicate":{{}}}}"#,
            &MANIFEST[7..]
        );
        let statement = pintle_tree::json::read_exact(statement.as_bytes()).unwrap();
        let content = key.sign_statement(&statement).unwrap();
        let bundle = pintle_tree::json::read_exact(&content).unwrap();
        let envelope = bundle.get("dsseEnvelope").unwrap();
        let field = |node: &Node, name: &str| node.get(name).and_then(Node::as_str).unwrap().to_owned();
        let payload = STANDARD.decode(field(envelope, "payload")).unwrap();
        assert_eq!(pintle_tree::json::read_exact(&payload).unwrap(), statement);
        let signature = field(&envelope.get("signatures").unwrap().as_list().unwrap()[0], "sig");
        let kind = field(envelope, "payloadType");
        let mut signed = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
        signed.extend_from_slice(&payload);
        assert!(public.has_signed(&signed, &STANDARD.decode(signature).unwrap()));
        // Provenance is signed by the same key and says nothing about whether the chart may be used.
        let one = CosignSignature { content: &content, is_bundle: true, ..CosignSignature::default() };
        assert!(verify_cosign(&public, &[one], MANIFEST).is_err());
    }
}
