//! Trees of objects as kustomize holds them: a scalar keeps the text it was written with, because names, labels and
//! replacements use that text and not the number it stands for.

use pintle_tree::{Map, Node, Str, number};
use pintle_yaml::Builder;

/// How deep objects may be nested.
const DEPTH: usize = 400;

/// How many nodes a document may have, aliases expanded.
const NODES: usize = 2_000_000;

/// What a scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// A string that was written without quotes.
    Plain,
    /// A string that stays one, whatever it looks like.
    Quoted,
    Int,
    Float,
    Bool,
    Null,
}

/// A scalar with its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: Str,
    pub(crate) tag: Tag,
}

impl Scalar {
    /// A scalar whose kind follows from its text.
    pub(crate) fn resolved(text: impl Into<Str>) -> Self {
        let text = text.into();
        let tag = resolve(&text);
        Scalar { text, tag }
    }

    /// Sets the text as kustomize does without a tag: what was in quotes stays in quotes.
    pub(crate) fn set(&mut self, text: impl Into<Str>) {
        let quoted = self.tag == Tag::Quoted;
        *self = Scalar::resolved(text);
        if quoted {
            self.tag = Tag::Quoted;
        }
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Value>),
    Map(Map<Value>),
}

impl Value {
    pub(crate) fn string(text: impl Into<Str>) -> Self {
        Value::Scalar(Scalar { text: text.into(), tag: Tag::Quoted })
    }

    pub(crate) fn null() -> Self {
        Value::Scalar(Scalar { text: "null".into(), tag: Tag::Null })
    }

    pub(crate) const fn empty_map() -> Self {
        Value::Map(Map::new())
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Scalar(Scalar { tag: Tag::Null, .. }))
    }

    /// Null, or a collection with nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Value::Scalar(scalar) => scalar.tag == Tag::Null,
            Value::List(list) => list.is_empty(),
            Value::Map(map) => map.is_empty(),
        }
    }

    pub(crate) fn as_map(&self) -> Option<&Map<Value>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map<Value>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_map_mut()?.get_mut(key)
    }

    /// The text of a scalar, whatever it is; empty for collections.
    pub(crate) fn text(&self) -> Str {
        self.as_scalar().map(|scalar| scalar.text.clone()).unwrap_or_default()
    }

    /// The field of a map, made a map if it is missing or null. `None` if it is something else.
    pub(crate) fn map_at(&mut self, key: &str) -> Option<&mut Map<Value>> {
        let field = self.as_map_mut()?.entry_or_insert_with(&key.into(), Value::empty_map);
        if field.is_null() {
            *field = Value::empty_map();
        }
        field.as_map_mut()
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Value::Scalar(_) => "scalar",
            Value::List(_) => "list",
            Value::Map(_) => "map",
        }
    }

    /// A rough size in bytes, for budgets.
    pub(crate) fn size(&self) -> usize {
        match self {
            Value::Scalar(scalar) => 24 + scalar.text.len(),
            Value::List(list) => 24 + list.iter().map(Value::size).sum::<usize>(),
            Value::Map(map) => 24 + map.iter().map(|(key, value)| key.len() + value.size()).sum::<usize>(),
        }
    }

    /// The tree as it is after kustomize has written it and read it as JSON.
    pub(crate) fn to_node(&self) -> Result<Node, String> {
        Ok(match self {
            Value::Scalar(scalar) => scalar.to_node()?,
            Value::List(list) => Node::List(list.iter().map(Value::to_node).collect::<Result<_, _>>()?),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| Ok((key.clone(), value.to_node()?)));
                Node::Map(Map::from_entries(entries.collect::<Result<_, String>>()?))
            }
        })
    }

    /// The tree that kustomize has after it has read JSON: all numbers have been floats.
    pub(crate) fn from_json(node: &Node) -> Self {
        match node {
            Node::Nil => Value::null(),
            Node::Bool(value) => Value::Scalar(Scalar::resolved(if *value { "true" } else { "false" })),
            Node::Int(value) => Value::Scalar(Scalar::resolved(number::format_general(*value as f64, 21))),
            Node::Float(value) => Value::Scalar(Scalar::resolved(number::format_general(*value, 21))),
            Node::Str(text) => Value::Scalar(Scalar { text: text.clone(), tag: written_tag(text) }),
            Node::List(list) => Value::List(list.iter().map(Value::from_json).collect()),
            Node::Map(map) => {
                Value::Map(map.iter().map(|(key, value)| (key.clone(), Value::from_json(value))).collect())
            }
        }
    }
}

