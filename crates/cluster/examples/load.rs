//! Generates load for measurements: plain requests that show the server's own time, and many release records.
//!
//! ```text
//! load apply NAMESPACE COUNT TEXT
//! load delete NAMESPACE COUNT
//!     so many Secrets and so many ConfigMaps, sixteen requests at once; prints the milliseconds
//! load fill NAMESPACE secrets|native RELEASES VERSIONS BYTES
//!     records of so many releases with so many versions each, straight into a store
//! load make|drop|has NAMESPACE
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "takes the configuration from the environment, as kubectl does"
)]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use pintle_cluster::apply::MAX_CONCURRENCY;
use pintle_cluster::store::{HelmSecrets, NativeStore};
use pintle_cluster::{Cluster, Request, Settings};
use pintle_objects::ObjectId;
use pintle_release::{Info, ReleaseVersion, Status, Store, StoreError, Timestamp, VersionId};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kubeconfig = vec![PathBuf::from(std::env::var_os("KUBECONFIG").ok_or("KUBECONFIG is not set")?)];
    let cluster = Cluster::connect(&Settings { kubeconfig, ..Settings::default() }).await?;
    match words[..] {
        ["make", namespace] => {
            let body =
                format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
            let body = body.into();
            let path = format!("/api/v1/namespaces/{namespace}?fieldManager=load");
            let make = Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", body);
            Ok(cluster.send(&make).await.map(drop)?)
        }
        ["drop", namespace] => {
            let path = format!("/api/v1/namespaces/{namespace}");
            let take = Request::with_body(Method::DELETE, path, "application/json", Bytes::new());
            Ok(cluster.send(&take).await.map(drop)?)
        }
        ["has", namespace] => {
            let found = cluster.get(&ObjectId::new("v1", "Namespace", "", namespace)).await?;
            say(if found.is_some() { "true" } else { "false" });
            Ok(())
        }
        ["apply", namespace, count, text] => requests(&cluster, namespace, count.parse()?, Some(text)).await,
        ["delete", namespace, count] => requests(&cluster, namespace, count.parse()?, None).await,
        ["fill", namespace, "native", releases, versions, bytes] => {
            let store = NativeStore::new(cluster);
            fill(&store, namespace, releases.parse()?, versions.parse()?, bytes.parse()?).await
        }
        ["fill", namespace, "secrets", releases, versions, bytes] => {
            let store = HelmSecrets::new(cluster);
            fill(&store, namespace, releases.parse()?, versions.parse()?, bytes.parse()?).await
        }
        _ => Err("load knows make, drop, has, apply, delete and fill; see the top of its source".into()),
    }
}

/// Applies objects with a text, or deletes them, one kind after the other.
async fn requests(cluster: &Cluster, namespace: &str, count: usize, text: Option<&str>) -> Outcome<()> {
    let kinds = [("Secret", "secrets", "stringData"), ("ConfigMap", "configmaps", "data")];
    let batches = kinds.map(|(kind, plural, field)| {
        let request = |number: usize| {
            let path = format!("/api/v1/namespaces/{namespace}/{plural}/load-{number}");
            let Some(text) = text else {
                let body = Bytes::from_static(br#"{"propagationPolicy":"Background"}"#);
                return Request::with_body(Method::DELETE, path, "application/json", body);
            };
            let metadata = format!(
                r#"{{"name":"load-{number}","labels":{{"app.kubernetes.io/managed-by":"Helm"}},"annotations":{{"meta.helm.sh/release-name":"load","meta.helm.sh/release-namespace":"{namespace}"}}}}"#
            );
            let body = format!(
                r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{metadata},"{field}":{{"text":"{text}","number":"{number}"}}}}"#
            );
            let path = format!("{path}?fieldManager=helm&fieldValidation=Strict&force=false");
            Request::with_body(Method::PATCH, path, "application/apply-patch+yaml", body.into())
        };
        (0..count).map(request).collect::<Vec<Request>>()
    });
    let start = Instant::now();
    for batch in &batches {
        let sent = stream::iter(batch.iter().map(|request| cluster.send(request)));
        sent.buffer_unordered(MAX_CONCURRENCY).try_for_each(|_| async { Ok(()) }).await?;
    }
    say(&start.elapsed().as_millis().to_string());
    Ok(())
}

/// Writes records straight into a store.
async fn fill(
    store: &dyn Store,
    namespace: &str,
    releases: usize,
    versions: u64,
    bytes: usize,
) -> Outcome<()> {
    let each = |release: usize| async move {
        for number in 1..=versions {
            let version = version(namespace, &format!("release-{release:04}"), number, versions, bytes);
            store.create(&version, None, None).await?;
        }
        Ok::<(), StoreError>(())
    };
    // The first one installs the CRDs, if needed.
    each(0).await?;
    stream::iter((1..releases).map(each)).buffer_unordered(MAX_CONCURRENCY).try_collect::<Vec<()>>().await?;
    Ok(())
}

fn version(namespace: &str, name: &str, number: u64, last: u64, bytes: usize) -> ReleaseVersion {
    let seed = name.bytes().fold(number, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let moment = Timestamp::from_unix(1_700_000_000 + i64::try_from(number).unwrap_or(0), 0);
    let mut version = ReleaseVersion {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        number,
        id: Some(VersionId::new(moment.unix_millis(), u128::from(seed) << 32 | u128::from(number))),
        info: Info {
            first_deployed: Some(moment),
            last_deployed: Some(moment),
            description: "Install complete".to_owned(),
            status: if number == last { Status::Deployed } else { Status::Superseded },
            ..Info::default()
        },
        manifest: format!("kind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: {}\n", noise(seed, bytes)),
        apply_method: "ssa".to_owned(),
        ..ReleaseVersion::default()
    };
    version.chart.metadata.name = "chart".to_owned();
    version.chart.metadata.version = "1.0.0".to_owned();
    version.chart.metadata.api_version = "v2".to_owned();
    version
}

/// Letters that gzip makes a quarter shorter, which base64 undoes.
fn noise(seed: u64, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = seed | 1;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state >> 58) as usize])
    };
    (0..length).map(letter).collect()
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn say(text: &str) {
    println!("{text}");
}
