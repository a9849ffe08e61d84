//! Hand-made images, and registries for tests.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

pub(crate) mod fake;
pub(crate) mod program;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pintle_registry::copy::{Endpoint, Job, Options, Outcome, Planned, execute, plan};
use pintle_registry::{Client, Digest, Error, Layout, Settings, Silent};

pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Settings with short backoff. The idle timeout is far longer than any machine needs.
pub(crate) fn fast_retry_settings() -> Settings {
    Settings {
        retries: 3,
        pause: Duration::from_millis(5),
        idle_timeout: Duration::from_secs(120),
        plain_http: true,
        ..Settings::default()
    }
}

pub(crate) fn client() -> Arc<Client> {
    Arc::new(Client::new(fast_retry_settings()).unwrap())
}

pub(crate) fn remote(client: &Arc<Client>, name: &str) -> Endpoint {
    Endpoint::Registry { client: client.clone(), name: name.parse().unwrap() }
}

pub(crate) fn local(layout: &Arc<Layout>, name: &str) -> Endpoint {
    Endpoint::Layout { layout: layout.clone(), name: name.to_owned() }
}

pub(crate) fn open(folder: &Path) -> Arc<Layout> {
    Arc::new(Layout::open(folder).unwrap())
}

pub(crate) fn create(folder: &Path) -> Arc<Layout> {
    Arc::new(Layout::create(folder).unwrap())
}

pub(crate) async fn planned(
    source: Endpoint,
    destination: Endpoint,
    options: &Options,
) -> Result<Planned, Error> {
    plan(&[Job { source, destination }], options).await.pop().unwrap()
}

/// Plans and executes the copy of one image.
pub(crate) async fn copy_with(
    source: Endpoint,
    destination: Endpoint,
    options: &Options,
) -> Result<Outcome, Error> {
    let planned = planned(source, destination, options).await?;
    let mut outcomes = execute(vec![planned], options, Arc::new(Silent)).await;
    let outcome = outcomes.pop().unwrap();
    match outcome.result {
        Ok(_) => Ok(outcome),
        Err(error) => Err(error),
    }
}

pub(crate) async fn copy(source: Endpoint, destination: Endpoint) -> Result<Outcome, Error> {
    copy_with(source, destination, &Options::default()).await
}

/// Incompressible, non-repeating bytes.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Builds a layout folder by hand.
pub(crate) struct LayoutBuilder<'m> {
    folder: &'m Path,
    entries: Vec<String>,
}

/// A blob or manifest that was built.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) digest: Digest,
    pub(crate) size: usize,
    pub(crate) media_type: String,
    pub(crate) bytes: Vec<u8>,
}

impl Made {
    pub(crate) fn descriptor(&self, more: &str) -> String {
        format!(
            r#"{{"mediaType":"{}","digest":"{}","size":{}{more}}}"#,
            self.media_type, self.digest, self.size
        )
    }
}

impl<'m> LayoutBuilder<'m> {
    pub(crate) fn new(folder: &'m Path) -> LayoutBuilder<'m> {
        fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        LayoutBuilder { folder, entries: Vec::new() }
    }

    pub(crate) fn blob(&self, media_type: &str, bytes: &[u8]) -> Made {
        let digest = Digest::of(bytes);
        fs::write(self.folder.join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        Made { digest, size: bytes.len(), media_type: media_type.to_owned(), bytes: bytes.to_vec() }
    }

    /// An image of one layer. The odd spacing shows whether manifests are kept byte for byte.
    pub(crate) fn image(&self, architecture: &str, layer: &[u8]) -> Made {
        self.manifest(architecture, layer, "")
    }

    pub(crate) fn manifest(&self, architecture: &str, layer: &[u8], more: &str) -> Made {
        let config =
            format!(r#"{{"os":"linux","architecture":"{architecture}","rootfs":{{"type":"layers"}}}}"#);
        let config = self.blob("application/vnd.oci.image.config.v1+json", config.as_bytes());
        let layer = self.blob("application/vnd.oci.image.layer.v1.tar+gzip", layer);
        let text = format!(
            "{{\n  \"schemaVersion\": 2,\n  \"mediaType\": \"{OCI_MANIFEST}\",\n  \"config\": {},\n  \"layers\": [{}]{more}\n}}\n",
            config.descriptor(""),
            layer.descriptor("")
        );
        self.blob(OCI_MANIFEST, text.as_bytes())
    }

    /// A manifest that refers to another one.
    pub(crate) fn referrer(&self, subject: &Made, kind: &str) -> Made {
        let more = format!(r#", "artifactType": "{kind}", "subject": {}"#, subject.descriptor(""));
        self.manifest("none", kind.as_bytes(), &more)
    }

    pub(crate) fn index(&self, images: &[(&str, &Made)]) -> Made {
        let entries: Vec<String> = images
            .iter()
            .map(|(architecture, image)| {
                image.descriptor(&format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}"#))
            })
            .collect();
        let text = format!(
            "{{ \"schemaVersion\": 2, \"mediaType\": \"{OCI_INDEX}\", \"manifests\": [ {} ] }}",
            entries.join(" , ")
        );
        self.blob(OCI_INDEX, text.as_bytes())
    }

    pub(crate) fn name(&mut self, name: &str, made: &Made) {
        let note = format!(r#","annotations":{{"org.opencontainers.image.ref.name":"{name}"}}"#);
        self.entries.push(made.descriptor(&note));
        let text = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, self.entries.join(","));
        fs::write(self.folder.join("index.json"), text).unwrap();
    }
}

/// The committed files below a folder, with their content.
pub(crate) fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder_here) = open.pop() {
        for entry in fs::read_dir(folder_here).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true if name == "ingest" => {}
                true => open.push(path),
                false => found.push((name, fs::read(path).unwrap())),
            }
        }
    }
    found.sort();
    found
}
