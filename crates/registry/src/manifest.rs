//! Manifests. Their bytes are never re-serialised, because their digest is their name.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use pintle_tree::{Map, Node};

use crate::digest::Digest;
use crate::error::{Error, Result};

/// The maximum size of a manifest; the OCI specification requires registries to accept up to 4 MiB.
pub const MANIFEST_LIMIT: usize = 4 << 20;

/// The media type of an OCI index.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The `Accept` header: all supported manifest types.
pub(crate) const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.artifact.manifest.v1+json";

/// An operating system and an architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    /// The operating system, such as `linux`.
    pub os: String,
    /// The architecture, such as `arm64`.
    pub architecture: String,
    /// The variant of the architecture, such as `v8`; often empty.
    pub variant: String,
}

impl Platform {
    /// Parses the platform of a descriptor, or of an image configuration, which has the same fields.
    pub(crate) fn read(tree: &Node) -> Option<Platform> {
        let field = |key: &str| tree.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let platform =
            Platform { os: field("os"), architecture: field("architecture"), variant: field("variant") };
        Some(platform).filter(|platform| !platform.os.is_empty() && !platform.architecture.is_empty())
    }

    /// Whether `other` satisfies this platform; without a variant, any variant does.
    pub(crate) fn takes(&self, other: &Platform) -> bool {
        let variant = |platform: &Platform| match (platform.architecture.as_str(), platform.variant.as_str())
        {
            ("arm64", "") => "v8".to_owned(),
            (_, variant) => variant.to_owned(),
        };
        self.os == other.os
            && self.architecture == other.architecture
            && (self.variant.is_empty() || variant(self) == variant(other))
    }

    /// Whether it is `unknown/unknown`, which BuildKit uses for attestations.
    pub(crate) fn is_unknown(&self) -> bool {
        self.os == "unknown"
    }
}

impl FromStr for Platform {
    type Err = Error;

    fn from_str(text: &str) -> Result<Platform> {
        let parts: Vec<&str> = text.split('/').collect();
        let word = |part: &&str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        match parts[..] {
            [os, architecture] | [os, architecture, _] if parts.iter().all(word) => Ok(Platform {
                os: os.to_ascii_lowercase(),
                architecture: architecture.to_ascii_lowercase(),
                variant: parts.get(2).map(|variant| variant.to_ascii_lowercase()).unwrap_or_default(),
            }),
            _ => Err(Error::Platform { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        if self.variant.is_empty() { Ok(()) } else { write!(f, "/{}", self.variant) }
    }
}

/// A reference to content, as in OCI's descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The media type.
    pub media_type: String,
    /// The digest.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The platform, if given.
    pub platform: Option<Platform>,
    /// The descriptor as written, with fields that we do not know.
    pub(crate) raw: Node,
}

impl Descriptor {
    /// Parses a descriptor.
    pub(crate) fn read(tree: &Node) -> Option<Descriptor> {
        let text = |key: &str| tree.get(key).and_then(Node::as_str);
        Some(Descriptor {
            media_type: text("mediaType").unwrap_or_default().to_owned(),
            digest: text("digest")?.parse().ok()?,
            size: tree.get("size").and_then(number)?,
            platform: tree.get("platform").and_then(Platform::read),
            raw: tree.clone(),
        })
    }

    /// A descriptor for content in memory.
    pub(crate) fn of(media_type: &str, digest: &Digest, size: u64) -> Descriptor {
        let mut raw = Map::new();
        raw.insert("mediaType".into(), media_type.into());
        raw.insert("digest".into(), digest.to_string().into());
        raw.insert("size".into(), Node::Int(i64::try_from(size).unwrap_or(i64::MAX)));
        Descriptor {
            media_type: media_type.to_owned(),
            digest: digest.clone(),
            size,
            platform: None,
            raw: raw.into(),
        }
    }

    /// Whether the content is non-distributable (a foreign layer).
    pub(crate) fn is_foreign(&self) -> bool {
        self.media_type.contains("foreign") || self.media_type.contains("nondistributable")
    }

    /// What kind of artifact a manifest is, where an index says so.
    pub(crate) fn artifact_type(&self) -> Option<&str> {
        self.raw.get("artifactType")?.as_str()
    }

    /// An annotation.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.raw.get("annotations")?.get(key)?.as_str()
    }
}

/// The content that a manifest refers to.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// Other manifests.
    Index(Vec<Descriptor>),
    /// The configuration, if there is one, and the layers.
    Content { config: Option<Descriptor>, layers: Vec<Descriptor> },
}

