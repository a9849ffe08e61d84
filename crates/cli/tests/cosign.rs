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
