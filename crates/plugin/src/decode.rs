//! Decodes a manifest into fields as go-yaml v3 decodes a struct: everything that does not fit is collected, with the
//! line and the Go type, and the rest is taken all the same.

use std::collections::BTreeMap;

use pintle_yaml::outline::{Kind, NodeRef, Outline, Style};

use crate::error::{Error, Result};

/// The lines that errors name.
#[derive(Clone, Copy, Debug)]
enum Lines {
    /// Those of the text.
    Text,
    /// Those of the text that Helm makes of a part before it decodes it: keys sorted, one value after another. The
    /// number is the line of the part that is being decoded.
    Rewritten(usize),
}

/// Collects what does not fit.
#[derive(Debug)]
pub(crate) struct Decoder {
    errors: Vec<String>,
    lines: Lines,
}

impl Decoder {
    /// For errors that name lines of the text.
    pub(crate) fn new() -> Decoder {
        Decoder { errors: Vec::new(), lines: Lines::Text }
    }

    /// For a part of the text that Helm writes anew before it decodes it.
    pub(crate) fn rewritten() -> Decoder {
        Decoder { errors: Vec::new(), lines: Lines::Rewritten(1) }
    }

    /// The collected errors as one.
    pub(crate) fn finish(self) -> Result<()> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(Error::Manifest(format!("yaml: unmarshal errors:\n  {}", self.errors.join("\n  "))))
    }

    fn line(&self, node: NodeRef<'_>) -> usize {
        match self.lines {
            Lines::Text => node.line(),
            Lines::Rewritten(line) => line,
        }
    }

    fn mismatch(&mut self, node: NodeRef<'_>, into: &str) {
        let tag = tag(node);
        let value = match node.target().kind() {
            Kind::Mapping | Kind::Sequence => String::new(),
            _ => {
                let text = node.text();
                // Go cuts at bytes; a cut inside of a character shows as a replacement.
                let text = if text.len() > 10 {
                    format!("{}...", String::from_utf8_lossy(&text[..7]))
                } else {
                    String::from_utf8_lossy(&text).into_owned()
                };
                format!(" `{text}`")
            }
        };
        let line = self.line(node);
        self.errors.push(format!("line {line}: cannot unmarshal {tag}{value} into {into}"));
    }

    /// The entries of a struct. `known` are its fields; anything else is an error if `strict`.
    pub(crate) fn fields<'o>(
        &mut self,
        node: NodeRef<'o>,
        into: &str,
        known: &[&str],
        strict: bool,
    ) -> BTreeMap<String, (NodeRef<'o>, usize)> {
        let mut fields = BTreeMap::new();
        match node.target().kind() {
            Kind::Mapping => {}
            _ if is_null(node) => return fields,
            _ => {
                self.mismatch(node, into);
                return fields;
            }
        }
        if self.has_duplicates(node) {
            return fields;
        }
        for (key, value, line) in self.entries(node) {
            if known.contains(&key.as_str()) {
                fields.insert(key, (value, line));
            } else if strict {
                self.errors.push(format!("line {line}: field {key} not found in type {into}"));
            }
        }
        fields
    }

    /// The entries of a map in the order in which they are decoded, with the lines of their keys.
    fn entries<'o>(&self, node: NodeRef<'o>) -> Vec<(String, NodeRef<'o>, usize)> {
        let mut entries: Vec<(String, NodeRef<'o>, usize)> = node
            .target()
            .entries()
            .filter(|entry| !entry.is_merge())
            .filter(|entry| matches!(entry.key.target().kind(), Kind::Scalar(_)) && !is_null(entry.key))
            .map(|entry| {
                let key = String::from_utf8_lossy(&entry.key.text()).into_owned();
                (key, entry.value, entry.key.line())
            })
            .collect();
        if let Lines::Rewritten(first) = self.lines {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            let mut line = first;
            for (_, value, place) in &mut entries {
                *place = line;
                line += height(*value);
            }
        }
        entries
    }

    fn has_duplicates(&mut self, node: NodeRef<'_>) -> bool {
        let before = self.errors.len();
        let keys: Vec<(Vec<u8>, usize)> = node
            .target()
            .entries()
            .filter(|entry| matches!(entry.key.target().kind(), Kind::Scalar(_)))
            .map(|entry| (entry.key.text().into_owned(), entry.key.line()))
            .collect();
        for (at, (key, line)) in keys.iter().enumerate() {
            for (_, later) in keys[at + 1..].iter().filter(|(other, _)| other == key) {
                let key = pintle_tree::quote::quote(key);
                self.errors.push(format!("line {later}: mapping key {key} already defined at line {line}"));
            }
        }
        self.errors.len() > before
    }

    /// The line of a value after its key: maps and lists that are not empty begin on the next one.
    fn value_line(&self, node: NodeRef<'_>, line: usize) -> usize {
        let is_block = match node.target().kind() {
            Kind::Mapping => node.target().entries().next().is_some(),
            Kind::Sequence => node.target().items().next().is_some(),
            _ => false,
        };
        line + usize::from(is_block)
    }

    /// The entries of a struct in a struct.
    pub(crate) fn nested<'o>(
        &mut self,
        field: Option<&(NodeRef<'o>, usize)>,
        into: &str,
        known: &[&str],
    ) -> BTreeMap<String, (NodeRef<'o>, usize)> {
        let Some((node, line)) = field else { return BTreeMap::new() };
        let line = self.value_line(*node, *line);
        self.at(line, |decoder| decoder.fields(*node, into, known, false))
    }

    fn at<T>(&mut self, line: usize, decode: impl FnOnce(&mut Decoder) -> T) -> T {
        let before = self.lines;
        if let Lines::Rewritten(_) = before {
            self.lines = Lines::Rewritten(line);
        }
        let result = decode(self);
        self.lines = before;
        result
    }

    /// A string: any scalar but null.
    pub(crate) fn string(&mut self, field: Option<&(NodeRef<'_>, usize)>) -> String {
        let Some((node, line)) = field else { return String::new() };
        let line = self.value_line(*node, *line);
        self.at(line, |decoder| decoder.string_node(*node)).unwrap_or_default()
    }

    fn string_node(&mut self, node: NodeRef<'_>) -> Option<String> {
        match node.target().kind() {
            Kind::Scalar(_) if is_null(node) => None,
            Kind::Scalar(_) => Some(String::from_utf8_lossy(&node.text()).into_owned()),
            _ => {
                self.mismatch(node, "string");
                None
            }
        }
    }

    /// A boolean, with the words of YAML 1.1.
    pub(crate) fn boolean(&mut self, field: Option<&(NodeRef<'_>, usize)>) -> bool {
        let Some((node, line)) = field else { return false };
        if is_null(*node) {
            return false;
        }
        let text = node.text();
        let scalar = matches!(node.target().kind(), Kind::Scalar(_));
        let plain = scalar && is_plain(*node);
        match &*text {
            b"true" | b"True" | b"TRUE" if plain => true,
            b"false" | b"False" | b"FALSE" if plain => false,
            b"y" | b"Y" | b"yes" | b"Yes" | b"YES" | b"on" | b"On" | b"ON" if scalar => true,
            b"n" | b"N" | b"no" | b"No" | b"NO" | b"off" | b"Off" | b"OFF" if scalar => false,
            _ => {
                let line = self.value_line(*node, *line);
                self.at(line, |decoder| decoder.mismatch(*node, "bool"));
                false
            }
        }
    }

    /// An integer that is not negative and has at most `bits` bits.
    pub(crate) fn unsigned(&mut self, field: Option<&(NodeRef<'_>, usize)>, bits: u32, into: &str) -> u64 {
        let Some((node, line)) = field else { return 0 };
        if is_null(*node) {
            return 0;
        }
        let scalar = matches!(node.target().kind(), Kind::Scalar(_)) && is_plain(*node);
        let text = String::from_utf8_lossy(&node.text()).replace('_', "");
        let text = text.strip_prefix('+').unwrap_or(&text);
        let radix =
            |prefix: &str, radix| text.strip_prefix(prefix).map(|rest| u64::from_str_radix(rest, radix));
        let number = radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| radix("0b", 2));
        let number = number.unwrap_or_else(|| text.parse()).ok();
        match number.filter(|number| scalar && (bits == 64 || number >> bits == 0)) {
            Some(number) => number,
            None => {
                let line = self.value_line(*node, *line);
                self.at(line, |decoder| decoder.mismatch(*node, into));
                0
            }
        }
    }

    /// A map from strings to strings.
    pub(crate) fn string_map(&mut self, field: Option<&(NodeRef<'_>, usize)>) -> BTreeMap<String, String> {
        self.map(field, "map[string]string", |decoder, (node, _)| decoder.string_node(node))
    }

    /// A list of whatever `item` decodes; items that do not fit are left out.
    pub(crate) fn list<'o, T>(
        &mut self,
        field: Option<&(NodeRef<'o>, usize)>,
        into: &str,
        mut item: impl FnMut(&mut Decoder, NodeRef<'o>) -> Option<T>,
    ) -> Vec<T> {
        let Some((node, line)) = field else { return Vec::new() };
        match node.target().kind() {
            Kind::Sequence => {}
            _ if is_null(*node) => return Vec::new(),
            _ => {
                let line = self.value_line(*node, *line);
                self.at(line, |decoder| decoder.mismatch(*node, into));
                return Vec::new();
            }
        }
        let mut line = line + 1;
        let mut items = Vec::new();
        for entry in node.items() {
            items.extend(self.at(line, |decoder| item(decoder, entry)));
            line += height(entry).max(1);
        }
        items
    }

    /// A list of strings.
    pub(crate) fn strings(&mut self, field: Option<&(NodeRef<'_>, usize)>) -> Vec<String> {
        self.list(field, "[]string", |decoder, node| decoder.string_node(node))
    }

    /// A map from strings to whatever `value` decodes.
    pub(crate) fn map<'o, T>(
        &mut self,
        field: Option<&(NodeRef<'o>, usize)>,
        into: &str,
        mut value: impl FnMut(&mut Decoder, (NodeRef<'o>, usize)) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let mut map = BTreeMap::new();
        let Some((node, line)) = field else { return map };
        match node.target().kind() {
            Kind::Mapping => {}
            _ if is_null(*node) => return map,
            _ => {
                let line = self.value_line(*node, *line);
                self.at(line, |decoder| decoder.mismatch(*node, into));
                return map;
            }
        }
        let node = *node;
        self.at(line + 1, |decoder| {
            if decoder.has_duplicates(node) {
                return;
            }
            for (key, entry, line) in decoder.entries(node) {
                if let Some(value) = decoder.at(line, |decoder| value(decoder, (entry, line))) {
                    map.insert(key, value);
                }
            }
        });
        map
    }
}

/// The root of a manifest; `None` if there is no document in the text.
pub(crate) fn root<'o>(outline: &'o Outline<'_>) -> Option<NodeRef<'o>> {
    let text = outline.text();
    let blank = text.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        line.is_empty() || line.starts_with(b"#")
    });
    if blank { None } else { outline.roots().next() }
}

fn is_plain(node: NodeRef<'_>) -> bool {
    node.target().kind() == Kind::Scalar(Style::Plain) && node.target().tag().is_none()
}

/// Whether go-yaml v3 resolves a scalar to null.
pub(crate) fn is_null(node: NodeRef<'_>) -> bool {
    is_plain(node) && matches!(&*node.text(), b"" | b"~" | b"null" | b"Null" | b"NULL")
}

/// The short tag of a node as go-yaml v3 resolves it.
fn tag(node: NodeRef<'_>) -> String {
    if let Some(tag) = node.target().tag() {
        return String::from_utf8_lossy(tag).into_owned();
    }
    match node.target().kind() {
        Kind::Mapping => "!!map".to_owned(),
        Kind::Sequence => "!!seq".to_owned(),
        _ if !is_plain(node) => "!!str".to_owned(),
        _ => plain_tag(&String::from_utf8_lossy(&node.text())).to_owned(),
    }
}

fn plain_tag(text: &str) -> &'static str {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return "!!null",
        "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => return "!!bool",
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan"
        | ".NaN" | ".NAN" => return "!!float",
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).replace('_', "");
    let digits = |radix: u32, text: &str| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    let is_int = digits(10, &unsigned)
        || [("0x", 16), ("0o", 8), ("0b", 2)]
            .iter()
            .any(|(prefix, radix)| unsigned.strip_prefix(prefix).is_some_and(|rest| digits(*radix, rest)));
    if is_int {
        return "!!int";
    }
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if numeric
        && unsigned.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
        && unsigned.parse::<f64>().is_ok()
    {
        return "!!float";
    }
    if is_timestamp(text) { "!!timestamp" } else { "!!str" }
}

/// Whether a text begins as a date does; go-yaml's layouts ask for no more than that in all practical cases.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[5..7].iter().all(u8::is_ascii_digit)
        && bytes[7] == b'-'
        && bytes[8..10].iter().all(u8::is_ascii_digit)
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b't' | b' '))
}

/// How many lines a value takes when go-yaml writes it after its key.
fn height(node: NodeRef<'_>) -> usize {
    let target = node.target();
    match target.kind() {
        Kind::Mapping => 1 + target.entries().map(|entry| height(entry.value)).sum::<usize>(),
        Kind::Sequence => 1 + target.items().map(|item| item_height(item)).sum::<usize>(),
        _ => {
            let text = node.text();
            let lines = text.split(|byte| *byte == b'\n').count();
            if lines > 1 { lines + usize::from(!text.ends_with(b"\n")) } else { 1 }
        }
    }
}

/// The same for an item of a list, which begins on the line of its dash.
fn item_height(node: NodeRef<'_>) -> usize {
    match node.target().kind() {
        Kind::Mapping | Kind::Sequence => height(node).saturating_sub(1).max(1),
        _ => height(node),
    }
}