/// A manifest with its exact bytes.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) bytes: Bytes,
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) parts: Parts,
    /// The manifest that this one refers to, if it is a signature or another artifact.
    pub(crate) subject: Option<Digest>,
    tree: Node,
}

impl Manifest {
    /// Parses a manifest. `announced` is the `Content-Type` of the response; `what` is for errors.
    pub(crate) fn read(bytes: Bytes, digest: Digest, announced: &str, what: &str) -> Result<Manifest> {
        let bad = |reason: &str| Error::Manifest { what: what.to_owned(), reason: reason.to_owned() };
        let tree = pintle_tree::json::read_exact(&bytes)
            .map_err(|error| bad(&format!("its manifest is not valid JSON: {error}")))?;
        if tree.get("schemaVersion").and_then(number) != Some(2) {
            return Err(bad("its manifest is of an unsupported kind (not schema 2)"));
        }
        let inner = tree.get("mediaType").and_then(Node::as_str).unwrap_or_default();
        let announced = announced.split(';').next().unwrap_or_default().trim();
        let descriptors = |key: &str| -> Result<Vec<Descriptor>> {
            let list = tree.get(key).and_then(Node::as_list).unwrap_or_default();
            let read = list.iter().map(Descriptor::read).collect::<Option<_>>();
            read.ok_or_else(|| bad(&format!("`{key}` of its manifest has an invalid entry")))
        };
        let has = |key: &str| tree.get(key).is_some_and(|node| !node.is_nil());
        // A document that is both an index and an image could be interpreted differently by other tools
        // (CVE-2021-41190), so it is rejected.
        if has("manifests") && (has("layers") || has("config")) {
            return Err(bad("its manifest is an index and an image at the same time"));
        }
        let parts = if has("manifests") {
            Parts::Index(descriptors("manifests")?)
        } else if has("layers") || has("config") || has("blobs") {
            let mut layers = descriptors("layers")?;
            layers.extend(descriptors("blobs")?);
            let config = match tree.get("config").filter(|config| !config.is_nil()) {
                None => None,
                Some(config) => {
                    Some(Descriptor::read(config).ok_or_else(|| bad("`config` of its manifest is invalid"))?)
                }
            };
            Parts::Content { config, layers }
        } else if inner == INDEX || announced == INDEX {
            Parts::Index(Vec::new())
        } else {
            return Err(bad("its manifest is neither an image nor an index"));
        };
        let media_type = match (inner, announced, &parts) {
            ("", announced, _) if announced.contains("manifest") || announced.contains("index") => announced,
            ("", _, Parts::Index(_)) => INDEX,
            ("", _, Parts::Content { .. }) => "application/vnd.oci.image.manifest.v1+json",
            (inner, ..) => inner,
        };
        let media_type = media_type.to_owned();
        let subject = tree.get("subject").and_then(Descriptor::read).map(|subject| subject.digest);
        Ok(Manifest { bytes, media_type, digest, parts, subject, tree })
    }

    /// The descriptor of the manifest itself.
    pub(crate) fn descriptor(&self) -> Descriptor {
        Descriptor::of(&self.media_type, &self.digest, self.bytes.len() as u64)
    }

    /// What kind of artifact it is; empty if it does not say.
    pub(crate) fn artifact_type(&self) -> &str {
        self.tree.get("artifactType").and_then(Node::as_str).unwrap_or_default()
    }

