//! Lua → trees: converts what a script returns, within limits, and detects what is unchanged.

use std::rc::Rc;

use mlua::{Table, Value};
use pintle_tree::{Map, Node, Str};

use super::MAX_EXACT;
use super::exact::ExactInteger;
use super::frame::{DirtyTables, Frame, Item, Position, View, push_key};
use super::tree::Change;
use crate::call::CallError;
use crate::host::Host;
use crate::limits::Limits;

/// The maximum nesting depth of tables. Conversion recurses, and no object of Kubernetes nests nearly as deep.
const MAX_DEPTH: usize = 250;

/// Converts a Lua value to a tree.
pub(crate) fn node(host: &Host, value: &Value) -> Result<Node, CallError> {
    let frame = host.frame();
    let mut reader = TableReader::new(&frame, host, "the value".to_owned());
    match reader.read(value, None)? {
        Change::New(node) => Ok(node),
        _ => Ok(Node::Nil),
    }
}

/// The type name as scripts know it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) | Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Table(_) => "a table",
        Value::Function(_) => "a function",
        Value::Thread(_) => "a coroutine",
        Value::Buffer(_) => "a buffer",
        Value::Vector(_) => "a vector",
        Value::LightUserData(_) => "null",
        Value::UserData(_) => "a userdata",
        Value::Error(_) => "an error",
        Value::Other(_) => "something unknown",
    }
}

/// Walks Lua values.
pub(super) struct TableReader<'a> {
    frame: &'a Frame,
    limits: Limits,
    list: Table,
    nodes: usize,
    bytes: usize,
    path: Path,
    /// The modified context tables; `None` if unknown, so that all are compared.
    dirty: Option<Rc<DirtyTables>>,
    /// The tables being walked, to detect cycles.
    open: Vec<usize>,
}

