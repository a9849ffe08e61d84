//! A web server with files, and a registry made of such files.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pintle_controller::request::hex;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The kind of a file that is a redirect; its content is the target.
const REDIRECT: &str = "redirect";
/// The kind of a list of tags that names itself as the next page.
pub(crate) const ENDLESS: &str = "endless";

type Files = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

/// Serves files at their paths, and counts requests.
pub(crate) struct WebServer {
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    files: Files,
    requests: Arc<Mutex<Vec<String>>>,
    authorization: Arc<Mutex<Option<String>>>,
}

impl WebServer {
    pub(crate) async fn start() -> WebServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = WebServer {
            host,
            files: Files::default(),
            requests: Arc::default(),
            authorization: Arc::default(),
        };
        let (files, requests) = (Arc::clone(&server.files), Arc::clone(&server.requests));
        let authorization = Arc::clone(&server.authorization);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let required = authorization.lock().unwrap().clone();
                tokio::spawn(answer(stream, Arc::clone(&files), Arc::clone(&requests), required));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.host)
    }

    pub(crate) fn put(&self, path: &str, kind: &str, content: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(path.to_owned(), (kind.to_owned(), content.into()));
    }

    /// Redirects a path.
    pub(crate) fn redirect(&self, path: &str, to: &str) {
        self.put(path, REDIRECT, to);
    }

    /// How often anything was asked for.
    pub(crate) fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Refuses requests without this header `Authorization`.
    pub(crate) fn require(&self, authorization: &str) {
        *self.authorization.lock().unwrap() = Some(authorization.to_owned());
    }

    /// How often a path was asked for.
    pub(crate) fn requests(&self, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }

    /// Puts an artifact into a repository of the registry, each layer with its media type, its annotations and its
    /// content, and returns the digest of its manifest.
    pub(crate) fn push(
        &self,
        repository: &str,
        tag: &str,
        config: (&str, &str),
        layers: &[(&str, serde_json::Value, &[u8])],
    ) -> String {
        let blob = |kind: &str, content: &[u8]| {
            let digest = digest(content);
            self.put(&format!("/v2/{repository}/blobs/{digest}"), "application/octet-stream", content);
            serde_json::json!({"mediaType": kind, "digest": digest, "size": content.len()})
        };
        let layers: Vec<serde_json::Value> = layers
            .iter()
            .map(|(kind, annotations, content)| {
                let mut layer = blob(kind, content);
                layer["annotations"] = annotations.clone();
                layer
            })
            .collect();
        let config = blob(config.0, config.1.as_bytes());
        let manifest = serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        let manifest = manifest.to_string();
        let digest = digest(manifest.as_bytes());
        for reference in [tag, digest.as_str()] {
            self.put(&format!("/v2/{repository}/manifests/{reference}"), MANIFEST, manifest.clone());
        }
        digest
    }

    /// Puts a chart into a repository of the registry, and returns the digest of its manifest.
    pub(crate) fn push_chart(&self, repository: &str, version: &str, archive: &[u8]) -> String {
        let config = format!("{{\"name\": \"web\", \"version\": \"{version}\", \"apiVersion\": \"v2\"}}");
        let layer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
        let tags = serde_json::json!({"name": repository, "tags": [version]});
        self.put(&format!("/v2/{repository}/tags/list"), "application/json", tags.to_string());
        let config = ("application/vnd.cncf.helm.config.v1+json", config.as_str());
        self.push(repository, version, config, &[(layer, serde_json::json!({}), archive)])
    }
}

/// The digest of some content.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

async fn answer(
    mut stream: TcpStream,
    files: Files,
    requests: Arc<Mutex<Vec<String>>>,
    required: Option<String>,
) {
    let mut head = vec![0; 16 << 10];
    let length = stream.read(&mut head).await.unwrap_or_default();
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let mut words = head.split_whitespace();
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let found = files.lock().unwrap().get(&path).cloned();
    requests.lock().unwrap().push(path.clone());
    let is_allowed = required.is_none_or(|required| head.contains(&required));
    let (status, (kind, content)) = match found {
        _ if !is_allowed => ("401 Unauthorized", ("text/plain".to_owned(), Vec::new())),
        Some(file) => ("200 OK", file),
        None => ("404 Not Found", ("text/plain".to_owned(), Vec::new())),
    };
    let (status, more) = match kind.as_str() {
        REDIRECT => ("302 Found", format!("Location: {}\r\n", String::from_utf8_lossy(&content))),
        ENDLESS => (status, format!("Link: <{path}>; rel=\"next\"\r\n")),
        _ => (status, String::new()),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {}\r\nConnection: close\r\n\r\n",
        content.len(),
        digest(&content)
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    if method != "HEAD" {
        let _ = stream.write_all(&content).await;
    }
}
