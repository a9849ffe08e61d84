//! Trees → Lua: values that scripts get whole, such as module results and cluster objects.

use mlua::{Lua, Table, Value};
use pintle_tree::{Node, with_stack};

use super::fill::{Key, UnlimitedMemory, scalar};
use crate::call::Answer;
use crate::host::Host;

/// Converts a tree to tables.
pub(crate) fn to_lua(lua: &Lua, host: &Host, node: &Node) -> Answer {
    let unlimited = UnlimitedMemory::new(lua, host.meter.memory())?;
    let builder = LuaBuilder { lua, host, unlimited };
    let value = builder.value(node)?;
    builder.unlimited.check()?;
    Ok(value)
}

struct LuaBuilder<'a> {
    lua: &'a Lua,
    host: &'a Host,
    unlimited: UnlimitedMemory<'a>,
}

impl LuaBuilder<'_> {
    fn value(&self, node: &Node) -> mlua::Result<Value> {
        match node {
            Node::List(list) => with_stack(|| self.list(list)).map(Value::Table),
            Node::Map(map) => with_stack(|| self.map(map)).map(Value::Table),
            other => Ok(scalar(self.lua, other)?.unwrap_or(Value::Nil)),
        }
    }

    fn list(&self, list: &[Node]) -> mlua::Result<Table> {
        self.begin(list.len())?;
        let table = self.lua.create_table_with_capacity(list.len(), 0)?;
        for (index, item) in list.iter().enumerate() {
            Key::Index(index + 1).set(self.lua, &table, self.value(item)?)?;
        }
        table.set_metatable(Some(self.host.handles().list.clone()))?;
        Ok(table)
    }

    fn map(&self, map: &pintle_tree::Map<Node>) -> mlua::Result<Table> {
        self.begin(map.len())?;
        let table = self.lua.create_table_with_capacity(0, map.len())?;
        for (key, item) in map.iter() {
            Key::Text(key).set(self.lua, &table, self.value(item)?)?;
        }
        Ok(table)
    }

    /// Charges a table before it is created. Strings are never longer than their source, which was charged.
    fn begin(&self, entries: usize) -> mlua::Result<()> {
        self.host.meter.charge(self.lua, 1 + entries as u64)?;
        self.unlimited.check()
    }
}
