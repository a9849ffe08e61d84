//! Keyless signatures of cosign: the signer proved an identity to a certificate authority (Fulcio), which certified a key
//! for some minutes, and the signature was recorded in a transparency log (Rekor). Both are verified against a file, the
//! trusted root, so that no network access is needed.
//!
//! The checks themselves (chain, times, timestamps of certificates, proofs of the log, consistency) are those of the crate
//! `sigstore-verify` ([decision 0025](../../../docs/decisions/0025-keyless-signatures.md)); this module adds cosign's formats
//! and the crypto provider.

mod crypto;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::Node;
use sigstore_verify::types::{Bundle, DerPublicKey, Sha256Hash, SignatureContent};
use sigstore_verify::{PublicKeyVerificationPolicy, VerificationPolicy, Verifier};

use crate::cosign::{CosignSignature, PublicKey, is_about};
use crate::error::{Error, Result};

/// The `predicateType` of cosign's statement in a bundle.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// The payload type of the DSSE envelope in a bundle.
pub(crate) const STATEMENT: &str = "application/vnd.in-toto+json";

/// A root without authorities: enough for bundles that were signed with a key.
const NOBODY: &str = r#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;

/// The trusted certificate authorities, timestamp authorities and transparency logs.
#[derive(Clone, Debug)]
pub struct TrustedRoot(sigstore_verify::trust_root::TrustedRoot);

impl TrustedRoot {
    /// Reads a `trusted_root.json`, as `cosign trusted-root create` and sigstore's own repository have it.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn read(text: &[u8]) -> Result<TrustedRoot> {
        let wrong = |reason: String| Error::TrustedRoot { reason };
        let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
        let root = sigstore_verify::trust_root::TrustedRoot::from_json(text);
        root.map(TrustedRoot).map_err(|error| wrong(error.to_string()))
    }
}

/// Who has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// An email address, or the URL of a workflow.
    pub identity: String,
    /// The OIDC issuer of the identity.
    pub issuer: String,
}

