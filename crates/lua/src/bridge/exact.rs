//! Integers that Lua's numbers cannot represent exactly.
//! Luau has one kind of number, a float64. Resource versions and large ids in values would be rounded
//! silently.

use mlua::{MetaMethod, UserData, UserDataMethods};

/// An integer beyond 2⁵³. Scripts can compare, print and pass it on; arithmetic needs an explicit `:number()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExactInteger(pub(crate) i64);

impl UserData for ExactInteger {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("number", |_, this, ()| Ok(this.0 as f64));
        methods.add_meta_method(MetaMethod::ToString, |_, this, ()| Ok(this.0.to_string()));
        methods.add_meta_function(MetaMethod::Eq, |_, (a, b): (Pair, Pair)| Ok(a.0.is_some() && a.0 == b.0));
        methods.add_meta_function(MetaMethod::Lt, |_, (a, b): (Pair, Pair)| Ok(a.0 < b.0));
        methods.add_meta_function(MetaMethod::Le, |_, (a, b): (Pair, Pair)| Ok(a.0 <= b.0));
    }
}

/// One operand of a comparison.
struct Pair(Option<i64>);

impl mlua::FromLua for Pair {
    fn from_lua(value: mlua::Value, _: &mlua::Lua) -> mlua::Result<Self> {
        let exact =
            value.as_userdata().and_then(|data| data.borrow::<ExactInteger>().ok().map(|exact| exact.0));
        Ok(Pair(exact))
    }
}
