//! Secrets in reports: decoded into the struct of Kubernetes and re-encoded with redacted or decoded values.
//!
//! helm-diff changes the texts in place: redacting a Secret a second time puts an error into the report, which can
//! happen when renames are searched.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use pintle_tree::{Map, Node, Str};
use pintle_yaml::decode::{Decoder, Problem, read_tree};

use crate::manifest::Object;
use crate::report::SecretDisplay;

/// The kind of the objects that are redacted.
const SECRET: &str = "Secret";

/// Redacts or decodes the values of Secrets; leaves other objects alone.
pub(crate) fn display(old: Option<&mut Object<'_>>, new: Option<&mut Object<'_>>, display: SecretDisplay) {
    // Objects are matched by kind, so that both are Secrets or neither is.
    let others = [old.as_deref(), new.as_deref()].into_iter().flatten().any(|object| object.kind != SECRET);
    if display == SecretDisplay::Plain || others {
        return;
    }
    let mut old = old.map(|object| Opened::new(object, "old"));
    let mut new = new.map(|object| Opened::new(object, "new"));
    let values = |opened: &Option<Opened<'_, '_>>| opened.as_ref().map(|opened| opened.secret.data.clone());
    let (old_values, new_values) = (values(&old), values(&new));
    if let Some(opened) = &mut old {
        opened.show(new_values.as_ref(), "--------", display);
    }
    if let Some(opened) = &mut new {
        opened.show(old_values.as_ref(), "++++++++", display);
    }
    // An error about either Secret replaces the new text, as in helm-diff.
    let failure = old.as_mut().and_then(Opened::write);
    if let Some(opened) = &mut new {
        if let Some(failure) = failure {
            opened.object.content = Cow::Owned(failure);
        }
        if opened.write().is_some() {
            opened.object.content = Cow::Borrowed(b"");
        }
    }
}

/// Redacts the values of a Secret on both sides; objects of other kinds stay as they are.
pub fn redacted_pair(
    kind: &str,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let object =
        |content: Vec<u8>| Object { kind: kind.to_owned(), content: Cow::Owned(content), keep: false };
    let (mut old, mut new) = (old.map(object), new.map(object));
    display(old.as_mut(), new.as_mut(), SecretDisplay::Redacted);
    let content = |object: Option<Object<'_>>| object.map(|object| object.content.into_owned());
    (content(old), content(new))
}

/// A Secret being rewritten.
struct Opened<'o, 'm> {
    object: &'o mut Object<'m>,
    secret: Secret,
    /// Whether it could be decoded.
    good: bool,
    shown: BTreeMap<String, Vec<u8>>,
    display: SecretDisplay,
}

impl<'o, 'm> Opened<'o, 'm> {
    fn new(object: &'o mut Object<'m>, side: &str) -> Self {
        let (mut secret, error) = Secret::decode(&object.content);
        if let Some(error) = &error {
            object.content = Cow::Owned(format!("Error parsing {side} secret: {error}").into_bytes());
        } else {
            let text = std::mem::take(&mut secret.string_data);
            secret.data.extend(text.into_iter().map(|(key, text)| (key, text.into_bytes())));
        }
        let good = error.is_none();
        Opened { object, secret, good, shown: BTreeMap::new(), display: SecretDisplay::Plain }
    }

    fn show(&mut self, others: Option<&BTreeMap<String, Vec<u8>>>, changed: &str, display: SecretDisplay) {
        self.display = display;
        let empty = Vec::new();
        for (key, value) in &self.secret.data {
            let shown = match display {
                SecretDisplay::Decoded | SecretDisplay::Plain => value.clone(),
                SecretDisplay::Redacted => {
                    // A missing value equals an empty one, as in Go.
                    let same = others.is_some_and(|others| others.get(key).unwrap_or(&empty) == value);
                    let mark = if same { "REDACTED" } else { changed };
                    format!("{mark} # ({} bytes)", value.len()).into_bytes()
                }
            };
            self.shown.insert(key.clone(), shown);
        }
    }