    /// The descriptor for a referrers list.
    pub(crate) fn referrer(&self) -> Node {
        let mut raw = match self.descriptor().raw {
            Node::Map(map) => map,
            _ => Map::new(),
        };
        let kind = self.tree.get("artifactType").and_then(Node::as_str).filter(|kind| !kind.is_empty());
        let kind = kind.or_else(|| self.tree.get("config")?.get("mediaType")?.as_str());
        if let Some(kind) = kind {
            raw.insert("artifactType".into(), kind.into());
        }
        if let Some(annotations @ Node::Map(_)) = self.tree.get("annotations") {
            raw.insert("annotations".into(), annotations.clone());
        }
        raw.into()
    }

    /// The index restricted to some entries. It gets new bytes and therefore a new digest.
    pub(crate) fn narrow_platforms(&self, keep: impl Fn(&Descriptor) -> bool) -> Result<Manifest> {
        let what = self.digest.to_string();
        let Parts::Index(entries) = &self.parts else { return Ok(self.clone()) };
        let kept: Vec<Node> =
            entries.iter().filter(|entry| keep(entry)).map(|entry| entry.raw.clone()).collect();
        let mut tree = self.tree.clone();
        if let Some(map) = tree.as_map_mut() {
            map.insert("manifests".into(), kept.into());
        }
        let bytes = pintle_tree::json::write_raw(&tree)
            .map_err(|error| Error::Manifest { what: what.clone(), reason: error.to_string() })?;
        let digest = Digest::of(&bytes);
        Manifest::read(bytes.into(), digest, &self.media_type, &what)
    }
}

/// A non-negative integer.
pub(crate) fn number(node: &Node) -> Option<u64> {
    match node {
        Node::Int(number) => u64::try_from(*number).ok(),
        Node::Float(number) if number.fract() == 0.0 && (0.0..9e15).contains(number) => Some(*number as u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest> {
        Manifest::read(text.to_owned().into(), Digest::of(text.as_bytes()), "", "it")
    }

    #[test]
    fn hostile_manifests_end_in_errors() {
        let deep = format!(r#"{{"schemaVersion":2,"manifests":{}"#, "[".repeat(100_000));
        for text in [
            "",
            "[]",
            "{}",
            r#"{"schemaVersion":1}"#,
            r#"{"schemaVersion":2}"#,
            r#"{"schemaVersion":2,"manifests":[{}]}"#,
            r#"{"schemaVersion":2,"manifests":[{"digest":"sha256:../..","size":1}]}"#,
            r#"{"schemaVersion":2,"layers":[],"manifests":[]}"#,
            r#"{"schemaVersion":2,"config":{"digest":"x","size":-1}}"#,
            &deep,
        ] {
            assert!(read(text).is_err(), "{text:.80}");
        }
    }

    #[test]
    fn a_narrowed_index_keeps_everything_but_entries() {
        let entry = |os: &str, content: &str| {
            let digest = Digest::of(content.as_bytes());
            format!(
                r#"{{"digest":"{digest}","mediaType":"m","platform":{{"architecture":"a","os":"{os}"}},"size":3,"x":1}}"#
            )
        };
        let (one, two) = (entry("linux", "1"), entry("windows", "2"));
        let whole = format!(r#"{{"annotations":{{"k":"<v>"}},"manifests":[{one},{two}],"schemaVersion":2}}"#);
        let linux: Platform = "linux/a".parse().unwrap();
        let index = read(&whole).unwrap();
        let narrow =
            index.narrow_platforms(|entry| entry.platform.as_ref().is_some_and(|p| linux.takes(p))).unwrap();
        let expected = format!(r#"{{"annotations":{{"k":"<v>"}},"manifests":[{one}],"schemaVersion":2}}"#);
        assert_eq!(narrow.bytes, expected);
        assert_eq!(narrow.digest, Digest::of(expected.as_bytes()));
    }

    #[test]
    fn platforms_without_variant_take_any() {
        let platform = |text: &str| text.parse::<Platform>().unwrap();
        assert!(platform("linux/arm").takes(&platform("linux/arm/v7")));
        assert!(!platform("linux/arm/v6").takes(&platform("linux/arm/v7")));
        assert!(platform("linux/arm64/v8").takes(&platform("linux/arm64")));
        for text in ["", "linux", "linux/", "a/b/c/d", "a b/c"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
