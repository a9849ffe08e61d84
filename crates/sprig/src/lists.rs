//! Lists: taking apart, putting together, finding and sorting.

use std::borrow::Cow;

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, List, ListType, Type, Value};

use crate::convert::to_int;
use crate::equal::holds;
use crate::text::{NIL_POINTER, check_length, items_of, text_of, texts_of};

/// The functions of this family, most of them under a second name with `must`.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Bool, Int, Lists, Strings};
    const LIST: Type = Type::List;
    vec![
        Function::pure("list", &[], Some(Any), LIST, list),
        Function::pure("tuple", &[], Some(Any), LIST, list),
        Function::pure("first", &[Any], None, Any, first),
        Function::pure("mustFirst", &[Any], None, Any, first),
        Function::pure("last", &[Any], None, Any, last),
        Function::pure("mustLast", &[Any], None, Any, last),
        Function::pure("rest", &[Any], None, LIST, rest),
        Function::pure("mustRest", &[Any], None, LIST, rest),
        Function::pure("initial", &[Any], None, LIST, initial),
        Function::pure("mustInitial", &[Any], None, LIST, initial),
        Function::pure("append", &[Any, Any], None, LIST, push),
        Function::pure("mustAppend", &[Any, Any], None, LIST, push),
        Function::pure("push", &[Any, Any], None, LIST, push),
        Function::pure("mustPush", &[Any, Any], None, LIST, push),
        Function::pure("prepend", &[Any, Any], None, LIST, prepend),
        Function::pure("mustPrepend", &[Any, Any], None, LIST, prepend),
        Function::pure("concat", &[], Some(Any), Any, concat),
        Function::pure("reverse", &[Any], None, LIST, reverse),
        Function::pure("mustReverse", &[Any], None, LIST, reverse),
        Function::pure("compact", &[Any], None, LIST, compact),
        Function::pure("mustCompact", &[Any], None, LIST, compact),
        Function::metered("uniq", &[Any], None, LIST, uniq),
        Function::metered("mustUniq", &[Any], None, LIST, uniq),
        Function::metered("without", &[Any], Some(Any), LIST, without),
        Function::metered("mustWithout", &[Any], Some(Any), LIST, without),
        Function::metered("has", &[Any, Any], None, Bool, has),
        Function::metered("mustHas", &[Any, Any], None, Bool, has),
        Function::pure("slice", &[Any], Some(Any), Any, slice),
        Function::pure("mustSlice", &[Any], Some(Any), Any, slice),
        Function::pure("chunk", &[Int, Any], None, Lists, chunk),
        Function::pure("mustChunk", &[Int, Any], None, Lists, chunk),
        Function::pure("sortAlpha", &[Any], None, Strings, sort_alpha),
    ]
}

/// The items of a slice, or an error if the value is none: `message` and its kind.
fn items<'v>(value: &'v Value, message: &str) -> Result<Cow<'v, [Value]>, CallError> {
    match items_of(value) {
        Some(items) => Ok(items),
        None if value.is_nil() => Err(CallError::new(NIL_POINTER)),
        None => Err(CallError::new(format!("{message} {}", value.kind().name()))),
    }
}

fn list(args: Args<'_>) -> CallResult {
    Ok(Value::list(args.0.to_vec()))
}

fn first(args: Args<'_>) -> CallResult {
    Ok(items(args.any(0), "Cannot find first on type")?.first().cloned().unwrap_or_default())
}

fn last(args: Args<'_>) -> CallResult {
    Ok(items(args.any(0), "Cannot find last on type")?.last().cloned().unwrap_or_default())
}

fn rest(args: Args<'_>) -> CallResult {
    Ok(match &*items(args.any(0), "Cannot find rest on type")? {
        // A nil slice in Go, which `toJson` writes as `null`.
        [] => Value::List(List::nil(ListType::Any)),
        [_, rest @ ..] => Value::list(rest.to_vec()),
    })
}

fn initial(args: Args<'_>) -> CallResult {
    Ok(match &*items(args.any(0), "Cannot find initial on type")? {
        [] => Value::List(List::nil(ListType::Any)),
        [initial @ .., _] => Value::list(initial.to_vec()),
    })
}

fn push(args: Args<'_>) -> CallResult {
    let items = items(args.any(0), "Cannot push on type")?;
    Ok(Value::list(items.iter().chain([args.any(1)]).cloned().collect()))
}

fn prepend(args: Args<'_>) -> CallResult {
    let items = items(args.any(0), "Cannot prepend on type")?;
    Ok(Value::list([args.any(1)].into_iter().chain(items.iter()).cloned().collect()))
}

fn concat(args: Args<'_>) -> CallResult {
    let mut all = Vec::new();
    for value in args.0 {
        let Some(items) = items_of(value) else {
            return Err(if value.is_nil() {
                CallError::new(NIL_POINTER)
            } else {
                CallError::new(format!("Cannot concat type {} as list", value.kind().name()))
            });
        };
        check_length("concat", all.len().saturating_add(items.len()))?;
        all.extend_from_slice(&items);
    }
    // Go appends to a nil slice, which stays nil when there is nothing to append.
    Ok(if all.is_empty() { Value::List(List::nil(ListType::Any)) } else { Value::list(all) })
}

fn reverse(args: Args<'_>) -> CallResult {
    Ok(Value::list(items(args.any(0), "Cannot find reverse on type")?.iter().rev().cloned().collect()))
}

fn compact(args: Args<'_>) -> CallResult {
    let items = items(args.any(0), "Cannot compact on type")?;
    Ok(Value::list(items.iter().filter(|item| item.is_true()).cloned().collect()))
}

