//! Slices and maps of values: shared, and dropped without recursion however deep they nest.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::fmt;
use std::rc::Rc;

use pintle_tree::{Map, Str};

use crate::value::Value;

/// The element type of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// `[]interface {}`.
    Any,
    /// `[]string`.
    Str,
    /// `[]int`.
    Int,
    /// `[][]interface {}`.
    Lists,
    /// `[]map[string]interface {}`.
    Maps,
    /// `[]byte`. Only the nil one is a list; one with bytes is a [`Value::Bytes`].
    Bytes,
}

impl ListType {
    /// The name of the slice type in Go.
    pub const fn name(self) -> &'static str {
        match self {
            ListType::Any => "[]interface {}",
            ListType::Str => "[]string",
            ListType::Int => "[]int",
            ListType::Lists => "[][]interface {}",
            ListType::Maps => "[]map[string]interface {}",
            ListType::Bytes => "[]uint8",
        }
    }
}

/// A slice: its element type, its items, and whether it is Go's nil slice (`null` in JSON).
#[derive(Clone, Debug)]
pub struct List {
    /// The element type.
    pub of: ListType,
    items: Option<Rc<[Value]>>,
}

impl List {
    /// Returns a slice of `[]interface {}`.
    pub fn new(items: Vec<Value>) -> Self {
        List::of(ListType::Any, items)
    }

    /// Returns a slice with the given element type.
    pub fn of(of: ListType, items: Vec<Value>) -> Self {
        List { of, items: Some(items.into()) }
    }

    /// Returns Go's nil slice of the given element type.
    pub const fn nil(of: ListType) -> Self {
        List { of, items: None }
    }

    /// Whether this is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    /// The items.
    pub fn items(&self) -> &[Value] {
        self.items.as_deref().unwrap_or_default()
    }
}

/// The type of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface {}`.
    Any,
    /// `map[string]string`.
    Str,
    /// Helm's named type for chart values, a `map[string]interface {}` with methods.
    Values,
}

impl MapType {
    /// The name of the map type in Go.
    pub const fn name(self) -> &'static str {
        match self {
            MapType::Any => "map[string]interface {}",
            MapType::Str => "map[string]string",
            MapType::Values => "common.Values",
        }
    }
}

/// A shared, mutable map.
#[derive(Clone)]
pub struct MapRef {
    /// The type of the map.
    pub of: MapType,
    /// Whether it was created as Go's nil map.
    nil: bool,
    cell: Rc<RefCell<Map<Value>>>,
}

impl MapRef {
    /// Returns a new `map[string]interface {}` with these entries.
    pub fn new(entries: Map<Value>) -> Self {
        MapRef::of(MapType::Any, entries)
    }

    /// Returns a new map of the given type.
    pub fn of(of: MapType, entries: Map<Value>) -> Self {
        MapRef { of, nil: false, cell: Rc::new(RefCell::new(entries)) }
    }

    /// Returns Go's nil map of the given type: empty, but `null` in JSON and equal to nil.
    pub fn nil(of: MapType) -> Self {
        MapRef { of, nil: true, cell: Rc::default() }
    }

    /// Whether this is the nil map.
    pub fn is_nil(&self) -> bool {
        self.nil && self.is_empty()
    }

    /// The same map as another map type (Go's type conversion: the entries stay shared).
    pub fn retyped(&self, of: MapType) -> Self {
        MapRef { of, nil: self.nil, cell: Rc::clone(&self.cell) }
    }

    /// The entries for reading. Must not be held while calling into templates or functions.
    pub fn borrow(&self) -> Ref<'_, Map<Value>> {
        self.cell.borrow()
    }

    /// The entries for modification. Must not be held while calling into templates or functions.
    pub fn borrow_mut(&self) -> RefMut<'_, Map<Value>> {
        self.cell.borrow_mut()
    }

    /// The value under `key`, cloned (which shares it).
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        find(&self.cell.borrow(), key.as_ref()).cloned()
    }

    /// Sets a key.
    pub fn insert(&self, key: Str, value: Value) {
        self.cell.borrow_mut().insert(key, value);
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.cell.borrow().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A snapshot of the entries, for loops during which the map may change.
    pub fn snapshot(&self) -> Vec<(Str, Value)> {
        self.cell.borrow().entries().to_vec()
    }

    /// Whether both are the same map.
    pub fn same(&self, other: &MapRef) -> bool {
        Rc::ptr_eq(&self.cell, &other.cell)
    }

    /// An address that identifies the map while it is alive, for cycle detection.
    pub fn address(&self) -> usize {
        Rc::as_ptr(&self.cell).addr()
    }
}

/// Finds a key. Small maps, which most are, are searched linearly, which is faster than binary search.
#[inline]
pub(crate) fn find<'m>(map: &'m Map<Value>, key: &[u8]) -> Option<&'m Value> {
    const SMALL: usize = 8;
    if map.len() > SMALL {
        return map.get(key);
    }
    // Keys of one map often share a prefix and seldom a suffix, so length and last byte settle most
    // comparisons.
    let last = key.last();
    let same =
        |candidate: &[u8]| candidate.len() == key.len() && candidate.last() == last && candidate == key;
    map.entries().iter().find(|(candidate, _)| same(candidate.as_bytes())).map(|(_, value)| value)
}

// The derived drop of nested containers recurses, and templates can nest deeper than any stack (`set $d "x"
// $d` in a loop of `dict`s). So drops beyond a depth are collected and finished by the outermost one.
thread_local! {
    /// The current nesting of drops.
    static DROP_DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Values nested too deeply to be dropped recursively; the outermost drop handles them.
    static DEFERRED_DROPS: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// The maximum recursion of drops. Templates can nest values without bound.
const MAX_DROP_DEPTH: usize = 200;

/// Drops a container, deferring what is nested too deeply.
fn drop_nested(keep: impl FnOnce() -> Value, drop_children: impl FnOnce()) {
    let depth = DROP_DEPTH.get();
    if depth >= MAX_DROP_DEPTH {
        // At thread exit the list may already be gone; then the value is dropped here.
        let value = keep();
        let _ = DEFERRED_DROPS.try_with(|deferred| deferred.borrow_mut().push(value));
        return;
    }
    DROP_DEPTH.set(depth + 1);
    drop_children();
    if depth == 0 {
        while let Ok(Some(value)) = DEFERRED_DROPS.try_with(|deferred| deferred.borrow_mut().pop()) {
            drop(value);
        }
    }
    DROP_DEPTH.set(depth);
}

impl Drop for MapRef {
    fn drop(&mut self) {
        if Rc::strong_count(&self.cell) == 1
            && let Ok(mut entries) = self.cell.try_borrow_mut()
            && !entries.is_empty()
        {
            let entries = Cell::new(std::mem::take(&mut *entries));
            drop_nested(|| Value::map(entries.take()), || drop(entries.take()));
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if self.items.as_ref().is_some_and(|items| Rc::strong_count(items) == 1 && !items.is_empty()) {
            let items = Cell::new(self.items.take());
            let of = self.of;
            drop_nested(|| Value::List(List { of, items: items.take() }), || drop(items.take()));
        }
    }
}

impl fmt::Debug for MapRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Maps can contain themselves, so only the size is printed.
        write!(formatter, "{}({} entries)", self.of.name(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_nested_without_bound_are_dropped() {
        let mut value = Value::Nil;
        for index in 0..1_000_000 {
            value = match index % 2 {
                0 => Value::list(vec![value]),
                _ => Value::map(Map::from_entries(vec![("k".into(), value)])),
            };
        }
        drop(value);
    }
}
