//! The words by which charts call the parts of images.

use pintle_tree::Str;

/// Whether a key says that its value is an image: `image`, `initImage`, `sidecar_image`.
pub(super) fn is_image(key: &Str) -> bool {
    ends_with(key, b"image")
}

/// Whether a key says that its value holds several images.
pub(super) fn is_plural(key: &Str) -> bool {
    ends_with(key, b"images")
}

/// Whether a key says that its value is the name of an image without its tag: `imageRepository`, `imageName`.
pub(super) fn is_image_name(key: &Str) -> bool {
    ends_with(key, b"imagerepository") || ends_with(key, b"imagerepo") || ends_with(key, b"imagename")
}

/// Whether a key of the globals says that its value is the registry of all images.
pub(super) fn is_registry(key: &Str) -> bool {
    ends_with(key, b"registry") || key == "hub" || key == "imageHub" || key == "containerRegistryPrefix"
}

fn ends_with(key: &Str, ending: &[u8]) -> bool {
    let bytes = key.as_bytes();
    bytes.len() >= ending.len() && bytes[bytes.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

/// The keys of a map that name its registry, the likeliest first.
pub(super) const REGISTRY: [&str; 3] = ["registry", "imageRegistry", "hub"];
/// The keys of a map that name its repository.
pub(super) const REPOSITORY: [&str; 2] = ["repository", "repo"];
/// The keys of a map that name its tag.
pub(super) const TAG: [&str; 3] = ["tag", "imageTag", "version"];
/// The keys of a map that name its digest.
pub(super) const DIGEST: [&str; 4] = ["digest", "sha", "sha256", "imageDigest"];
/// Keys that only maps of images have.
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

/// Where the registry, the tag and the digest of a string beside them are looked for.
pub(super) struct SiblingKeys {
    pub(super) registry: Vec<String>,
    pub(super) tag: Vec<String>,
    pub(super) digest: Vec<String>,
}

/// The keys that belong to the string under `key`: `initImageTag` to `initImage`, `imageTag` and `tag` to `image`.
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
