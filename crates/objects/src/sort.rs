//! Sorts rendered files into objects and hooks, in the order in which they are applied.

use crate::head::{self, Head, HeadError};
use crate::hook::{self, Classification, Hook};
use crate::{Error, LogLine, Order, parallel_map, split};

/// Below this many bytes the heads are decoded on the calling thread; starting threads would cost more than it saves.
const PARALLEL_THRESHOLD: usize = 256 * 1024;

/// A document that is an ordinary object.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest<'a> {
    /// The rendered file.
    pub path: &'a str,
    /// The document, a slice of the rendered text.
    pub content: &'a [u8],
    /// Its head.
    pub head: Head,
}

/// Rendered files, sorted into objects and hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted<'a> {
    /// The ordinary objects by kind order; equal kinds keep the order of the files.
    pub manifests: Vec<Manifest<'a>>,
    /// The hooks, in the same order. Weights are not considered here.
    pub hooks: Vec<Hook<'a>>,
    /// Hooks with an unknown event, which Helm neither installs nor runs, without their events.
    pub dropped: Vec<Hook<'a>>,
    /// Log lines, in order.
    pub log: Vec<LogLine>,
}

/// One document of a rendered file.
struct Document<'a> {
    path: &'a str,
    index: usize,
    content: &'a [u8],
}

/// Splits `files` (path and rendered text, in any order) into documents and sorts these by `order`.
///
/// Files are taken in byte order of their paths. Partials, whose base name begins with `_`, are left out.
///
/// # Errors
/// The first document that is not YAML, or whose head has fields of the wrong type.
pub fn sort<'a, P, T>(files: &'a [(P, T)], order: Order) -> Result<Sorted<'a>, Error>
where
    P: AsRef<str>,
    T: AsRef<[u8]>,
{
    let documents = documents(files);
    let heads = heads(&documents);
    let mut sorted = Sorted::default();
    for (document, head) in documents.iter().zip(heads) {
        let head = match head {
            Ok(head) => head,
            // The documents before it are classified already, so their log lines come before the error as in
            // Helm.
            Err(error) => return Err(failure(document, error, sorted.log)),
        };
        match hook::classify(document.path, document.content, &head) {
            Classification::NotAHook => {
                sorted.manifests.push(Manifest { path: document.path, content: document.content, head });
            }
            Classification::Hook(hook) => sorted.hooks.push(hook),
            Classification::Unknown(hook, words) => {
                sorted.dropped.push(hook);
                sorted.log.push(LogLine {
                    level: pintle_tree::LogLevel::Info,
                    message: "skipping unknown hooks".into(),
                    attributes: vec![("hookTypes", words)],
                });
            }
        }
    }
    // Stable, as Helm's sort is.
    sorted.manifests.sort_by_cached_key(|manifest| order.rank(&manifest.head.kind));
    sorted.hooks.sort_by_cached_key(|hook| order.rank(&hook.kind));
    Ok(sorted)
}

/// The documents of all files except partials, in order.
fn documents<'a, P: AsRef<str>, T: AsRef<[u8]>>(files: &'a [(P, T)]) -> Vec<Document<'a>> {
    let mut files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_ref(), text.as_ref())).collect();
    files.sort_by_key(|(path, _)| *path);
    let mut documents = Vec::with_capacity(files.len());
    for (path, text) in files {
        // Go's `path.Base`.
        let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if base.starts_with('_') {
            continue;
        }
        documents.extend(split(text).enumerate().map(|(index, content)| Document { path, index, content }));
    }
    documents
}

/// Reads the heads of all documents.
fn heads(documents: &[Document<'_>]) -> Vec<Result<Head, HeadError>> {
    parallel_map(
        documents,
        PARALLEL_THRESHOLD,
        |document| document.content.len(),
        |document| head::read(document.content),
    )
}

fn failure(document: &Document<'_>, error: HeadError, log: Vec<LogLine>) -> Error {
    Error::Document {
        path: document.path.to_owned(),
        index: document.index,
        line: error.line(),
        reason: error.to_string(),
        log,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_by_path_and_documents_by_kind() {
        let files = [
            ("t/b.yaml", "kind: Namespace\nmetadata: {name: space}\n"),
            ("t/a.yaml", "kind: Job\nmetadata: {name: j2}\n---\nkind: Job\nmetadata: {name: j1}\n"),
            ("t/_p.yaml", "kind: Job\n"),
        ];
        let sorted = sort(&files, Order::Install).expect("all documents are fine");
        let names: Vec<String> = sorted
            .manifests
            .iter()
            .filter_map(|manifest| manifest.head.metadata.as_ref())
            .map(|metadata| metadata.name.to_string())
            .collect();
        assert_eq!(names, ["space", "j2", "j1"]);
    }

    #[test]
    fn much_text_gives_the_same_answer_as_little() {
        let filler = "x".repeat(PARALLEL_THRESHOLD / 8);
        let files: Vec<(String, String)> = (0..40)
            .map(|index| (format!("t/{index:02}.yaml"), format!("kind: K{index:02}\ndata: {filler}\n")))
            .collect();
        let sorted = sort(&files, Order::Install).expect("all documents are fine");
        let kinds: Vec<String> =
            sorted.manifests.iter().map(|manifest| manifest.head.kind.to_string()).collect();
        assert_eq!(kinds, (0..40).map(|index| format!("K{index:02}")).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_bad_document_is_the_error() {
        let files = [("b", "a: [\n"), ("a", "kind: X\n---\nkind: [x]\n")];
        let error = sort(&files, Order::Install).expect_err("two documents are bad");
        assert_eq!(
            error.to_string(),
            "YAML parse error on a: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array \
             into Go struct field .kind of type string"
        );
    }
}