    /// Replaces the text of the object. Returns an error text if the values cannot be written.
    fn write(&mut self) -> Option<Vec<u8>> {
        if !self.good {
            return None;
        }
        let (text, failure) = match pintle_yaml::write(&self.secret.tree(&self.shown)) {
            Ok(text) => (text, None),
            Err(error) => (Vec::new(), Some(format!("Error encoding new secret: {error}").into_bytes())),
        };
        let text = match self.display {
            // helm-diff puts the redacted values into `stringData`, as `data` would encode them, and renames the
            // field in the text.
            SecretDisplay::Redacted => replace_first(&text, b"stringData", b"data"),
            SecretDisplay::Decoded | SecretDisplay::Plain => text,
        };
        // The Go struct of Kubernetes encodes an unset timestamp as this null, which no manifest has.
        let text = replace_first(&text, b"  creationTimestamp: null\n", b"");
        let mut content = comment(&self.object.content).to_vec();
        content.extend_from_slice(&text);
        self.object.content = Cow::Owned(content);
        failure
    }
}

/// The first line, if it is a comment: the template that an object comes from.
fn comment(content: &[u8]) -> &[u8] {
    match memchr::memchr(b'\n', content) {
        Some(end) if content.starts_with(b"#") => &content[..=end],
        _ => b"",
    }
}

fn replace_first(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match memchr::memmem::find(text, from) {
        Some(at) => [&text[..at], to, &text[at + from.len()..]].concat(),
        None => text.to_vec(),
    }
}

/// Kubernetes' struct of a Secret.
#[derive(Default)]
struct Secret {
    api_version: String,
    kind: String,
    kind_of_content: String,
    immutable: Option<bool>,
    data: BTreeMap<String, Vec<u8>>,
    string_data: BTreeMap<String, String>,
    metadata: ObjectMeta,
}

/// The fields of metadata that manifests have; others are kept as they are.
#[derive(Default)]
struct ObjectMeta {
    texts: BTreeMap<&'static str, String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    finalizers: Vec<String>,
    others: Vec<(&'static str, Node)>,
}

const METADATA_TEXTS: [&str; 6] = ["generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"];
const METADATA_OTHERS: [&str; 6] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
];

impl Secret {
    /// Decodes as much as possible; the first error does not stop.
    fn decode(content: &[u8]) -> (Secret, Option<String>) {
        let mut secret = Secret::default();
        let tree = match read_tree(content, false) {
            Ok(tree) => tree,
            Err(error) => return (secret, Some(error.to_string())),
        };
        let mut decoder = Decoder::new(false);
        let names = &["apiVersion", "data", "immutable", "kind", "metadata", "stringData", "type"];
        decoder.document(&tree, "v1.Secret", names, |decoder, name, value| match name {
            "apiVersion" => decoder.string(value, &mut secret.api_version),
            "kind" => decoder.string(value, &mut secret.kind),
            "type" => decoder.string(value, &mut secret.kind_of_content),
            "stringData" => decoder.string_map(value, &mut secret.string_data),
            "data" => decode_data(decoder, value, &mut secret.data),
            "immutable" => match value {
                Node::Nil => secret.immutable = None,
                value => decoder.bool(value, secret.immutable.get_or_insert(false)),
            },
            _ => decode_metadata(decoder, value, &mut secret.metadata),
        });
        (secret, decoder.problem(&tree).map(|problem| problem_text(&problem)))
    }

    /// The tree that is written, with `values` as `stringData`. Empty fields are left out.
    fn tree(&self, values: &BTreeMap<String, Vec<u8>>) -> Node {
        let mut map = Map::new();
        let mut text = |key: &str, text: &str| {
            if !text.is_empty() {
                map.insert(key.into(), Node::from(text));
            }
        };
        text("apiVersion", &self.api_version);
        text("kind", &self.kind);
        text("type", &self.kind_of_content);
        if let Some(immutable) = self.immutable {
            map.insert("immutable".into(), Node::Bool(immutable));
        }
        map.insert("metadata".into(), self.metadata.tree());
        if !values.is_empty() {
            let entries = values.iter().map(|(key, value)| (Str::new(key), Node::Str(Str::new(value))));
            map.insert("stringData".into(), Node::Map(entries.collect()));
        }
        Node::Map(map)
    }
}

