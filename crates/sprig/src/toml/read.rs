//! Parses TOML: tables, keys and the rules about redefinition.

mod scalar;

use std::collections::{BTreeMap, BTreeSet};

use pintle_gotmpl::{Fuel, List, ListType, Value, print};
use pintle_tree::{Map, Str};

use super::key;
use super::scan::{ParseError, Scanner, Token, described, quoted};

/// The maximum number of parts of a dotted key. Each is a nested table, and every table on the path is recorded by
/// its full name.
const MAX_KEY_PARTS: usize = 1_000;

/// The maximum nesting of lists and inline tables.
const MAX_DEPTH: usize = 500;

/// Parses a document; the error is the text of BurntSushi's library.
pub(super) fn document(fuel: &mut Fuel, source: &[u8]) -> Result<Map<Value>, String> {
    const UTF16: &str = "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8";
    let marks: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
    let text = marks.iter().find_map(|mark| source.strip_prefix(*mark)).unwrap_or(source);
    // The library looks at the first bytes only.
    if text.iter().take(6).any(|&byte| byte == 0) {
        return Err(format!("toml: line 1: {UTF16}"));
    }
    let mut reader = Reader {
        scanner: Scanner::new(text),
        fuel,
        root: Table::new(),
        context: Vec::new(),
        current: Str::EMPTY,
        line: 1,
        implicit: BTreeSet::new(),
        arrays: BTreeMap::new(),
        depth: 0,
    };
    match reader.top_level() {
        Ok(()) => Ok(values(reader.root)),
        Err(error) => Err(reader.message(&error)),
    }
}

/// The value of a key while the document is parsed.
enum Entry {
    Table(Table),
    Tables(Vec<Table>),
    Plain(Value),
}

/// A table while the document is parsed. Its keys come in any order, for which a sorted vector would be slow.
type Table = BTreeMap<Str, Entry>;

fn values(entries: Table) -> Map<Value> {
    let value = |entry| match entry {
        Entry::Table(entries) => Value::map(values(entries)),
        Entry::Tables(tables) => {
            let tables = tables.into_iter().map(|table| Value::map(values(table))).collect();
            Value::List(List::of(ListType::Maps, tables))
        }
        Entry::Plain(value) => value,
    };
    entries.into_iter().map(|(key, entry)| (key, value(entry))).collect()
}

type Key = Vec<Str>;
type Outcome<T> = Result<T, ParseError>;

