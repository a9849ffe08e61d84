//! A certificate authority, a certificate transparency log and a signature log, like Fulcio, CT and Rekor, for keyless
//! signatures of cosign. All keys are fixed, so that the output is the same in every run.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]
#![allow(dead_code, reason = "each crate uses a part of it")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::EncodePublicKey as _;
use sha2::{Digest as _, Sha256};

/// When everything was signed: 2024-01-02T03:04:05Z, in seconds.
const SIGNED: u64 = 1_704_164_645;

/// The keys of the authority, of both logs and of the signer.
pub(crate) struct Sigstore {
    authority: SigningKey,
    certificates: SigningKey,
    log: SigningKey,
    leaf: SigningKey,
}

/// A keyless signature, as cosign 2 stores it.
pub(crate) struct Keyless {
    pub(crate) signature: String,
    pub(crate) certificate: String,
    pub(crate) log_entry: String,
}

impl Sigstore {
    /// Each seed gives other keys.
    pub(crate) fn new(seed: u8) -> Sigstore {
        let key = |number: u8| SigningKey::from_slice(&[seed + number; 32]).unwrap();
        Sigstore { authority: key(1), certificates: key(2), log: key(3), leaf: key(4) }
    }

    /// The trusted root, as `cosign trusted-root create` writes it.
    pub(crate) fn trusted_root(&self) -> String {
        let since = r#""validFor":{"start":"2020-01-01T00:00:00Z"}"#;
        let log = |key: &SigningKey, url: &str| {
            format!(
                r#"{{"baseUrl":"{url}","hashAlgorithm":"SHA2_256","publicKey":{{"rawBytes":"{}","keyDetails":"PKIX_ECDSA_P256_SHA_256",{since}}},"logId":{{"keyId":"{}"}}}}"#,
                STANDARD.encode(spki(key)),
                STANDARD.encode(log_id(key))
            )
        };
        format!(
            r#"{{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[{}],"certificateAuthorities":[{{"subject":{{"organization":"test","commonName":"test"}},"uri":"https://fulcio.test","certChain":{{"certificates":[{{"rawBytes":"{}"}}]}},{since}}}],"ctlogs":[{}],"timestampAuthorities":[]}}"#,
            log(&self.log, "https://rekor.test"),
            STANDARD.encode(self.root()),
            log(&self.certificates, "https://ct.test"),
        )
    }

    /// Signs a payload.
    pub(crate) fn sign(&self, payload: &[u8], identity: &str, issuer: &str) -> Keyless {
        let signature = STANDARD.encode(signed(&self.leaf, payload));
        let certificate = pem(&self.certificate(identity, issuer));
        let body = format!(
            r#"{{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{{"data":{{"hash":{{"algorithm":"sha256","value":"{}"}}}},"signature":{{"content":"{signature}","publicKey":{{"content":"{}"}}}}}}}}"#,
            hex(&Sha256::digest(payload)),
            STANDARD.encode(&certificate)
        );
        let (body, promise) = self.promise(&body);
        let log_entry = format!(
            r#"{{"SignedEntryTimestamp":"{promise}","Payload":{{"body":"{body}","integratedTime":{SIGNED},"logIndex":0,"logID":"{}"}}}}"#,
            hex(&log_id(&self.log))
        );
        Keyless { signature, certificate, log_entry }
    }

