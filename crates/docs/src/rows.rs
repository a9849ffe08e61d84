//! Rows of the table of values: which values get one, and what it says.

use std::collections::BTreeMap;

use pintle_tree::{Node as Data, json};
use pintle_yaml::commented::{Document, Kind, Node};

use crate::comment::{self, Description};
use crate::error::Error;
use crate::info::MAX_DEPTH;

/// A row. The texts of a comment that names the key are separate from those of the comment above the key (`auto_`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) value_type: String,
    pub(crate) notation_type: String,
    pub(crate) auto_default: String,
    pub(crate) default: String,
    pub(crate) auto_description: String,
    pub(crate) description: String,
    pub(crate) section: String,
    pub(crate) column: usize,
    pub(crate) line: usize,
    pub(crate) dependency: String,
    pub(crate) is_global: bool,
}

/// The rows of all values, in the order of the file.
pub(crate) fn rows(
    values: Option<&Document>,
    descriptions: &BTreeMap<String, Description>,
) -> Result<Vec<Row>, Error> {
    let Some(document) = values else { return Ok(Vec::new()) };
    let mut table = Table { document, descriptions, rows: Vec::new() };
    let root = document.node(document.root());
    if root.kind != Kind::Mapping {
        let message = "the values are not a map".to_owned();
        return Err(Error::Value { key: String::new(), message });
    }
    table.object("", None, root, true, 0)?;
    Ok(table.rows)
}

/// How a row shows a value.
enum Shown {
    Nil,
    Data(Data),
    /// Text for a template that formats it, by `@notationType`.
    Notation(String),
}

struct Table<'d> {
    document: &'d Document,
    descriptions: &'d BTreeMap<String, Description>,
    rows: Vec<Row>,
}

/// A value with what the comments say about it.
struct Described<'d> {
    named: Option<&'d Description>,
    auto: Description,
}

impl Described<'_> {
    fn is_described(&self) -> bool {
        self.named.is_some() || !self.auto.text.is_empty()
    }
}

