//! Converts rendered documents to objects that handlers may change, and back to text. Unchanged documents keep their
//! text byte for byte.

use std::collections::{BTreeMap, VecDeque};

use pintle_events::{Event, RenderedObject};
use pintle_objects::{Object, ObjectId, parallel_map};
#[cfg(feature = "cluster")]
use pintle_release::ReleaseVersion;
use pintle_tree::Node;

use crate::{Error, Result};

/// Texts with the path of their template.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// From this size on, parsing in parallel is faster than in one thread.
const PARALLEL_THRESHOLD: usize = 64 << 10;

/// Initial capacity of the buffer that an object is written to.
const TYPICAL_DOCUMENT_SIZE: usize = 1 << 10;

/// The comment that names the template of a document in a manifest.
#[cfg(feature = "cluster")]
const SOURCE_COMMENT: &[u8] = b"# Source: ";

/// The documents of rendered files, in order.
pub(crate) struct Documents {
    documents: Vec<Document>,
}

struct Document {
    path: String,
    text: Vec<u8>,
    /// `None` for a document without an object, such as one that contains only comments.
    object: Option<Object>,
}

impl Documents {
    /// Parses rendered files.
    pub(crate) fn from_files(files: &[(String, Vec<u8>)]) -> Documents {
        let texts = files.iter().flat_map(|(path, text)| {
            pintle_objects::split(text).map(move |document| (path.as_str(), document))
        });
        let texts: Vec<(&str, &[u8])> = texts.collect();
        let read = |(path, text): &(&str, &[u8])| Document::new((*path).to_owned(), text.to_vec());
        Documents { documents: parallel_map(&texts, PARALLEL_THRESHOLD, |(_, text)| text.len(), read) }
    }

    /// Returns whether every document is certainly a valid object, so that the full validation can be skipped.
    pub(crate) fn are_plain(&self) -> bool {
        self.documents.iter().all(|document| document.object.as_ref().is_some_and(is_plain))
    }

    /// Parses the manifest of a version, then its hooks.
    #[cfg(feature = "cluster")]
    pub(crate) fn from_version(version: &ReleaseVersion) -> Documents {
        let mut documents: Vec<Document> =
            pintle_objects::split(version.manifest.as_bytes()).map(Document::from_manifest).collect();
        let hooks = version.hooks.iter();
        documents
            .extend(hooks.map(|hook| Document::new(hook.path.clone(), hook.manifest.clone().into_bytes())));
        Documents { documents }
    }

    /// Returns all objects with their templates.
    pub(crate) fn objects(&self) -> Vec<RenderedObject> {
        let of = |document: &Document| {
            let object = document.object.clone()?;
            Some(RenderedObject { template: Some(document.path.clone()), object })
        };
        self.documents.iter().filter_map(of).collect()
    }

    /// Returns whether the objects are unchanged and in the same order.
    fn has(&self, objects: &[RenderedObject]) -> bool {
        let mut documents = self.documents.iter().filter(|document| document.object.is_some());
        let same = objects.iter().all(|rendered| {
            documents.next().is_some_and(|document| {
                rendered.template.as_deref() == Some(document.path.as_str())
                    && document.object.as_ref() == Some(&rendered.object)
            })
        });
        same && documents.next().is_none()
    }

    /// Returns the documents with the objects that handlers returned, each as a separate file; `None` when nothing
    /// changed. Objects without a template are put under `chart`.
    ///
    /// # Errors
    /// When an object cannot be written as YAML, or occurs more often than the templates created it.
    pub(crate) fn with_changes(
        self,
        objects: Vec<RenderedObject>,
        event: Event,
        chart: &str,
    ) -> Result<Option<Files>> {
        if self.has(&objects) {
            return Ok(None);
        }
        self.check_duplicates(&objects, event)?;
        let added = format!("{chart}/{event}.yaml");
        let mut texts = self.texts(objects, event, &added)?;
        let mut files = Files::new();
        let mut before: Option<String> = None;
        for document in self.documents {
            // New objects of a template come after its existing ones.
            if let Some(path) = before.replace(document.path.clone()).filter(|path| *path != document.path) {
                append(&mut files, &path, texts.remove(&path));
            }
            let text = match document.object {
                None => Some(document.text),
                Some(_) => texts.get_mut(&document.path).and_then(VecDeque::pop_front),
            };
            files.extend(text.map(|text| (document.path, text)));
        }
        for (path, left) in texts {
            append(&mut files, &path, Some(left));
        }
        Ok(Some(files))
    }