    /// Signs a manifest, as cosign 3 does: a bundle with a statement.
    pub(crate) fn bundle(&self, manifest: &str, predicate: &str, identity: &str, issuer: &str) -> String {
        let statement = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"","digest":{{"sha256":"{}"}}}}],"predicateType":"{predicate}","predicate":{{}}}}"#,
            manifest.trim_start_matches("sha256:")
        );
        let kind = "application/vnd.in-toto+json";
        let text = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        let signature = STANDARD.encode(signed(&self.leaf, text.as_bytes()));
        let payload = STANDARD.encode(&statement);
        let envelope = format!(
            r#"{{"payload":"{payload}","payloadType":"{kind}","signatures":[{{"sig":"{signature}"}}]}}"#
        );
        let certificate = self.certificate(identity, issuer);
        let entry = format!(
            r#"{{"apiVersion":"0.0.1","kind":"dsse","spec":{{"envelopeHash":{{"algorithm":"sha256","value":"{}"}},"payloadHash":{{"algorithm":"sha256","value":"{}"}},"signatures":[{{"signature":"{signature}","verifier":"{}"}}]}}}}"#,
            hex(&Sha256::digest(&envelope)),
            hex(&Sha256::digest(&statement)),
            STANDARD.encode(pem(&certificate))
        );
        let root = STANDARD.encode(Sha256::digest([&[0][..], entry.as_bytes()].concat()));
        let (body, promise) = self.promise(&entry);
        let note = format!("rekor.test\n1\n{root}\n");
        let mark = [&log_id(&self.log)[..4], &signed(&self.log, note.as_bytes())].concat();
        let checkpoint =
            format!("{note}\n\u{2014} rekor.test {}\n", STANDARD.encode(mark)).replace('\n', "\\n");
        format!(
            r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"certificate":{{"rawBytes":"{}"}},"tlogEntries":[{{"logIndex":"0","logId":{{"keyId":"{}"}},"kindVersion":{{"kind":"dsse","version":"0.0.1"}},"integratedTime":"{SIGNED}","inclusionPromise":{{"signedEntryTimestamp":"{promise}"}},"inclusionProof":{{"logIndex":"0","rootHash":"{root}","treeSize":"1","hashes":[],"checkpoint":{{"envelope":"{checkpoint}"}}}},"canonicalizedBody":"{body}"}}]}},"dsseEnvelope":{envelope}}}"#,
            STANDARD.encode(&certificate),
            STANDARD.encode(log_id(&self.log)),
        )
    }

    /// Returns a log entry in Base64, and its signed entry timestamp (SET).
    fn promise(&self, entry: &str) -> (String, String) {
        let body = STANDARD.encode(entry);
        let text = format!(
            r#"{{"body":"{body}","integratedTime":{SIGNED},"logID":"{}","logIndex":0}}"#,
            hex(&log_id(&self.log))
        );
        let promise = STANDARD.encode(signed(&self.log, text.as_bytes()));
        (body, promise)
    }

    /// The certificate of the authority.
    fn root(&self) -> Vec<u8> {
        let extensions = [
            extension(&[0x55, 0x1d, 0x13], true, &sequence(&[&[0x01, 0x01, 0xff]])),
            extension(&[0x55, 0x1d, 0x0f], true, &[0x03, 0x02, 0x01, 0x06]),
        ];
        let body = self.body(
            1,
            &name("test"),
            spki(&self.authority),
            ("20200101000000Z", "20400101000000Z"),
            &extensions,
        );
        self.certified(&body)
    }

    /// A certificate of a signer, with a signed certificate timestamp (SCT).
    fn certificate(&self, identity: &str, issuer: &str) -> Vec<u8> {
        // GeneralName: tag 1 is an email address, tag 6 a URI.
        let kind = if identity.contains("://") { 0x86 } else { 0x81 };
        let subject = sequence(&[&element(kind, identity.as_bytes())]);
        // Among others the extended key usage `codeSigning`, and the issuer extension of Fulcio (1.3.6.1.4.1.57264.1.8).
        let mut extensions = vec![
            extension(&[0x55, 0x1d, 0x0f], true, &[0x03, 0x02, 0x07, 0x80]),
            extension(&[0x55, 0x1d, 0x25], false, &sequence(&[&element(6, &[0x2b, 6, 1, 5, 5, 7, 3, 3])])),
            extension(&[0x55, 0x1d, 0x11], true, &subject),
            extension(&[0x2b, 6, 1, 4, 1, 0x83, 0xbf, 0x30, 1, 8], false, &element(0x0c, issuer.as_bytes())),
        ];
        let times = ("20240102030000Z", "20240102031000Z");
        let body = |extensions: &[Vec<u8>]| self.body(2, &sequence(&[]), spki(&self.leaf), times, extensions);
        let seen = self.seen(&body(&extensions));
        extensions.push(extension(&[0x2b, 6, 1, 4, 1, 0xd6, 0x79, 2, 4, 2], false, &element(4, &seen)));
        self.certified(&body(&extensions))
    }

    /// The SCT list for a precertificate.
    fn seen(&self, body: &[u8]) -> Vec<u8> {
        let time = (SIGNED * 1000).to_be_bytes();
        let issuer = Sha256::digest(spki(&self.authority));
        let length = &(body.len() as u32).to_be_bytes()[1..];
        let text = [&[0, 0][..], &time, &[0, 1], &issuer, length, body, &[0, 0]].concat();
        let signature = signed(&self.certificates, &text);
        let long = (signature.len() as u16).to_be_bytes();
        let one = [&[0][..], &log_id(&self.certificates), &time, &[0, 0, 4, 3], &long, &signature].concat();
        let sizes = [one.len() + 2, one.len()].map(|length| (length as u16).to_be_bytes());
        [&sizes[0][..], &sizes[1], &one].concat()
    }

    fn body(
        &self,
        serial: u8,
        subject: &[u8],
        key: Vec<u8>,
        (from, to): (&str, &str),
        extensions: &[Vec<u8>],
    ) -> Vec<u8> {
        let validity = sequence(&[&element(0x18, from.as_bytes()), &element(0x18, to.as_bytes())]);
        let extensions = element(0xa3, &sequence(&extensions.iter().map(Vec::as_slice).collect::<Vec<_>>()));
        let version = element(0xa0, &[2, 1, 2]);
        sequence(&[
            &version,
            &[2, 1, serial],
            &algorithm(),
            &name("test"),
            &validity,
            subject,
            &key,
            &extensions,
        ])
    }

    fn certified(&self, body: &[u8]) -> Vec<u8> {
        let signature = [&[0][..], &signed(&self.authority, body)].concat();
        sequence(&[body, &algorithm(), &element(3, &signature)])
    }
}

fn signed(key: &SigningKey, text: &[u8]) -> Vec<u8> {
    let signature: Signature = key.sign(text);
    signature.to_der().as_bytes().to_vec()
}

fn spki(key: &SigningKey) -> Vec<u8> {
    key.verifying_key().to_public_key_der().unwrap().as_bytes().to_vec()
}

fn log_id(key: &SigningKey) -> Vec<u8> {
    Sha256::digest(spki(key)).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

/// A DER element: tag, length, content.
fn element(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    match content.len() {
        length @ 0..=0x7f => out.push(length as u8),
        length @ 0x80..=0xff => out.extend([0x81, length as u8]),
        length => out.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    out.extend_from_slice(content);
    out
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(0x30, &parts.concat())
}

/// ECDSA with SHA-256.
fn algorithm() -> Vec<u8> {
    sequence(&[&element(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])])
}

/// A common name.
fn name(text: &str) -> Vec<u8> {
    let pair = sequence(&[&element(6, &[0x55, 4, 3]), &element(0x0c, text.as_bytes())]);
    sequence(&[&element(0x31, &pair)])
}

fn extension(id: &[u8], is_critical: bool, content: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if is_critical { &[1, 1, 0xff] } else { &[] };
    sequence(&[&element(6, id), critical, &element(4, content)])
}
