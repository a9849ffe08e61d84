//! Fills context tables on first access, one level at a time.

use mlua::{IntoLua, Lua, Table, Value};
use pintle_tree::{Node, Str};

use super::MAX_EXACT;
use super::exact::ExactInteger;
use super::frame::{Entry, Frame, Item, Position, Root, TableRegistry, View, push_key};
use super::from_lua::type_name;
use crate::call::{Answer, CallError};
use crate::host::{Handles, Host};

/// Tables up to this many entries are preallocated.
const PREALLOCATE_LIMIT: usize = 8;

/// A field of the context, for `ctx.key`.
pub(crate) fn part(lua: &Lua, host: &Host, key: &Value) -> Answer {
    let mut frame = host.frame();
    let Some(context) = frame.context() else {
        return Err(CallError::Message("there is no context: no handler is running".to_owned()));
    };
    let name = key.as_string().map(|name| name.to_string_lossy()).unwrap_or_default();
    if name == "event" {
        let event = context.event().map(pintle_events::Event::as_str).unwrap_or_default();
        return Ok(Value::String(lua.create_string(event)?));
    }
    let Some(root) = Root::ALL.into_iter().find(|root| root.as_str() == name) else {
        return Err(CallError::Message(unknown(key, &name)));
    };
    if !frame.build(root) {
        return Ok(Value::Nil);
    }
    let read_only = frame.is_read_only(root);
    let table = placeholder(lua, host.handles(), &mut frame.registry, Position::Root(root), read_only, None)?;
    host.handles().roots.raw_set(root.as_str(), &table)?;
    Ok(Value::Table(table))
}

fn unknown(key: &Value, name: &str) -> String {
    let names: Vec<&str> = Root::ALL.into_iter().map(Root::as_str).collect();
    let shown = if key.is_string() { format!("`{name}`") } else { format!("that is {}", type_name(key)) };
    format!("the context has no field {shown}; its fields are event, {}", names.join(", "))
}

/// Assigns a table to a field of the context, for `ctx.key = value`. Returns why not, if it is rejected.
pub(crate) fn assign(host: &Host, key: &Value, value: &Value) -> Result<Option<String>, mlua::Error> {
    let frame = host.frame();
    let name = key.as_string().map(|name| name.to_string_lossy()).unwrap_or_default();
    let Some(root) = Root::ALL.into_iter().find(|root| root.as_str() == name) else {
        let text = if name == "event" { "`event` is read-only".to_owned() } else { unknown(key, &name) };
        return Ok(Some(text));
    };
    if frame.context().is_none() {
        return Ok(Some("there is no context: no handler is running".to_owned()));
    }
    if frame.is_read_only(root) {
        return Ok(Some(refused(&frame, root, root.as_str())));
    }
    let Value::Table(table) = value else {
        return Ok(Some(format!("`{name}` must be a table, not {}", type_name(value))));
    };
    host.handles().roots.raw_set(root.as_str(), table)?;
    Ok(None)
}

/// Why a read-only table rejects an assignment.
pub(crate) fn refusal(host: &Host, table: &Table, key: &Value) -> String {
    let frame = host.frame();
    let Some(id) = frame.id(table) else { return "the table is read-only".to_owned() };
    let position = frame.entry(id).position;
    let mut path = frame.path(position);
    match key {
        Value::Nil => {}
        Value::String(key) => push_key(&mut path, &key.to_string_lossy()),
        Value::Integer(index) => path.push_str(&format!("[{index}]")),
        Value::Number(index) => path.push_str(&format!("[{index}]")),
        other => path.push_str(&format!("[{}]", type_name(other))),
    }
    refused(&frame, frame.root_of(position), &path)
}

fn refused(frame: &Frame, root: Root, path: &str) -> String {
    match frame.context().and_then(pintle_events::Context::event) {
        Some(event) if root.part().is_some() => format!("`{path}` is read-only in `{event}`"),
        _ => format!("`{path}` is read-only"),
    }
}

/// Fills a table; nested maps and lists are filled when they are accessed.
pub(crate) fn fill(lua: &Lua, host: &Host, table: &Table) -> mlua::Result<()> {
    let handles = host.handles();
    let mut frame = host.frame();
    let Some(id) = frame.id(table) else { return Ok(()) };
    let Entry { position, read_only, .. } = frame.entry(id);
    let Frame { source, registry } = &mut *frame;
    let view = source.item(registry, position).and_then(Item::view);
    host.meter.charge(lua, view.map_or(0, View::len) as u64)?;
    // One level is at most as large as the tree it comes from, so the limit can be checked afterwards.
    let unlimited = UnlimitedMemory::new(lua, host.meter.memory())?;
    let content = match view {
        Some(View::Map(map)) if read_only => lua.create_table_with_capacity(0, map.len())?,
        Some(view) if read_only => lua.create_table_with_capacity(view.len(), 0)?,
        _ => table.clone(),
    };
    // From now on it is an ordinary table, which the engine accesses at full speed.
    if !read_only {
        table.set_metatable(None)?;
    }
    let mut filling = Filling { lua, handles, registry, id, read_only, content: &content };
    match view {
        Some(View::Map(map)) => {
            for (index, (key, node)) in map.iter().enumerate() {
                filling.put(Key::Text(key), Some(node), index)?;
            }
        }
        Some(View::List(list)) => {
            for (index, node) in list.iter().enumerate() {
                filling.put(Key::Index(index + 1), Some(node), index)?;
            }
        }
        Some(View::Objects(objects)) => {
            for index in 0..objects.len() {
                filling.put(Key::Index(index + 1), None, index)?;
            }
        }
        None => {}
    }
    registry.set_filled(id);
    handles.pending.raw_set(table, false)?;
    if read_only {
        // The script holds the empty table in front of it, so that every assignment reaches the metatable and
        // its message.
        content.set_readonly(true);
        handles.shadow.raw_set(table, &content)?;
        registry.add_content(&content, id);
    }
    unlimited.check()
}

