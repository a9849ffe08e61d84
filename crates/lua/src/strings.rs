//! Linear-time versions of `string` functions that take quadratic time in the language. The prelude calls them for
//! strings long enough to matter.

use std::sync::Arc;

use memchr::memmem;
use mlua::{Lua, LuaString, Table, Value};

use crate::host::Host;

/// Characters with a special meaning in patterns.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// How many bytes are searched per step.
const BYTES_PER_STEP: u64 = 64;

/// Adds the functions to the host's table.
pub(crate) fn install(lua: &Lua, host: &Arc<Host>, table: &Table) -> mlua::Result<()> {
    let shared = Arc::clone(host);
    let find =
        lua.create_function(move |lua, (text, wanted, from): (LuaString, LuaString, Option<f64>)| {
            charge(lua, &shared, &text)?;
            Ok(find(&text.as_bytes(), &wanted.as_bytes(), from))
        })?;
    let shared = Arc::clone(host);
    let split = lua.create_function(move |lua, (text, separator): (LuaString, LuaString)| {
        charge(lua, &shared, &text)?;
        split(lua, &text.as_bytes(), &separator.as_bytes())
    })?;
    let is_plain = lua.create_function(|_, pattern: LuaString| {
        Ok(!pattern.as_bytes().iter().any(|byte| SPECIAL.contains(byte)))
    })?;
    table.raw_set("find", find)?;
    table.raw_set("split", split)?;
    table.raw_set("is_plain", is_plain)
}

fn charge(lua: &Lua, host: &Host, text: &LuaString) -> mlua::Result<()> {
    host.meter.charge(lua, text.as_bytes().len() as u64 / BYTES_PER_STEP)
}

/// The first and last position of a string in another, counted from one; `from` may count from the end.
#[allow(clippy::cast_possible_truncation, reason = "the language cuts fractions off in the same way")]
fn find(text: &[u8], wanted: &[u8], from: Option<f64>) -> (Option<usize>, Option<usize>) {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let from = from.map_or(1, |from| from as i64);
    let from = if from < 0 { from.saturating_add(length).saturating_add(1) } else { from };
    let start = usize::try_from(from.max(1) - 1).unwrap_or(usize::MAX);
    let found = text.get(start..).and_then(|rest| memmem::find(rest, wanted));
    match found {
        Some(at) => (Some(start + at + 1), Some(start + at + wanted.len())),
        None => (None, None),
    }
}

/// The substrings between separators, which must not be empty.
fn split(lua: &Lua, text: &[u8], separator: &[u8]) -> mlua::Result<Table> {
    let parts = lua.create_table()?;
    let mut begin = 0;
    for end in memmem::find_iter(text, separator) {
        parts.raw_push(Value::String(lua.create_string(&text[begin..end])?))?;
        begin = end + separator.len();
    }
    parts.raw_push(Value::String(lua.create_string(&text[begin..])?))?;
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Luau itself returns.
    fn language(from: f64) -> (Option<usize>, Option<usize>) {
        let lua = Lua::new();
        let script = lua.load("local t, n, from = ... return string.find(t, n, from, true)");
        script.call(("abcabc", "bc", from)).expect("it runs")
    }

    #[test]
    fn places_are_those_of_the_language() {
        for from in [1.0, 2.0, 2.9, 3.0, 6.0, 7.0, 8.0, 0.0, -1.0, -2.0, -5.5, -9.0] {
            assert_eq!(find(b"abcabc", b"bc", Some(from)), language(from), "from {from}");
        }
        assert_eq!(find(b"abcabc", b"ca", None), (Some(3), Some(4)));
    }

    #[test]
    fn parts_are_those_of_the_language() {
        let lua = Lua::new();
        for text in ["", "ab", "xabyabab", "abz"] {
            let own: Vec<String> =
                split(&lua, text.as_bytes(), b"ab").unwrap().sequence_values().map(Result::unwrap).collect();
            let theirs: Vec<String> = lua.load("return string.split(..., 'ab')").call(text).unwrap();
            assert_eq!(own, theirs, "{text}");
        }
    }
}
