//! What of a release is secret: the data of Secrets, and the values that become part of them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_objects::Object;
use pintle_release::ReleaseVersion;
use pintle_tree::{Map, Node, ValuePath};

/// What is shown instead of a hidden value.
pub const HIDDEN: &str = "(hidden)";

/// Shorter values are no secrets, and would match anything.
const MIN_LENGTH: usize = 4;

/// Parts of keys whose values are secrets though no Secret has them: charts put them into ConfigMaps and arguments, too.
const SECRET_WORDS: [&str; 8] =
    ["password", "passwd", "secret", "token", "apikey", "privatekey", "credential", "accesskey"];

/// The secrets of a version: what its Secrets contain.
#[derive(Clone, Debug, Default)]
pub struct HiddenTexts(BTreeSet<Vec<u8>>);

impl HiddenTexts {
    /// Collects the data of the Secrets of a version, hooks included.
    pub fn of(version: &ReleaseVersion) -> Self {
        let mut found = HiddenTexts::default();
        let hooks = version.hooks.iter().map(|hook| hook.manifest.as_str());
        for manifest in std::iter::once(version.manifest.as_str()).chain(hooks) {
            if !manifest.contains("Secret") {
                continue;
            }
            for object in Object::read_readable(manifest.as_bytes()) {
                found.add(&object);
            }
        }
        found
    }

    fn add(&mut self, object: &Object) {
        if object.kind() != "Secret" {
            return;
        }
        for (field, is_encoded) in [("data", true), ("stringData", false)] {
            let Some(Node::Map(data)) = object.body().get(field) else { continue };
            for text in data.values().filter_map(Node::as_text) {
                self.insert(text.as_bytes());
                if is_encoded && let Ok(decoded) = STANDARD.decode(text.as_bytes()) {
                    self.insert(&decoded);
                }
            }
        }
    }

    fn insert(&mut self, text: &[u8]) {
        let text = text.trim_ascii();
        if text.len() >= MIN_LENGTH {
            self.0.insert(text.to_vec());
        }
    }

    /// Whether a value at a path is secret: a Secret consists of it, or the key says so.
    pub fn hides(&self, path: &ValuePath, value: &Node) -> bool {
        let text: Vec<u8> = match value {
            Node::Str(text) => text.as_bytes().trim_ascii().to_vec(),
            Node::Int(number) => number.to_string().into_bytes(),
            _ => return false,
        };
        if text.is_empty() {
            return false;
        }
        let key = path.last_key().map(|key| key.to_str_lossy().to_lowercase()).unwrap_or_default();
        let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
        // A name of a Secret is none.
        let names_one =
            ["name", "existingsecret", "secretref", "key"].iter().any(|end| letters.ends_with(end));
        let is_named = matches!(value, Node::Str(_))
            && !names_one
            && SECRET_WORDS.iter().any(|word| letters.contains(word));
        is_named || self.0.contains(&text) || (text.len() >= 8 && self.is_part(&text))
    }

    /// Whether a Secret has a text as a part, such as a password in a connection string.
    fn is_part(&self, text: &[u8]) -> bool {
        self.0.iter().any(|secret| secret.len() > text.len() && contains(secret, text))
    }

    /// Replaces secret values by [`HIDDEN`]. Returns where.
    pub fn hide(&self, values: &mut Map<Node>) -> Vec<ValuePath> {
        let mut hidden = Vec::new();
        let mut root = Node::Map(std::mem::take(values));
        self.hide_below(&ValuePath::root(), &mut root, &mut hidden);
        if let Node::Map(map) = root {
            *values = map;
        }
        hidden
    }

    /// Replaces secret values at and below a path.
    pub fn hide_below(&self, path: &ValuePath, node: &mut Node, hidden: &mut Vec<ValuePath>) {
        match node {
            Node::Map(map) => {
                for (key, node) in map.iter_mut() {
                    let path = path.key(key.clone());
                    pintle_tree::with_stack(|| self.hide_below(&path, node, hidden));
                }
            }
            Node::List(items) => {
                for (index, node) in items.iter_mut().enumerate() {
                    pintle_tree::with_stack(|| self.hide_below(&path.index(index), node, hidden));
                }
            }
            leaf if self.hides(path, leaf) => {
                *leaf = HIDDEN.into();
                hidden.push(path.clone());
            }
            _ => {}
        }
    }