/// The current path, for errors.
struct Path {
    start: String,
    steps: Vec<Key>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
enum Key {
    Text(Str),
    Index(usize),
}

impl Path {
    fn text(&self) -> String {
        let mut text = self.start.clone();
        for step in &self.steps {
            match step {
                Key::Text(key) => push_key(&mut text, &key.to_str_lossy()),
                Key::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

/// The entries of a table, by its kind.
enum Entries {
    Map(Vec<(Str, Value)>),
    List(Vec<Value>),
    Empty,
}

impl<'a> TableReader<'a> {
    pub(super) fn new(frame: &'a Frame, host: &Host, start: String) -> Self {
        let path = Path { start, steps: Vec::new() };
        let list = host.handles().list.clone();
        TableReader {
            frame,
            limits: host.limits,
            list,
            nodes: 0,
            bytes: 0,
            path,
            dirty: None,
            open: Vec::new(),
        }
    }

    /// Assumes that all context tables are unchanged, except these and those that contain them.
    pub(super) fn only_around(mut self, changed: &[Table]) -> Self {
        self.dirty = Some(Rc::new(self.frame.dirty(changed)));
        self
    }

    /// Continues at another path with the remaining limits.
    pub(super) fn start_at(&mut self, start: String) {
        self.path = Path { start, steps: Vec::new() };
    }

    /// Reads a value; with a position, as a change of what was there.
    pub(super) fn read(&mut self, value: &Value, position: Option<Position>) -> Result<Change, CallError> {
        if let Value::Table(table) = value {
            return self.nested(table, |reader| reader.table(table, position));
        }
        let node = self.scalar(value)?;
        match position.and_then(|position| self.frame.item(position)) {
            Some(Item::Node(before)) if is_same_scalar(before, &node) => Ok(Change::Unchanged),
            _ => Ok(Change::New(node)),
        }
    }

    /// Charges what is returned.
    fn spend(&mut self, nodes: usize, bytes: usize) -> Result<(), CallError> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > self.limits.nodes {
            return self.refuse(format!("there are more than {} values in all", self.limits.nodes));
        }
        if self.bytes > self.limits.text {
            return self.refuse(format!("there are more than {} bytes of text in all", self.limits.text));
        }
        Ok(())
    }

    fn nested<T>(
        &mut self,
        table: &Table,
        walk: impl FnOnce(&mut Self) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let address = table.to_pointer() as usize;
        if self.open.contains(&address) {
            return self.refuse("the table contains itself");
        }
        if self.open.len() >= MAX_DEPTH {
            return self.refuse(format!("tables are nested more than {MAX_DEPTH} deep"));
        }
        self.open.push(address);
        let outcome = walk(self);
        self.open.pop();
        outcome
    }

    fn scalar(&mut self, value: &Value) -> Result<Node, CallError> {
        match value {
            Value::Boolean(value) => Ok(Node::Bool(*value)),
            Value::LightUserData(_) => Ok(Node::Nil),
            Value::Integer(value) => Ok(Node::Int(*value)),
            Value::Number(value) => self.number(*value),
            Value::String(text) => {
                let bytes = text.as_bytes();
                self.spend(0, bytes.len())?;
                Ok(Node::Str(Str::new(&*bytes)))
            }
            Value::UserData(data) => match data.borrow::<ExactInteger>() {
                Ok(exact) => Ok(Node::Int(exact.0)),
                Err(_) => self.refuse("a userdata cannot be kept"),
            },
            Value::Nil => self.refuse("nil cannot be kept; null can"),
            other => self.refuse(format!("{} cannot be kept", type_name(other))),
        }
    }

    fn number(&self, number: f64) -> Result<Node, CallError> {
        if !number.is_finite() {
            return self.refuse("a number that is infinite or undefined cannot be kept");
        }
        // Lua has no integers, but YAML and Kubernetes do: a whole number is written without a fraction.
        match number.fract() == 0.0 && number.abs() <= MAX_EXACT {
            true => Ok(Node::Int(number as i64)),
            false => Ok(Node::Float(number)),
        }
    }

    fn table(&mut self, table: &Table, position: Option<Position>) -> Result<Change, CallError> {
        let Some(id) = self.frame.id(table) else { return self.fresh(table).map(Change::New) };
        let entry = self.frame.entry(id);
        let in_place = position == Some(entry.position);
        let is_touched = self.dirty.as_ref().is_none_or(|dirty| dirty.contains(id));
        let change = match entry.filled && !entry.read_only && is_touched {
            true => self.known(table, id)?,
            false => Change::Unchanged,
        };
        if in_place {
            return Ok(change);
        }
        // The table was moved to another position, so its content is copied.
        let mut node = self.frame.item(entry.position).map(Item::to_node).unwrap_or_default();
        self.spend_tree(&node)?;
        change.apply(&mut node);
        Ok(Change::New(node))
    }

    /// A context table that was accessed.
    fn known(&mut self, table: &Table, id: u32) -> Result<Change, CallError> {
        let view = self.frame.view(id);
        let dirty = self.dirty.clone();
        match (view, dirty.as_ref().and_then(|dirty| dirty.only_inside(id))) {
            (Some(View::Map(map)), Some(indices)) => return self.inside_map(table, id, map, indices),
            (Some(View::List(list)), Some(indices)) => {
                return self.inside_list(table, id, list.len(), indices);
            }
            _ => {}
        }
        match (view, self.entries(table)?) {
            (Some(View::Map(map)), Entries::Map(entries)) => self.known_map(id, map, entries),
            (Some(View::Map(map)), Entries::Empty) if map.is_empty() => Ok(Change::Unchanged),
            (Some(View::List([])), Entries::Empty) => Ok(Change::Unchanged),
            (Some(View::List(list)), Entries::List(items)) => self.known_list(id, list, items),
            // An empty table keeps the kind it had.
            (Some(View::List(_) | View::Objects(_)), Entries::Empty) => {
                Ok(Change::New(Node::List(Vec::new())))
            }
            (_, entries) => self.tree(table, entries).map(Change::New),
        }
    }

    /// A map whose own entries are unchanged, with modified entries at these indices.
    fn inside_map(
        &mut self,
        table: &Table,
        id: u32,
        map: &Map<Node>,
        indices: &[u32],
    ) -> Result<Change, CallError> {
        let mut set = Vec::with_capacity(indices.len());
        for &index in indices {
            let (key, _) = &map.entries()[index as usize];
            let value: Value = match key.as_str() {
                Some(key) => table.raw_get(key)?,
                None => table.raw_get(mlua::BString::from(key.as_bytes()))?,
            };
            let position = Position::Child { parent: id, index };
            let change = self.below(Key::Text(key.clone()), &value, Some(position))?;
            if !change.is_unchanged() {
                set.push((key.clone(), change));
            }
        }
        Ok(if set.is_empty() { Change::Unchanged } else { Change::Map { set, removed: Vec::new() } })
    }

    /// The same for a list.
    fn inside_list(
        &mut self,
        table: &Table,
        id: u32,
        length: usize,
        indices: &[u32],
    ) -> Result<Change, CallError> {
        let mut changes: Vec<Change> = (0..length).map(|_| Change::Unchanged).collect();
        for &index in indices {
            let number = index as usize + 1;
            let value: Value = table.raw_get(number)?;
            let position = Position::Child { parent: id, index };
            changes[index as usize] = self.below(Key::Index(number), &value, Some(position))?;
        }
        Ok(if changes.iter().all(Change::is_unchanged) { Change::Unchanged } else { Change::List(changes) })
    }

    fn known_map(
        &mut self,
        id: u32,
        before: &Map<Node>,
        entries: Vec<(Str, Value)>,
    ) -> Result<Change, CallError> {
        let mut set = Vec::new();
        let mut seen = vec![false; before.len()];
        for (key, value) in entries {
            let found = before.entries().binary_search_by(|(known, _)| known.as_bytes().cmp(key.as_bytes()));
            let position = found.ok().map(|index| {
                seen[index] = true;
                Position::Child { parent: id, index: u32::try_from(index).unwrap_or(u32::MAX) }
            });
            let change = self.below(Key::Text(key.clone()), &value, position)?;
            if !change.is_unchanged() {
                set.push((key, change));
            }
        }
        let left = before.keys().zip(&seen).filter(|(_, seen)| !**seen);
        let removed: Vec<Str> = left.map(|(key, _)| key.clone()).collect();
        match set.is_empty() && removed.is_empty() {
            true => Ok(Change::Unchanged),
            false => Ok(Change::Map { set, removed }),
        }
    }

    fn known_list(&mut self, id: u32, before: &[Node], items: Vec<Value>) -> Result<Change, CallError> {
        let length = items.len();
        let mut changes = Vec::with_capacity(length);
        for (index, item) in items.iter().enumerate() {
            let position = Position::Child { parent: id, index: u32::try_from(index).unwrap_or(u32::MAX) };
            let position = (index < before.len()).then_some(position);
            changes.push(self.below(Key::Index(index + 1), item, position)?);
        }
        if length == before.len() {
            let same = changes.iter().all(Change::is_unchanged);
            return Ok(if same { Change::Unchanged } else { Change::List(changes) });
        }
        // The length changed, so a new list is built from the old items and their changes.
        let items = changes.into_iter().enumerate().map(|(index, change)| {
            let mut node = before.get(index).cloned().unwrap_or_default();
            change.apply(&mut node);
            node
        });
        Ok(Change::New(Node::List(items.collect())))
    }

    /// A table that the script created.
    fn fresh(&mut self, table: &Table) -> Result<Node, CallError> {
        let entries = self.entries(table)?;
        self.tree(table, entries)
    }

    fn tree(&mut self, table: &Table, entries: Entries) -> Result<Node, CallError> {
        match entries {
            Entries::Empty if self.is_list(table) => Ok(Node::List(Vec::new())),
            Entries::Empty => Ok(Node::empty_map()),
            Entries::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(self.whole(Key::Index(index + 1), item)?);
                }
                Ok(Node::List(list))
            }
            Entries::Map(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    let node = self.whole(Key::Text(key.clone()), &value)?;
                    map.push((key, node));
                }
                Ok(Node::Map(Map::from_entries(map)))
            }
        }
    }

