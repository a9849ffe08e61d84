//! Charts that cosign signed, with a key and without.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use crate::registries::program::{Program, distribution};
use crate::registries::{LayoutBuilder, OCI_MANIFEST, client, copy, local, open, remote};
use crate::sigstore::Sigstore;
use crate::support::{TestEnv, chart};

/// Puts a signature of cosign beside a manifest: under another tag, as one layer with annotations.
fn put_signature(host: &str, digest: &str, payload: &str, annotations: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let mut maker = LayoutBuilder::new(folder.path());
    let config = maker.blob("application/vnd.oci.image.config.v1+json", b"{}");
    let layer = maker.blob("application/vnd.dev.cosign.simplesigning.v1+json", payload.as_bytes());
    let notes: Vec<String> = annotations
        .iter()
        .map(|(name, value)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("\"{name}\":\"{value}\"")
        })
        .collect();
    let note = format!(r#","annotations":{{{}}}"#, notes.join(","));
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{},"layers":[{}]}}"#,
        config.descriptor(""),
        layer.descriptor(&note)
    );
    let manifest = maker.blob(OCI_MANIFEST, text.as_bytes());
    maker.name("signature", &manifest);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let name = format!("{host}/charts/web:{}.sig", digest.replace(':', "-"));
    runtime.block_on(copy(local(&open(folder.path()), "signature"), remote(&client(), &name))).unwrap();
}

/// What cosign signs of a manifest.
fn payload(host: &str, digest: &str) -> String {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"{host}/charts/web"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    )
}

/// A registry with the chart `web`, and the digest of its manifest.
fn pushed(env: &TestEnv) -> Option<(Program, String)> {
    chart::write(env);
    let registry = distribution("")?;
    assert!(env.pintle("package web").starts_with("exit 0\n"));
    let pushed = env.pintle(&format!("push web-0.1.0.tgz oci://{}/charts", registry.host));
    let digest = pushed.lines().find_map(|line| line.strip_prefix("Digest: ")).unwrap().to_owned();
    Some((registry, digest))
}

#[test]
fn charts_in_registries_are_verified_by_the_signatures_of_cosign() {
    use base64::Engine as _;
    use p256::ecdsa::signature::Signer as _;
    use p256::pkcs8::EncodePublicKey as _;

    let env = TestEnv::new();
    let Some((registry, digest)) = pushed(&env) else { return };
    let host = &registry.host;
    let [key, other] = [[7; 32], [8; 32]].map(|seed| p256::ecdsa::SigningKey::from_slice(&seed).unwrap());
    for (name, key) in [("cosign.pub", &key), ("other.pub", &other)] {
        let text = key.verifying_key().to_public_key_pem(p256::pkcs8::LineEnding::LF).unwrap();
        env.write(name, &text);
    }
    let verify = |more: &str| env.pintle(&format!("verify oci://{host}/charts/web {more}"));
    assert!(verify("--key cosign.pub").contains("error: no signatures found"));
    let signature: p256::ecdsa::Signature = key.sign(payload(host, &digest).as_bytes());
    let signature = base64::engine::general_purpose::STANDARD.encode(signature.to_der().as_bytes());
    put_signature(
        host,
        &digest,
        &payload(host, &digest),
        &[("dev.cosignproject.cosign/signature", &signature)],
    );
    let good = format!(
        "exit 0\n--- stdout\nSigned chart: {host}/charts/web:0.1.0\nManifest Digest Verified: {digest}\n"
    );
    assert_eq!(verify("--key cosign.pub"), good);
    assert_eq!(verify("--key cosign.pub --version ^0.1 --devel"), good);
    let refused = verify("--key other.pub");
    assert!(
        refused.starts_with("exit 1\n") && refused.contains("no matching signatures: 1 found"),
        "{refused}"
    );
    assert!(verify("").contains("error: no key and no identity to verify"));
    assert!(verify("--key web/Chart.yaml").contains("this is no public key"));
    // Another chart under the same tag was not signed.
    assert!(env.pintle("package web --app-version 2").starts_with("exit 0\n"));
    assert!(env.pintle(&format!("push web-0.1.0.tgz oci://{host}/charts")).starts_with("exit 0\n"));
    assert!(verify("--key cosign.pub").contains("no signatures found"));
}

/// The name of a key's file and its public half, written beside the chart.
fn keys(env: &TestEnv) {
    use p256::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _};
    let ending = p256::pkcs8::LineEnding::LF;
    let key = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    env.write("cosign.key", &key.to_pkcs8_pem(ending).unwrap())
        .write("cosign.pub", &key.public_key().to_public_key_pem(ending).unwrap());
}