struct Reader<'t> {
    scanner: Scanner<'t>,
    fuel: &'t mut Fuel,
    root: Table,
    /// The key of the current table.
    context: Key,
    /// The last part of the key whose value is being read.
    current: Str,
    /// The line of the current key.
    line: i64,
    /// Tables that exist only because a longer key passed through them.
    implicit: BTreeSet<Key>,
    /// The keys whose kind is known: whether it is a list.
    arrays: BTreeMap<Key, bool>,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn message(&self, error: &ParseError) -> String {
        let mut last = key::to_str(&self.context).as_bytes().to_vec();
        if !self.current.is_empty() {
            if !last.is_empty() {
                last.push(b'.');
            }
            last.extend_from_slice(self.current.as_bytes());
        }
        if last.is_empty() {
            return format!("toml: line {}: {}", error.line, error.message);
        }
        let last = pintle_tree::quote::quote(&last);
        format!("toml: line {} (last key {last}): {}", error.line, error.message)
    }

    /// Charges parts of keys that are looked up and recorded.
    fn charge(&mut self, parts: usize) -> Outcome<()> {
        let paid = self.fuel.spend(parts as u64 / 4 + 1);
        let paid = paid.and_then(|()| self.fuel.allocate(parts / 2 * size_of::<Str>()));
        paid.map_err(|error| self.scanner.error(error.message))
    }

    /// An error at the current key.
    fn key_error(&self, key: &[Str], rest: &str) -> ParseError {
        ParseError { line: self.line, message: format!("Key '{}' {rest}", key::to_str(key)) }
    }

    fn top_level(&mut self) -> Outcome<()> {
        loop {
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                None => return Ok(()),
                Some('[') => {
                    self.scanner.next()?;
                    self.header()?;
                }
                Some(_) => {
                    // A dotted key enters tables, which its line leaves again.
                    let outer = self.context.clone();
                    let key = self.key()?;
                    self.assignment(key)?;
                    self.context = outer;
                    self.current = Str::EMPTY;
                }
            }
            self.line_end()?;
        }
    }

    fn line_end(&mut self) -> Outcome<()> {
        self.scanner.skip_blanks()?;
        match self.scanner.next()? {
            None | Some('\n' | '\r') => Ok(()),
            Some('#') => self.scanner.skip_comment(),
            found => Err(self.scanner.error(format!(
                "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                quoted(found)
            ))),
        }
    }

    /// Reads `[table]` or `[[tables]]` after the first bracket.
    fn header(&mut self) -> Outcome<()> {
        let many = self.scanner.accept('[')?;
        let mut name = Key::new();
        loop {
            self.scanner.skip_blanks()?;
            match self.scanner.peek()? {
                None | Some(']') => {
                    let message = "unexpected end of table name (table names cannot be empty)";
                    return Err(self.scanner.error(message));
                }
                Some('.') => {
                    return Err(self
                        .scanner
                        .error("unexpected table separator (table names cannot be empty)"));
                }
                Some(_) => {}
            }
            self.push_key_part(&mut name)?;
            self.scanner.skip_blanks()?;
            match self.scanner.next()? {
                Some('.') => {}
                Some(']') => break,
                found => {
                    let message =
                        format!("expected '.' or ']' to end table name, but got {} instead", quoted(found));
                    return Err(self.scanner.error_at(found, message));
                }
            }
        }
        if many {
            let found = self.scanner.next()?;
            if found != Some(']') {
                let message = format!(
                    "expected end of table array name delimiter ']', but got {} instead",
                    quoted(found)
                );
                return Err(self.scanner.error_at(found, message));
            }
        }
        self.enter(&name, many)?;
        self.arrays.insert(self.context.clone(), false);
        Ok(())
    }

    /// Parses one part of a key. The first part decides the line of errors about the key.
    fn push_key_part(&mut self, key: &mut Key) -> Outcome<()> {
        if key.len() >= MAX_KEY_PARTS {
            return Err(self.scanner.error("a key has too many parts"));
        }
        let token = self.scanner.key_part()?;
        if key.is_empty() {
            self.line = self.scanner.line();
        }
        let part = self.scalar(token)?;
        key.push(print::to_str(&part));
        Ok(())
    }

    /// Reads a key up to its equals sign.
    fn key(&mut self) -> Outcome<Key> {
        self.scanner.skip_blanks()?;
        match self.scanner.peek()? {
            None | Some('=') => return Err(self.scanner.error("unexpected '=': key name appears blank")),
            Some('.') => return Err(self.scanner.error("unexpected '.': keys cannot start with a '.'")),
            Some(_) => {}
        }
        let mut key = Key::new();
        loop {
            self.push_key_part(&mut key)?;
            if self.scanner.key_end()? {
                return Ok(key);
            }
            self.scanner.skip_blanks()?;
            match self.scanner.peek()? {
                None | Some('=') => return Err(self.scanner.error("unexpected '='")),
                Some('.') => return Err(self.scanner.error("unexpected '.'")),
                Some(_) => {}
            }
        }
    }

    /// Parses the value of a key and adds it to the current table. The context is left at the key's table.
    fn assignment(&mut self, mut key: Key) -> Outcome<Value> {
        self.current = key.pop().unwrap_or_default();
        for part in key {
            let mut table = self.context.clone();
            table.push(part);
            self.implicit.insert(table.clone());
            self.enter(&table, false)?;
        }
        let token = self.scanner.value()?;
        let value = self.value(token, false)?;
        let current = self.current.clone();
        self.define(&current, Entry::Plain(value.clone()))?;
        self.set_kind(matches!(token, Token::Array));
        Ok(value)
    }

    /// Records whether the value of the current key is a list.
    fn set_kind(&mut self, array: bool) {
        let mut key = self.context.clone();
        if !self.current.is_empty() {
            key.push(self.current.clone());
        }
        if key.is_empty() {
            key.push(Str::EMPTY);
        }
        self.arrays.insert(key, array);
    }

    fn value(&mut self, token: Token<'t>, in_array: bool) -> Outcome<Value> {
        if !matches!(token, Token::Array | Token::Table) {
            return self.scalar(token);
        }
        if self.depth == MAX_DEPTH {
            return Err(self.scanner.error("values are nested too deeply"));
        }
        self.depth += 1;
        let value = if matches!(token, Token::Array) { self.array() } else { self.inline_table(in_array) };
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Outcome<Value> {
        self.set_kind(true);
        let mut items = Vec::new();
        loop {
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                Some(',') => {
                    self.scanner.next()?;
                    return Err(self.scanner.error("unexpected comma"));
                }
                Some(']') => {
                    self.scanner.next()?;
                    break;
                }
                _ => {}
            }
            let token = self.scanner.value()?;
            items.push(self.value(token, true)?);
            self.scanner.skip_lines()?;
            match self.scanner.next()? {
                Some(',') => {}
                Some(']') => break,
                found => {
                    let message = format!(
                        "expected a comma (',') or array terminator (']'), but got {}",
                        described(found)
                    );
                    return Err(self.scanner.error_at(found, message));
                }
            }
        }
        Ok(Value::list(items))
    }

    /// Parses an inline table. Its entries are also added to the tree, which is how duplicates are found.
    fn inline_table(&mut self, in_array: bool) -> Outcome<Value> {
        let (outer, outer_current) = (self.context.clone(), std::mem::take(&mut self.current));
        let mut own = outer.clone();
        own.push(outer_current.clone());
        self.implicit.insert(own.clone());
        self.context.clone_from(&own);
        self.enter(&own, in_array)?;
        let mut entries = Table::new();
        loop {
            self.scanner.skip_lines()?;
            match self.scanner.peek()? {
                Some(',') => {
                    self.scanner.next()?;
                    return Err(self.scanner.error("unexpected comma"));
                }
                Some('}') => {
                    self.scanner.next()?;
                    break;
                }
                _ => {}
            }
            let key = self.key()?;
            let value = self.assignment(key.clone())?;
            self.put(&mut entries, &key, value)?;
            self.context = own.clone();
            self.scanner.skip_lines()?;
            match self.scanner.next()? {
                Some(',') => {}
                Some('}') => break,
                found => {
                    let message = format!(
                        "expected a comma or an inline table terminator '}}', but got {} instead",
                        described(found)
                    );
                    return Err(self.scanner.error_at(found, message));
                }
            }
        }
        self.context = outer;
        self.current = outer_current;
        Ok(Value::map(values(entries)))
    }

    /// Puts a value under a dotted key of an inline table.
    fn put(&self, entries: &mut Table, key: &[Str], value: Value) -> Outcome<()> {
        let Some((last, tables)) = key.split_last() else { return Ok(()) };
        let mut table = entries;
        for part in tables {
            match table.entry(part.clone()).or_insert_with(|| Entry::Table(Table::new())) {
                Entry::Table(inner) => table = inner,
                _ => {
                    let context = key::to_str(&self.context);
                    let message = format!("{} is not a table", pintle_tree::quote::quote(context.as_bytes()));
                    return Err(ParseError { line: self.line, message });
                }
            }
        }
        table.insert(last.clone(), Entry::Plain(value));
        Ok(())
    }

    /// Makes the table with this key the current one, and creates it and its parents where missing.
    fn enter(&mut self, name: &[Str], many: bool) -> Outcome<()> {
        let Some((last, parents)) = name.split_last() else { return Ok(()) };
        // Each table on the path may be recorded by its full name.
        self.charge(name.len() * name.len())?;
        let mut table = &mut self.root;
        for (index, part) in parents.iter().enumerate() {
            if !table.contains_key(part) {
                self.implicit.insert(parents[..=index].to_vec());
            }
            table = match table.entry(part.clone()).or_insert_with(|| Entry::Table(Table::new())) {
                Entry::Table(inner) => inner,
                Entry::Tables(tables) if !tables.is_empty() => tables.last_mut().expect("it is not empty"),
                _ => {
                    return Err(self.key_error(&parents[..=index], "was already created as a hash."));
                }
            };
        }
        if many {
            match table.entry(last.clone()).or_insert_with(|| Entry::Tables(Vec::new())) {
                Entry::Tables(tables) => tables.push(Table::new()),
                _ => {
                    self.context = parents.to_vec();
                    return Err(self.key_error(name, "was already created and cannot be used as an array."));
                }
            }
            self.context = name.to_vec();
            return Ok(());
        }
        self.context = parents.to_vec();
        self.define(last, Entry::Table(Table::new()))?;
        self.context = name.to_vec();
        Ok(())
    }

    /// Adds an entry to the current table. An implicit table may be defined once more, and is kept.
    fn define(&mut self, last: &Str, entry: Entry) -> Outcome<()> {
        self.charge(self.context.len())?;
        let mut table = &mut self.root;
        for (index, part) in self.context.iter().enumerate() {
            table = match table.get_mut(part) {
                Some(Entry::Table(inner)) => inner,
                Some(Entry::Tables(tables)) if !tables.is_empty() => {
                    tables.last_mut().expect("it is not empty")
                }
                _ => return Err(self.key_error(&self.context[..=index], "has already been defined.")),
            };
        }
        if !table.contains_key(last) {
            table.insert(last.clone(), entry);
            return Ok(());
        }
        let mut key = self.context.clone();
        key.push(last.clone());
        if !self.implicit.remove(&key) {
            return Err(self.key_error(&key, "has already been defined."));
        }
        // The tables of an inline list were added to the tree one by one; the list replaces them.
        if self.arrays.get(&key) == Some(&true) {
            table.insert(last.clone(), entry);
        }
        Ok(())
    }
}
