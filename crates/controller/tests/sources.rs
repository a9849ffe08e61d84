//! Charts from repositories and registries with their signatures, and values from web servers and registries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::EncodePublicKey as _;
use pgp::composed::{KeyType, SecretKeyParamsBuilder, SignedSecretKey};
use pgp::ser::Serialize as _;
use pgp::types::{KeyVersion, Timestamp};
use pintle::cluster::store::NativeStore;
use pintle::provenance::{Keyring, message, sign};
use pintle::release::{ChartSource, Store as _};
use pintle_controller::request::RECONCILE_ANNOTATION;
use serde_json::json;

use crate::support::{TEMPLATE, TestCluster, WebServer, digest};

const TEMPLATES: &[(&str, &str)] = &[("templates/all.yaml", TEMPLATE)];
/// In the past, for keys that are made while the test runs.
const CREATED: u32 = 1_700_000_000;

/// An index with these versions of the chart.
fn publish(test: &TestCluster, server: &WebServer, versions: &[&str]) {
    let mut index = "apiVersion: v1\nentries:\n  web:\n".to_owned();
    for version in versions {
        let archive = test.archive(version, TEMPLATES);
        let sha = digest(&archive);
        let sha = sha.trim_start_matches("sha256:");
        index.push_str(&format!(
            "  - {{apiVersion: v2, name: web, version: {version}, digest: {sha}, urls: ['web-{version}.tgz']}}\n"
        ));
        server.put(&format!("/web-{version}.tgz"), "application/gzip", archive);
    }
    server.put("/index.yaml", "application/yaml", index);
}

async fn source(test: &TestCluster, number: u64) -> Option<ChartSource> {
    let version =
        NativeStore::new(test.cluster.clone()).get("default", "web", number).await.expect("a record");
    ChartSource::of(&version.expect("a version").chart)
}

#[tokio::test]
async fn a_range_follows_the_versions_of_a_repository() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    publish(&test, &server, &["1.0.0", "2.0.0"]);
    let chart = format!("{{repository: '{}', name: web, version: ^1.0.0}}", server.url());
    test.request_for("web", &chart, "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    let recorded = source(&test, 1).await.unwrap();
    assert_eq!(recorded.repository, server.url(), "the record says where the chart is from");
    assert_eq!(recorded.digest, digest(&test.archive("1.0.0", TEMPLATES)));
    publish(&test, &server, &["1.0.0", "1.1.0", "2.0.0"]);
    test.reconcile(&controller, "web").await;
    assert_eq!(test.versions("web").await.len(), 1, "what a range means is kept for a while");
    test.annotate("web", &[(RECONCILE_ANNOTATION, "now")]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.read("web").await.unwrap().status.unwrap().chart_version, "1.1.0");
}

#[tokio::test]
async fn a_chart_comes_from_a_registry() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    server.push_chart("charts/web", "1.0.0", &test.archive("1.0.0", TEMPLATES));
    let chart = format!("{{url: 'oci://{}/charts/web', version: 1.x}}", server.host);
    test.request_for("web", &chart, "values: {text: pulled}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("pulled"));
    let recorded = source(&test, 1).await.unwrap();
    assert!(recorded.url.starts_with(&format!("oci://{}/charts/web", server.host)), "{}", recorded.url);
    let other = format!("{{url: 'oci://{}/charts/other', version: 1.0.0}}", server.host);
    test.request_for("other", &other, "interval: 1m").await;
    test.reconcile(&controller, "other").await;
    assert_eq!(test.ready("other").await.1, "ChartFailed");
}

#[tokio::test]
async fn a_chart_comes_from_a_url() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    publish(&test, &server, &["1.0.0"]);
    test.request_for("web", &format!("{{url: '{}/web-1.0.0.tgz'}}", server.url()), "values: {text: one}")
        .await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn values_come_from_urls_by_their_digest() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    server.put("/values.yaml", "application/yaml", "text: fetched\n");
    let good = digest(b"text: fetched\n");
    let spec = |digest: &str| {
        format!("valuesFrom: [{{kind: URL, url: '{}/values.yaml', digest: '{digest}'}}]", server.url())
    };
    test.request("web", &spec(&good)).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("fetched"));
    test.reconcile(&controller, "web").await;
    assert_eq!(server.requests("/values.yaml"), 1, "what has a digest is fetched once");
    test.request("web", &spec(&format!("sha256:{}", "0".repeat(64)))).await;
    test.reconcile(&controller, "web").await;
    let (_, reason, message) = test.ready("web").await;
    assert_eq!(reason, "ValuesFailed");
    assert!(message.contains("its digest is not sha256:0000"), "{message}");
    assert!(!message.contains(&good), "the digest of the content would give the content away: {message}");
}

