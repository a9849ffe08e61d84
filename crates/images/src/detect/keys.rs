//! The key names that charts use for images and their parts.

use pintle_tree::Str;

/// Whether the value of this key is an image: `image`, `initImage`, `sidecar_image`.
pub(super) fn is_image(key: &Str) -> bool {
    ends_with(key, b"image")
}

/// Whether the value of this key holds several images.
pub(super) fn is_plural(key: &Str) -> bool {
    ends_with(key, b"images")
}

/// Whether the value of this key is an image name without a tag: `imageRepository`, `imageName`.
pub(super) fn is_image_name(key: &Str) -> bool {
    ends_with(key, b"imagerepository") || ends_with(key, b"imagerepo") || ends_with(key, b"imagename")
}

/// Whether this key below `global` sets the registry of all images.
pub(super) fn is_registry(key: &Str) -> bool {
    ends_with(key, b"registry") || key == "hub" || key == "imageHub" || key == "containerRegistryPrefix"
}

fn ends_with(key: &Str, ending: &[u8]) -> bool {
    let bytes = key.as_bytes();
    bytes.len() >= ending.len() && bytes[bytes.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

/// Keys that hold the registry, most likely first.
pub(super) const REGISTRY: [&str; 3] = ["registry", "imageRegistry", "hub"];
/// Keys that hold the repository.
pub(super) const REPOSITORY: [&str; 2] = ["repository", "repo"];
/// Keys that hold the tag. The last one, `version`, counts only in maps that are known to be images.
pub(super) const TAG: [&str; 3] = ["tag", "imageTag", "version"];
/// Keys that hold the digest.
pub(super) const DIGEST: [&str; 4] = ["digest", "sha", "sha256", "imageDigest"];
/// Keys that occur only in image maps; one of them is enough to treat a map as an image.
pub(super) const EVIDENCE: [&str; 9] = [
    "tag",
    "digest",
    "sha",
    "registry",
    "pullPolicy",
    "imagePullPolicy",
    "pullSecrets",
    "imageTag",
    "useDigest",
];

/// Candidate sibling keys for the registry, tag and digest of an image string.
pub(super) struct SiblingKeys {
    pub(super) registry: Vec<String>,
    pub(super) tag: Vec<String>,
    pub(super) digest: Vec<String>,
}

/// The sibling keys of the string under `key`: `initImageTag` for `initImage`, `imageTag` and `tag` for `image`.
pub(super) fn sibling_keys(key: &str) -> SiblingKeys {
    let lower = key.to_ascii_lowercase();
    let ending = ["imagerepository", "imagerepo", "imagename", "image"];
    let front =
        ending.iter().find(|ending| lower.ends_with(**ending)).map_or(key, |e| &key[..key.len() - e.len()]);
    let image = if front.is_empty() { "image".to_owned() } else { format!("{front}Image") };
    let names = |words: &[&str]| -> Vec<String> {
        let mut names: Vec<String> = words.iter().map(|word| format!("{image}{word}")).collect();
        if front.is_empty() {
            names.extend(words.iter().map(|word| word.to_ascii_lowercase()));
        } else {
            names.extend(words.iter().map(|word| format!("{front}{word}")));
        }
        names
    };
    let mut registry = names(&["Registry"]);
    if front.is_empty() {
        registry.push("hub".to_owned());
    }
    SiblingKeys { registry, tag: names(&["Tag", "Version"]), digest: names(&["Digest"]) }
}
