//! Splits a manifest into objects, with helm-diff's keys.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use memchr::memmem;

use crate::head::{Head, list_items, normalize, trim};
use crate::{Error, Result};

/// The values of the annotation `helm.sh/hook` by which helm-diff recognizes tests.
pub const TEST_HOOKS: [&str; 2] = ["test", "test-success"];

/// How a manifest is split.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// The namespace of objects that name none.
    pub namespace: String,
    /// Re-encodes all objects, so that differences of style disappear.
    pub normalize: bool,
    /// Keeps tests.
    pub include_tests: bool,
}

/// One object of a manifest.
#[derive(Clone, Debug)]
pub struct Object<'m> {
    /// Its kind.
    pub kind: String,
    /// Its text; redacting changes it.
    pub content: Cow<'m, [u8]>,
    /// Whether its resource policy keeps it in the cluster when it is removed from the chart.
    pub keep: bool,
}

impl Object<'_> {
    /// The text, if it is as it was in the manifest.
    fn unchanged(&self) -> Option<&[u8]> {
        match &self.content {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }
}

/// The objects of a manifest by key.
#[derive(Clone, Debug, Default)]
pub struct Index<'m> {
    pub(crate) objects: BTreeMap<String, Object<'m>>,
    /// Keys that occurred again; the first object counts.
    pub duplicates: Vec<String>,
}

/// The largest document that helm-diff reads: the buffer of its scanner.
const MAX_DOCUMENT: usize = 10 << 20;

const SEPARATOR: &[u8] = b"\n---\n";

