//! Keyless signatures of cosign.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use pintle_provenance::{CosignSignature, Error, Signer, TrustedRoot, verify_keyless};

use crate::sigstore::{Keyless, Sigstore};

const MANIFEST: &str = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
const ANNE: &str = "anne@example.com";
const ISSUER: &str = "https://accounts.example.com";

fn payload(digest: &str) -> Vec<u8> {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"r.io/web"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    )
    .into_bytes()
}

fn annotated<'s>(content: &'s [u8], keyless: &'s Keyless) -> CosignSignature<'s> {
    CosignSignature {
        content,
        signature: &keyless.signature,
        certificate: &keyless.certificate,
        log_entry: &keyless.log_entry,
        ..CosignSignature::default()
    }
}

fn bundled(text: &str) -> CosignSignature<'_> {
    CosignSignature { content: text.as_bytes(), is_bundle: true, ..CosignSignature::default() }
}

fn check(root: &Sigstore, signatures: &[CosignSignature<'_>], identity: &str) -> Result<Signer, Error> {
    let root = TrustedRoot::read(root.trusted_root().as_bytes())?;
    let accepts = |signer: &Signer| signer.identity == identity && signer.issuer == ISSUER;
    verify_keyless(&root, signatures, MANIFEST, &accepts)
}

fn reason(outcome: Result<Signer, Error>) -> String {
    match outcome {
        Err(Error::OtherSigner { reasons }) => reasons.join("; "),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_signer_of_annotations_and_of_bundles_is_told() {
    let sigstore = Sigstore::new(10);
    let content = payload(MANIFEST);
    let keyless = sigstore.sign(&content, ANNE, ISSUER);
    let bundle = sigstore.bundle(MANIFEST, PREDICATE, ANNE, ISSUER);
    let anne = Signer { identity: ANNE.to_owned(), issuer: ISSUER.to_owned() };
    for signature in [annotated(&content, &keyless), bundled(&bundle)] {
        assert_eq!(check(&sigstore, &[signature], ANNE), Ok(anne.clone()));
        // Whoever else signed, one good signature is enough.
        assert_eq!(check(&sigstore, &[bundled("{}"), signature], ANNE), Ok(anne.clone()));
        let other = reason(check(&sigstore, &[signature], "bob@example.com"));
        assert_eq!(other, format!("signed by {ANNE}, for whom {ISSUER} vouches"));
        // The authority and the logs are not in the trusted root.
        reason(check(&Sigstore::new(20), &[signature], ANNE));
    }
    let workflow = "https://github.com/example/charts/.github/workflows/release.yaml@refs/tags/v1";
    let bundle = sigstore.bundle(MANIFEST, PREDICATE, workflow, ISSUER);
    assert_eq!(check(&sigstore, &[bundled(&bundle)], workflow).unwrap().identity, workflow);
    assert_eq!(check(&sigstore, &[], ANNE), Err(Error::NoCosignSignature));
}

#[test]
fn a_signature_is_good_for_its_manifest_only() {
    let sigstore = Sigstore::new(10);
    let other = MANIFEST.replace("00", "01");
    let content = payload(&other);
    let keyless = sigstore.sign(&content, ANNE, ISSUER);
    assert_eq!(reason(check(&sigstore, &[annotated(&content, &keyless)], ANNE)), "it signs something else");
    reason(check(&sigstore, &[bundled(&sigstore.bundle(&other, PREDICATE, ANNE, ISSUER))], ANNE));
    // The payload was replaced.
    reason(check(&sigstore, &[annotated(&payload(MANIFEST), &keyless)], ANNE));
    // An attestation about the manifest is not a signature of it.
    let bundle = sigstore.bundle(MANIFEST, "https://slsa.dev/provenance/v1", ANNE, ISSUER);
    assert_eq!(reason(check(&sigstore, &[bundled(&bundle)], ANNE)), "it signs something else");
}

#[test]
fn what_was_changed_is_refused() {
    let sigstore = Sigstore::new(10);
    let content = payload(MANIFEST);
    let good = || sigstore.sign(&content, ANNE, ISSUER);
    let refused = |keyless: Keyless| reason(check(&sigstore, &[annotated(&content, &keyless)], ANNE));
    let bob = sigstore.sign(&content, "bob@example.com", ISSUER);
    assert_eq!(refused(Keyless { log_entry: String::new(), ..good() }), "it has no entry of the log");
    assert_eq!(refused(Keyless { certificate: String::new(), ..good() }), "it was signed with a key");
    // The entry of the log is about another certificate.
    refused(Keyless { certificate: bob.certificate, ..good() });
    // The log signs the time of the entry, and the certificate was valid for ten minutes.
    let later = good().log_entry.replace("\"integratedTime\":17", "\"integratedTime\":18");
    refused(Keyless { log_entry: later, ..good() });
    refused(Keyless { signature: "AAAA".to_owned(), ..good() });
    refused(Keyless { signature: "no base64!".to_owned(), ..good() });
    // Another authority and other logs, none of which is trusted.
    let stranger = Sigstore::new(30);
    refused(stranger.sign(&content, ANNE, ISSUER));
    let bundle = sigstore.bundle(MANIFEST, PREDICATE, ANNE, ISSUER);
    for (from, to) in [
        ("\"treeSize\":\"1\"", "\"treeSize\":\"2\""),
        ("rekor.test", "other.test"),
        ("\"sig\":\"M", "\"sig\":\"N"),
    ] {
        assert!(bundle.contains(from), "{from}");
        reason(check(&sigstore, &[bundled(&bundle.replace(from, to))], ANNE));
    }
    for text in ["", "{", "[]", "{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\"}"] {
        reason(check(&sigstore, &[bundled(text)], ANNE));
    }
}

#[test]
fn files_that_are_no_trusted_root_are_refused() {
    for text in [&b""[..], b"{", b"[]", b"\xff"] {
        assert!(matches!(TrustedRoot::read(text), Err(Error::TrustedRoot { .. })));
    }
}
