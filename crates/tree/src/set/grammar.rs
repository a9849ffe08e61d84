//! Keys, indexes and values of the `--set` family.
//!
//! Helm's parser modifies a tree as it goes and relies on Go's panics, and what it leaves behind after an error is
//! visible to the user, so the order of effects here is deliberate.

use super::cursor::Cursor;
use super::{Error, ReadFile};
use crate::{Map, Node, json, number, quote};

/// The maximum list index, as in Helm (`MaxIndex`).
const MAX_INDEX: i64 = 65_536;

/// The maximum nesting of names by dots, as in Helm (`MaxNestedNameLevel`).
const MAX_NAME_LEVEL: usize = 30;

/// The maximum nesting of all kinds. Helm has no such limit; it keeps hostile texts from exhausting the stack.
const MAX_LEVEL: usize = 500;

/// The maximum number of list items of one flag. An index costs a few characters but creates all items before it.
const MAX_ITEMS: usize = 4 << 20;

/// How values are written.
pub(super) enum ValueGrammar<'r> {
    Typed,
    Text,
    Json,
    File(&'r mut ReadFile<'r>),
    Literal,
}

/// Why parsing stops: at the end of the text, which is often fine, or for an error.
enum Stop {
    End,
    Error(String),
}

pub(super) struct Parser<'t, 'r> {
    cursor: Cursor<'t>,
    grammar: ValueGrammar<'r>,
    level: usize,
    /// The number of list items created, including holes.
    items: usize,
}

/// The value after `=`, except JSON.
enum Value {
    Node(Node),
    /// The text ended right after `=`.
    Missing,
}

impl<'t, 'r> Parser<'t, 'r> {
    pub(super) fn new(text: &'t [u8], grammar: ValueGrammar<'r>) -> Self {
        Parser { cursor: Cursor::new(text), grammar, level: 0, items: 0 }
    }

    pub(super) fn run(mut self, into: &mut Map<Node>) -> Result<(), Error> {
        loop {
            match self.key(into, 0) {
                Ok(()) => {}
                Err(Stop::End) => return Ok(()),
                Err(Stop::Error(message)) => return Err(Error(message)),
            }
        }
    }

    fn literal(&self) -> bool {
        matches!(self.grammar, ValueGrammar::Literal)
    }

    /// Reads a key and all that follows it, up to the comma after its value.
    fn key(&mut self, data: &mut Map<Node>, name_level: usize) -> Result<(), Stop> {
        let literal = self.literal();
        let stops: &[char] = if literal { &['=', '[', '.'] } else { &['=', '[', ',', '.'] };
        let piece = self.cursor.until(stops, !literal);
        let key = piece.text;
        match piece.stop {
            None if key.is_empty() => Err(Stop::End),
            None => Err(Stop::Error(format!("key {} has no value", quote::quote(key.as_bytes())))),
            Some('[') => self.indexed_key(data, key, name_level),
            Some('=') => self.assigned_key(data, key),
            Some('.') => self.deeper(|parser| parser.nested_key(data, key, name_level + 1)),
            Some(_) => {
                let message =
                    format!("key {} has no value (cannot end with ,)", quote::quote(key.as_bytes()));
                // Helm sets the key before it returns the error.
                put(data, key, Node::from(""));
                Err(Stop::Error(message))
            }
        }
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        if self.level >= MAX_LEVEL {
            let message = format!(
                "value name nested level is greater than maximum supported nested level of {MAX_LEVEL}"
            );
            return Err(Stop::Error(message));
        }
        self.level += 1;
        let result = inside(self);
        self.level -= 1;
        result
    }

    /// `key[…`
    fn indexed_key(&mut self, data: &mut Map<Node>, key: String, name_level: usize) -> Result<(), Stop> {
        let index = self.index()?;
        match data.get_mut(&key) {
            Some(Node::List(list)) => self.item(list, index, name_level),
            Some(other) => Err(key_type_error(other, "[]interface {}")),
            None => {
                // The new list is kept even if what follows the index is invalid.
                let mut list = Vec::new();
                let result = self.item(&mut list, index, name_level);
                put(data, key, Node::List(list));
                result
            }
        }
    }

    /// `key=…`
    fn assigned_key(&mut self, data: &mut Map<Node>, key: String) -> Result<(), Stop> {
        match self.grammar {
            ValueGrammar::Json => {
                let (node, length) = self.json_value()?;
                put(data, key, node);
                self.end_json_value(length);
                Ok(())
            }
            ValueGrammar::Literal => {
                put(data, key, self.literal_value());
                Ok(())
            }
            _ => match self.value() {
                Ok(Value::Node(node)) => {
                    put(data, key, node);
                    Ok(())
                }
                Ok(Value::Missing) => {
                    put(data, key, Node::from(""));
                    Err(Stop::End)
                }
                Err((message, in_list)) => {
                    // Helm sets the key before it returns the error of a value, but not that of a list.
                    if !in_list {
                        put(data, key, Node::Nil);
                    }
                    Err(Stop::Error(message))
                }
            },
        }
    }