#[test]
fn what_push_signs_is_verified_and_what_belongs_to_a_chart_is_beside_it() {
    let env = TestEnv::new();
    let Some((registry, _)) = pushed(&env) else { return };
    let host = &registry.host;
    keys(&env);
    env.write("sbom.json", r#"{"bomFormat":"CycloneDX","specVersion":"1.5","components":[]}"#)
        .write("build.json", r#"{"buildDefinition":{"buildType":"https://example.com/ci/v1"}}"#);
    let verify = || env.pintle(&format!("verify oci://{host}/charts/web --key cosign.pub"));
    assert!(verify().contains("no signatures found"));
    let push = |more: &str| env.pintle(&format!("push web-0.1.0.tgz oci://{host}/charts {more}"));
    let all = "--sign=cosign --key cosign.key --sbom sbom.json --attest build.json";
    let first = push(all);
    assert!(first.starts_with("exit 0\n"), "{first}");
    for line in [
        "Signed: cosign",
        "Attached: application/vnd.cyclonedx+json (sha256:",
        "Attested: https://slsa.dev/provenance/v1 (sha256:",
    ] {
        assert!(first.contains(line), "{first}");
    }
    assert!(verify().starts_with("exit 0\n"), "{}", verify());
    // Nothing is added by doing the same again: signatures are deterministic.
    assert_eq!(push(all), first);
    // All of it is copied with the chart.
    let copied = env.pintle(&format!("images copy {host}/charts/web:0.1.0 oci:layout --plain-http"));
    assert!(copied.starts_with("exit 0\n"), "{copied}");
    let index = std::fs::read_to_string(env.path().join("layout/index.json")).unwrap();
    assert!(index.contains(".sig"), "{index}");
}

#[test]
fn what_cannot_be_signed_is_refused_before_anything_is_pushed() {
    let env = TestEnv::new();
    chart::write(&env);
    keys(&env);
    assert!(env.pintle("package web").starts_with("exit 0\n"));
    env.write("no.json", "[]").write("statement.json", "{}");
    // Nothing listens there: what would be sent would fail with another error.
    let push = |more: &str| env.pintle(&format!("push web-0.1.0.tgz oci://127.0.0.1:1/charts {more}"));
    for (more, text) in [
        ("--sign=cosign", "--sign=cosign needs a private key"),
        ("--sign=gpg --key cosign.key", "charts in registries are signed with cosign"),
        ("--key cosign.key", "--key is the key of --sign=cosign"),
        ("--sign=cosign --key cosign.pub", "this is no private key of cosign"),
        ("--sbom no.json", "this is no JSON object"),
        ("--sbom statement.json", "this is no bill of materials"),
        ("--attest statement.json", "a statement is signed, and no key is given"),
    ] {
        let refused = push(more);
        assert!(refused.contains(text) && !refused.starts_with("exit 0"), "{more}: {refused}");
    }
    let refused = env.pintle("push web-0.1.0.tgz https://127.0.0.1:1/charts --sign=cosign --key cosign.key");
    assert!(refused.contains("only charts in registries"), "{refused}");
}

#[test]
fn charts_are_used_only_if_the_right_person_signed_them_without_a_key() {
    let env = TestEnv::new();
    let Some((registry, digest)) = pushed(&env) else { return };
    let host = &registry.host;
    let sigstore = Sigstore::new(10);
    env.write("root.json", &sigstore.trusted_root()).write("other.json", &Sigstore::new(20).trusted_root());
    let text = payload(host, &digest);
    let keyless = sigstore.sign(text.as_bytes(), "anne@example.com", "https://accounts.example.com");
    let annotations = [
        ("dev.cosignproject.cosign/signature", keyless.signature.as_str()),
        ("dev.sigstore.cosign/certificate", &keyless.certificate),
        ("dev.sigstore.cosign/bundle", &keyless.log_entry),
    ];
    put_signature(host, &digest, &text, &annotations);
    let issuer = "--certificate-oidc-issuer https://accounts.example.com";
    let anne = format!("{issuer} --trusted-root root.json --certificate-identity anne@example.com");
    let output = env.pintle(&format!("verify oci://{host}/charts/web {anne}"));
    let verified = format!(
        "Signed chart: {host}/charts/web:0.1.0\nSigned by: anne@example.com (https://accounts.example.com)\n\
         Manifest Digest Verified: {digest}\n"
    );
    assert_eq!(output, format!("exit 0\n--- stdout\n{verified}"));
    let output = env
        .pintle(&format!("pull oci://{host}/charts/web --verify=cosign -d . --untar --untardir out {anne}"));
    assert!(output.starts_with("exit 0\n") && output.contains(&verified), "{output}");
    assert!(env.path().join("out/web/Chart.yaml").is_file());
    let pattern = format!("{issuer} --trusted-root root.json --certificate-identity-regexp");
    for command in ["template x", "show chart", "install x --skip-crds --no-hooks --cluster embedded"] {
        let line = format!("{command} oci://{host}/charts/web --verify=cosign");
        let output = env.pintle(&format!("{line} {pattern} '^[a-z]+@example.com$'"));
        assert!(output.starts_with("exit 0\n") && output.contains("Signed by: anne@example.com"), "{output}");
        let output = env.pintle(&format!("{line} {pattern} '^bob@'"));
        assert!(output.starts_with("exit 1\n") && output.contains("signed by anne@example.com"), "{output}");
        let output = env.pintle(&format!("{line} {}", anne.replace("root.json", "other.json")));
        assert!(output.starts_with("exit 1\n") && output.contains("no matching signatures"), "{output}");
    }
    let issuers = "--certificate-oidc-issuer-regexp accounts --trusted-root root.json --certificate-identity anne@example.com";
    assert_eq!(
        env.pintle(&format!("verify oci://{host}/charts/web {issuers}")),
        format!("exit 0\n--- stdout\n{verified}")
    );
    let output = env.pintle(&format!("pull oci://{host}/charts/web --verify=cosign"));
    assert!(output.contains("no key and no identity"), "{output}");
    let output = env.pintle(&format!("pull oci://{host}/charts/web --verify=cosign {issuer}"));
    assert!(output.contains("are needed together"), "{output}");
    let output = env.pintle(&format!("template web-0.1.0.tgz --verify=cosign {anne}"));
    assert!(output.starts_with("exit 2\n") && output.contains("is for charts of registries"), "{output}");
}