impl Scalar {
    fn to_node(&self) -> Result<Node, String> {
        let text = self.text.to_str_lossy();
        Ok(match self.tag {
            Tag::Null => Node::Nil,
            Tag::Quoted => Node::Str(self.text.clone()),
            Tag::Plain => date(&text).map_or_else(|| Node::Str(self.text.clone()), Node::from),
            Tag::Bool => match &*text {
                "true" | "True" | "TRUE" => Node::Bool(true),
                "false" | "False" | "FALSE" => Node::Bool(false),
                other => return Err(format!("{other:?} is written where a boolean is")),
            },
            Tag::Int | Tag::Float => match number_of(&text) {
                Some(Node::Float(value)) if !value.is_finite() => {
                    return Err(format!("json: unsupported value: {}", number::format_value(value)));
                }
                Some(node) => node,
                None if self.tag == Tag::Int => {
                    let wide = number::parse_uint(&text, 0).map(|value| Node::Float(value as f64));
                    wide.map_err(|_| format!("{text:?} is written where a number is"))?
                }
                None => return Err(format!("{text:?} is written where a number is")),
            },
        })
    }
}

/// The value of a number in YAML.
fn number_of(text: &str) -> Option<Node> {
    pintle_yaml::commented::number(text)
}

/// What go-yaml 3 takes plain text for.
fn resolve(text: &Str) -> Tag {
    match text.as_bytes() {
        b"" | b"~" | b"null" | b"Null" | b"NULL" => Tag::Null,
        b"true" | b"True" | b"TRUE" | b"false" | b"False" | b"FALSE" => Tag::Bool,
        _ => match text.as_str().and_then(number_of) {
            Some(Node::Int(_)) => Tag::Int,
            Some(_) => Tag::Float,
            None => Tag::Plain,
        },
    }
}

/// How go-yaml writes a string: in quotes or as a block only if it has to.
fn written_tag(text: &Str) -> Tag {
    let written = pintle_yaml::write(&Node::Str(text.clone())).unwrap_or_default();
    if written.first().is_none_or(|sign| b"'\"|".contains(sign)) { Tag::Quoted } else { Tag::Plain }
}

/// A plain date as JSON has it: go-yaml reads it as a point in time.
fn date(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if parts.next().is_some() || year.len() != 4 || !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return None;
    }
    let (month, day): (u32, u32) = (month.parse().ok()?, day.parse().ok()?);
    let leap = year.parse::<u32>().is_ok_and(|year| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then(|| format!("{year}-{month:02}-{day:02}T00:00:00Z"))
}

/// Reads the first document of a text.
pub(crate) fn read(text: &[u8]) -> Result<Value, ReadError> {
    let mut reader = Reader { text, ..Reader::default() };
    let value = pintle_yaml::read_version_3(text, &mut reader)
        .map_err(|error| ReadError { line: error.line(), message: error.to_string() })?;
    match reader.no_string {
        None => Ok(value),
        Some((key, at)) => Err(ReadError {
            line: Some(1 + text[..at].iter().filter(|&&byte| byte == b'\n').count()),
            message: format!("the key {key} is no string; put it in quotes"),
        }),
    }
}

/// Why a text is no tree.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub(crate) message: String,
    pub(crate) line: Option<usize>,
}