impl<'d> Table<'d> {
    fn describe(&self, path: &str, key: Option<&Node>) -> Described<'d> {
        Described { named: self.descriptions.get(path), auto: key.map(auto_description).unwrap_or_default() }
    }

    /// Adds the rows of a value under its key. `leaves` is whether values without comments get rows.
    fn field(
        &mut self,
        path: &str,
        key: &Node,
        value: &Node,
        leaves: bool,
        depth: usize,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(value_error(path, "it is nested too deeply, or contains itself"));
        }
        match value.kind {
            Kind::Mapping => self.object(path, Some(key), value, leaves, depth),
            Kind::Sequence => self.list(path, key, value, leaves, depth),
            Kind::Alias(target) => self.field(path, key, self.document.node(target), leaves, depth + 1),
            Kind::Scalar => self.scalar(path, key, value, leaves),
        }
    }

    fn scalar(&mut self, path: &str, key: &Node, value: &Node, leaves: bool) -> Result<(), Error> {
        let described = self.describe(path, Some(key));
        if !leaves && !described.is_described() {
            return Ok(());
        }
        let shown = match value.tag.as_str() {
            "!!str" if !described.auto.notation_type.is_empty() => self.notation(&described.auto, value),
            "!!null" => Shown::Nil,
            _ => Shown::Data(scalar_data(path, value)?),
        };
        self.push(path, key, &described, shown)
    }

    fn list(
        &mut self,
        path: &str,
        key: &Node,
        value: &Node,
        leaves: bool,
        depth: usize,
    ) -> Result<(), Error> {
        let described = self.describe(path, Some(key));
        if value.children.is_empty() {
            if leaves || described.is_described() {
                self.push(path, key, &described, Shown::Data(Data::List(Vec::new())))?;
            }
            return Ok(());
        }
        let leaves = self.collection(path, key, value, &described, leaves)?;
        for (index, &child) in value.children.iter().enumerate() {
            let item = self.document.node(child);
            self.field(&format!("{path}[{index}]"), item, item, leaves, depth + 1)?;
        }
        Ok(())
    }

    fn object(
        &mut self,
        path: &str,
        key: Option<&Node>,
        value: &Node,
        leaves: bool,
        depth: usize,
    ) -> Result<(), Error> {
        let described = self.describe(path, key);
        let mut leaves = leaves;
        if let Some(key) = key {
            if value.children.is_empty() {
                if leaves || described.is_described() {
                    self.push(path, key, &described, Shown::Data(Data::empty_map()))?;
                }
                return Ok(());
            }
            leaves = self.collection(path, key, value, &described, leaves)?;
        }
        for pair in value.children.chunks_exact(2) {
            let (key, value) = (self.document.node(pair[0]), self.document.node(pair[1]));
            self.field(&child_path(path, &key.value), key, value, leaves, depth + 1)?;
        }
        Ok(())
    }

    /// Adds the row of a collection that has a comment. What is below it then needs comments of its own.
    fn collection(
        &mut self,
        path: &str,
        key: &Node,
        value: &Node,
        described: &Described<'_>,
        leaves: bool,
    ) -> Result<bool, Error> {
        if !described.is_described() {
            return Ok(leaves);
        }
        let by_notation = described.named.is_none() && !described.auto.notation_type.is_empty();
        let shown = match by_notation {
            true => self.notation(&described.auto, value),
            false => Shown::Data(data(self.document, value, 0)),
        };
        self.push(path, key, described, shown)?;
        Ok(false)
    }

    /// A value for a template that formats it. Collections have no text.
    fn notation(&self, auto: &Description, value: &Node) -> Shown {
        Shown::Notation(match auto.notation_type.as_str() {
            "yaml" => String::from_utf8_lossy(&self.document.write(value)).into_owned(),
            _ => value.value.clone(),
        })
    }

    fn push(&mut self, path: &str, key: &Node, described: &Described<'_>, shown: Shown) -> Result<(), Error> {
        let named = described.named.cloned().unwrap_or_default();
        let auto = described.auto.clone();
        let has_default = !named.default.is_empty() || !auto.default.is_empty();
        let by_notation = !auto.notation_type.is_empty();
        let mut row = Row {
            key: path.to_owned(),
            value_type: String::new(),
            section: first([&named.section, &auto.section]),
            notation_type: auto.notation_type,
            auto_default: auto.default,
            default: named.default,
            auto_description: auto.text,
            description: named.text,
            column: key.column,
            line: key.line,
            ..Row::default()
        };
        let inferred = match &shown {
            Shown::Nil => {
                if row.description.is_empty() {
                    row.description.clone_from(&row.auto_description);
                }
                "string".to_owned()
            }
            _ if by_notation => row.notation_type.clone(),
            Shown::Data(data) => type_name(data).to_owned(),
            Shown::Notation(_) => String::new(),
        };
        row.value_type = first([&named.value_type, &auto.value_type, &inferred]);
        if !has_default {
            row.default = match shown {
                Shown::Nil => "`nil`".to_owned(),
                Shown::Notation(text) => text,
                Shown::Data(data) if by_notation => go_text(&data),
                Shown::Data(data) => format!("`{}`", json_text(path, &data)?),
            };
        }
        self.rows.push(row);
        Ok(())
    }
}

fn first<const N: usize>(texts: [&String; N]) -> String {
    texts.into_iter().find(|text| !text.is_empty()).cloned().unwrap_or_default()
}

/// What the comment above a key says. One that names a key is not about this one.
fn auto_description(key: &Node) -> Description {
    if !key.head_comment.contains(comment::PREFIX) {
        return Description::default();
    }
    let lines: Vec<&str> = key.head_comment.split('\n').collect();
    match comment::parse(&lines) {
        (named, description) if named.is_empty() => description,
        _ => Description::default(),
    }
}

fn child_path(path: &str, key: &str) -> String {
    let key = if key.contains(['.', ' ']) { format!("\"{key}\"") } else { key.to_owned() };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

fn value_error(key: &str, message: impl Into<String>) -> Error {
    Error::Value { key: key.to_owned(), message: message.into() }
}

fn type_name(data: &Data) -> &'static str {
    match data {
        Data::Nil => "",
        Data::Bool(_) => "bool",
        Data::Int(_) => "int",
        Data::Float(_) => "float",
        Data::Str(_) => "string",
        Data::List(_) => "list",
        Data::Map(_) => "object",
    }
}

fn scalar_data(path: &str, value: &Node) -> Result<Data, Error> {
    match value.tag.as_str() {
        "!!str" | "!!timestamp" => Ok(Data::Str(value.value.as_str().into())),
        tag @ ("!!bool" | "!!int" | "!!float") => {
            resolved(value).ok_or_else(|| value_error(path, format!("cannot decode {tag} `{}`", value.value)))
        }
        tag => Err(value_error(path, format!("tag {tag} is not supported"))),
    }
}

