//! The context while a handler runs: which table represents which part of it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use mlua::Table;
use pintle_events::{Context, ContextField, RenderedObject};
use pintle_tree::{Map, Node};

use super::parts;

/// A field of the context that is not a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Root {
    Chart,
    Values,
    Release,
    Capabilities,
    Readiness,
    Files,
    Templates,
    Dependencies,
    Objects,
}

impl Root {
    pub(crate) const ALL: [Root; 9] = [
        Root::Chart,
        Root::Values,
        Root::Release,
        Root::Capabilities,
        Root::Readiness,
        Root::Files,
        Root::Templates,
        Root::Dependencies,
        Root::Objects,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Root::Chart => "chart",
            Root::Values => "values",
            Root::Release => "release",
            Root::Capabilities => "capabilities",
            Root::Readiness => "readiness",
            Root::Files => "files",
            Root::Templates => "templates",
            Root::Dependencies => "dependencies",
            Root::Objects => "objects",
        }
    }

    /// The part that an event may allow to change; `None` for fields that never change.
    pub(crate) fn part(self) -> Option<ContextField> {
        match self {
            Root::Values => Some(ContextField::Values),
            Root::Files => Some(ContextField::Files),
            Root::Templates => Some(ContextField::Templates),
            Root::Dependencies => Some(ContextField::Dependencies),
            Root::Objects => Some(ContextField::Objects),
            Root::Chart | Root::Release | Root::Capabilities | Root::Readiness => None,
        }
    }
}

/// A position in the context: a field, or an entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Root(Root),
    Child { parent: u32, index: u32 },
}

/// A table that represents a part of the context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) position: Position,
    pub(super) read_only: bool,
    pub(super) filled: bool,
}

/// A map or list of the context.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    Map(&'a Map<Node>),
    List(&'a [Node]),
    Objects(&'a [RenderedObject]),
}

/// Any value of the context.
#[derive(Clone, Copy)]
pub(super) enum Item<'a> {
    Node(&'a Node),
    Object(&'a Map<Node>),
    Root(View<'a>),
}

impl<'a> View<'a> {
    pub(super) fn len(self) -> usize {
        match self {
            View::Map(map) => map.len(),
            View::List(list) => list.len(),
            View::Objects(objects) => objects.len(),
        }
    }

    fn item(self, index: usize) -> Option<Item<'a>> {
        match self {
            // Positions are indices, not keys: the context does not change while a handler runs, so its order
            // is fixed.
            View::Map(map) => map.entries().get(index).map(|(_, node)| Item::Node(node)),
            View::List(list) => list.get(index).map(Item::Node),
            View::Objects(objects) => objects.get(index).map(|rendered| Item::Object(rendered.object.body())),
        }
    }

    /// A copy as a tree.
    fn to_node(self) -> Node {
        match self {
            View::Map(map) => Node::Map(map.clone()),
            View::List(list) => Node::List(list.to_vec()),
            View::Objects(objects) => {
                Node::List(objects.iter().map(|rendered| Node::Map(rendered.object.body().clone())).collect())
            }
        }
    }
}

impl<'a> Item<'a> {
    pub(super) fn view(self) -> Option<View<'a>> {
        match self {
            Item::Node(Node::Map(map)) | Item::Object(map) => Some(View::Map(map)),
            Item::Node(Node::List(list)) => Some(View::List(list)),
            Item::Node(_) => None,
            Item::Root(view) => Some(view),
        }
    }

    pub(super) fn to_node(self) -> Node {
        match self {
            Item::Node(node) => node.clone(),
            Item::Object(map) => Node::Map(map.clone()),
            Item::Root(view) => view.to_node(),
        }
    }
}

/// The context while a handler runs.
#[derive(Default)]
pub(crate) struct Frame {
    pub(super) source: Source,
    pub(super) registry: TableRegistry,
}

/// The context, with derived trees.
#[derive(Default)]
pub(super) struct Source {
    context: Option<Context>,
    /// Fields that are not trees in the context, converted to trees.
    built: BTreeMap<Root, Node>,
}

/// Which table represents which part of the context.
#[derive(Default)]
pub(super) struct TableRegistry {
    entries: Vec<Entry>,
    /// Table ids by address. The state keeps the tables alive for as long as the frame, so addresses are not reused.
    tables: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
}

/// Tables that were modified, and the tables that contain them.
pub(super) struct DirtyTables {
    /// For each id, whether the entries of its table changed.
    changed: Vec<bool>,
    /// For each table, the sorted indices of entries that contain a modified table at any depth.
    inside: HashMap<u32, Vec<u32>>,
}

impl DirtyTables {
    /// Whether a table, or anything in it, was modified.
    pub(super) fn contains(&self, id: u32) -> bool {
        self.changed[id as usize] || self.inside.contains_key(&id)
    }

    /// The indices of modified entries in a table whose own entries are unchanged.
    pub(super) fn only_inside(&self, id: u32) -> Option<&[u32]> {
        let indices = self.inside.get(&id)?;
        (!self.changed[id as usize]).then_some(indices)
    }
}

/// A hasher for addresses. Scripts cannot choose them, so it need not resist attacks; there may be tens of thousands.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, address: usize) {
        // Fibonacci hashing: the upper half of the product depends on all bits of the address.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

static NOTHING: Map<Node> = Map::new();

impl TableRegistry {
    /// Registers a table for a position. Returns its id.
    pub(super) fn add(&mut self, table: &Table, position: Position, read_only: bool) -> u32 {
        let id = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(Entry { position, read_only, filled: false });
        self.tables.insert(table.to_pointer() as usize, id);
        id
    }

    /// Registers another table for the same position.
    pub(super) fn add_content(&mut self, table: &Table, id: u32) {
        self.tables.insert(table.to_pointer() as usize, id);
    }

    pub(super) fn set_filled(&mut self, id: u32) {
        self.entries[id as usize].filled = true;
    }

    pub(super) fn entry(&self, id: u32) -> Entry {
        self.entries[id as usize]
    }

    /// The path of a position: its field, then the indices, innermost first.
    fn path_to(&self, mut position: Position) -> (Root, Vec<u32>) {
        let mut indices = Vec::new();
        loop {
            match position {
                Position::Root(root) => return (root, indices),
                Position::Child { parent, index } => {
                    indices.push(index);
                    position = self.entry(parent).position;
                }
            }
        }
    }
}

impl Source {
    /// The value at a position.
    pub(super) fn item(&self, registry: &TableRegistry, position: Position) -> Option<Item<'_>> {
        let (root, indices) = registry.path_to(position);
        let start = Item::Root(self.root(root)?);
        indices.iter().rev().try_fold(start, |item, index| item.view()?.item(*index as usize))
    }

    fn root(&self, root: Root) -> Option<View<'_>> {
        let context = self.context.as_ref()?;
        match root {
            Root::Values => Some(View::Map(context.values().unwrap_or(&NOTHING))),
            Root::Objects => Some(View::Objects(context.objects())),
            _ => Item::Node(self.built.get(&root)?).view(),
        }
    }
}