    /// `key.…`
    fn nested_key(&mut self, data: &mut Map<Node>, key: String, name_level: usize) -> Result<(), Stop> {
        if name_level > MAX_NAME_LEVEL {
            let message = format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NAME_LEVEL}"
            );
            return Err(Stop::Error(message));
        }
        let mut fresh = Map::new();
        let (inner, is_fresh) = match data.get_mut(&key) {
            Some(Node::Map(inner)) => (inner, false),
            Some(other) => return Err(key_type_error(other, "map[string]interface {}")),
            None => (&mut fresh, true),
        };
        let result = self.key(inner, name_level);
        // Helm adds a new map only if something was set in it, also after an error.
        if inner.is_empty() {
            if result.is_ok() {
                return Err(Stop::Error(format!("key map {} has no value", quote::quote(key.as_bytes()))));
            }
        } else if is_fresh {
            put(data, key, Node::Map(fresh));
        }
        result
    }

    /// Reads the index up to `]`.
    fn index(&mut self) -> Result<i64, Stop> {
        let piece = self.cursor.until(&[']'], !self.literal());
        if piece.stop.is_none() {
            return Err(Stop::End);
        }
        number::parse_int(&piece.text, 10).map_err(|error| {
            let reason = match error {
                number::IntError::Syntax => "invalid syntax",
                number::IntError::Range => "value out of range",
            };
            let text = quote::quote(piece.text.as_bytes());
            Stop::Error(format!("error parsing index: strconv.Atoi: parsing {text}: {reason}"))
        })
    }

    /// Reads what follows an index and sets the item.
    fn item(&mut self, list: &mut Vec<Node>, index: i64, name_level: usize) -> Result<(), Stop> {
        let at =
            usize::try_from(index).map_err(|_| Stop::Error(format!("negative {index} index not allowed")))?;
        let piece = self.cursor.until(&['[', '.', '='], !self.literal());
        if !piece.text.is_empty() {
            let message =
                format!("unexpected data at end of array index: {}", quoted_characters(&piece.text));
            return Err(Stop::Error(message));
        }
        match piece.stop {
            None => Err(Stop::End),
            Some('=') => self.assigned_item(list, index),
            Some('[') => self.deeper(|parser| parser.nested_list(list, index, at, name_level)),
            Some(_) => self.deeper(|parser| parser.nested_map(list, index, at, name_level)),
        }
    }

    /// `[1]=…`
    fn assigned_item(&mut self, list: &mut Vec<Node>, index: i64) -> Result<(), Stop> {
        match self.grammar {
            ValueGrammar::Json => {
                let (node, length) = self.json_value()?;
                self.put_item(list, index, node)?;
                self.end_json_value(length);
                Ok(())
            }
            ValueGrammar::Literal => {
                let node = self.literal_value();
                self.put_item(list, index, node)
            }
            _ => match self.value() {
                Ok(Value::Node(node)) => self.put_item(list, index, node),
                Ok(Value::Missing) => self.put_item(list, index, Node::from("")),
                Err((message, _)) => Err(Stop::Error(message)),
            },
        }
    }

    fn put_item(&mut self, list: &mut Vec<Node>, index: i64, node: Node) -> Result<(), Stop> {
        if index > MAX_INDEX {
            return Err(index_too_large(index));
        }
        let at = usize::try_from(index).map_err(|_| index_too_large(index))?;
        if list.len() <= at {
            self.items += at + 1 - list.len();
            if self.items > MAX_ITEMS {
                return Err(Stop::Error(format!("lists have more than {MAX_ITEMS} items")));
            }
            // Indexes need not be contiguous; what is skipped is nil.
            list.resize(at + 1, Node::Nil);
        }
        list[at] = node;
        Ok(())
    }

    /// `[1][…`
    fn nested_list(
        &mut self,
        list: &mut Vec<Node>,
        index: i64,
        at: usize,
        name_level: usize,
    ) -> Result<(), Stop> {
        let next = self.index()?;
        match list.get_mut(at) {
            Some(Node::List(inner)) => return self.item(inner, next, name_level),
            Some(Node::Nil) | None => {}
            Some(other) => return Err(key_type_error(other, "[]interface {}")),
        }
        let mut inner = Vec::new();
        self.item(&mut inner, next, name_level)?;
        self.put_item(list, index, Node::List(inner))
    }

    /// `[1].…`
    fn nested_map(
        &mut self,
        list: &mut Vec<Node>,
        index: i64,
        at: usize,
        name_level: usize,
    ) -> Result<(), Stop> {
        if let Some(item) = list.get_mut(at) {
            // Helm replaces whatever the item is; only a key of a map reports a wrong type.
            if item.as_map().is_none() {
                *item = Node::empty_map();
            }
            let inner = item.as_map_mut().expect("made a map just now");
            self.key(inner, name_level)?;
            // The item is changed before the limit is checked, as in Helm.
            return if index > MAX_INDEX { Err(index_too_large(index)) } else { Ok(()) };
        }
        let mut inner = Map::new();
        self.key(&mut inner, name_level)?;
        self.put_item(list, index, Node::Map(inner))
    }

    fn literal_value(&mut self) -> Node {
        Node::from(self.cursor.until(&[], false).text)
    }

    /// Parses a JSON value. Returns its length; an empty one is nil and consumes its comma.
    fn json_value(&mut self) -> Result<(Node, Option<usize>), Stop> {
        if self.blank_until_comma() {
            return Ok((Node::Nil, None));
        }
        let (node, length) =
            json::read_prefix(self.cursor.rest()).map_err(|error| Stop::Error(error.to_string()))?;
        Ok((node, Some(length)))
    }

    /// Consumes a JSON value, and blanks and a comma after it.
    fn end_json_value(&mut self, length: Option<usize>) {
        if let Some(length) = length {
            self.cursor.advance(length);
            self.blank_until_comma();
        }
    }

    /// Consumes white space and a comma. Returns whether there was nothing else.
    fn blank_until_comma(&mut self) -> bool {
        loop {
            match self.cursor.decode() {
                None => return true,
                Some((',', length)) => {
                    self.cursor.advance(length);
                    return true;
                }
                Some((character, length)) if character.is_whitespace() => self.cursor.advance(length),
                Some(_) => return false,
            }
        }
    }

    /// Parses `{a,b}` or a plain value. An error also says whether it occurred inside braces.
    fn value(&mut self) -> Result<Value, (String, bool)> {
        if self.cursor.decode().is_none() {
            return Ok(Value::Missing);
        }
        if !self.cursor.skip('{') {
            let piece = self.cursor.until(&[','], true);
            return self.convert(piece.text).map(Value::Node).map_err(|message| (message, false));
        }
        let mut list = Vec::new();
        loop {
            let piece = self.cursor.until(&[',', '}'], true);
            let Some(stop) = piece.stop else {
                return Err(("list must terminate with '}'".to_owned(), true));
            };
            if stop == '}' {
                self.cursor.skip(',');
            }
            list.push(self.convert(piece.text).map_err(|message| (message, true))?);
            if stop == '}' {
                return Ok(Value::Node(Node::List(list)));
            }
        }
    }

    fn convert(&mut self, text: String) -> Result<Node, String> {
        match &mut self.grammar {
            ValueGrammar::Typed => Ok(typed(text)),
            ValueGrammar::File(read) => read(&text).map(|content| Node::Str(content.into())),
            ValueGrammar::Text | ValueGrammar::Json | ValueGrammar::Literal => Ok(Node::from(text)),
        }
    }
}