/// A boolean or a number as its type.
fn resolved(value: &Node) -> Option<Data> {
    match value.tag.as_str() {
        "!!bool" => Some(Data::Bool(value.value.eq_ignore_ascii_case("true"))),
        tag => match (tag, pintle_yaml::commented::number(&value.value)?) {
            ("!!int", Data::Int(whole)) => Some(Data::Int(whole)),
            ("!!float", Data::Float(number)) => Some(Data::Float(number)),
            ("!!float", Data::Int(whole)) => Some(Data::Float(whole as f64)),
            _ => None,
        },
    }
}

/// A value with everything below it. What cannot be decoded is null or zero, as in helm-docs.
fn data(document: &Document, value: &Node, depth: usize) -> Data {
    if depth > MAX_DEPTH {
        return Data::Nil;
    }
    let child = |number: usize| data(document, document.node(number), depth + 1);
    match value.kind {
        Kind::Mapping => {
            let pairs = value.children.chunks_exact(2);
            let mut map = pintle_tree::Map::new();
            for pair in pairs {
                map.insert(document.node(pair[0]).value.as_str().into(), child(pair[1]));
            }
            Data::Map(map)
        }
        Kind::Sequence => Data::List(value.children.iter().map(|&number| child(number)).collect()),
        Kind::Alias(target) => child(target),
        Kind::Scalar => match value.tag.as_str() {
            "!!str" | "!!timestamp" => Data::Str(value.value.as_str().into()),
            "!!bool" | "!!int" | "!!float" => resolved(value).unwrap_or(Data::Int(0)),
            _ => Data::Nil,
        },
    }
}

fn json_text(path: &str, data: &Data) -> Result<String, Error> {
    let text = json::write_raw(data).map_err(|error| value_error(path, error.to_string()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A value as Go prints it with `%s`.
fn go_text(data: &Data) -> String {
    match data {
        Data::Str(text) => text.to_str_lossy().into_owned(),
        Data::Bool(switch) => format!("%!s(bool={switch})"),
        Data::Int(number) => format!("%!s(int={number})"),
        Data::Float(number) => format!("%!s(float64={})", pintle_tree::number::format_value(*number)),
        Data::Nil => "%!s(<nil>)".to_owned(),
        Data::List(items) => {
            format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
        }
        Data::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}:{}", go_text(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `key | type | default | description` of every row.
    fn shown(values: &str) -> Vec<String> {
        let document = Document::read(values.as_bytes()).expect("YAML");
        let named = comment::named_descriptions(values);
        let rows = rows(document.as_ref(), &named).expect("rows");
        let text = |row: &Row| {
            let default = first([&row.default, &row.auto_default]);
            let description = first([&row.description, &row.auto_description]);
            format!("{} | {} | {default} | {description}", row.key, row.value_type)
        };
        rows.iter().map(text).collect()
    }

    #[test]
    fn leaves_and_empty_collections_have_rows() {
        assert_eq!(
            shown("a: 1\nb: {}\nc: []\nd:\n  e: x\nf:\n- 1.5\n- g: true\nh:\n"),
            [
                "a | int | `1` | ",
                "b | object | `{}` | ",
                "c | list | `[]` | ",
                "d.e | string | `\"x\"` | ",
                "f[0] | float | `1.5` | ",
                "f[1].g | bool | `true` | ",
                "h | string | `nil` | ",
            ]
        );
    }

    #[test]
    fn below_a_commented_collection_only_what_has_comments_has_rows() {
        assert_eq!(
            shown("# -- All\na:\n  b: 1\n  # -- One\n  c: <x>\n"),
            ["a | object | `{\"b\":1,\"c\":\"<x>\"}` | All", "a.c | string | `\"<x>\"` | One"]
        );
    }

    #[test]
    fn named_comments_go_before_comments_above() {
        assert_eq!(
            shown("# \"a b\".c -- (tpl) Named\n# @default -- see below\n\n\"a b\":\n  # -- Above\n  c: 1\n"),
            ["\"a b\".c | tpl | see below | Named"]
        );
    }

    #[test]
    fn a_notation_leaves_the_value_to_the_template() {
        assert_eq!(
            shown(
                "# -- T\n# @notationType -- tpl\na: |\n  {{ x }}\n# -- Y\n# @notationType -- yaml\nb:\n  d: 'x'\n  # C\n  c:\n  - 1\n"
            ),
            ["a | tpl | {{ x }}\n | T", "b | yaml | d: 'x'\n# C\nc:\n    - 1\n | Y"]
        );
    }

    #[test]
    fn an_alias_around_itself_is_an_error() {
        let document = Document::read(b"a: &x\n  b: *x\n").expect("YAML");
        assert!(rows(document.as_ref(), &BTreeMap::new()).is_err());
    }
}