/// Checks that one of `signatures` was made for the manifest with this digest (`sha256:…`) by somebody whom `accepts` takes,
/// and gives the signer.
///
/// # Errors
///
/// When none was, with what is wrong with each, and for a root that cannot be used.
pub fn verify_keyless(
    root: &TrustedRoot,
    signatures: &[CosignSignature<'_>],
    manifest: &str,
    accepts: &dyn Fn(&Signer) -> bool,
) -> Result<Signer> {
    crypto::install();
    let verifier =
        Verifier::new(&root.0).map_err(|error| Error::TrustedRoot { reason: error.to_string() })?;
    let mut reasons = Vec::new();
    for signature in signatures {
        match signer(&verifier, signature, manifest) {
            Ok(signer) if accepts(&signer) => return Ok(signer),
            Ok(Signer { identity, issuer }) => {
                reasons.push(format!("signed by {identity}, for whom {issuer} vouches"));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(if reasons.is_empty() { Error::NoCosignSignature } else { Error::OtherSigner { reasons } })
}

/// Verifies a signature and returns its signer.
fn signer(
    verifier: &Verifier,
    signature: &CosignSignature<'_>,
    manifest: &str,
) -> std::result::Result<Signer, String> {
    let text;
    let bundle = match signature.is_bundle {
        true => std::str::from_utf8(signature.content).map_err(|error| error.to_string())?,
        false => {
            text = bundle_of(signature)?;
            &text
        }
    };
    let bundle = Bundle::from_json(bundle).map_err(|error| error.to_string())?;
    let policy = VerificationPolicy::any_identity();
    let verified = match signature.is_bundle {
        true => verifier.verify(digest(manifest)?, &bundle, &policy),
        false => verifier.verify(signature.content, &bundle, &policy),
    };
    let verified = verified.map_err(|error| error.to_string())?;
    let is_right =
        if signature.is_bundle { is_statement(&bundle) } else { is_about(signature.content, manifest) };
    if !is_right {
        return Err("it signs something else".to_owned());
    }
    if !(verified.certificate_verified() && verified.sct_verified() && verified.tlog_verified()) {
        return Err("it was not verified as a whole".to_owned());
    }
    match (verified.identity(), verified.issuer()) {
        (Some(identity), Some(issuer)) => {
            Ok(Signer { identity: identity.as_str().to_owned(), issuer: issuer.to_owned() })
        }
        _ => Err("its certificate does not say who signed".to_owned()),
    }
}

fn digest(manifest: &str) -> std::result::Result<Sha256Hash, String> {
    let hex = manifest.strip_prefix("sha256:").ok_or("the digest of the manifest is no SHA-256")?;
    Sha256Hash::from_hex(hex).map_err(|error| error.to_string())
}

/// Whether a bundle is a signature, and not another attestation about its subject. The subject was compared before.
fn is_statement(bundle: &Bundle) -> bool {
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else { return false };
    let statement = pintle_tree::json::read_exact(envelope.payload.as_bytes());
    envelope.payload_type == STATEMENT
        && statement
            .is_ok_and(|statement| statement.get("predicateType").and_then(Node::as_str) == Some(SIGNED))
}

/// Whether a bundle was signed with this key, and is about the manifest with this digest. As with other signatures by a
/// key, the transparency log is not checked.
pub(crate) fn is_bundle_by(key: &PublicKey, bundle: &[u8], manifest: &str) -> bool {
    crypto::install();
    let checked = || {
        let root = sigstore_verify::trust_root::TrustedRoot::from_json(NOBODY).ok()?;
        let bundle = Bundle::from_json(std::str::from_utf8(bundle).ok()?).ok()?;
        let key = DerPublicKey::from_pem(key.pem()).ok()?;
        let policy = PublicKeyVerificationPolicy::new(key).skip_tlog_unsafe();
        let verified = Verifier::new(&root).ok()?.verify(digest(manifest).ok()?, &bundle, &policy);
        Some(verified.is_ok() && is_statement(&bundle))
    };
    checked().unwrap_or(false)
}

/// Converts the annotations of a signature into one bundle.
fn bundle_of(signature: &CosignSignature<'_>) -> std::result::Result<String, String> {
    if signature.certificate.is_empty() {
        return Err("it was signed with a key".to_owned());
    }
    let base64 = |text: &str, what: &str| {
        let bytes = STANDARD.decode(text.split_whitespace().collect::<String>());
        bytes.map(|bytes| STANDARD.encode(bytes)).map_err(|_| format!("{what} is not in Base64"))
    };
    let certificate = base64(&pem_content(signature.certificate), "its certificate")?;
    let made = base64(signature.signature, "the signature")?;
    let digest = STANDARD.encode(<sha2::Sha256 as sha2::Digest>::digest(signature.content));
    let missing = || "it has no entry of the log".to_owned();
    let entry = pintle_tree::json::read_exact(signature.log_entry.as_bytes()).map_err(|_| missing())?;
    let payload = entry.get("Payload").ok_or_else(missing)?;
    let text = |node: &Node, key: &str| {
        node.get(key).and_then(Node::as_str).map(ToOwned::to_owned).ok_or_else(missing)
    };
    let number = |key: &str| match payload.get(key) {
        Some(Node::Int(number)) => Ok(number.to_string()),
        _ => Err(missing()),
    };
    let log = STANDARD.encode(unhex(&text(payload, "logID")?).ok_or_else(missing)?);
    let promise = base64(&text(&entry, "SignedEntryTimestamp")?, "the promise of the log")?;
    let body = base64(&text(payload, "body")?, "the entry of the log")?;
    let (index, time) = (number("logIndex")?, number("integratedTime")?);
    let timestamps = match pintle_tree::json::read_exact(signature.timestamp.as_bytes()) {
        Ok(timestamp) => {
            let stamp = base64(&text(&timestamp, "SignedRFC3161Timestamp")?, "the timestamp")?;
            format!(
                r#","timestampVerificationData":{{"rfc3161Timestamps":[{{"signedTimestamp":"{stamp}"}}]}}"#
            )
        }
        Err(_) => String::new(),
    };
    Ok(format!(
        r#"{{"mediaType":"application/vnd.dev.sigstore.bundle+json;version=0.1","verificationMaterial":{{"x509CertificateChain":{{"certificates":[{{"rawBytes":"{certificate}"}}]}},"tlogEntries":[{{"logIndex":"{index}","logId":{{"keyId":"{log}"}},"kindVersion":{{"kind":"hashedrekord","version":"0.0.1"}},"integratedTime":"{time}","inclusionPromise":{{"signedEntryTimestamp":"{promise}"}},"canonicalizedBody":"{body}"}}]{timestamps}}},"messageSignature":{{"messageDigest":{{"algorithm":"SHA2_256","digest":"{digest}"}},"signature":"{made}"}}}}"#
    ))
}

/// The Base64 text of the first PEM block.
fn pem_content(pem: &str) -> String {
    pem.lines()
        .skip_while(|line| !line.starts_with("-----BEGIN"))
        .skip(1)
        .take_while(|line| !line.starts_with('-'))
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| {
        (0..text.len()).step_by(2).filter_map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
    })
}
