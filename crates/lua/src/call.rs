//! Host functions: their arguments, results and errors.

use std::sync::Arc;

use mlua::{Function, Lua, MultiValue, Value};
use pintle_tree::Node;

use crate::bridge;
use crate::host::Host;

/// Why a host function returns no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// An error for the script, which can catch it with `pcall`.
    Message(String),
    /// An error of the engine: a limit, or an error raised by the script.
    Lua(mlua::Error),
}

impl From<mlua::Error> for CallError {
    fn from(error: mlua::Error) -> Self {
        CallError::Lua(error)
    }
}

impl From<String> for CallError {
    fn from(text: String) -> Self {
        CallError::Message(text)
    }
}

impl From<&str> for CallError {
    fn from(text: &str) -> Self {
        CallError::Message(text.to_owned())
    }
}

/// The result of a host function.
pub(crate) type Answer = Result<Value, CallError>;

/// The body of a host function.
pub(crate) type Body = fn(&Call<'_>) -> Answer;

/// One call of a host function.
pub(crate) struct Call<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) host: &'a Arc<Host>,
    /// The function name, for errors.
    name: &'a str,
    arguments: MultiValue,
}

/// Creates a function whose first result is whether it succeeded. The prelude turns a failure into an error at the
/// caller's line: errors raised from Rust would carry no line.
pub(crate) fn function(lua: &Lua, host: &Arc<Host>, name: String, body: Body) -> mlua::Result<Function> {
    let host = Arc::clone(host);
    lua.create_function(move |lua, arguments: MultiValue| {
        host.meter.charge(lua, 1)?;
        answer(lua, body(&Call { lua, host: &host, name: &name, arguments }))
    })
}

/// The two results of a host function.
pub(crate) fn answer(lua: &Lua, answer: Answer) -> mlua::Result<(bool, Value)> {
    match answer {
        Ok(value) => Ok((true, value)),
        Err(CallError::Message(text)) => Ok((false, Value::String(lua.create_string(text)?))),
        Err(CallError::Lua(error)) => Err(error),
    }
}

impl Call<'_> {
    /// An argument, or nil.
    pub(crate) fn any(&self, index: usize) -> &Value {
        self.arguments.get(index).unwrap_or(&Value::Nil)
    }

    /// A string argument, up to the size limit.
    pub(crate) fn bytes(&self, index: usize) -> Result<Vec<u8>, CallError> {
        let Value::String(text) = self.any(index) else { return Err(self.type_error(index, "a string")) };
        let bytes = text.as_bytes();
        self.check_text(bytes.len())?;
        // Reading a string costs time in proportion to its length.
        self.charge(bytes.len() as u64 / 64)?;
        Ok(bytes.to_vec())
    }

    /// A string argument that is parsed into a tree, which takes many times the memory of the string.
    pub(crate) fn document(&self, index: usize) -> Result<Vec<u8>, CallError> {
        let most = self.host.limits.text / 4;
        match self.any(index) {
            Value::String(text) if text.as_bytes().len() > most => {
                self.fail(format!("the document has more than {most} bytes"))
            }
            _ => self.bytes(index),
        }
    }

    /// A UTF-8 string argument.
    pub(crate) fn text(&self, index: usize) -> Result<String, CallError> {
        String::from_utf8(self.bytes(index)?).map_err(|_| self.type_error(index, "a string in UTF-8"))
    }

    /// An optional UTF-8 string argument.
    pub(crate) fn text_or_none(&self, index: usize) -> Result<Option<String>, CallError> {
        if self.any(index).is_nil() { Ok(None) } else { self.text(index).map(Some) }
    }

    /// An optional integer argument.
    pub(crate) fn whole_or_none(&self, index: usize) -> Result<Option<i64>, CallError> {
        match self.any(index) {
            Value::Nil => Ok(None),
            Value::Integer(number) => Ok(Some(*number)),
            // Numbers of Luau are floats, which are exact up to 2⁵³.
            Value::Number(number) if number.fract() == 0.0 && number.abs() <= bridge::MAX_EXACT => {
                Ok(Some(*number as i64))
            }
            _ => Err(self.type_error(index, "a whole number")),
        }
    }

    /// A function argument.
    pub(crate) fn function(&self, index: usize) -> Result<Function, CallError> {
        match self.any(index) {
            Value::Function(function) => Ok(function.clone()),
            _ => Err(self.type_error(index, "a function")),
        }
    }

    /// An argument converted to a tree.
    pub(crate) fn node(&self, index: usize) -> Result<Node, CallError> {
        bridge::node(self.host, self.any(index)).map_err(|call_error| match call_error {
            CallError::Message(text) => CallError::Message(format!("{}: {text}", self.name)),
            engine => engine,
        })
    }

    /// Rejects a tree whose serialised form would exceed the limit. Formats repeat indentation or key paths at depth;
    /// `around` returns that overhead from the path length and the depth.
    pub(crate) fn check_written(
        &self,
        tree: &Node,
        around: fn(usize, usize) -> usize,
    ) -> Result<(), CallError> {
        let mut length = 0_usize;
        // Without recursion: the tree of a script can be deep.
        let mut todo = vec![(tree, 0_usize, 0_usize)];
        while let Some((node, path, depth)) = todo.pop() {
            let own = if let Node::Str(text) = node { text.len() } else { 4 };
            length = length.saturating_add(own).saturating_add(around(path, depth));
            self.check_text(length)?;
            match node {
                Node::List(list) => todo.extend(list.iter().map(|item| (item, path, depth + 1))),
                Node::Map(map) => {
                    todo.extend(map.iter().map(|(key, item)| (item, path + key.len() + 1, depth + 1)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns a string to the script, up to the size limit.
    pub(crate) fn return_text(&self, bytes: impl AsRef<[u8]>) -> Answer {
        self.check_text(bytes.as_ref().len())?;
        Ok(Value::String(self.lua.create_string(bytes)?))
    }

    /// Returns a tree to the script.
    pub(crate) fn answer(&self, node: &Node) -> Answer {
        bridge::to_lua(self.lua, self.host, node)
    }

    /// Charges work to the step limit.
    pub(crate) fn charge(&self, steps: u64) -> Result<(), CallError> {
        Ok(self.host.meter.charge(self.lua, steps)?)
    }

    /// Fails with a message, prefixed with the function name.
    pub(crate) fn fail<T>(&self, text: impl std::fmt::Display) -> Result<T, CallError> {
        Err(CallError::Message(format!("{}: {text}", self.name)))
    }

    fn check_text(&self, length: usize) -> Result<(), CallError> {
        let most = self.host.limits.text;
        if length > most { self.fail(format!("the text has more than {most} bytes")) } else { Ok(()) }
    }

    fn type_error(&self, index: usize, wanted: &str) -> CallError {
        let found = bridge::type_name(self.any(index));
        CallError::Message(format!("{}: argument {} must be {wanted}, not {found}", self.name, index + 1))
    }
}