impl ObjectMeta {
    fn tree(&self) -> Node {
        let mut map: Map<Node> = Map::new();
        for (name, text) in &self.texts {
            if !text.is_empty() {
                map.insert((*name).into(), Node::from(text.as_str()));
            }
        }
        for (name, entries) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            if !entries.is_empty() {
                let entries = entries.iter().map(|(key, text)| (Str::new(key), Node::from(text.as_str())));
                map.insert(name.into(), Node::Map(entries.collect()));
            }
        }
        if !self.finalizers.is_empty() {
            let items = self.finalizers.iter().map(|text| Node::from(text.as_str())).collect();
            map.insert("finalizers".into(), Node::List(items));
        }
        for (name, value) in &self.others {
            map.insert((*name).into(), value.clone());
        }
        Node::Map(map)
    }
}

fn decode_metadata(decoder: &mut Decoder, value: &Node, metadata: &mut ObjectMeta) {
    let mut names: Vec<&'static str> = vec!["annotations", "finalizers", "labels"];
    names.extend(METADATA_TEXTS);
    names.extend(METADATA_OTHERS);
    decoder.structure(value, "v1.ObjectMeta", &names, |decoder, name, value| match name {
        "annotations" => decoder.string_map(value, &mut metadata.annotations),
        "labels" => decoder.string_map(value, &mut metadata.labels),
        "finalizers" => decoder.strings(value, &mut metadata.finalizers),
        name if METADATA_TEXTS.contains(&name) => {
            decoder.string(value, metadata.texts.entry(name).or_default());
        }
        name => {
            if !value.is_nil() {
                metadata.others.push((name, value.clone()));
            }
        }
    });
}

fn decode_data(decoder: &mut Decoder, value: &Node, data: &mut BTreeMap<String, Vec<u8>>) {
    let entries = match value {
        Node::Nil => return data.clear(),
        Node::Map(entries) => entries,
        other => return decoder.clash(other, "map[string][]uint8"),
    };
    for (key, value) in entries.iter() {
        let mut bytes = Vec::new();
        match value {
            Node::Nil => {}
            Node::Str(text) => match decode_base64(text.as_bytes()) {
                Ok(decoded) => bytes = decoded,
                Err(at) => decoder.note(|| format!("illegal base64 data at input byte {at}")),
            },
            other => decoder.clash(other, "[]uint8"),
        }
        data.insert(key.to_str_lossy().into_owned(), bytes);
    }
}

/// The text of helm-diff, which is built with a Go before 1.27: it names the innermost struct, and no keys of maps.
fn problem_text(problem: &Problem) -> String {
    let text = match problem {
        Problem::Type { found, path, wanted } if !path.is_empty() => {
            let mut steps = path.split('.');
            let field = match (steps.next().unwrap_or_default(), steps.next()) {
                ("metadata", Some(name)) => format!("ObjectMeta.metadata.{name}"),
                (name, _) => format!("Secret.{name}"),
            };
            format!("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")
        }
        problem => problem.text("", ""),
    };
    format!("error unmarshaling JSON: while decoding JSON: {text}")
}

/// Decodes base64 as Go does: line breaks do not count, and the error is the offset of the first bad byte.
fn decode_base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let clean: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if let Ok(decoded) = LENIENT.decode(&clean) {
        return Ok(decoded);
    }
    Err(first_bad_byte(text))
}

