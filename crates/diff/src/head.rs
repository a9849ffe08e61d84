//! The head of a document, decoded as by go-yaml: scalars in string fields keep their spelling.

use pintle_yaml::Builder;
use pintle_yaml::native::{Maps, Native};

use crate::{Error, Result};

/// The fields by which objects are identified and selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The annotation `helm.sh/hook`.
    pub(crate) hook: Option<String>,
    /// The annotation `helm.sh/resource-policy`.
    pub(crate) resource_policy: Option<String>,
    /// The annotation `helm-diff/base-name`, which replaces the name.
    pub(crate) base_name: Option<String>,
}

const HOOK: &str = "helm.sh/hook";
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
const BASE_NAME: &str = "helm-diff/base-name";

impl Head {
    /// Decodes the head of the first document of `content`.
    pub(crate) fn read(content: &[u8]) -> Result<Head> {
        match pintle_yaml::read_with(content, &mut HeadBuilder::default()) {
            Ok(Some(head)) => Ok(head),
            // An unusual head, or an error with the message of the conversion to JSON.
            // The slow path decides: it keeps the spelling of scalars such as `1.0`, and has the error messages of
            // go-yaml.
            Ok(None) | Err(_) => Head::read_native(content),
        }
    }

    fn read_native(content: &[u8]) -> Result<Head> {
        let failed = |message: String| Error::Document {
            message,
            document: String::from_utf8_lossy(content).into_owned(),
        };
        let root = Native::read(content, Maps::Sorted).map_err(|error| failed(error.to_string()))?;
        Head::from_native(&root)
            .map_err(|field| failed(format!("yaml: unmarshal errors:\n  `{field}` has the wrong type")))
    }

    /// Decodes a head; the error is the field of the wrong type.
    fn from_native(root: &Native) -> std::result::Result<Head, &'static str> {
        let metadata = map_in(root, "metadata")?;
        let annotations = metadata.map_or(Ok(None), |metadata| map_in(metadata, "annotations"))?;
        if let Some(Native::Map(entries)) = annotations
            && entries.iter().any(|(_, value)| !matches!(value, Native::Scalar(_)))
        {
            return Err("metadata.annotations");
        }
        let annotation = |name| annotations.and_then(|map| text_in(map, name).transpose()).transpose();
        let field = |map: Option<&Native>, name| match map {
            Some(map) => Ok(text_in(map, name)?.unwrap_or_default()),
            None => Ok(String::new()),
        };
        Ok(Head {
            api_version: field(Some(root), "apiVersion")?,
            kind: field(Some(root), "kind")?,
            namespace: field(metadata, "namespace")?,
            name: field(metadata, "name")?,
            hook: annotation(HOOK)?,
            resource_policy: annotation(RESOURCE_POLICY)?,
            base_name: annotation(BASE_NAME)?,
        })
    }

    /// The key by which helm-diff matches objects: an API version may change, a group may not.
    pub(crate) fn key(&self, namespace: &str) -> String {
        // The core group has no slash, so that its version takes the place of the group.
        let group = self.api_version.rsplit_once('/').map_or(self.api_version.as_str(), |(group, _)| group);
        let name = self.base_name.as_ref().unwrap_or(&self.name);
        format!("{namespace}, {name}, {} ({group})", self.kind)
    }
}

/// The map under a key, if it is there and not nil.
fn map_in<'n>(node: &'n Native, key: &'static str) -> std::result::Result<Option<&'n Native>, &'static str> {
    match node.get(key) {
        None => match node {
            Native::List(_) => Err("document"),
            Native::Scalar(scalar) if scalar.text().is_some() => Err("document"),
            _ => Ok(None),
        },
        Some(map @ Native::Map(_)) => Ok(Some(map)),
        Some(Native::Scalar(scalar)) if scalar.text().is_none() => Ok(None),
        Some(_) => Err(key),
    }
}