    /// Replaces secret texts in a line, whatever it is part of. Only those that are long enough to be no words.
    pub fn hide_in_text(&self, line: &str) -> String {
        let mut line = line.to_owned();
        // Longer ones first: a shorter one may be a part.
        let mut texts: Vec<&str> = self.0.iter().filter_map(|text| std::str::from_utf8(text).ok()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        for text in texts.into_iter().filter(|text| text.len() >= 6 && !text.contains('\n')) {
            if line.contains(text) {
                line = line.replace(text, HIDDEN);
            }
        }
        line
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Puts the recorded values back where [`HIDDEN`] came back from an editor. Returns the places that have no recorded value.
pub fn restore_hidden(values: &mut Map<Node>, recorded: &Map<Node>) -> Vec<ValuePath> {
    let mut missing = Vec::new();
    let mut root = Node::Map(std::mem::take(values));
    restore_below(&ValuePath::root(), &mut root, recorded, &mut missing);
    if let Node::Map(map) = root {
        *values = map;
    }
    missing
}

fn restore_below(path: &ValuePath, node: &mut Node, recorded: &Map<Node>, missing: &mut Vec<ValuePath>) {
    match node {
        Node::Map(map) => {
            for (key, node) in map.iter_mut() {
                let path = path.key(key.clone());
                pintle_tree::with_stack(|| restore_below(&path, node, recorded, missing));
            }
        }
        Node::List(items) => {
            for (index, node) in items.iter_mut().enumerate() {
                pintle_tree::with_stack(|| restore_below(&path.index(index), node, recorded, missing));
            }
        }
        Node::Str(text) if *text == *HIDDEN => match path.find(recorded) {
            Some(value) => *node = value.clone(),
            None => missing.push(path.clone()),
        },
        _ => {}
    }
}

/// Hides the data of an object if it is a Secret. Returns how many values that were.
pub fn hide_object(object: &mut Object) -> usize {
    let mut hidden = 0;
    if object.kind() == "Secret" {
        for field in ["data", "stringData", "binaryData"] {
            match object.body_mut().get_mut(field) {
                Some(Node::Map(data)) => {
                    for (_, value) in data.iter_mut() {
                        *value = HIDDEN.into();
                        hidden += 1;
                    }
                }
                Some(other) if !other.is_nil() => {
                    *other = HIDDEN.into();
                    hidden += 1;
                }
                _ => {}
            }
        }
        // kubectl keeps a copy of all that it applied.
        if let Some(Node::Map(annotations)) = object.metadata_mut().get_mut("annotations")
            && let Some(copy) = annotations.get_mut("kubectl.kubernetes.io/last-applied-configuration")
        {
            *copy = HIDDEN.into();
            hidden += 1;
        }
    }
    if let Some(Node::List(items)) = object.body_mut().get_mut("items") {
        for item in items {
            if let Node::Map(body) = item {
                let mut inner = Object::new(std::mem::take(body));
                hidden += hide_object(&mut inner);
                *body = inner.into_body();
            }
        }
    }
    hidden
}

/// Hides the data of Secrets in the text of an object, line by line, so that lines keep their numbers. What is not laid out as usual
/// is hidden as a whole. Returns how many lines are hidden.
pub fn hide_lines(text: &str) -> (String, usize) {
    if !text.contains("Secret")
        || Object::read_readable(text.as_bytes()).iter().all(|object| !has_secrets(object))
    {
        return (text.to_owned(), 0);
    }
    let mut lines = Vec::new();
    let (mut hidden, mut is_data) = (0, false);
    let is_plain = is_block_secret(text);
    for line in text.split('\n') {
        let is_top = line.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_top {
            is_data = ["data:", "stringData:", "binaryData:"].iter().any(|key| line.starts_with(key));
        }
        let keeps = line.trim().is_empty() || line.starts_with('#') || line == "---";
        let shown = match (is_plain, is_data, is_top) {
            _ if keeps => line.to_owned(),
            (false, ..) => HIDDEN.to_owned(),
            (true, true, true) => match line.split_once(':') {
                Some((key, rest)) if !rest.trim().is_empty() => format!("{key}: {HIDDEN}"),
                _ => line.to_owned(),
            },
            (true, true, false) => hidden_entry(line),
            (true, false, _) => line.to_owned(),
        };
        hidden += usize::from(shown != line);
        lines.push(shown);
    }
    (lines.join("\n"), hidden)
}

fn has_secrets(object: &Object) -> bool {
    hide_object(&mut object.clone()) > 0
}

/// Whether the text is one Secret with a key at the beginning of each line, without anchors and copies by kubectl that go on over lines.
fn is_block_secret(text: &str) -> bool {
    let is_usual = |line: &&str| {
        line.trim().is_empty()
            || line.starts_with([' ', '#'])
            || *line == "---"
            || line
                .split_once(':')
                .is_some_and(|(key, _)| key.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let has_copy = text.contains("last-applied-configuration");
    let is_secret = text.contains("\nkind: Secret") || text.starts_with("kind: Secret");
    is_secret && !has_copy && text.split('\n').all(|line| is_usual(&line))
}

/// `  key: (hidden)`, or a line of a longer text.
fn hidden_entry(line: &str) -> String {
    let indent: String = line.chars().take_while(|first| *first == ' ').collect();
    let rest = &line[indent.len()..];
    let is_key = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-\"'".contains(&byte))
    };
    match rest.split_once(':') {
        Some((key, value))
            if indent.len() <= 4 && is_key(key) && (value.is_empty() || value.starts_with(' ')) =>
        {
            format!("{indent}{key}: {HIDDEN}")
        }
        _ => format!("{indent}{HIDDEN}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: hunter2-long\n  url: |\n    postgres://app:hunter2-long@db\n    more\ntype: Opaque\n";

    fn version() -> ReleaseVersion {
        ReleaseVersion { manifest: SECRET.to_owned(), ..ReleaseVersion::default() }
    }

    fn values(text: &str) -> Map<Node> {
        pintle_yaml::read_values(text.as_bytes()).expect("values")
    }

    #[test]
    fn values_that_secrets_consist_of_are_hidden_and_come_back() {
        let recorded = values(
            "auth: {pw: hunter2-long, user: app, existingSecret: mine}\nlist: [{token: abcdef}]\nport: 5432",
        );
        let mut shown = recorded.clone();
        let hidden = HiddenTexts::of(&version()).hide(&mut shown);
        let hidden: Vec<String> = hidden.iter().map(ToString::to_string).collect();
        assert_eq!(hidden, ["auth.pw", "list[0].token"]);
        assert!(!format!("{shown:?}").contains("hunter2"), "{shown:?}");
        assert!(restore_hidden(&mut shown, &recorded).is_empty());
        assert_eq!(shown, recorded);
        let mut moved = values("other: (hidden)");
        assert_eq!(restore_hidden(&mut moved, &recorded).len(), 1);
    }

    #[test]
    fn lines_of_secrets_are_hidden_and_keep_their_numbers() {
        let (shown, hidden) = hide_lines(SECRET);
        assert_eq!(shown.lines().count(), SECRET.lines().count());
        assert!(!shown.contains("hunter2") && shown.contains("  password: (hidden)"), "{shown}");
        assert!(shown.contains("name: s") && shown.contains("type: Opaque"), "{shown}");
        assert_eq!(hidden, 4);
        assert_eq!(hide_lines("kind: ConfigMap\ndata:\n  a: Secret\n").1, 0);
    }

    #[test]
    fn secrets_in_unusual_layouts_are_hidden_as_a_whole() {
        for text in [
            "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"s\"}, \"data\": {\"a\": \"aHVudGVyMg==\"}}",
            "apiVersion: v1\n\"kind\": Secret\nmetadata: {name: s}\n\"data\":\n  a: aHVudGVyMg==\n",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  data: {a: aHVudGVyMg==}\n",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n? data\n: {a: aHVudGVyMg==}\n",
        ] {
            let (shown, _) = hide_lines(text);
            assert!(!shown.contains("aHVudGVyMg"), "{shown}");
        }
    }

    #[test]
    fn a_live_secret_is_hidden_with_the_copy_that_kubectl_keeps() {
        let text = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"aHVudGVyMg=="}},"data":{"a":"aHVudGVyMg=="}}"#;
        let mut object = Object::read_json(text.as_bytes()).expect("an object");
        assert_eq!(hide_object(&mut object), 2);
        assert!(!String::from_utf8_lossy(&object.to_json()).contains("aHVudGVyMg"));
    }
}
