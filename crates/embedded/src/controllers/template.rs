//! Creating pods from templates, and reading the state of pods.

use std::time::Duration;

use pintle_time::{GoTime, Zone};
use pintle_tree::{Node, json};

use crate::api::meta::{at, copy_field, is_deleted, list_at, map, set, text_at, unset};

/// The alphabet of Kubernetes' `rand.SafeEncodeString`: no vowels, so that no words are generated.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// FNV-1a.
pub(super) fn hash_text(text: &str) -> u64 {
    hash_bytes(text.as_bytes())
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The pod template hash: different templates have different ones.
/// It is not the hash of the real controllers, which is made of Go's printed form of the struct.
pub(super) fn hash(template: &Node) -> String {
    let number = hash_bytes(&json::write_raw(template).unwrap_or_default());
    // 32 bits give at most ten letters, the length of real hashes.
    let digits = (number ^ (number >> 32)) & 0xffff_ffff;
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    digits.to_string().bytes().map(letter).collect()
}

/// Creates a pod from a template, without a name, with an owner reference to `owner`.
pub(super) fn pod_from_template(template: &Node, owner: &Node) -> Node {
    let mut pod = map([("apiVersion", "v1".into()), ("kind", "Pod".into())]);
    for field in ["labels", "annotations", "finalizers"] {
        if at(template, &["metadata", field]).is_some() {
            copy_field(&mut pod, template, &["metadata", field]);
        }
    }
    copy_field(&mut pod, template, &["spec"]);
    unset(&mut pod, &["spec", "nodeName"]);
    set(&mut pod, &["metadata", "ownerReferences"], vec![owner_reference(owner)]);
    pod
}

/// A controller owner reference to `owner`.
pub(super) fn owner_reference(owner: &Node) -> Node {
    let text = |path: &[&str]| Node::from(text_at(owner, path));
    map([
        ("apiVersion", text(&["apiVersion"])),
        ("kind", text(&["kind"])),
        ("name", text(&["metadata", "name"])),
        ("uid", text(&["metadata", "uid"])),
        ("controller", true.into()),
        ("blockOwnerDeletion", true.into()),
    ])
}

/// Parses a timestamp of an object.
pub(super) fn time(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let time = GoTime::parse("2006-01-02T15:04:05Z07:00", text, &Zone::utc()).ok()?;
    u64::try_from(time.unix()).ok().map(Duration::from_secs)
}

pub(super) fn condition<'n>(object: &'n Node, kind: &str) -> Option<&'n Node> {
    list_at(object, &["status", "conditions"]).iter().find(|it| text_at(it, &["type"]) == kind)
}

/// Since when a pod is ready; `None` if it is not.
pub(super) fn ready_since(pod: &Node) -> Option<Duration> {
    let ready = condition(pod, "Ready").filter(|it| text_at(it, &["status"]) == "True")?;
    time(text_at(ready, &["lastTransitionTime"])).filter(|_| !is_deleted(pod))
}

/// Whether a pod has succeeded or failed.
pub(super) fn is_finished(pod: &Node) -> bool {
    matches!(text_at(pod, &["status", "phase"]), "Succeeded" | "Failed")
}

/// Whether a pod is pending or running and not being deleted.
pub(super) fn is_active(pod: &Node) -> bool {
    !is_finished(pod) && !is_deleted(pod)
}

pub(super) fn label<'n>(object: &'n Node, name: &str) -> &'n str {
    text_at(object, &["metadata", "labels", name])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_hashes_differ_and_have_no_vowels() {
        let template = |image: &str| map([("image", image.into())]);
        assert_eq!(hash(&template("a")), hash(&template("a")));
        assert_ne!(hash(&template("a")), hash(&template("b")));
        assert!(hash(&template("a")).bytes().all(|letter| LETTERS.contains(&letter)));
    }

    #[test]
    fn timestamps_are_parsed_as_they_are_formatted() {
        assert_eq!(time("2023-11-14T22:13:20Z"), Some(Duration::from_secs(1_700_000_000)));
        assert_eq!(time("soon"), None);
    }
}
