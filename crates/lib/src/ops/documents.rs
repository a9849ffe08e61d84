//! `recorded_documents`: the manifest of a version, document by document.

use std::collections::BTreeMap;

use pintle_objects::{Object, ObjectId, split};
use pintle_release::ReleaseVersion;

/// A document of a recorded manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDocument {
    /// The object; empty if the document cannot be read.
    pub id: ObjectId,
    /// The template; empty if the document does not say.
    pub source: String,
    /// The line of the first line of the text, as `values --explain FILE:LINE` counts them.
    pub line: usize,
    /// The text, without the comment that names the template.
    pub text: String,
}

/// The documents of the manifest of a version, in its order. Hooks are not part of it.
pub fn recorded_documents(version: &ReleaseVersion) -> Vec<RecordedDocument> {
    let mut printed: BTreeMap<String, usize> = BTreeMap::new();
    let documents = split(version.manifest.as_bytes()).map(|document| {
        let text = String::from_utf8_lossy(document);
        let (source, text) = match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("# Source: ") => {
                (first.trim_start_matches("# Source: ").trim().to_owned(), rest)
            }
            _ => (String::new(), &*text),
        };
        // A separator and the comment are before each.
        let before = printed.entry(source.clone()).or_default();
        let line = *before + 3;
        *before += 2 + text.trim_end().split('\n').count();
        let id = Object::read_readable(text.as_bytes()).first().map(Object::id).unwrap_or_default();
        RecordedDocument { id, source, line, text: text.trim_end().to_owned() }
    });
    documents.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_their_template_and_the_line_in_it() {
        let manifest = "---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n\
                        ---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
        let version = ReleaseVersion { manifest: manifest.to_owned(), ..ReleaseVersion::default() };
        let documents = recorded_documents(&version);
        let heads: Vec<(&str, usize)> =
            documents.iter().map(|document| (document.id.name.as_str(), document.line)).collect();
        assert_eq!(heads, [("a", 3), ("b", 8)]);
        assert_eq!(documents[0].source, "web/templates/a.yaml");
        assert!(documents[0].text.starts_with("apiVersion") && documents[0].text.ends_with("{name: a}"));
    }
}