/// The text under a key; nil is empty.
fn text_in(node: &Native, key: &'static str) -> std::result::Result<Option<String>, &'static str> {
    match node.get(key) {
        None => Ok(None),
        Some(Native::Scalar(scalar)) => {
            Ok(Some(scalar.text().map(|text| text.to_str_lossy().into_owned()).unwrap_or_default()))
        }
        Some(_) => Err(key),
    }
}

/// Reads a head without building the rest of the document. The result is `None` if a field is not a string: the
/// spelling of other scalars is not known here.
#[derive(Default)]
struct HeadBuilder {
    head: Head,
    /// The depth of the open collections.
    depth: usize,
    /// Whether the document is a map.
    is_map: bool,
    /// The fields to the current position: at most `metadata` and `annotations`.
    level: Level,
    field: Field,
    unusual: bool,
}

/// The innermost open map that belongs to the head.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Level {
    #[default]
    Root,
    Metadata,
    Annotations,
}

/// What the next value is for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Field {
    #[default]
    Other,
    ApiVersion,
    Kind,
    Metadata,
    Namespace,
    Name,
    Annotations,
    Hook,
    ResourcePolicy,
    BaseName,
}

impl Level {
    fn depth(self) -> usize {
        match self {
            Level::Root => 1,
            Level::Metadata => 2,
            Level::Annotations => 3,
        }
    }
}

impl HeadBuilder {
    /// Whether the coming value is a direct child of the innermost map of the head.
    fn is_direct(&self) -> bool {
        self.depth == self.level.depth()
    }

    fn scalar(&mut self, text: Option<&[u8]>) {
        if self.depth == 0 {
            self.unusual = true;
        }
        if !self.is_direct() {
            return;
        }
        let field = std::mem::take(&mut self.field);
        let Some(text) = text else {
            self.unusual |= field != Field::Other;
            return;
        };
        let text = || String::from_utf8_lossy(text).into_owned();
        match field {
            Field::Other => {}
            Field::ApiVersion => self.head.api_version = text(),
            Field::Kind => self.head.kind = text(),
            Field::Namespace => self.head.namespace = text(),
            Field::Name => self.head.name = text(),
            Field::Hook => self.head.hook = Some(text()),
            Field::ResourcePolicy => self.head.resource_policy = Some(text()),
            Field::BaseName => self.head.base_name = Some(text()),
            Field::Metadata | Field::Annotations => self.unusual = true,
        }
    }

    fn begin(&mut self, map: bool) {
        if self.depth == 0 {
            self.is_map = map;
        } else if self.is_direct() {
            let field = std::mem::take(&mut self.field);
            match field {
                Field::Metadata if map => self.level = Level::Metadata,
                Field::Annotations if map => self.level = Level::Annotations,
                Field::Other if self.level != Level::Annotations => {}
                _ => self.unusual = true,
            }
        }
        self.depth += 1;
    }

    fn end(&mut self) {
        self.depth -= 1;
        self.field = Field::Other;
        if self.depth < self.level.depth() {
            self.level = match self.level {
                Level::Annotations => Level::Metadata,
                Level::Root | Level::Metadata => Level::Root,
            };
        }
    }
}

impl Builder for HeadBuilder {
    type Node = Option<Head>;

    fn reset(&mut self) {
        *self = HeadBuilder::default();
    }

    fn nil(&mut self) {
        // Nil leaves a field empty, and a document without anything has no head.
        if self.is_direct() && matches!(self.field, Field::Hook | Field::ResourcePolicy | Field::BaseName) {
            self.unusual = true;
        }
        self.field = Field::Other;
    }

    fn bool(&mut self, _: bool) {
        self.scalar(None);
    }

    fn int(&mut self, _: i64) {
        self.scalar(None);
    }

    fn uint(&mut self, _: u64) {
        self.scalar(None);
    }

    fn float(&mut self, _: f64) {
        self.scalar(None);
    }

    fn str(&mut self, text: &[u8]) {
        self.scalar(Some(text));
    }

    fn begin_list(&mut self) {
        self.begin(false);
    }

    fn end_list(&mut self) {
        self.end();
    }

