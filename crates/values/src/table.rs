//! Copy-on-write tables for coalescing.
//!
//! Helm coalesces by changing maps in place, and some of its maps are aliased: an entry that a subchart adds to a nested
//! global appears in its parent too. Charts can observe this, so tables here are shared in the same way. What is never
//! modified stays a reference into the chart or the user's values.

use std::cell::RefCell;
use std::rc::Rc;

use pintle_tree::{Map, Node, Str, merge, path, with_stack};

use crate::go_format;

/// An item of a table.
#[derive(Clone)]
pub(crate) enum Item<'a> {
    /// A borrowed node; if it is a map, it is unchanged and not shared.
    Leaf(&'a Node),
    /// A node created for this table, such as a default without its nil entries.
    Own(Rc<Node>),
    /// A mutable map, shared by everyone who holds it.
    Table(Table<'a>),
    /// A deferred copy of a table; it is made when the copy is modified.
    Copy(Table<'a>),
}

/// A map with identity.
#[derive(Clone)]
pub(crate) struct Table<'a>(Rc<RefCell<Map<Item<'a>>>>);

/// The table contains itself.
#[derive(Debug)]
pub(crate) struct Cyclic;

/// Nil for tables, which hold references.
static NIL: Node = Node::Nil;

impl<'a> Item<'a> {
    /// Nil.
    pub(crate) fn nil() -> Self {
        Item::Leaf(&NIL)
    }

    pub(crate) fn is_nil(&self) -> bool {
        self.as_node().is_some_and(Node::is_nil)
    }

    pub(crate) fn is_table(&self) -> bool {
        self.as_node().is_none_or(|node| node.as_map().is_some())
    }

    /// The node, unless the item is a table.
    pub(crate) fn as_node(&self) -> Option<&Node> {
        match self {
            Item::Leaf(node) => Some(node),
            Item::Own(node) => Some(node),
            Item::Table(_) | Item::Copy(_) => None,
        }
    }

    /// A chart default for a key that has no value: nil inside it is dropped if `clean`.
    pub(crate) fn from_default(node: &'a Node, clean: bool) -> Self {
        match node {
            Node::Map(map) if clean && has_nil(map) => {
                let mut map = map.clone();
                merge::remove_nil(&mut map);
                Item::Own(Rc::new(Node::Map(map)))
            }
            _ => Item::Leaf(node),
        }
    }

    /// Turns the item into a mutable table in place, if it is a map.
    pub(crate) fn open(&mut self) -> Option<Table<'a>> {
        let entries = match self {
            Item::Table(table) => return Some(table.clone()),
            // Only now: most copies are never changed.
            Item::Copy(table) => table.copied_entries(),
            Item::Leaf(Node::Map(map)) => {
                map.iter().map(|(key, node)| (key.clone(), Item::Leaf(node))).collect()
            }
            Item::Own(node) => own_entries(node.as_map()?),
            Item::Leaf(_) => return None,
        };
        let table = Table(Rc::new(RefCell::new(entries)));
        *self = Item::Table(table.clone());
        Some(table)
    }

    /// Converts everything to a node.
    pub(crate) fn to_node(&self) -> Result<Node, Cyclic> {
        match self {
            Item::Leaf(node) => Ok((*node).clone()),
            Item::Own(node) => Ok((**node).clone()),
            Item::Table(table) | Item::Copy(table) => with_stack(|| table.to_map().map(Node::Map)),
        }
    }

    /// Go's `%v` of the item.
    pub(crate) fn spelled(&self) -> String {
        self.to_node().map(|node| go_format::format_v(&node, false)).unwrap_or_default()
    }
}

/// The entries of an owned map, one level opened.
fn own_entries<'a>(map: &Map<Node>) -> Map<Item<'a>> {
    map.iter().map(|(key, node)| (key.clone(), Item::Own(Rc::new(node.clone())))).collect()
}

/// Whether a map has nil entries, at any depth outside of lists.
fn has_nil(map: &Map<Node>) -> bool {
    map.values().any(|node| match node {
        Node::Nil => true,
        Node::Map(inner) => with_stack(|| has_nil(inner)),
        _ => false,
    })
}

impl<'a> Table<'a> {
    /// An empty table.
    pub(crate) fn new() -> Self {
        Table(Rc::new(RefCell::new(Map::new())))
    }

    /// A table over a map.
    pub(crate) fn over(map: &'a Map<Node>) -> Self {
        let entries = map.iter().map(|(key, node)| (key.clone(), Item::Leaf(node))).collect();
        Table(Rc::new(RefCell::new(entries)))
    }