fn uniq(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let mut distinct: Vec<Value> = Vec::new();
    for item in items(args.any(0), "Cannot find uniq on type")?.iter() {
        if !holds(fuel, &distinct, item)? {
            distinct.push(item.clone());
        }
    }
    Ok(Value::list(distinct))
}

fn without(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let mut kept = Vec::new();
    for item in items(args.any(0), "Cannot find without on type")?.iter() {
        if !holds(fuel, args.rest(1), item)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::list(kept))
}

fn has(fuel: &mut Fuel, args: Args<'_>) -> CallResult {
    let haystack = args.any(1);
    // sprig tests for nil before it asks for the kind; the other functions panic.
    if haystack.is_nil() {
        return Ok(Value::Bool(false));
    }
    Ok(Value::Bool(holds(fuel, &items(haystack, "Cannot find has on type")?, args.any(0))?))
}

fn slice(args: Args<'_>) -> CallResult {
    let whole = args.any(0);
    let items = items(whole, "list should be type of slice or array but")?;
    if items.is_empty() {
        // sprig returns an untyped nil for an empty list, whatever the bounds.
        return Ok(Value::Nil);
    }
    let bounds = args.rest(1);
    let start = bounds.first().map_or(0, to_int);
    let end = bounds.get(1).map_or(items.len() as i64, to_int);
    let part = usize::try_from(start)
        .ok()
        .zip(usize::try_from(end).ok())
        .and_then(|(start, end)| items.get(start..end));
    let Some(part) = part else {
        return Err(CallError::new("reflect.Value.Slice: slice index out of bounds"));
    };
    Ok(match whole {
        Value::List(list) => Value::List(List::of(list.of, part.to_vec())),
        Value::Bytes(bytes) => Value::Bytes(bytes.as_bytes()[start as usize..end as usize].into()),
        _ => Value::list(part.to_vec()),
    })
}

/// Splits a list into lists of `size`. Go computes their number in floats, so even nonsensical sizes have a result or
/// a panic of their own.
fn chunk(args: Args<'_>) -> CallResult {
    const BAD_LENGTH: &str = "runtime error: makeslice: len out of range";
    let size = args.int(0);
    let items = items(args.any(1), "Cannot chunk type")?;
    let length = items.len() as f64;
    let count = ((length - 1.0) / size as f64).floor() + 1.0;
    if !(0.0..=length + 2.0).contains(&count) {
        return Err(CallError::new(BAD_LENGTH));
    }
    let count = count as i64;
    let mut chunks = Vec::with_capacity(count as usize);
    for index in 0..count {
        // sprig computes with `math.Mod`, also for sizes for which the count above is nonsense.
        let remainder = (length % size as f64).floor() as i64;
        let chunk_length = if index == count - 1 && remainder != 0 { remainder } else { size };
        let Ok(chunk_length) = usize::try_from(chunk_length) else {
            return Err(CallError::new(BAD_LENGTH));
        };
        let start = index.checked_mul(size).and_then(|start| usize::try_from(start).ok());
        let part = start.and_then(|start| items.get(start..start.checked_add(chunk_length)?));
        let Some(part) = part else {
            return Err(CallError::new("reflect: slice index out of range"));
        };
        chunks.push(Value::list(part.to_vec()));
    }
    Ok(Value::List(List::of(ListType::Lists, chunks)))
}

fn sort_alpha(args: Args<'_>) -> CallResult {
    let value = args.any(0);
    if items_of(value).is_none() {
        // sprig treats anything else as a list of one item.
        return Ok(Value::strings([text_of(value)]));
    }
    let mut texts = texts_of("sortAlpha", value)?;
    texts.sort_unstable();
    Ok(Value::strings(texts))
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::{Limits, print};

    use super::*;

    fn numbers(count: i64) -> Value {
        Value::list((1..=count).map(Value::int).collect())
    }

    fn shown(result: CallResult) -> String {
        match result {
            Ok(value) => print::to_str(&value).to_string(),
            Err(error) => format!("error: {}", error.message),
        }
    }

    fn call(body: fn(Args<'_>) -> CallResult, args: &[Value]) -> String {
        shown(body(Args(args)))
    }

    fn metered(body: fn(&mut Fuel, Args<'_>) -> CallResult, args: &[Value]) -> String {
        shown(body(&mut Fuel::new(Limits::default()), Args(args)))
    }

    #[test]
    fn only_lists_are_lists() {
        assert_eq!(call(first, &["a".into()]), "error: Cannot find first on type string");
        assert_eq!(call(first, &[Value::Nil]), format!("error: {NIL_POINTER}"));
        assert_eq!(metered(has, &[Value::int(1), Value::Nil]), "false");
    }

    #[test]
    fn equality_is_strict_about_types() {
        assert_eq!(metered(has, &[Value::Float(2.0), numbers(3)]), "false");
        assert_eq!(metered(without, &[numbers(3), Value::int(2)]), "[1 3]");
        assert_eq!(metered(uniq, &[Value::list(vec!["a".into(), "a".into(), Value::Nil])]), "[a <nil>]");
    }

    #[test]
    fn slices_and_chunks_keep_to_their_bounds() {
        assert_eq!(call(slice, &[numbers(5), Value::int(1), Value::int(3)]), "[2 3]");
        assert_eq!(
            call(slice, &[numbers(2), Value::int(2), Value::int(1)]),
            "error: reflect.Value.Slice: slice index out of bounds"
        );
        assert_eq!(call(chunk, &[Value::int(2), numbers(5)]), "[[1 2] [3 4] [5]]");
        assert_eq!(
            call(chunk, &[Value::int(0), numbers(5)]),
            "error: runtime error: makeslice: len out of range"
        );
        assert_eq!(call(chunk, &[Value::int(2), numbers(0)]), "[]");
    }
}
