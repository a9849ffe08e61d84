//! The images that pods of the test cluster run, made here: there is no registry to pull from.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::build::hex;
use crate::shell::output;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Web servers must exit on SIGTERM: as PID 1, the server alone would ignore it until it is killed after 30 seconds.
const SERVE: &str = "trap 'exit 0' TERM; httpd -f -p 80 -h /www & wait";

/// What a container of the image runs, and by which names pods find it.
struct Image<'a> {
    names: &'a [&'a str],
    entrypoint: &'a [&'a str],
    command: &'a [&'a str],
}

/// Writes one archive for each image into `folder`.
pub(super) fn write_all(debian: &Path, pause: &Path, folder: &Path) -> Result<()> {
    let busybox = busybox(&debian.join("bin/busybox"))?;
    let shell = Image { names: &["test.invalid/busybox:1"], entrypoint: &[], command: &["sh"] };
    // The second name is what a chart of `helm create` asks for.
    let server = Image {
        names: &["test.invalid/httpd:1", "docker.io/library/nginx:1.16.0"],
        entrypoint: &["/bin/sh", "-c", SERVE],
        command: &[],
    };
    let sandbox = Image { names: &["test.invalid/pause:1"], entrypoint: &["/pause"], command: &[] };
    let mut layer = Layer::new();
    layer.file("pause", 0o755, &fs::read(pause)?)?;
    fs::write(folder.join("pause.tar"), sandbox.archive(&layer.finish()?)?)?;
    fs::write(folder.join("busybox.tar"), shell.archive(&busybox)?)?;
    fs::write(folder.join("httpd.tar"), server.archive(&busybox)?)?;
    Ok(())
}

/// A root file system around one busybox, with a link for each of its commands.
fn busybox(program: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let commands = output(Command::new(program).arg("--list-full"))?;
    let commands = String::from_utf8(commands).context("busybox lists its commands as text")?;
    let mut layer = Layer::new();
    for folder in
        ["bin", "etc", "home", "root", "sbin", "usr", "usr/bin", "usr/sbin", "var", "var/run", "www"]
    {
        layer.folder(folder, 0o755)?;
    }
    layer.folder("tmp", 0o1777)?;
    layer.file("bin/busybox", 0o755, &bytes)?;
    for command in commands.lines().filter(|command| *command != "bin/busybox") {
        layer.link(command, "/bin/busybox")?;
    }
    layer.file(
        "etc/passwd",
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/false\n",
    )?;
    layer.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n")?;
    layer.file("www/index.html", 0o644, b"hello from the test cluster\n")?;
    layer.finish()
}

/// A tar whose bytes depend on its contents alone.
struct Layer(Builder<Vec<u8>>);

impl Layer {
    fn new() -> Layer {
        Layer(Builder::new(Vec::new()))
    }

    fn header(kind: EntryType, mode: u32, size: usize) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size as u64);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header
    }

    fn folder(&mut self, path: &str, mode: u32) -> Result<()> {
        let mut header = Layer::header(EntryType::Directory, mode, 0);
        Ok(self.0.append_data(&mut header, format!("{path}/"), &[][..])?)
    }

    fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
        let mut header = Layer::header(EntryType::Regular, mode, bytes.len());
        Ok(self.0.append_data(&mut header, path, bytes)?)
    }

    fn link(&mut self, path: &str, target: &str) -> Result<()> {
        let mut header = Layer::header(EntryType::Symlink, 0o777, 0);
        Ok(self.0.append_link(&mut header, path, target)?)
    }

    fn finish(self) -> Result<Vec<u8>> {
        Ok(self.0.into_inner()?)
    }
}

impl Image<'_> {
    /// An OCI image layout in a tar, as `ctr images import` reads it.
    fn archive(&self, layer: &[u8]) -> Result<Vec<u8>> {
        let mut archive = Layer::new();
        let layer_of = describe("application/vnd.oci.image.layer.v1.tar", layer);
        let config = self.config(&layer_of).to_string();
        let config_of = describe("application/vnd.oci.image.config.v1+json", config.as_bytes());
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config_of, "layers": [layer_of]});
        let manifest = manifest.to_string();
        let manifest_of = describe(MANIFEST, manifest.as_bytes());
        archive.file("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        archive.file("index.json", 0o644, self.index(&manifest_of).to_string().as_bytes())?;
        for (descriptor, bytes) in
            [(&layer_of, layer), (&config_of, config.as_bytes()), (&manifest_of, manifest.as_bytes())]
        {
            let digest = descriptor["digest"].as_str().unwrap_or_default().trim_start_matches("sha256:");
            archive.file(&format!("blobs/sha256/{digest}"), 0o644, bytes)?;
        }
        archive.finish()
    }

    fn config(&self, layer: &Value) -> Value {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        json!({
            "architecture": architecture,
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": {
                "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": self.entrypoint,
                "Cmd": self.command,
                "WorkingDir": "/",
            },
            // The layer is not compressed, so its digest is also that of its contents.
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        })
    }

    fn index(&self, manifest: &Value) -> Value {
        let entries = self.names.iter().map(|name| {
            let tag = name.rsplit(':').next().unwrap_or_default();
            let mut entry = manifest.clone();
            entry["annotations"] =
                json!({"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag});
            entry
        });
        json!({"schemaVersion": 2, "manifests": entries.collect::<Vec<Value>>()})
    }
}

fn describe(kind: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": format!("sha256:{}", hex(&Sha256::digest(bytes))), "size": bytes.len()})
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_holds_every_blob_that_its_index_leads_to() {
        let mut layer = Layer::new();
        layer.file("pause", 0o755, b"program").unwrap();
        let image = Image { names: &["a.test/x:1", "a.test/y:2"], entrypoint: &["/pause"], command: &[] };
        let archive = image.archive(&layer.finish().unwrap()).unwrap();
        let mut files = std::collections::BTreeMap::new();
        for entry in tar::Archive::new(&archive[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(entry.path().unwrap().to_string_lossy().into_owned(), bytes);
        }
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().trim_start_matches("sha256:");
            files[&format!("blobs/sha256/{digest}")].clone()
        };
        let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let names = index["manifests"].as_array().unwrap();
        assert_eq!(names[1]["annotations"]["io.containerd.image.name"], "a.test/y:2");
        let manifest: Value = serde_json::from_slice(&blob(&names[0])).unwrap();
        let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        assert!(!blob(&manifest["layers"][0]).is_empty());
    }
}