    /// Fails if handlers added a second object with the same identity: only the last one would remain after applying.
    fn check_duplicates(&self, objects: &[RenderedObject], event: Event) -> Result<()> {
        let mut allowed: BTreeMap<ObjectId, usize> = BTreeMap::new();
        for object in self.documents.iter().filter_map(|document| document.object.as_ref()) {
            *allowed.entry(object.id()).or_default() += 1;
        }
        for RenderedObject { object, .. } in
            objects.iter().filter(|rendered| !rendered.object.name().is_empty())
        {
            match allowed.entry(object.id()).or_insert(1) {
                0 => {
                    let id = object.id();
                    return Err(Error::Input(format!("handlers of `{event}` created {id} more than once")));
                }
                left => *left -= 1,
            }
        }
        Ok(())
    }

    /// Returns the texts of objects, grouped by template.
    fn texts(
        &self,
        objects: Vec<RenderedObject>,
        event: Event,
        added: &str,
    ) -> Result<BTreeMap<String, VecDeque<Vec<u8>>>> {
        let mut known: BTreeMap<&str, BTreeMap<ObjectId, VecDeque<&Document>>> = BTreeMap::new();
        for document in &self.documents {
            if let Some(object) = &document.object {
                let of_path = known.entry(&document.path).or_default();
                of_path.entry(object.id()).or_default().push_back(document);
            }
        }
        let mut found: Vec<(String, DocumentText)> = Vec::with_capacity(objects.len());
        for RenderedObject { template, object } in objects {
            // A path that no template has could point anywhere once `--output-dir` writes the files.
            let path = template.filter(|path| known.contains_key(path.as_str()));
            let path = path.unwrap_or_else(|| added.to_owned());
            let duplicates = known.get_mut(path.as_str()).and_then(|of_path| of_path.get_mut(&object.id()));
            let same = duplicates.and_then(|duplicates| take_equal(duplicates, &object));
            found.push((path, same.map_or(DocumentText::Changed(object), DocumentText::Same)));
        }
        let written = parallel_map(
            &found,
            PARALLEL_THRESHOLD,
            |_| TYPICAL_DOCUMENT_SIZE,
            |(_, found)| found.text(event),
        );
        let mut texts: BTreeMap<String, VecDeque<Vec<u8>>> = BTreeMap::new();
        for ((path, _), text) in found.into_iter().zip(written) {
            texts.entry(path).or_default().push_back(text?);
        }
        Ok(texts)
    }
}

/// The text of an object after handlers ran.
enum DocumentText<'a> {
    /// The object is unchanged, and so is its text.
    Same(&'a [u8]),
    Changed(Object),
}

impl DocumentText<'_> {
    fn text(&self, event: Event) -> Result<Vec<u8>> {
        match self {
            DocumentText::Same(text) => Ok(text.to_vec()),
            DocumentText::Changed(object) => pintle_yaml::write(object.body()).map_err(|error| {
                Error::Input(format!("an object of a handler of `{event}` cannot be written: {error}"))
            }),
        }
    }
}

/// Returns whether the fields that identify an object and its annotations are strings, as the full validation demands.
fn is_plain(object: &Object) -> bool {
    let is_text = |path: &[&str]| object.at(path).is_some_and(|node| node.as_str().is_some());
    let annotations = object.at(&["metadata", "annotations"]);
    let are_texts = |node: &Node| {
        node.as_map().is_some_and(|map| map.values().all(|value| matches!(value, Node::Str(_))))
    };
    is_text(&["apiVersion"])
        && is_text(&["kind"])
        && is_text(&["metadata", "name"])
        && annotations.is_none_or(are_texts)
}

impl Document {
    fn new(path: String, text: Vec<u8>) -> Document {
        let object = match pintle_yaml::read_exact(&text) {
            Ok(Node::Map(body)) => Some(Object::new(body)),
            _ => None,
        };
        Document { path, text, object }
    }

    /// Parses a document of a manifest: the source comment, the text and the trailing line break.
    #[cfg(feature = "cluster")]
    fn from_manifest(document: &[u8]) -> Document {
        let end = document.iter().position(|&byte| byte == b'\n').unwrap_or(document.len());
        let (path, text) = match document[..end].strip_prefix(SOURCE_COMMENT) {
            Some(path) => (path, document.get(end + 1..).unwrap_or_default()),
            None => (&b""[..], document),
        };
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        Document::new(String::from_utf8_lossy(path).into_owned(), text.to_vec())
    }
}