    fn begin_map(&mut self) {
        self.begin(true);
    }

    fn key(&mut self, key: &[u8]) {
        if !self.is_direct() {
            return;
        }
        self.field = match (self.level, key) {
            (Level::Root, b"apiVersion") => Field::ApiVersion,
            (Level::Root, b"kind") => Field::Kind,
            (Level::Root, b"metadata") => Field::Metadata,
            (Level::Metadata, b"namespace") => Field::Namespace,
            (Level::Metadata, b"name") => Field::Name,
            (Level::Metadata, b"annotations") => Field::Annotations,
            (Level::Annotations, key) if key == HOOK.as_bytes() => Field::Hook,
            (Level::Annotations, key) if key == RESOURCE_POLICY.as_bytes() => Field::ResourcePolicy,
            (Level::Annotations, key) if key == BASE_NAME.as_bytes() => Field::BaseName,
            _ => Field::Other,
        };
    }

    fn end_map(&mut self) {
        self.end();
    }

    fn finish(&mut self) -> Option<Head> {
        (!self.unusual).then(|| std::mem::take(&mut self.head))
    }
}

/// The items of a document whose kind ends in `List`, each re-encoded in the order of its keys.
pub(crate) fn list_items(content: &[u8]) -> Result<Vec<Vec<u8>>> {
    let failed = |message: String| Error::Document {
        message,
        document: String::from_utf8_lossy(content).into_owned(),
    };
    let root = Native::read(content, Maps::Ordered).map_err(|error| failed(error.to_string()))?;
    let items = match root.get("items") {
        None => return Ok(Vec::new()),
        Some(Native::List(items)) => items,
        Some(Native::Scalar(scalar)) if scalar.text().is_none() => return Ok(Vec::new()),
        Some(_) => return Err(failed("yaml: unmarshal errors:\n  `items` is not a list".to_owned())),
    };
    let write = |item: &Native| match item {
        Native::Map(_) => Ok(item.write()),
        Native::Scalar(scalar) if scalar.text().is_none() => Ok(b"{}\n".to_vec()),
        _ => Err(failed("yaml: unmarshal errors:\n  an item of `items` is not a map".to_owned())),
    };
    items.iter().map(write).collect()
}

/// Re-encodes a document, so that differences of style disappear.
pub(crate) fn normalize(content: &[u8]) -> Result<Vec<u8>> {
    match Native::read(content, Maps::Sorted) {
        Ok(node) => Ok(node.write()),
        Err(error) => Err(Error::Document {
            message: error.to_string(),
            document: String::from_utf8_lossy(content).into_owned(),
        }),
    }
}

/// Whether text is empty or white space, as Go's `strings.TrimSpace` sees it.
pub(crate) fn is_blank(text: &[u8]) -> bool {
    trim(text).is_empty()
}

/// Removes white space at both ends, as Go's `bytes.TrimSpace` does.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => text.trim_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fields_of_the_head_are_read() {
        let text = b"apiVersion: apps/v1\nkind: Deployment\nspec:\n  kind: no\n  template:\n    metadata:\n      name: no\nmetadata:\n  labels: {name: no}\n  name: web\n  annotations:\n    a: 1\n    helm.sh/hook: test\n  namespace: prod\n";
        let head = Head::read(text).expect("a good head");
        assert_eq!(head.key("prod"), "prod, web, Deployment (apps)");
        assert_eq!((head.namespace.as_str(), head.hook.as_deref()), ("prod", Some("test")));
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let head =
            Head::read(b"kind: A\napiVersion: v1\nmetadata: {name: 0x10, namespace: ~}\n").expect("a head");
        assert_eq!(head.key(""), ", 0x10, A (v1)");
    }

    #[test]
    fn wrong_types_are_errors() {
        for text in
            ["metadata: []", "metadata: {annotations: 1}", "kind: {}", "metadata: {annotations: {a: []}}"]
        {
            assert!(Head::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn comments_have_no_head() {
        assert_eq!(Head::read(b"# Source: x\n").expect("no head"), Head::default());
    }
}
