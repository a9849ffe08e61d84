//! Reads parts of a record without building the rest.

use pintle_tree::json::{self, Assemble, read_prefix, read_prefix_with};
use pintle_tree::{Map, Node, Str};

pub(super) type JsonResult<T> = Result<T, json::Error>;

/// The files that this program adds to charts in records are below this folder.
const OWN_FILES: &[u8] = b"pintle.dev/";

/// Reads a record without the templates, the schema and the files of its chart. `None` when the text is not in the form
/// that Helm writes.
pub(super) fn read(text: &[u8]) -> JsonResult<Option<Node>> {
    let mut cursor = Cursor::new(text);
    let fields = cursor.fields(|cursor, key| match key {
        b"chart" if cursor.is_at(b'{') => cursor.fields(chart_field),
        _ => cursor.value().map(Some),
    })?;
    Ok(if cursor.is_at_end() { fields } else { None })
}

fn chart_field(cursor: &mut Cursor<'_>, key: &[u8]) -> JsonResult<Option<Node>> {
    match key {
        b"templates" | b"schema" => {
            cursor.skip()?;
            Ok(Some(Node::Nil))
        }
        b"files" if cursor.is_at(b'[') => cursor.items(|cursor| {
            let file = cursor.value()?;
            let name = file.get("name").and_then(Node::as_text).map(|name| name.as_bytes());
            Ok(name.is_some_and(|name| name.starts_with(OWN_FILES)).then_some(file))
        }),
        _ => cursor.value().map(Some),
    }
}

/// A position in the text of a record.
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Cursor { text, at: 0 }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn is_at(&mut self, byte: u8) -> bool {
        self.skip_space();
        self.text.get(self.at) == Some(&byte)
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.is_at(byte);
        self.at += usize::from(found);
        found
    }

    /// A key and its colon; `None` at the end of a map.
    pub(super) fn key(&mut self) -> JsonResult<Option<Node>> {
        if self.is_at(b'}') {
            return Ok(None);
        }
        let key = self.value()?;
        Ok(self.take(b':').then_some(key))
    }

    pub(super) fn value(&mut self) -> JsonResult<Node> {
        let (node, length) = read_prefix(&self.text[self.at..])?;
        self.at += length;
        Ok(node)
    }

    /// Skips a value, but checks its syntax.
    fn skip(&mut self) -> JsonResult<()> {
        let ((), length) = read_prefix_with(&self.text[self.at..], &mut Nothing)?;
        self.at += length;
        Ok(())
    }

    /// Reads a map with `value`, which gets each key; `None` when the text is not a map, or as soon as `value` returns `None`.
    fn fields(
        &mut self,
        mut value: impl FnMut(&mut Self, &[u8]) -> JsonResult<Option<Node>>,
    ) -> JsonResult<Option<Node>> {
        if !self.take(b'{') {
            return Ok(None);
        }
        let mut entries: Vec<(Str, Node)> = Vec::new();
        let mut is_open = !self.is_at(b'}');
        while is_open {
            let Some(Node::Str(key)) = self.key()? else { return Ok(None) };
            let Some(node) = value(self, key.as_bytes())? else { return Ok(None) };
            entries.push((key, node));
            is_open = self.take(b',');
        }
        Ok(self.take(b'}').then(|| Node::Map(Map::from_entries(entries))))
    }

    /// Reads a list, of which it keeps the items that `item` returns.
    fn items(
        &mut self,
        mut item: impl FnMut(&mut Self) -> JsonResult<Option<Node>>,
    ) -> JsonResult<Option<Node>> {
        if !self.take(b'[') {
            return Ok(None);
        }
        let mut items = Vec::new();
        let mut is_open = !self.is_at(b']');
        while is_open {
            items.extend(item(self)?);
            is_open = self.take(b',');
        }
        Ok(self.take(b']').then_some(Node::List(items)))
    }
}

/// Builds nothing, but checks the syntax.
struct Nothing;

impl Assemble for Nothing {
    type Value = ();

    fn nil(&mut self) {}

    fn bool(&mut self, _: bool) {}

    fn number(&mut self, _: &str, _: usize) {}

    fn str(&mut self, _: Str) {}

    fn list(&mut self, _: Vec<()>) {}

    fn map(&mut self, _: Vec<(Str, ())>) {}
}

#[cfg(test)]
mod tests {
    use crate::helm::{decode, decode_without_files, encode};
    use crate::{ReleaseVersion, StoredFile, StoredHook};

    fn version() -> ReleaseVersion {
        let file = |name: &str| StoredFile {
            name: name.to_owned(),
            data: Some("some text".into()),
            ..StoredFile::default()
        };
        let mut version = ReleaseVersion {
            name: "web".into(),
            number: 9_007_199_254_740_993,
            manifest: "---\nkind: A\n".into(),
            hooks: vec![StoredHook {
                name: "h".into(),
                manifest: "kind: B\n".into(),
                ..StoredHook::default()
            }],
            ..ReleaseVersion::default()
        };
        version.chart.metadata.name = "app".into();
        version.chart.values = Some(Default::default());
        version.chart.schema = Some("{}".into());
        version.chart.templates = Some(vec![file("templates/a.yaml")]);
        version.chart.files = Some(vec![file("README.md"), file("pintle.dev/rendered-values.yaml")]);
        version
    }

    #[test]
    fn all_but_the_files_of_the_chart_is_read() {
        let version = version();
        let text = encode(&version).expect("can be written");
        let mut expected = decode(&text).expect("a good record");
        assert_eq!(expected.chart.files().len(), 2, "the whole record has them");
        expected.chart.templates = None;
        expected.chart.schema = None;
        expected.chart.files.as_mut().expect("has files").remove(0);
        assert_eq!(decode_without_files(text), Ok(expected));
    }

    #[test]
    fn damaged_and_unusual_records_get_the_errors_of_the_whole_reader() {
        let text = encode(&version()).expect("can be written");
        for cut in [1, text.len() / 2, text.len() - 1] {
            assert_eq!(decode_without_files(text[..cut].to_vec()), decode(&text[..cut]), "cut at {cut}");
        }
        for text in [
            "",
            "null",
            "[]",
            "{}",
            "{} x",
            "{\"chart\":null}",
            "{\"chart\":[]}",
            "{\"chart\":{\"files\":1}}",
            "{\"chart\":{\"templates\":[,]}}",
            "{\"manifest\":1}",
            "{\"name\":\"a\",}",
            "{\"chart\":{\"files\":[{},]}}",
            " {\"name\" : \"a\" } ",
        ] {
            assert_eq!(decode_without_files(text.as_bytes().to_vec()), decode(text.as_bytes()), "{text}");
        }
    }
}