/// The standard alphabet; like Go's, it does not check the bits after the last byte.
const LENIENT: base64::engine::GeneralPurpose = base64::engine::GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The offset at which Go's decoder reports an error.
fn first_bad_byte(text: &[u8]) -> usize {
    let mut at = 0;
    let next = |at: &mut usize| {
        while *at < text.len() && matches!(text[*at], b'\r' | b'\n') {
            *at += 1;
        }
        let byte = text.get(*at).copied();
        *at += 1;
        byte
    };
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    loop {
        for index in 0..4usize {
            match next(&mut at) {
                None if index == 0 => return text.len(),
                // An incomplete group is reported at its beginning.
                None => return (at - 1).saturating_sub(index),
                Some(byte) if is_digit(byte) => {}
                Some(b'=') if index == 2 => {
                    return match next(&mut at) {
                        // Something follows the padding, or the padding is incomplete.
                        Some(b'=') => trailing(text, at),
                        None => text.len(),
                        Some(_) => at - 2,
                    };
                }
                Some(b'=') if index == 3 => return trailing(text, at),
                Some(_) => return at - 1,
            }
        }
    }
}

/// The offset of what follows the padding.
fn trailing(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && matches!(text[at], b'\r' | b'\n') {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(value: &str) -> String {
        LENIENT.encode(value)
    }

    fn secret(text: &str) -> Object<'static> {
        Object { kind: SECRET.to_owned(), content: Cow::Owned(text.as_bytes().to_vec()), keep: false }
    }

    fn shown(old: &str, new: &str, how: SecretDisplay) -> (String, String) {
        let (mut old, mut new) = (secret(old), secret(new));
        display(Some(&mut old), Some(&mut new), how);
        let text = |object: Object<'_>| String::from_utf8_lossy(&object.content).into_owned();
        (text(old), text(new))
    }

    #[test]
    fn values_are_replaced_by_their_length() {
        let old = format!(
            "# Source: c/s.yaml\nkind: Secret\napiVersion: v1\nmetadata:\n  name: s\n  labels: {{a: 1}}\ndata:\n  a: {}\n  b: {}\n",
            encode("same"),
            encode("old")
        );
        let new = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: same, b: newer}\ntype: Opaque\n";
        let (old, new) = shown(&old, new, SecretDisplay::Redacted);
        assert_eq!(
            old,
            "# Source: c/s.yaml\napiVersion: v1\nkind: Secret\nmetadata:\n  labels:\n    a: \"1\"\n  name: s\ndata:\n  a: 'REDACTED # (4 bytes)'\n  b: '-------- # (3 bytes)'\n"
        );
        assert_eq!(
            new,
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  a: 'REDACTED # (4 bytes)'\n  b: '++++++++ # (5 bytes)'\ntype: Opaque\n"
        );
    }

    #[test]
    fn values_can_be_decoded() {
        let text = format!("kind: Secret\napiVersion: v1\ndata:\n  a: {}\n", encode("x y"));
        let (old, _) = shown(&text, &text, SecretDisplay::Decoded);
        assert_eq!(old, "apiVersion: v1\nkind: Secret\nmetadata: {}\nstringData:\n  a: x y\n");
    }

    #[test]
    fn what_cannot_be_decoded_is_an_error_in_the_report() {
        let (old, new) =
            shown("kind: Secret\ndata: {a: '!'}\n", "kind: Secret\ndata: {a: 1}\n", SecretDisplay::Redacted);
        let start = "error unmarshaling JSON: while decoding JSON: ";
        assert_eq!(old, format!("Error parsing old secret: {start}illegal base64 data at input byte 0"));
        assert_eq!(
            new,
            format!(
                "Error parsing new secret: {start}json: cannot unmarshal number into Go struct field Secret.data of type []uint8"
            )
        );
    }

    #[test]
    fn base64_errors_have_the_offset_of_go() {
        for (text, at) in
            [("abc", 0), ("ab=c", 2), ("abcd!", 4), ("YQ==YQ==", 4), ("YQ=", 3), ("REDACTED # (1 bytes)", 8)]
        {
            assert_eq!(decode_base64(text.as_bytes()), Err(at), "{text}");
        }
        assert_eq!(decode_base64(b"YQ\n=="), Ok(b"a".to_vec()));
    }
}