#[tokio::test]
async fn values_come_from_an_artifact_in_a_registry() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    let file = |name: &str| json!({"org.opencontainers.image.title": name});
    let layers: &[(&str, serde_json::Value, &[u8])] = &[
        ("application/yaml", file("dev.yaml"), b"text: dev\n"),
        ("application/yaml", file("prod.yaml"), b"text: prod\n"),
    ];
    let pushed = server.push("values/web", "latest", ("application/vnd.oci.empty.v1+json", "{}"), layers);
    let spec = |key: &str, digest: &str| {
        let url = format!("oci://{}/values/web:latest", server.host);
        format!("valuesFrom: [{{kind: URL, url: '{url}', digest: '{digest}', valuesKey: {key}}}]")
    };
    test.request("web", &spec("prod.yaml", &pushed)).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("prod"));
    test.request("web", &spec("dev.yaml", &pushed)).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("dev"), "another file of the same artifact");
    // Moving the tag changes nothing, because the digest is pinned.
    server.push("values/web", "latest", ("application/vnd.oci.empty.v1+json", "{}"), &layers[..1]);
    test.request("other", &spec("prod.yaml", &pushed)).await;
    test.until_ready(&controller, "other").await;
    assert_eq!(test.text("other").await.as_deref(), Some("prod"));
    for (key, digest, expected) in [
        ("test.yaml", pushed.as_str(), "has no file `test.yaml`"),
        ("prod.yaml", &format!("sha256:{}", "0".repeat(64)), "oci://"),
    ] {
        test.request("web", &spec(key, digest)).await;
        test.reconcile(&controller, "web").await;
        let (_, reason, message) = test.ready("web").await;
        assert_eq!(reason, "ValuesFailed", "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

fn pgp_key(user: &str) -> SignedSecretKey {
    let mut params = SecretKeyParamsBuilder::default();
    params
        .version(KeyVersion::V4)
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(true)
        .created_at(Timestamp::from_secs(CREATED))
        .primary_user_id(user.into());
    params.build().expect("a key").generate(rand::thread_rng()).expect("a key")
}

/// A Secret with a public key.
async fn trust(test: &TestCluster, name: &str, key: &str, public: &[u8]) {
    test.apply(&format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: default}}\ndata: {{{key}: {}}}\n",
        STANDARD.encode(public)
    ))
    .await;
}

#[tokio::test]
async fn a_chart_must_have_the_provenance_of_a_trusted_key() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    publish(&test, &server, &["1.0.0"]);
    let (anne, bob) = (pgp_key("Anne <anne@example.com>"), pgp_key("Bob <bob@example.com>"));
    trust(&test, "anne", "pubring.gpg", &anne.to_public_key().to_bytes().unwrap()).await;
    trust(&test, "bob", "pubring.gpg", &bob.to_public_key().to_bytes().unwrap()).await;
    let chart = |signer: &str| {
        format!(
            "{{repository: '{}', name: web, version: 1.0.0, verify: {{provider: pgp, secretRef: {{name: {signer}}}}}}}",
            server.url()
        )
    };
    let refused = async |signer: &str| {
        test.request_for("web", &chart(signer), "values: {text: one}").await;
        test.annotate("web", &[(RECONCILE_ANNOTATION, signer)]).await;
        test.reconcile(&controller, "web").await;
        let (_, reason, message) = test.ready("web").await;
        assert_eq!(reason, "ChartFailed", "{message}");
        assert!(message.contains("the signature of the chart cannot be verified"), "{message}");
    };
    refused("anne").await;
    let archive = test.archive("1.0.0", TEMPLATES);
    let sha = digest(&archive);
    let text = message(
        b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "web-1.0.0.tgz",
        sha.trim_start_matches("sha256:"),
    )
    .unwrap();
    let ring = Keyring::read(&anne.to_bytes().unwrap()).unwrap();
    let signed = sign(&ring.entities()[0], None, &text, u64::from(CREATED) + 60).unwrap();
    server.put("/web-1.0.0.tgz.prov", "text/plain", signed);
    refused("bob").await;
    test.request_for("web", &chart("anne"), "values: {text: one}").await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("one"));
    assert_eq!(test.versions("web").await.len(), 1);
}