    fn whole(&mut self, key: Key, value: &Value) -> Result<Node, CallError> {
        match self.below(key, value, None)? {
            Change::New(node) => Ok(node),
            _ => Ok(Node::Nil),
        }
    }

    fn below(&mut self, key: Key, value: &Value, position: Option<Position>) -> Result<Change, CallError> {
        self.path.steps.push(key);
        let change = self.read(value, position);
        // After an error the path stays as it is, for the message.
        if change.is_ok() {
            self.path.steps.pop();
        }
        change
    }

    fn is_list(&self, table: &Table) -> bool {
        table.metatable().is_some_and(|metatable| metatable == self.list)
    }

    /// The entries of a table. Keys 1 to n make a list, string keys a map.
    pub(super) fn items(&mut self, table: &Table) -> Result<Option<Vec<Value>>, CallError> {
        match self.entries(table)? {
            Entries::List(items) => Ok(Some(items)),
            Entries::Empty => Ok(Some(Vec::new())),
            Entries::Map(_) => Ok(None),
        }
    }

    fn entries(&mut self, table: &Table) -> Result<Entries, CallError> {
        let mut texts: Vec<(Str, Value)> = Vec::new();
        let mut items: Vec<(usize, Value)> = Vec::new();
        let mut odd: Option<String> = None;
        // The engine limits how many values can be held at a time.
        let room = self.limits.nodes.saturating_sub(self.nodes);
        let mut bytes = 0;
        table
            .for_each(|key: Value, value: Value| {
                if texts.len() + items.len() >= room {
                    odd = Some(format!("there are more than {} values in all", self.limits.nodes));
                    // Any error ends the iteration; the reason is in `odd`.
                    return Err(mlua::Error::StackError);
                }
                match index_of(&key) {
                    Some(index) => items.push((index, value)),
                    None => match &key {
                        Value::String(text) => {
                            bytes += text.as_bytes().len();
                            texts.push((Str::new(&*text.as_bytes()), value));
                        }
                        other => odd = Some(format!("{} cannot be a key", describe(other))),
                    },
                }
                if odd.is_some() { Err(mlua::Error::StackError) } else { Ok(()) }
            })
            .or_else(|error| if odd.is_some() { Ok(()) } else { Err(error) })?;
        if let Some(reason) = odd {
            return self.refuse(reason);
        }
        // Charged at once: the entries of all tables being walked are held at the same time.
        self.spend(texts.len() + items.len(), bytes)?;
        match (texts.is_empty(), items.is_empty()) {
            (true, true) => Ok(Entries::Empty),
            (false, true) => Ok(Entries::Map(texts)),
            (true, false) => self.sequence(items),
            (false, false) => self.refuse("the table has both texts and numbers as keys"),
        }
    }

