//! Trees that scripts get whole: what modules read, and what the cluster answers.

use mlua::{Lua, Value};
use pintle_tree::{Node, with_stack};

use super::fill::scalar;
use crate::call::{Answer, Fault};
use crate::host::Host;

/// A tree as tables of the script's own.
pub(crate) fn give(lua: &Lua, host: &Host, node: &Node) -> Answer {
    host.meter.charge(lua, 1)?;
    if let Some(value) = scalar(lua, node)? {
        return Ok(value);
    }
    with_stack(|| match node {
        Node::List(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            for (index, item) in list.iter().enumerate() {
                table.raw_seti(index + 1, give(lua, host, item)?)?;
            }
            table.set_metatable(Some(host.handles().list.clone()))?;
            Ok(Value::Table(table))
        }
        Node::Map(map) => {
            let table = lua.create_table_with_capacity(0, map.len())?;
            for (key, item) in map.iter() {
                table.raw_set(lua.create_string(key)?, give(lua, host, item)?)?;
            }
            Ok(Value::Table(table))
        }
        _ => Err(Fault::Said("a value cannot be given to scripts".to_owned())),
    })
}