    /// A table that owns the map.
    pub(crate) fn owning(map: Map<Node>) -> Self {
        let entries = map.into_iter().map(|(key, node)| (key, Item::Own(Rc::new(node)))).collect();
        Table(Rc::new(RefCell::new(entries)))
    }

    /// A copy that shares nothing observable. The original must not be changed any more.
    pub(crate) fn copied(&self) -> Self {
        Table(Rc::new(RefCell::new(self.copied_entries())))
    }

    fn copied_entries(&self) -> Map<Item<'a>> {
        let copied = |item: &Item<'a>| match item {
            Item::Table(table) => Item::Copy(table.clone()),
            other => other.clone(),
        };
        self.0.borrow().iter().map(|(key, item)| (key.clone(), copied(item))).collect()
    }

    /// A copy of this level that shares the tables below.
    pub(crate) fn copied_level(&self) -> Self {
        let mut entries = self.0.borrow_mut();
        for (_, item) in entries.iter_mut() {
            // Both copies must see the same table from now on.
            item.open();
        }
        Table(Rc::new(RefCell::new(entries.clone())))
    }

    /// Whether both are the same table.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// What is under `key`.
    pub(crate) fn get(&self, key: impl AsRef<[u8]>) -> Option<Item<'a>> {
        self.0.borrow().get(key).cloned()
    }

    /// The table under `key`, opened in place.
    pub(crate) fn open(&self, key: impl AsRef<[u8]>) -> Option<Table<'a>> {
        self.0.borrow_mut().get_mut(key).and_then(Item::open)
    }

    pub(crate) fn insert(&self, key: Str, item: Item<'a>) {
        self.0.borrow_mut().insert(key, item);
    }

    pub(crate) fn remove(&self, key: impl AsRef<[u8]>) {
        self.0.borrow_mut().remove(key);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// A snapshot of the keys.
    pub(crate) fn keys(&self) -> Vec<Str> {
        self.0.borrow().keys().cloned().collect()
    }

    /// The keys that hold nil.
    pub(crate) fn nil_keys(&self) -> Vec<Str> {
        self.0.borrow().iter().filter(|(_, item)| item.is_nil()).map(|(key, _)| key.clone()).collect()
    }

    /// Converts everything to a map.
    pub(crate) fn to_map(&self) -> Result<Map<Node>, Cyclic> {
        // A table being converted is borrowed, so meeting it again means that it contains itself.
        let entries = self.0.try_borrow_mut().map_err(|_| Cyclic)?;
        let mut map = Vec::with_capacity(entries.len());
        for (key, item) in entries.iter() {
            map.push((key.clone(), item.to_node()?));
        }
        Ok(Map::from_entries(map))
    }

    /// The table at a path, or Helm's error for the step that does not resolve.
    pub(crate) fn table_at(&self, steps: &str) -> Result<Table<'a>, path::Error> {
        let mut table = self.clone();
        for step in steps.split('.') {
            table = table.open(step).ok_or_else(|| path::Error::NoTable(step.to_owned()))?;
        }
        Ok(table)
    }

    /// The value at a path, unless there is none or it is a table.
    pub(crate) fn value_at(&self, path: &str) -> Option<Node> {
        let (parent, key) = match path.rsplit_once('.') {
            Some((parent, key)) => (self.table_at(parent).ok()?, key),
            None => (self.clone(), path),
        };
        match parent.get(key)? {
            Item::Leaf(node) if node.as_map().is_none() => Some(node.clone()),
            Item::Own(node) if node.as_map().is_none() => Some((*node).clone()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_tree::json;

    fn map(text: &str) -> Map<Node> {
        json::read_map(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_copied_level_shares_what_is_below_it() {
        let values = map(r#"{"a":{"b":{"c":1}}}"#);
        let table = Table::over(&values);
        let copy = table.open("a").unwrap().copied_level();
        copy.insert("own".into(), Item::nil());
        copy.open("b").unwrap().insert("shared".into(), Item::nil());
        assert_eq!(table.to_map().unwrap(), map(r#"{"a":{"b":{"c":1,"shared":null}}}"#));
    }

    #[test]
    fn a_copy_shares_nothing() {
        let values = map(r#"{"a":{"b":1}}"#);
        let table = Table::over(&values);
        table.open("a");
        table.copied().open("a").unwrap().insert("x".into(), Item::nil());
        assert_eq!(table.to_map().unwrap(), values);
    }

    #[test]
    fn a_table_in_itself_is_noticed() {
        let table = Table::new();
        table.insert("self".into(), Item::Table(table.clone()));
        assert!(table.to_map().is_err());
        table.remove("self");
    }
}