    fn sequence(&self, mut items: Vec<(usize, Value)>) -> Result<Entries, CallError> {
        items.sort_by_key(|(index, _)| *index);
        match items.iter().enumerate().find(|(position, (index, _))| position + 1 != *index) {
            Some((position, _)) => {
                let missing = position + 1;
                self.refuse(format!("the list has nothing at {missing}; a map needs texts as keys"))
            }
            None => Ok(Entries::List(items.into_iter().map(|(_, value)| value).collect())),
        }
    }

    /// Charges a tree that is copied.
    fn spend_tree(&mut self, node: &Node) -> Result<(), CallError> {
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            match node {
                Node::List(list) => todo.extend(list),
                Node::Map(map) => todo.extend(map.values()),
                Node::Str(text) => self.spend(1, text.len())?,
                _ => self.spend(1, 0)?,
            }
        }
        Ok(())
    }

    pub(super) fn refuse<T>(&self, reason: impl std::fmt::Display) -> Result<T, CallError> {
        Err(CallError::Message(format!("{}: {reason}", self.path.text())))
    }
}

/// The list index of a key.
fn index_of(key: &Value) -> Option<usize> {
    match key {
        Value::Integer(index) => usize::try_from(*index).ok().filter(|index| *index > 0),
        Value::Number(index) if index.fract() == 0.0 && *index >= 1.0 && *index <= MAX_EXACT => {
            Some(*index as usize)
        }
        _ => None,
    }
}

fn describe(key: &Value) -> String {
    match key {
        Value::Integer(number) => format!("the number {number}"),
        Value::Number(number) => format!("the number {number}"),
        other => type_name(other).to_owned(),
    }
}

/// Whether a scalar is the one that the script was given.
fn is_same_scalar(before: &Node, after: &Node) -> bool {
    match (before, after) {
        // Numbers of values are floats; one that the script left alone must not become an integer.
        (Node::Float(before), Node::Int(after)) => *before == *after as f64,
        (Node::List(_) | Node::Map(_), _) => false,
        _ => before == after,
    }
}