impl Frame {
    /// Starts with a context.
    pub(crate) fn begin(&mut self, context: Context) {
        let source = Source { context: Some(context), ..Source::default() };
        // Tables of an earlier run are dropped, so a script that kept one cannot access the context through it.
        *self = Frame { source, ..Frame::default() };
    }

    /// Ends the frame and returns the context.
    pub(crate) fn end(&mut self) -> Context {
        std::mem::take(self).source.context.unwrap_or_default()
    }

    pub(crate) fn context(&self) -> Option<&Context> {
        self.source.context.as_ref()
    }

    pub(super) fn context_mut(&mut self) -> Option<&mut Context> {
        self.source.context.as_mut()
    }

    /// Whether handlers of the event may not change a field.
    pub(super) fn is_read_only(&self, root: Root) -> bool {
        let event = self.context().and_then(Context::event);
        match root.part() {
            None => true,
            Some(part) => event.is_some_and(|event| !event.may_change(part)),
        }
    }

    /// Converts a field to a tree if it is not one. Returns whether the event has that field.
    pub(super) fn build(&mut self, root: Root) -> bool {
        let Source { context, built } = &mut self.source;
        let Some(context) = context else { return false };
        if matches!(root, Root::Values | Root::Objects) || built.contains_key(&root) {
            return true;
        }
        match parts::built(context, root) {
            Some(node) => {
                built.insert(root, node);
                true
            }
            None => false,
        }
    }

    pub(super) fn built_mut(&mut self, root: Root) -> &mut Node {
        self.source.built.entry(root).or_default()
    }

    pub(super) fn id(&self, table: &Table) -> Option<u32> {
        self.registry.tables.get(&(table.to_pointer() as usize)).copied()
    }

    pub(super) fn entry(&self, id: u32) -> Entry {
        self.registry.entry(id)
    }

    /// Finds the tables that contain the given modified ones.
    pub(super) fn dirty(&self, tables: &[Table]) -> DirtyTables {
        let count = self.registry.entries.len();
        let mut dirty = DirtyTables { changed: vec![false; count], inside: HashMap::new() };
        let mut is_noted = vec![false; count];
        for mut id in tables.iter().filter_map(|table| self.id(table)) {
            dirty.changed[id as usize] = true;
            // Stops at the first ancestor that another table has reported already, so that the walk is linear
            // in all.
            while !std::mem::replace(&mut is_noted[id as usize], true) {
                let Position::Child { parent, index } = self.entry(id).position else { break };
                dirty.inside.entry(parent).or_default().push(index);
                id = parent;
            }
        }
        dirty.inside.values_mut().for_each(|indices| indices.sort_unstable());
        dirty
    }

    /// The value at a position.
    pub(super) fn item(&self, position: Position) -> Option<Item<'_>> {
        self.source.item(&self.registry, position)
    }

    /// The value that a table represents.
    pub(super) fn view(&self, id: u32) -> Option<View<'_>> {
        self.item(self.entry(id).position)?.view()
    }

    /// The path of a position, as scripts write it.
    pub(super) fn path(&self, position: Position) -> String {
        let (root, indices) = self.registry.path_to(position);
        let mut path = root.as_str().to_owned();
        let mut item = self.source.root(root).map(Item::Root);
        for index in indices.iter().rev() {
            let view = item.and_then(Item::view);
            match view {
                Some(View::Map(map)) => {
                    let key = map.entries().get(*index as usize).map(|(key, _)| key.to_str_lossy());
                    push_key(&mut path, key.as_deref().unwrap_or_default());
                }
                _ => path.push_str(&format!("[{}]", index + 1)),
            }
            item = view.and_then(|view| view.item(*index as usize));
        }
        path
    }

    /// The field that a position belongs to.
    pub(super) fn root_of(&self, position: Position) -> Root {
        self.registry.path_to(position).0
    }
}

/// Appends a key to a path: `.key`, or `["odd key"]`.
pub(super) fn push_key(path: &mut String, key: &str) {
    let is_name = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !key.as_bytes()[0].is_ascii_digit()
    };
    match is_name(key) {
        true => path.push_str(&format!(".{key}")),
        false => path.push_str(&format!("[{key:?}]")),
    }
}
