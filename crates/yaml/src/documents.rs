//! Values files: several documents in one file, split as Kubernetes does and merged as Helm does.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};
use pintle_tree::{Map, Node};

use crate::error::Error;

/// The document separator.
const SEPARATOR: &[u8] = b"---";

/// Reads a values file: all documents, later ones merged over earlier ones.
///
/// # Errors
/// The first document that is not a map, with Helm's text.
pub fn read_values(text: &[u8]) -> Result<Map<Node>, Error> {
    let mut values = Map::new();
    let mut documents = Documents::new(text);
    while let Some(document) = documents.next().map_err(unreadable)? {
        let document =
            crate::read_map(&document).map_err(|error| error.within("cannot unmarshal yaml document"))?;
        merge(&mut values, document);
    }
    Ok(values)
}

/// Reads every document of a values file separately, split as [`read_values`] does.
///
/// # Errors
/// The first error of splitting or reading.
pub fn read_documents(text: &[u8]) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    let mut documents = Documents::new(text);
    while let Some(document) = documents.next().map_err(unreadable)? {
        nodes.push(crate::read(&document)?);
    }
    Ok(nodes)
}

fn unreadable(reason: String) -> Error {
    Error::new(format!("error reading yaml document: {reason}"))
}

fn merge(base: &mut Map<Node>, over: Map<Node>) {
    if base.is_empty() {
        *base = over;
        return;
    }
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Node::Map(base)), Node::Map(value)) => merge(base, value),
            (Some(slot), value) => *slot = value,
            (None, value) => drop(base.insert(key, value)),
        }
    }
}

/// Splits a text by Kubernetes' rule (`YAMLReader`): at lines of `---` followed by nothing but white space and a
/// comment.
#[derive(Clone, Debug)]
pub(crate) struct Documents<'t> {
    rest: &'t [u8],
}

impl<'t> Documents<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Documents { rest: text }
    }

    /// The next document. A separator line before any other line belongs to the document it starts. Errors are
    /// Kubernetes' texts.
    pub(crate) fn next(&mut self) -> Result<Option<Cow<'t, [u8]>>, String> {
        let text = self.rest;
        let mut end = 0;
        while end < text.len() {
            let next = memchr(b'\n', &text[end..]).map_or(text.len(), |length| end + length + 1);
            let line = &text[end..next];
            if let Some(after) = line.strip_prefix(SEPARATOR) {
                let after = String::from_utf8_lossy(after);
                let after = after.trim();
                if !after.is_empty() && !after.starts_with('#') {
                    return Err(format!("invalid Yaml document separator: {after}"));
                }
                // With nothing before it `YAMLReader` keeps the separator as the first line of the document.
                if end > 0 {
                    self.rest = &text[next..];
                    return Ok(Some(as_lines(&text[..end])));
                }
            }
            end = next;
        }
        self.rest = &[];
        Ok((end > 0).then(|| as_lines(text)))
    }
}

/// The text with plain line feeds at the end of every line: Kubernetes' line reader drops carriage returns and ends
/// each line itself, so a last line without a break gets one. Block scalars at the end of a file show the difference.
fn as_lines(text: &[u8]) -> Cow<'_, [u8]> {
    let returns = memchr(b'\r', text).is_some();
    if !returns && text.ends_with(b"\n") {
        return Cow::Borrowed(text);
    }
    let mut lines = Vec::with_capacity(text.len() + 1);
    let mut start = 0;
    for end in memchr_iter(b'\n', text) {
        let line = &text[start..end];
        lines.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        lines.push(b'\n');
        start = end + 1;
    }
    if start < text.len() {
        lines.extend_from_slice(&text[start..]);
        lines.push(b'\n');
    }
    Cow::Owned(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> Vec<String> {
        let mut documents = Documents::new(text.as_bytes());
        std::iter::from_fn(|| documents.next().unwrap())
            .map(|document| String::from_utf8(document.into_owned()).unwrap())
            .collect()
    }

    #[test]
    fn a_leading_separator_stays_and_line_ends_become_line_feeds() {
        assert_eq!(documents("---\na: 1\r\n--- # c\nb: 2"), ["---\na: 1\n", "b: 2\n"]);
        assert_eq!(documents("---\n---\n"), ["---\n"]);
        assert_eq!(documents(""), [] as [&str; 0]);
    }

    #[test]
    fn later_documents_win_and_maps_merge() {
        let values = read_values(b"a: {b: 1, c: 2}\nd: 1\n---\na: {b: 3}\nd: {}\n").unwrap();
        assert_eq!(Node::Map(values), crate::read(b"{a: {b: 3, c: 2}, d: {}}").unwrap());
    }

    #[test]
    fn text_after_a_separator_is_an_error() {
        let error = read_values(b"a: 1\n--- b\n").unwrap_err();
        assert_eq!(error.to_string(), "error reading yaml document: invalid Yaml document separator: b");
    }
}