fn append(files: &mut Files, path: &str, texts: Option<VecDeque<Vec<u8>>>) {
    files.extend(texts.into_iter().flatten().map(|text| (path.to_owned(), text)));
}

/// Removes and returns the text of the first document that equals an object.
fn take_equal<'a>(duplicates: &mut VecDeque<&'a Document>, object: &Object) -> Option<&'a [u8]> {
    let index = duplicates.iter().position(|document| document.object.as_ref() == Some(object))?;
    duplicates.remove(index).map(|document| document.text.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "# one\nkind:   A # as it was\nmetadata: {name: a}\n";
    const B: &str = "kind: B\nmetadata: {name: b}\n";

    fn documents() -> Documents {
        let text = format!("{A}---\n# only a comment\n---\n{B}");
        Documents::from_files(&[("web/t.yaml".into(), text.into_bytes()), ("web/u.yaml".into(), A.into())])
    }

    fn texts(files: &Files) -> Vec<(&str, &str)> {
        files.iter().map(|(path, text)| (path.as_str(), std::str::from_utf8(text).expect("text"))).collect()
    }

    #[test]
    fn nothing_changed_is_nothing_to_do() {
        let documents = documents();
        let objects = documents.objects();
        assert_eq!(objects.len(), 3);
        assert!(documents.with_changes(objects, Event::PostRender, "web").expect("good").is_none());
    }

    #[test]
    fn only_what_changed_is_rewritten() {
        let documents = documents();
        let mut objects = documents.objects();
        objects[1].object.set_label("x", "y");
        let new = Object::new(pintle_yaml::read_map(b"kind: C\n").expect("a map"));
        for template in [None, Some("../../etc/passwd".to_owned()), Some("web/t.yaml".to_owned())] {
            objects.push(RenderedObject { template, object: new.clone() });
        }
        let files =
            documents.with_changes(objects, Event::PostRender, "web").expect("good").expect("changed");
        assert_eq!(
            texts(&files),
            [
                ("web/t.yaml", A),
                ("web/t.yaml", "# only a comment\n"),
                ("web/t.yaml", "kind: B\nmetadata:\n  labels:\n    x: \"y\"\n  name: b\n"),
                ("web/t.yaml", "kind: C\n"),
                ("web/u.yaml", A),
                ("web/post-render.yaml", "kind: C\n"),
                ("web/post-render.yaml", "kind: C\n"),
            ]
        );
    }

    #[test]
    fn handlers_cannot_make_an_object_twice_but_templates_can() {
        // The templates themselves contain it twice, which Helm allows.
        let twice = Documents::from_files(&[("t".into(), A.into()), ("u".into(), A.into())]);
        let mut objects = twice.objects();
        objects[0].object.set_label("x", "y");
        assert!(twice.with_changes(objects.clone(), Event::PostRender, "web").is_ok());
        let twice = Documents::from_files(&[("t".into(), A.into()), ("u".into(), A.into())]);
        objects.push(objects[0].clone());
        let error =
            twice.with_changes(objects, Event::PostRender, "web").expect_err("one too many").to_string();
        assert_eq!(error, "handlers of `post-render` created A/a more than once");
    }

    #[test]
    fn objects_can_be_taken_away_and_put_in_another_order() {
        let documents = documents();
        let mut objects = documents.objects();
        objects.swap(0, 1);
        objects.pop();
        let files =
            documents.with_changes(objects, Event::PostRender, "web").expect("good").expect("changed");
        assert_eq!(
            texts(&files),
            [("web/t.yaml", B), ("web/t.yaml", "# only a comment\n"), ("web/t.yaml", A)]
        );
    }

    #[test]
    fn a_manifest_comes_apart_as_it_was_put_together() {
        let mut manifest = Vec::new();
        crate::prepare::push_document(&mut manifest, "web/t.yaml", A.as_bytes());
        crate::prepare::push_document(&mut manifest, "web/u.yaml", b"kind: B");
        let version = ReleaseVersion {
            manifest: String::from_utf8(manifest).expect("text"),
            ..ReleaseVersion::default()
        };
        let documents = Documents::from_version(&version).documents;
        let parts: Vec<(&str, &[u8])> =
            documents.iter().map(|document| (document.path.as_str(), document.text.as_slice())).collect();
        assert_eq!(parts, [("web/t.yaml", A.as_bytes()), ("web/u.yaml", &b"kind: B"[..])]);
    }
}
