//! Secrets that are encrypted in git: each value becomes a placeholder made from its ciphertext, so that a change is seen and
//! no value is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::{Map, Node};
use sha2::{Digest as _, Sha256};

use crate::SourceObject;

/// What placeholders begin with.
pub(crate) const PREFIX: &str = "encrypted-";

/// The placeholder of a ciphertext.
pub(crate) fn placeholder(ciphertext: &[u8]) -> String {
    let digest = Sha256::digest(ciphertext);
    let digits: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{digits}")
}

/// Replaces what SOPS encrypted by placeholders. Returns whether there was anything.
pub(crate) fn close(object: &mut SourceObject) -> bool {
    let mut found = object.body.remove("sops").is_some();
    if found {
        for (_, node) in object.body.iter_mut() {
            close_node(node, 0);
        }
    }
    // Files that a generator put into a Secret may be encrypted as a whole.
    if object.kind() == "Secret"
        && let Some(Node::Map(data)) = object.body.get_mut("data")
    {
        for (_, node) in data.iter_mut() {
            let Some(text) = node.as_str() else { continue };
            let Ok(bytes) = STANDARD.decode(text) else { continue };
            if is_encrypted_file(&bytes) {
                *node = Node::from(placeholder(&bytes));
                found = true;
            }
        }
    }
    found
}

fn is_encrypted_file(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains("ENC[AES256_GCM,") && ["sops:", "\"sops\"", "sops_"].iter().any(|mark| text.contains(mark))
}

const MAX_DEPTH: usize = 100;

fn close_node(node: &mut Node, depth: usize) {
    match node {
        Node::Str(text) if text.as_bytes().starts_with(b"ENC[") => {
            *node = Node::from(placeholder(text.as_bytes()));
        }
        Node::List(items) if depth < MAX_DEPTH => {
            items.iter_mut().for_each(|item| close_node(item, depth + 1))
        }
        Node::Map(map) if depth < MAX_DEPTH => {
            map.iter_mut().for_each(|(_, node)| close_node(node, depth + 1));
        }
        _ => {}
    }
}

/// The Secret that a controller makes from a SealedSecret or an ExternalSecret.
pub(crate) fn produced(object: &SourceObject) -> Option<SourceObject> {
    let (name, keys) = match (object.group(), object.kind()) {
        ("bitnami.com", "SealedSecret") => {
            let data = object.at(&["spec", "encryptedData"]).and_then(Node::as_map);
            let data = data.map(|data| {
                let entry = |(key, node): (&pintle_tree::Str, &Node)| {
                    (key.to_string(), placeholder(node.as_text().map_or(b"", |text| text.as_bytes())))
                };
                data.iter().map(entry).collect::<Vec<_>>()
            });
            (object.name(), data.unwrap_or_default())
        }
        ("external-secrets.io", "ExternalSecret") => {
            let name = match object.text(&["spec", "target", "name"]) {
                "" => object.name(),
                name => name,
            };
            (name, external_keys(object))
        }
        _ => return None,
    };
    let mut data = Map::new();
    for (key, value) in keys {
        data.insert(key.into(), Node::from(value));
    }
    let mut metadata = Map::new();
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), object.namespace().into());
    let mut body = Map::new();
    body.insert("apiVersion".into(), "v1".into());
    body.insert("kind".into(), "Secret".into());
    body.insert("metadata".into(), Node::Map(metadata));
    body.insert("stringData".into(), Node::Map(data));
    // Some keys are known only where the values are.
    body.insert("isOpen".into(), Node::Bool(!object.list(&["spec", "dataFrom"]).is_empty()));
    Some(SourceObject { body, built: None, ..object.clone() })
}

fn external_keys(object: &SourceObject) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for item in object.list(&["spec", "data"]) {
        let key = item.get("secretKey").and_then(Node::as_str).unwrap_or_default();
        let reference = pintle_tree::json::write(item).unwrap_or_default();
        keys.push((key.to_owned(), placeholder(&reference)));
    }
    // A template decides the keys.
    if let Some(template) = object.at(&["spec", "target", "template", "data"]).and_then(Node::as_map) {
        for (key, node) in template.iter() {
            let text = pintle_tree::json::write(node).unwrap_or_default();
            keys.retain(|(known, _)| *known != key.to_string());
            keys.push((key.to_string(), placeholder(&text)));
        }
    }
    keys
}

/// Whether further keys than those listed may exist.
pub(crate) fn is_open(object: &SourceObject) -> bool {
    object.at(&["isOpen"]).and_then(Node::as_bool) == Some(true)
}

/// The text of a key of a ConfigMap or Secret.
pub(crate) fn data(object: &SourceObject, key: &str) -> Option<Vec<u8>> {
    let at = |field: &str| object.at(&[field]).and_then(|data| data.get(key)).and_then(Node::as_text);
    if let Some(text) = at("stringData") {
        return Some(text.as_bytes().to_vec());
    }
    let text = at("data")?;
    match object.kind() {
        // A placeholder stands for the value, not for its encoding.
        "Secret" if text.as_bytes().starts_with(PREFIX.as_bytes()) => Some(text.as_bytes().to_vec()),
        "Secret" => STANDARD.decode(text.as_bytes()).ok(),
        _ => Some(text.as_bytes().to_vec()),
    }
}

/// All keys of a ConfigMap or Secret.
pub(crate) fn keys(object: &SourceObject) -> Vec<String> {
    let of = |field: &str| object.at(&[field]).and_then(Node::as_map);
    let mut keys: Vec<String> = ["data", "stringData"]
        .iter()
        .filter_map(|field| of(field))
        .flat_map(|data| data.keys().map(ToString::to_string))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Snapshot};

    fn object(text: &str) -> SourceObject {
        let files = Snapshot::new([("a.yaml".to_owned(), Entry::File(text.as_bytes().into()))]);
        crate::document::objects(&files, "a.yaml").unwrap().remove(0)
    }

    #[test]
    fn encrypted_values_become_placeholders_that_change_with_them() {
        let text = |cipher: &str| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData:\n  key: ENC[AES256_GCM,data:{cipher}]\nsops: {{mac: x}}\n"
            )
        };
        let mut first = object(&text("aaaa"));
        let mut second = object(&text("bbbb"));
        assert!(close(&mut first) && close(&mut second));
        assert!(first.at(&["sops"]).is_none());
        let value = data(&first, "key").unwrap();
        assert!(value.starts_with(PREFIX.as_bytes()));
        assert_ne!(Some(value), data(&second, "key"));
    }

    #[test]
    fn sealed_and_external_secrets_make_secrets() {
        let sealed = object(
            "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: s, namespace: n}\nspec: {encryptedData: {a: AgB}}\n",
        );
        assert_eq!(keys(&produced(&sealed).unwrap()), ["a"]);
        let external = object(
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: s}\nspec: {target: {name: other}, dataFrom: [{extract: {key: x}}], data: [{secretKey: b, remoteRef: {key: y}}]}\n",
        );
        let made = produced(&external).unwrap();
        assert_eq!((made.name(), keys(&made)), ("other", vec!["b".to_owned()]));
        assert!(is_open(&made));
    }
}
