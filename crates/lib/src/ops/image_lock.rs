//! `Images.lock`: a file with the digests of a chart's images. The format is that of other tools, so both can read
//! it.

use std::collections::BTreeMap;

use pintle_registry::Digest;
use pintle_tree::{Map, Node};

use super::image_list::ListedImage;
use crate::{Error, Result};

/// The digests of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageLock {
    /// By full name.
    pub images: BTreeMap<String, LockedImage>,
}

/// The digests of one image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockedImage {
    /// The digest of the manifest or index; some tools do not write it.
    pub digest: Option<Digest>,
    /// The digest per platform.
    pub platforms: BTreeMap<String, Digest>,
}

impl ImageLock {
    /// Parses a lock; `file` is used in errors.
    ///
    /// # Errors
    /// When the text is not a lock file.
    pub fn read(file: &str, text: &[u8]) -> Result<ImageLock> {
        let bad = |reason: String| Error::Input(format!("{file}: {reason}"));
        let tree = pintle_yaml::read(text).map_err(|error| bad(error.to_string()))?;
        if tree.get("kind").and_then(Node::as_str) != Some("ImagesLock") {
            return Err(bad("this is not an image lock (its `kind` is not `ImagesLock`)".into()));
        }
        let mut lock = ImageLock::default();
        let entries = tree.get("images").and_then(Node::as_list).unwrap_or_default();
        for (number, entry) in entries.iter().enumerate() {
            let read = parse_entry(entry).ok_or_else(|| bad(format!("images[{number}] is invalid")))?;
            lock.images.insert(read.0, read.1);
        }
        Ok(lock)
    }

    /// Builds a lock from images, all of which must be resolved.
    pub fn new(images: &[ListedImage]) -> ImageLock {
        let known = images.iter().filter_map(|image| {
            let resolved = image.resolved.as_ref()?;
            let platforms = resolved.platforms.iter();
            let platforms =
                platforms.map(|(platform, digest)| (platform.to_string(), digest.clone())).collect();
            Some((image.full(), LockedImage { digest: Some(resolved.digest.clone()), platforms }))
        });
        ImageLock { images: known.collect() }
    }

    /// Writes the lock of a chart.
    ///
    /// # Errors
    /// When a text cannot be written as YAML.
    pub fn write(&self, chart: (&str, &str), images: &[ListedImage]) -> Result<Vec<u8>> {
        let mut entries = Vec::new();
        for image in images {
            let full = image.full();
            let Some(locked) = self.images.get(&full) else { continue };
            let repository = image.name.as_ref().map(|name| name.repository.path()).unwrap_or_default();
            let short = repository.rsplit('/').next().unwrap_or_default();
            let owner = image.uses.first().map_or(chart.0, |first| first.chart());
            let digests = locked.platforms.iter().map(|(platform, digest)| {
                map([("digest", digest.to_string().into()), ("arch", platform.as_str().into())])
            });
            let digests: Vec<Node> = digests.collect();
            let mut entry = vec![
                ("name", short.into()),
                ("image", full.into()),
                ("chart", owner.into()),
                ("digests", digests.into()),
            ];
            entry.extend(locked.digest.as_ref().map(|digest| ("digest", digest.to_string().into())));
            entries.push(map(entry));
        }
        let tree = map([
            ("apiVersion", "v0".into()),
            ("kind", "ImagesLock".into()),
            ("metadata", map([("generatedBy", "pintle".into())])),
            ("chart", map([("name", chart.0.into()), ("version", chart.1.into())])),
            ("images", entries.into()),
        ]);
        pintle_yaml::write(&tree).map_err(|error| Error::Input(error.to_string()))
    }

    /// Describes how `now` differs from the lock, one line per difference.
    pub fn differences(&self, now: &ImageLock) -> Vec<String> {
        let mut found = Vec::new();
        for (name, locked) in &self.images {
            match now.images.get(name) {
                None => found.push(format!("{name} is in the lock, and nothing uses it")),
                Some(current) => found.extend(changes(name, locked, current)),
            }
        }
        let new = now.images.keys().filter(|name| !self.images.contains_key(*name));
        found.extend(new.map(|name| format!("{name} is not in the lock")));
        found
    }
}

/// Describes how one image differs. Only facts that both sides have are compared.
fn changes(name: &str, locked: &LockedImage, now: &LockedImage) -> Vec<String> {
    // The digest of an index covers those of its platforms.
    if let (Some(before), Some(after)) = (&locked.digest, &now.digest) {
        return if before == after {
            Vec::new()
        } else {
            vec![format!("{name} was {before} and is {after}")]
        };
    }
    let differing =
        locked.platforms.iter().filter(|(platform, digest)| now.platforms.get(*platform) != Some(digest));
    let changes = differing.map(|(platform, before)| match now.platforms.get(platform) {
        Some(after) => format!("{name} for {platform} was {before} and is {after}"),
        None => format!("{name} for {platform} was {before} and is gone"),
    });
    changes.collect()
}

fn parse_entry(entry: &Node) -> Option<(String, LockedImage)> {
    let digest = |node: &Node| node.get("digest")?.as_str()?.parse::<Digest>().ok();
    let name = super::image_copy::full_name(entry.get("image")?.as_str()?).ok()?.1.to_string();
    let mut platforms = BTreeMap::new();
    for item in entry.get("digests").and_then(Node::as_list).unwrap_or_default() {
        platforms.insert(item.get("arch")?.as_str()?.to_owned(), digest(item)?);
    }
    let whole = match entry.get("digest") {
        Some(_) => Some(digest(entry)?),
        None => None,
    };
    Some((name, LockedImage { digest: whole, platforms }))
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
    let entries = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Node::Map(Map::from_entries(entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(text: &str) -> Result<ImageLock> {
        ImageLock::read("lock.yaml", text.as_bytes())
    }

    #[test]
    fn differences_are_reported_for_facts_that_both_have() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let theirs = format!(
            "apiVersion: v0\nkind: ImagesLock\nimages:\n- {{image: 'nginx:1', digests: [{{digest: '{a}', arch: linux/amd64}}]}}\n\
             - {{image: 'quay.io/old:1', digests: []}}\n"
        );
        let theirs = lock(&theirs).unwrap();
        let mut now = ImageLock::default();
        let platforms = BTreeMap::from([("linux/amd64".to_owned(), b.clone())]);
        now.images
            .insert("docker.io/library/nginx:1".into(), LockedImage { digest: Some(b.clone()), platforms });
        now.images.insert("quay.io/new:1".into(), LockedImage::default());
        assert_eq!(
            theirs.differences(&now),
            [
                format!("docker.io/library/nginx:1 for linux/amd64 was {a} and is {b}"),
                "quay.io/old:1 is in the lock, and nothing uses it".to_owned(),
                "quay.io/new:1 is not in the lock".to_owned(),
            ]
        );
        assert!(now.differences(&now).is_empty());
    }

    #[test]
    fn malformed_locks_are_reported_with_their_position() {
        for (text, beginning) in [
            ("{", "lock.yaml: "),
            ("kind: Pod", "lock.yaml: this is not an image lock"),
            ("kind: ImagesLock\nimages: [{image: 'a b'}]", "lock.yaml: images[0] is invalid"),
            ("kind: ImagesLock\nimages: [{image: a, digest: md5:1}]", "lock.yaml: images[0] is invalid"),
        ] {
            let error = lock(text).unwrap_err().to_string();
            assert!(error.starts_with(beginning), "{error}");
        }
    }
}