#[tokio::test]
async fn a_chart_in_a_registry_must_be_signed_by_a_trusted_key() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    let manifest = server.push_chart("charts/web", "1.0.0", &test.archive("1.0.0", TEMPLATES));
    let [key, other] = [[1; 32], [2; 32]].map(|seed| p256::ecdsa::SigningKey::from_slice(&seed).unwrap());
    let public = |key: &p256::ecdsa::SigningKey| {
        key.verifying_key().to_public_key_pem(p256::pkcs8::LineEnding::LF).unwrap()
    };
    trust(&test, "ours", "cosign.pub", public(&key).as_bytes()).await;
    trust(&test, "theirs", "cosign.pub", public(&other).as_bytes()).await;
    let chart = |signer: &str| {
        format!(
            "{{url: 'oci://{}/charts/web', version: 1.0.0, verify: {{provider: cosign, secretRef: {{name: {signer}}}}}}}",
            server.host
        )
    };
    let refused = async |signer: &str| {
        test.request_for("web", &chart(signer), "values: {text: one}").await;
        test.annotate("web", &[(RECONCILE_ANNOTATION, signer)]).await;
        test.reconcile(&controller, "web").await;
        let (_, reason, message) = test.ready("web").await;
        assert_eq!(reason, "ChartFailed", "{message}");
        assert!(message.contains("the signature of the chart cannot be verified"), "{message}");
    };
    refused("ours").await;
    let payload = format!(
        r#"{{"critical":{{"identity":{{"docker-reference":""}},"image":{{"docker-manifest-digest":"{manifest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    );
    let signature: p256::ecdsa::Signature = key.sign(payload.as_bytes());
    let signature = STANDARD.encode(signature.to_der().as_bytes());
    let tag = format!("{}.sig", manifest.replace(':', "-"));
    let layer: (&str, serde_json::Value, &[u8]) = (
        "application/vnd.dev.cosign.simplesigning.v1+json",
        json!({"dev.cosignproject.cosign/signature": signature}),
        payload.as_bytes(),
    );
    server.push("charts/web", &tag, ("application/vnd.oci.image.config.v1+json", "{}"), &[layer]);
    refused("theirs").await;
    test.request_for("web", &chart("ours"), "values: {text: signed}").await;
    test.annotate("web", &[(RECONCILE_ANNOTATION, "ours again")]).await;
    test.until_ready(&controller, "web").await;
    assert_eq!(test.text("web").await.as_deref(), Some("signed"));
}

#[tokio::test]
async fn a_repository_is_asked_with_the_credentials_of_the_request() {
    let test = TestCluster::new().await;
    let (controller, _) = test.controller();
    let server = WebServer::start().await;
    publish(&test, &server, &["1.0.0"]);
    server.require("Basic dXNlcjpwYXNz");
    let chart = format!(
        "{{repository: '{}', name: web, version: 1.0.0, credentials: {{name: login}}}}",
        server.url()
    );
    let login = |password: &str| {
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: default}}\nstringData: {{username: user, password: {password}}}\n"
        )
    };
    test.request_for("web", &chart, "values: {text: one}").await;
    for (password, expected) in [("", "it does not exist"), ("wrong", "401")] {
        if !password.is_empty() {
            test.apply(&login(password)).await;
        }
        test.reconcile(&controller, "web").await;
        let (_, reason, message) = test.ready("web").await;
        assert_eq!(reason, "ChartFailed");
        assert!(message.contains(expected), "{message}");
    }
    test.apply(&login("pass")).await;
    test.until_ready(&controller, "web").await;
    let source = source(&test, 1).await.unwrap();
    assert!(!format!("{source:?}").contains("pass"), "{source:?}");
}
