//! `plugin install oci://…`: artifacts of registries, as authors push them with oras.

use crate::registries::fake::Fake;
use crate::support::TestEnv;

const PLUGINS: &str = ".local/share/helm/plugins";
const TYPE: &str = "application/vnd.helm.plugin.v1+json";

struct Artifact<'a> {
    artifact_type: &'a str,
    config: &'a str,
    title: &'a str,
}

const GOOD: Artifact<'static> =
    Artifact { artifact_type: TYPE, config: "application/vnd.oci.empty.v1+json", title: "hi-1.0.0.tgz" };

/// Puts an archive into a registry as `plugins/hi:1.0.0`.
fn put(fake: &Fake, archive: &[u8], provenance: Option<&[u8]>, artifact: &Artifact<'_>) {
    let mut state = fake.state.lock().unwrap();
    let mut blob = |bytes: &[u8], media_type: &str, title: &str| {
        let digest = format!("sha256:{}", pintle_provenance::sha256(bytes));
        state.blobs.insert(("plugins/hi".to_owned(), digest.clone()), bytes.to_vec());
        let size = bytes.len();
        let annotations = format!("{{\"org.opencontainers.image.title\":\"{title}\"}}");
        format!(
            "{{\"mediaType\":\"{media_type}\",\"digest\":\"{digest}\",\"size\":{size},\"annotations\":{annotations}}}"
        )
    };
    let config = blob(b"{}", artifact.config, "");
    let layer = "application/vnd.oci.image.layer.v1.tar+gzip";
    let mut layers = vec![blob(archive, layer, artifact.title)];
    layers.extend(provenance.map(|text| blob(text, layer, &format!("{}.prov", artifact.title))));
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let text = format!(
        "{{\"schemaVersion\":2,\"mediaType\":\"{media_type}\",\"artifactType\":\"{}\",\"config\":{config},\"layers\":[{}]}}",
        artifact.artifact_type,
        layers.join(",")
    );
    state
        .manifests
        .insert(("plugins/hi".to_owned(), "1.0.0".to_owned()), (media_type.to_owned(), text.into_bytes()));
}

fn set_up() -> (TestEnv, Fake, Vec<u8>) {
    let env = TestEnv::new();
    env.write("src/hi/plugin.yaml", "name: hi\nversion: 1.0.0\ncommand: /bin/echo hi\n");
    assert!(env.pintle("plugin package src/hi --sign=false").starts_with("exit 0"));
    let archive = std::fs::read(env.path().join("hi-1.0.0.tgz")).unwrap();
    (env, Fake::honest(), archive)
}

#[test]
fn a_plugin_comes_from_a_registry_by_tag_or_by_version() {
    let (env, fake, archive) = set_up();
    put(&fake, &archive, None, &GOOD);
    let digest = pintle_provenance::sha256(&archive);
    let line = format!("plugin install oci://{}/plugins/hi:1.0.0 --checksum {digest}", fake.host);
    assert!(env.pintle(&line).ends_with("Installed plugin: hi\n"));
    assert!(env.pintle("hi").ends_with("hi\n"));
    assert!(
        env.path().join(PLUGINS).join("hi-1.0.0.tgz").exists(),
        "the archive is kept, as for other sources"
    );
    assert!(env.pintle("plugin uninstall hi").starts_with("exit 0"));
    let line = format!("plugin install oci://{}/plugins/hi --version 1.0.0 --verify=false", fake.host);
    assert!(env.pintle(&line).ends_with("Installed plugin: hi\n"));
    env.pintle("plugin uninstall hi");
    // Older artifacts are recognized by the media type of their config.
    put(&fake, &archive, None, &Artifact { artifact_type: "", config: TYPE, ..GOOD });
    assert!(env.pintle(&line).ends_with("Installed plugin: hi\n"));
}

#[test]
fn what_is_no_plugin_or_not_verified_is_refused_and_nothing_is_installed() {
    let (env, fake, archive) = set_up();
    let line = format!("plugin install oci://{}/plugins/hi:1.0.0", fake.host);
    let refused = |expected: &str, line: &str| {
        let outcome = env.pintle(line);
        assert!(!outcome.starts_with("exit 0") && outcome.contains(expected), "{outcome}");
        assert!(!env.path().join(PLUGINS).join("hi").exists());
    };
    refused("not found", &format!("{line} --verify=false"));
    refused("has neither a tag nor a digest", &line.replace(":1.0.0", ""));
    put(&fake, &archive, None, &GOOD);
    refused("no provenance file (.prov) found", &line);
    refused("the archive has the SHA-256", &format!("{line} --checksum {}", "0".repeat(64)));
    put(&fake, &archive, Some(b"no signature"), &GOOD);
    refused("none", &format!("{line} --keyring none"));
    let other = Artifact { artifact_type: "application/vnd.cncf.helm.config.v1+json", ..GOOD };
    put(&fake, &archive, None, &other);
    refused(&format!("expected artifact type {TYPE}"), &format!("{line} --verify=false"));
    put(&fake, &archive, None, &Artifact { artifact_type: "", ..GOOD });
    refused(
        "for legacy compatibility, got application/vnd.oci.empty.v1+json",
        &format!("{line} --verify=false"),
    );
    put(&fake, &archive, None, &Artifact { title: "other-1.0.0.tgz", ..GOOD });
    refused("required layer matching pattern hi-VERSION.tgz not found", &format!("{line} --verify=false"));
    put(&fake, b"no archive", None, &GOOD);
    refused("gzip: invalid header", &format!("{line} --verify=false"));
}