/// A folded block as it is after kustomize has written it and read it again: lines that are indented more than the block
/// get another line break before them.
fn refolded(text: &str) -> String {
    let begins_blank =
        text.trim_start_matches('\n').starts_with([' ', '\t', '\n']) || text.trim_matches('\n').is_empty();
    if begins_blank {
        return text.to_owned();
    }
    let mut refolded = String::with_capacity(text.len() + 8);
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        refolded.push_str(line);
        if lines.peek().is_none() {
            break;
        }
        refolded.push('\n');
        let mut breaks = 1;
        while lines.peek() == Some(&"") {
            lines.next();
            if lines.peek().is_none() {
                break;
            }
            breaks += 1;
            refolded.push('\n');
        }
        let indented = |line: &str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let at_end = lines.peek().is_none();
        // The break that separates lines in a folded block is only dropped between lines that are not indented.
        if !line.is_empty()
            && !indented(line)
            && (lines.peek().is_some_and(|next| indented(next)) || (at_end && breaks > 1))
        {
            refolded.push('\n');
        }
    }
    refolded
}

/// Builds a tree from the events of the YAML reader.
#[derive(Default)]
struct Reader<'t> {
    text: &'t [u8],
    quoted: bool,
    folded: bool,
    /// Where the next scalar or key is, if that is known.
    at: Option<usize>,
    /// A key that is a number, a boolean or null, and where it is.
    no_string: Option<(String, usize)>,
    nodes: Vec<Value>,
    keys: Vec<Str>,
    open: Vec<(usize, usize)>,
    plain: Option<Str>,
    duplicates: bool,
    made: usize,
}

impl Reader<'_> {
    fn push(&mut self, value: Value) {
        (self.plain, self.at) = (None, None);
        (self.quoted, self.folded) = (false, false);
        self.made += 1;
        // What is too deep or too much is left out, and the document refused by its size afterwards.
        if self.open.len() <= DEPTH && self.made <= NODES {
            self.nodes.push(value);
        } else {
            self.nodes.push(Value::null());
        }
    }

    fn scalar(&mut self, tag: Tag, otherwise: impl FnOnce() -> String) {
        let text = self.plain.take().unwrap_or_else(|| otherwise().into());
        self.push(Value::Scalar(Scalar { text, tag }));
    }

    fn check(&mut self, keys: usize) {
        let mut sorted: Vec<&Str> = self.keys[keys..].iter().collect();
        sorted.sort_unstable();
        self.duplicates |= sorted.windows(2).any(|pair| pair[0] == pair[1]);
    }
}