/// Types a string by its spelling.
fn typed(text: String) -> Node {
    if folds_to(&text, "true") {
        return Node::Bool(true);
    }
    if folds_to(&text, "false") {
        return Node::Bool(false);
    }
    if folds_to(&text, "null") {
        return Node::Nil;
    }
    // Leading zeros make a string, so that `007` and phone numbers survive; zero itself is the exception.
    if text == "0" {
        return Node::Int(0);
    }
    if !text.starts_with('0')
        && let Ok(value) = number::parse_int(&text, 10)
    {
        return Node::Int(value);
    }
    Node::from(text)
}

/// Whether `text` equals `word` under Unicode case folding: the long s is an s.
fn folds_to(text: &str, word: &str) -> bool {
    let folded = |character: char| if character == 'ſ' { 's' } else { character.to_ascii_lowercase() };
    text.len() <= word.len() + 1 && text.chars().map(folded).eq(word.chars())
}

/// Sets an entry; an empty key is ignored.
fn put(data: &mut Map<Node>, key: String, node: Node) {
    if !key.is_empty() {
        data.insert(key.into(), node);
    }
}

/// The error about an index beyond [`MAX_INDEX`].
fn index_too_large(index: i64) -> Stop {
    Stop::Error(format!("index of {index} is greater than maximum supported index of {MAX_INDEX}"))
}

/// Go's error for a failed type assertion.
fn key_type_error(found: &Node, wanted: &str) -> Stop {
    let found = go_type(found);
    Stop::Error(format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}"))
}

/// The Go type that a node stands for.
fn go_type(node: &Node) -> &'static str {
    match node {
        Node::Nil => "nil",
        Node::Bool(_) => "bool",
        Node::Int(_) => "int64",
        Node::Float(_) => "float64",
        Node::Str(_) => "string",
        Node::List(_) => "[]interface {}",
        Node::Map(_) => "map[string]interface {}",
    }
}

/// Go's `%q` of a list of characters.
fn quoted_characters(text: &str) -> String {
    let mut out = String::from("[");
    for (index, character) in text.chars().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push('\'');
        quote::push_escaped(character, '\'', false, &mut out);
        out.push('\'');
    }
    out.push(']');
    out
}