impl<'m> Index<'m> {
    /// Splits a manifest.
    ///
    /// # Errors
    /// When a document is not YAML, its head has the wrong types, or it is too large.
    pub fn parse(manifest: &'m [u8], options: &ParseOptions) -> Result<Index<'m>> {
        Index::parse_beside(manifest, options, &Index::default())
    }

    /// As [`Index::parse`], for the same options as another index of which most documents are the same. These are not parsed
    /// again.
    ///
    /// # Errors
    /// As [`Index::parse`].
    pub fn parse_beside(manifest: &'m [u8], options: &ParseOptions, other: &Index<'_>) -> Result<Index<'m>> {
        let known: BTreeMap<&[u8], (&String, &Object<'_>)> = other
            .objects
            .iter()
            .filter_map(|(key, object)| Some((object.unchanged()?, (key, object))))
            .collect();
        let mut index = Index::default();
        for document in documents(manifest) {
            // Go's scanner must have the separator in its buffer, too.
            if document.len() + SEPARATOR.len() > MAX_DOCUMENT {
                return Err(Error::TooLong);
            }
            let content = trim(document);
            match known.get(content) {
                _ if content.is_empty() => {}
                Some((key, same)) => {
                    let object =
                        Object { kind: same.kind.clone(), content: Cow::Borrowed(content), keep: same.keep };
                    index.insert((*key).clone(), object);
                }
                None => index.add(Cow::Borrowed(content), options)?,
            }
        }
        Ok(index)
    }

    fn add(&mut self, content: Cow<'m, [u8]>, options: &ParseOptions) -> Result<()> {
        let head = Head::read(&content)?;
        if head.api_version.is_empty() && head.kind.is_empty() {
            return Ok(());
        }
        if head.kind.ends_with("List") {
            // Before the checks below: the items are objects of their own, with their own hooks and policies.
            return list_items(&content)?
                .into_iter()
                .try_for_each(|item| self.add(Cow::Owned(item), options));
        }
        let content = if options.normalize { Cow::Owned(normalize(&content)?) } else { content };
        let is_test = head.hook.as_deref().is_some_and(|hook| TEST_HOOKS.contains(&hook));
        if is_test && !options.include_tests {
            return Ok(());
        }
        let namespace = if head.namespace.is_empty() { &options.namespace } else { &head.namespace };
        let key = head.key(namespace);
        let keep = head.resource_policy.as_deref() == Some("keep");
        self.insert(key, Object { kind: head.kind, content, keep });
        Ok(())
    }

    /// Adds an object unless there is one under its key.
    fn insert(&mut self, key: String, object: Object<'m>) {
        match self.objects.entry(key) {
            Entry::Occupied(taken) => self.duplicates.push(taken.key().clone()),
            Entry::Vacant(free) => {
                free.insert(object);
            }
        }
    }

    /// Adds a live object, in place of the one with the same key, and returns the key.
    ///
    /// # Errors
    /// As [`Index::parse`].
    pub fn replace_by_live(&mut self, live: &[u8], options: &ParseOptions) -> Result<Option<String>> {
        let mut index = Index::default();
        // Live objects are written by the server, so that only normalized text can be compared.
        index.add(Cow::Owned(live.to_vec()), &ParseOptions { normalize: true, ..options.clone() })?;
        let Some((key, mut object)) = index.objects.pop_first() else { return Ok(None) };
        object.content = Cow::Owned(object.content.trim_ascii_end().to_vec());
        self.objects.insert(key.clone(), object);
        Ok(Some(key))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The same objects by template, for comparing two releases whose objects have different names.
    #[must_use]
    pub fn by_template(self) -> Index<'m> {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        let mut objects = BTreeMap::new();
        for object in self.objects.into_values() {
            let line = object.content.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let mut template = String::from_utf8_lossy(line).replacen("# Source: ", "", 1);
            let seen = count.entry(template.clone()).or_default();
            if objects.contains_key(&template) {
                *seen += 1;
                template.push_str(&format!(" {seen}"));
            } else {
                *seen += 1;
            }
            objects.insert(template, object);
        }
        Index { objects, duplicates: self.duplicates }
    }
}

/// The documents of a manifest; a separator may be at its very beginning.
fn documents(manifest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(manifest.strip_prefix(b"---\n").unwrap_or(manifest));
    std::iter::from_fn(move || {
        let text = rest?;
        match memmem::find(text, SEPARATOR) {
            Some(at) => {
                rest = Some(&text[at + SEPARATOR.len()..]);
                Some(&text[..at])
            }
            None => {
                rest = None;
                Some(text)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str, options: &ParseOptions) -> Vec<String> {
        let index = Index::parse(text.as_bytes(), options).expect("a good manifest");
        index.keys().map(str::to_owned).collect()
    }

    #[test]
    fn objects_are_known_by_namespace_name_kind_and_group() {
        let text = "---\n# Source: a\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n---\n# only a comment\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: prod}\n";
        let options = ParseOptions { namespace: "default".to_owned(), ..ParseOptions::default() };
        assert_eq!(keys(text, &options), ["default, b, Service (v1)", "prod, a, Deployment (apps)"]);
    }

    #[test]
    fn lists_are_expanded_in_the_order_of_their_keys() {
        let text =
            "kind: List\napiVersion: v1\nitems:\n- kind: Service\n  apiVersion: v1\n  metadata: {name: a}\n";
        let index = Index::parse(text.as_bytes(), &ParseOptions::default()).expect("a good manifest");
        let object = index.objects.get(", a, Service (v1)").expect("the item");
        assert_eq!(&*object.content, b"kind: Service\napiVersion: v1\nmetadata:\n  name: a\n");
    }

    #[test]
    fn tests_and_repetitions_are_left_out() {
        let text = "kind: Pod\napiVersion: v1\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n";
        let index = Index::parse(text.as_bytes(), &ParseOptions::default()).expect("a good manifest");
        assert_eq!(index.keys().collect::<Vec<_>>(), [", a, Pod (v1)"]);
        assert_eq!(index.duplicates, [", a, Pod (v1)"]);
        let all = ParseOptions { include_tests: true, ..ParseOptions::default() };
        assert_eq!(keys(text, &all).len(), 2);
    }

    #[test]
    fn documents_of_another_index_are_recognised_and_not_trusted_beyond_their_text() {
        let object = |name: &str, data: &str| {
            format!("kind: A\napiVersion: v1\nmetadata: {{name: {name}}}\ndata: {data}\n")
        };
        let policy =
            "kind: B\napiVersion: v1\nmetadata: {name: b, annotations: {helm.sh/resource-policy: keep}}\n";
        let list = "kind: List\napiVersion: v1\nitems: [{kind: C, apiVersion: v1, metadata: {name: c}}]\n";
        let old = [object("a", "1").as_str(), policy, list].join("---\n");
        let new = [object("a", "2").as_str(), object("d", "1").as_str(), policy, policy, list].join("---\n");
        for normalize in [false, true] {
            let options = ParseOptions { normalize, ..ParseOptions::default() };
            let old = Index::parse(old.as_bytes(), &options).expect("a good manifest");
            let beside = Index::parse_beside(new.as_bytes(), &options, &old).expect("a good manifest");
            let alone = Index::parse(new.as_bytes(), &options).expect("a good manifest");
            assert_eq!(format!("{beside:?}"), format!("{alone:?}"));
            assert_eq!(beside.len(), 4);
            assert_eq!(beside.duplicates, [", b, B (v1)"]);
        }
    }

    #[test]
    fn templates_of_several_objects_are_numbered() {
        let text = "# Source: c/a.yaml\nkind: A\napiVersion: v1\nmetadata: {name: a}\n---\n# Source: c/a.yaml\nkind: A\napiVersion: v1\nmetadata: {name: b}\n";
        let index = Index::parse(text.as_bytes(), &ParseOptions::default()).expect("a good manifest");
        assert_eq!(index.by_template().keys().collect::<Vec<_>>(), ["c/a.yaml", "c/a.yaml 2"]);
    }
}
