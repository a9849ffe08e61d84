//! Shared by all families: values as text, bounds on results, and the texts of Go's panics.

use std::borrow::Cow;

use pintle_gotmpl::{CallError, CallResult, IntKind, Kind, List, ListType, Value, print};
use pintle_tree::Str;

/// The largest text or list that a function produces, in bytes. The engine refuses longer arguments as well.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Go's panic for a nil dereference.
pub(crate) const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

/// Go's panic when reflection asks nil for its type.
pub(crate) const ZERO_VALUE: &str = "reflect: call of reflect.Value.Type on zero Value";

/// Rejects a result of more than [`MAX_BYTES`].
pub(crate) fn check_size(function: &str, bytes: usize) -> Result<(), CallError> {
    if bytes > MAX_BYTES {
        return Err(CallError::new(format!(
            "the result of {function} is larger than {} MiB",
            MAX_BYTES >> 20
        )));
    }
    Ok(())
}

/// Rejects a list of more than [`MAX_BYTES`].
pub(crate) fn check_length(function: &str, items: usize) -> Result<(), CallError> {
    check_size(function, items.saturating_mul(size_of::<Value>()))
}

/// The text of a value, as sprig writes it: bytes are text, everything else is `%v`.
pub(crate) fn text_of(value: &Value) -> Str {
    match value {
        Value::Str(text) | Value::Bytes(text) => text.clone(),
        Value::List(List { of: ListType::Bytes, .. }) => Str::EMPTY,
        _ => print::to_str(value),
    }
}

/// The items of a slice; `None` if the value is not a slice.
pub(crate) fn items_of(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::List(list) => Some(Cow::Borrowed(list.items())),
        Value::Bytes(bytes) => {
            let byte = |byte: &u8| Value::Int(IntKind::Uint8, i64::from(*byte));
            Some(Cow::Owned(bytes.as_bytes().iter().map(byte).collect()))
        }
        Value::Object(object) if object.kind() == Kind::Slice => {
            Some(Cow::Owned(object.entries().into_iter().map(|(_, item)| item).collect()))
        }
        _ => None,
    }
}

/// The strings of a slice without its nils; anything else is a slice of one. Strings made from lists and maps are
/// rejected if they are too large together.
pub(crate) fn texts_of(function: &str, value: &Value) -> Result<Vec<Str>, CallError> {
    let Some(items) = items_of(value) else {
        return Ok(if value.is_nil() { Vec::new() } else { vec![text_of(value)] });
    };
    let mut made = 0;
    let mut texts = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| !item.is_nil()) {
        let text = text_of(item);
        if item.as_text().is_none() {
            made += text.len();
            check_size(function, made)?;
        }
        texts.push(text);
    }
    Ok(texts)
}

/// A string result.
pub(crate) fn text(text: impl Into<Str>) -> CallResult {
    Ok(Value::Str(text.into()))
}

/// Runs `body` on a larger stack when this one is nearly used up.
pub(crate) fn with_stack<T>(body: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 << 10, 1 << 20, body)
}
