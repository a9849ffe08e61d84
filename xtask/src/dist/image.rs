//! Container images without a daemon: an OCI layout in a tar archive, which `podman load`, `skopeo copy oci-archive:` and
//! `pintle images copy` read. An image has the program, the certificate authorities and nothing else.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::dist::archive::{self, Entry};
use crate::dist::sha256;
use crate::dist::target::Target;

/// An image: what is in it, and what it runs.
pub(crate) struct Image<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// The program that is run, with its path.
    pub(crate) entrypoint: &'a str,
    /// The user, by number: the image has no file of users.
    pub(crate) user: &'a str,
    pub(crate) path: &'a str,
    /// The files for each platform, besides the certificate authorities.
    pub(crate) platforms: Vec<(&'a Target, Vec<Entry>)>,
}

/// A user without rights.
pub(crate) const NOBODY: &str = "65532:65532";

/// Where programs of all kinds look for certificate authorities.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

/// A piece of content and what refers to it.
struct Blob {
    media_type: &'static str,
    content: Vec<u8>,
}

impl Blob {
    fn json(media_type: &'static str, value: &Value) -> Result<Blob> {
        Ok(Blob { media_type, content: serde_json::to_vec(value)? })
    }

    fn descriptor(&self) -> Value {
        json!({
            "mediaType": self.media_type,
            "digest": format!("sha256:{}", sha256(&self.content)),
            "size": self.content.len(),
        })
    }

    fn entry(&self) -> Entry {
        Entry::file(format!("blobs/sha256/{}", sha256(&self.content)), self.content.clone())
    }
}

/// The layout with an image for several platforms.
pub(crate) fn layout(image: &Image<'_>, epoch: u64) -> Result<Vec<u8>> {
    let mut entries = vec![Entry::file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#)];
    let mut manifests = Vec::new();
    for (target, files) in &image.platforms {
        let blobs = blobs(image, target, files, epoch)?;
        let (manifest, parts) = blobs.split_first().context("an image has a manifest")?;
        let mut descriptor = manifest.descriptor();
        descriptor["platform"] = platform(target);
        manifests.push(descriptor);
        entries.push(manifest.entry());
        entries.extend(parts.iter().map(Blob::entry));
    }
    let index = Blob::json(
        "application/vnd.oci.image.index.v1+json",
        &json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}),
    )?;
    let mut named = index.descriptor();
    named["annotations"] = json!({"org.opencontainers.image.ref.name": format!("v{}", image.version)});
    entries.push(index.entry());
    let top = json!({"schemaVersion": 2, "manifests": [named]});
    entries.push(Entry::file("index.json", serde_json::to_vec(&top)?));
    archive::tar(&entries, epoch)
}

/// The manifest of one platform, followed by what it refers to.
fn blobs(image: &Image<'_>, target: &Target, files: &[Entry], epoch: u64) -> Result<Vec<Blob>> {
    let mut files = files.to_vec();
    files.push(Entry::file(AUTHORITIES, authorities()));
    let unpacked = archive::tar(&files, epoch)?;
    let layer = Blob {
        media_type: "application/vnd.oci.image.layer.v1.tar+gzip",
        content: archive::gzip(&unpacked)?,
    };
    let mut config = platform(target);
    config["config"] = json!({
        "User": image.user,
        "Entrypoint": [image.entrypoint],
        "Env": [format!("SSL_CERT_FILE=/{AUTHORITIES}"), format!("PATH={}", image.path)],
        "Labels": {"org.opencontainers.image.title": image.name, "org.opencontainers.image.version": image.version},
    });
    config["rootfs"] = json!({"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&unpacked))]});
    let config = Blob::json("application/vnd.oci.image.config.v1+json", &config)?;
    let manifest = Blob::json(
        "application/vnd.oci.image.manifest.v1+json",
        &json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config.descriptor(),
            "layers": [layer.descriptor()],
        }),
    )?;
    Ok(vec![manifest, config, layer])
}

fn platform(target: &Target) -> Value {
    let (architecture, variant) = target.container;
    let mut platform = json!({"os": "linux", "architecture": architecture});
    if !variant.is_empty() {
        platform["variant"] = json!(variant);
    }
    platform
}

/// Mozilla's certificate authorities as PEM.
fn authorities() -> String {
    use base64::Engine as _;
    let mut text = String::new();
    for certificate in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        let body = base64::engine::general_purpose::STANDARD.encode(certificate.as_ref());
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        for line in body.as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read as _;

    use super::*;

    fn files(layout: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(layout);
        let entries = archive.entries().expect("an archive");
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").to_string_lossy().into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("read");
            (path, content)
        };
        entries.map(read).collect()
    }

    #[test]
    fn every_digest_in_the_layout_is_that_of_its_content() {
        let targets = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
        let content =
            vec![Entry::program("pintle", "program"), Entry::link("helm", "pintle"), Entry::scratch("tmp")];
        let platforms = targets.map(|name| (Target::named(name).expect("a target"), content.clone()));
        let image = Image {
            name: "pintle",
            version: "1.2.3",
            entrypoint: "/pintle",
            user: NOBODY,
            path: "/",
            platforms: platforms.into(),
        };
        let files = files(&layout(&image, 7).expect("a layout"));
        let json = |path: &str| -> Value { serde_json::from_slice(&files[path]).expect("JSON") };
        let follow = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().expect("a digest").replace(':', "/");
            let path = format!("blobs/{digest}");
            assert_eq!(descriptor["size"], files[&path].len());
            assert_eq!(format!("sha256/{}", sha256(&files[&path])), digest);
            path
        };
        let top = json("index.json");
        assert_eq!(top["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], "v1.2.3");
        let index = json(&follow(&top["manifests"][0]));
        let architectures: Vec<&Value> = index["manifests"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| &one["platform"]["architecture"])
            .collect();
        assert_eq!(architectures, ["amd64", "arm64"]);
        let manifest = json(&follow(&index["manifests"][1]));
        let config = json(&follow(&manifest["config"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        follow(&manifest["layers"][0]);
    }

    #[test]
    fn the_image_brings_certificate_authorities() {
        let text = authorities();
        assert!(text.matches("BEGIN CERTIFICATE").count() > 100);
        assert!(text.lines().all(|line| line.len() <= 64));
    }
}