/// A table being filled.
struct Filling<'a> {
    lua: &'a Lua,
    handles: &'a Handles,
    registry: &'a mut TableRegistry,
    id: u32,
    read_only: bool,
    content: &'a Table,
}

impl Filling<'_> {
    /// Sets an entry; one that is not a scalar becomes a table that is filled later.
    fn put(&mut self, key: Key<'_>, node: Option<&Node>, index: usize) -> mlua::Result<()> {
        match node {
            // The fast path: nearly all strings are valid UTF-8.
            Some(Node::Str(text)) if text.as_str().is_some() => {
                key.set(self.lua, self.content, text.as_str())
            }
            Some(node) if !matches!(node, Node::List(_) | Node::Map(_)) => {
                key.set(self.lua, self.content, scalar(self.lua, node)?)
            }
            _ => {
                let position =
                    Position::Child { parent: self.id, index: u32::try_from(index).unwrap_or(u32::MAX) };
                let table =
                    placeholder(self.lua, self.handles, self.registry, position, self.read_only, node)?;
                key.set(self.lua, self.content, table)
            }
        }
    }
}

/// A key of a table.
pub(super) enum Key<'a> {
    Text(&'a Str),
    Index(usize),
}

impl Key<'_> {
    pub(super) fn set(&self, lua: &Lua, table: &Table, value: impl IntoLua) -> mlua::Result<()> {
        match self {
            Key::Text(text) => match text.as_str() {
                Some(text) => table.raw_set(text, value),
                None => table.raw_set(lua.create_string(text)?, value),
            },
            Key::Index(index) => table.raw_seti(*index, value),
        }
    }
}

/// Lifts the memory limit while the host creates something of known size: without one, the engine need not guard each
/// allocation, which takes most of the time. The limit is restored on drop.
pub(super) struct UnlimitedMemory<'a> {
    lua: &'a Lua,
    limit: usize,
}

impl<'a> UnlimitedMemory<'a> {
    pub(super) fn new(lua: &'a Lua, limit: usize) -> mlua::Result<Self> {
        lua.set_memory_limit(0)?;
        Ok(UnlimitedMemory { lua, limit })
    }

    /// Whether the limit still holds.
    pub(super) fn check(&self) -> mlua::Result<()> {
        if self.lua.used_memory() <= self.limit {
            return Ok(());
        }
        // Garbage that has not been collected yet must not count.
        self.lua.gc_collect()?;
        if self.lua.used_memory() <= self.limit {
            return Ok(());
        }
        Err(mlua::Error::MemoryError("not enough memory".to_owned()))
    }
}

impl Drop for UnlimitedMemory<'_> {
    fn drop(&mut self) {
        // All our states have limits, so this cannot fail.
        let _ = self.lua.set_memory_limit(self.limit);
    }
}

/// A value that is neither a map nor a list.
pub(super) fn scalar(lua: &Lua, node: &Node) -> mlua::Result<Option<Value>> {
    Ok(Some(match node {
        Node::Nil => Value::NULL,
        Node::Bool(value) => Value::Boolean(*value),
        Node::Int(value) if (*value as f64).abs() < MAX_EXACT => Value::Number(*value as f64),
        Node::Int(value) => Value::UserData(lua.create_userdata(ExactInteger(*value))?),
        Node::Float(value) => Value::Number(*value),
        Node::Str(text) => Value::String(lua.create_string(text)?),
        Node::List(_) | Node::Map(_) => return Ok(None),
    }))
}

/// A table that is filled on first access. It is preallocated if small: growing entry by entry is slow, and large
/// tables that are never accessed are a waste.
fn placeholder(
    lua: &Lua,
    handles: &Handles,
    registry: &mut TableRegistry,
    position: Position,
    read_only: bool,
    node: Option<&Node>,
) -> mlua::Result<Table> {
    let table = match node {
        Some(Node::Map(map)) if !read_only && map.len() <= PREALLOCATE_LIMIT => {
            lua.create_table_with_capacity(0, map.len())?
        }
        Some(Node::List(list)) if !read_only && list.len() <= PREALLOCATE_LIMIT => {
            lua.create_table_with_capacity(list.len(), 0)?
        }
        _ => lua.create_table()?,
    };
    let id = registry.add(&table, position, read_only);
    handles.pending.raw_set(&table, id)?;
    table.set_metatable(Some(if read_only { handles.read_only.clone() } else { handles.lazy.clone() }))?;
    table.set_readonly(read_only);
    Ok(table)
}