impl Builder for Reader<'_> {
    type Node = Value;

    const VERSION_3: bool = true;

    fn reset(&mut self) {
        *self = Reader { text: self.text, ..Reader::default() };
    }

    fn plain(&mut self, text: &[u8]) {
        self.plain = Some(Str::new(text));
    }

    fn has_duplicates(&self) -> bool {
        self.duplicates
    }

    fn nil(&mut self) {
        self.scalar(Tag::Null, String::new);
    }

    fn bool(&mut self, value: bool) {
        self.scalar(Tag::Bool, || value.to_string());
    }

    fn int(&mut self, value: i64) {
        self.scalar(Tag::Int, || value.to_string());
    }

    fn uint(&mut self, value: u64) {
        self.scalar(Tag::Int, || value.to_string());
    }

    fn float(&mut self, value: f64) {
        self.scalar(Tag::Float, || number::format_value(value));
    }

    fn str(&mut self, text: &[u8]) {
        let tag = if self.quoted { Tag::Quoted } else { Tag::Plain };
        let text = match std::str::from_utf8(text).ok().filter(|_| self.folded) {
            Some(text) => refolded(text).into(),
            None => Str::new(text),
        };
        self.push(Value::Scalar(Scalar { text, tag }));
    }

    fn begin_list(&mut self) {
        self.open.push((self.nodes.len(), self.keys.len()));
    }

    fn end_list(&mut self) {
        let (nodes, _) = self.open.pop().expect("only an open list is ended");
        let items = self.nodes.drain(nodes..).collect();
        self.push(Value::List(items));
    }

    fn begin_map(&mut self) {
        self.open.push((self.nodes.len(), self.keys.len()));
    }

    fn quoted(&mut self) {
        self.quoted = true;
    }

    fn scalar_at(&mut self, start: usize, _: usize, _: bool) {
        self.quoted = matches!(self.text.get(start), Some(b'"' | b'\''));
        self.at = Some(start);
    }

    fn block_at(&mut self, start: usize, _: usize, _: usize) {
        self.quoted = true;
        self.folded = self.text.get(start) == Some(&b'>');
    }

    fn key(&mut self, key: &[u8]) {
        self.plain = None;
        let key = Str::new(key);
        let at = self.at.take().filter(|_| !self.quoted && resolve(&key) != Tag::Plain);
        if let Some(at) = at.filter(|_| self.no_string.is_none()) {
            self.no_string = Some((key.to_string(), at));
        }
        (self.quoted, self.folded) = (false, false);
        self.keys.push(key);
    }

    fn end_map(&mut self) {
        let (nodes, keys) = self.open.pop().expect("only an open map is ended");
        self.check(keys);
        let entries = self.keys.drain(keys..).zip(self.nodes.drain(nodes..)).collect();
        self.push(Value::Map(Map::from_entries(entries)));
    }

    fn finish(&mut self) -> Value {
        self.nodes.pop().unwrap_or_else(Value::null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_keep_their_text_and_have_the_meaning_of_go_yaml_3() {
        let value =
            read(b"{a: 1.10, b: yes, c: 0755, d: '12', e: ~, f: 2024-02-29, g: 2024-02-30, h: '2024-02-29'}")
                .expect("YAML");
        assert_eq!(value.get("a").map(Value::text), Some("1.10".into()));
        let node = value.to_node().expect("JSON");
        let expected = [
            ("a", Node::Float(1.1)),
            ("b", "yes".into()),
            ("c", Node::Int(493)),
            ("d", "12".into()),
            ("e", Node::Nil),
            ("f", "2024-02-29T00:00:00Z".into()),
            ("g", "2024-02-30".into()),
            ("h", "2024-02-29".into()),
        ];
        for (key, wanted) in expected {
            assert_eq!(node.get(key), Some(&wanted), "{key}");
        }
    }

    #[test]
    fn deep_documents_are_cut_and_repeated_keys_refused() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(read(deep.as_bytes()).is_ok());
        assert!(read(b"a: 1\na: 2\n").is_err());
        let error = read(b"a: 1\nb:\n  8080: x\n").expect_err("a number as key");
        assert_eq!(
            (error.message.as_str(), error.line),
            ("the key 8080 is no string; put it in quotes", Some(3))
        );
        assert!(read(b"'8080': x\nyes: y\n").is_ok());
    }

    #[test]
    fn indented_lines_of_a_folded_block_get_another_break() {
        let text = |yaml: &str| read(yaml.as_bytes()).expect("YAML").get("a").map(Value::text);
        assert_eq!(text("a: >-\n  b\n    c\n  d\n"), Some("b\n\n  c\nd".into()));
        assert_eq!(text("a: |-\n  b\n    c\n  d\n"), Some("b\n  c\nd".into()));
        assert_eq!(text("a: >\n  b\n  c\n"), Some("b c\n".into()));
    }

    #[test]
    fn text_set_without_a_tag_stays_in_its_quotes() {
        let mut quoted = Scalar { text: "a".into(), tag: Tag::Quoted };
        quoted.set("12");
        assert_eq!(quoted.tag, Tag::Quoted);
        let mut plain = Scalar { text: "a".into(), tag: Tag::Plain };
        plain.set("12");
        assert_eq!(plain.tag, Tag::Int);
    }
}
