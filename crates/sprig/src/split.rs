//! Splitting and joining strings.

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, MapRef, MapType, Type, Value};
use pintle_tree::{Map, Str};

use crate::text::{check_length, check_size, text, texts_of};
use crate::unicode::first_rune;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Int, StrMap, Strings};
    vec![
        Function::metered("split", &[Type::Str, Type::Str], None, StrMap, |fuel, args| {
            numbered(fuel, &parts("split", args.text(0), -1, args.text(1))?)
        }),
        Function::metered("splitn", &[Type::Str, Int, Type::Str], None, StrMap, |fuel, args| {
            numbered(fuel, &parts("splitn", args.text(0), args.int(1), args.text(2))?)
        }),
        Function::pure("splitList", &[Type::Str, Type::Str], None, Strings, |args| {
            Ok(Value::strings(parts("splitList", args.text(0), -1, args.text(1))?))
        }),
        Function::pure("join", &[Type::Str, Any], None, Type::Str, join),
        Function::pure("toStrings", &[Any], None, Strings, |args| {
            Ok(Value::strings(texts_of("toStrings", args.any(0))?))
        }),
    ]
}

/// The parts between separators, at most `limit` unless it is negative. An empty separator splits characters.
fn parts<'t>(
    function: &str,
    separator: &[u8],
    limit: i64,
    whole: &'t [u8],
) -> Result<Vec<&'t [u8]>, CallError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Vec::new());
    }
    if separator.is_empty() {
        check_length(function, whole.len().min(limit))?;
        return Ok(characters(whole, limit));
    }
    check_length(function, whole.find_iter(separator).count().min(limit))?;
    Ok(whole.splitn_str(limit, separator).collect())
}

fn characters(whole: &[u8], limit: usize) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), whole);
    while !rest.is_empty() {
        let width = if found.len() + 1 == limit { rest.len() } else { first_rune(rest).1 };
        let (character, after) = rest.split_at(width);
        found.push(character);
        rest = after;
    }
    found
}

/// The parts under the keys `_0`, `_1` and so on.
fn numbered(fuel: &mut Fuel, parts: &[&[u8]]) -> CallResult {
    fuel.allocate(parts.len() * size_of::<(Str, Value)>())?;
    let entry = |(index, part): (usize, &&[u8])| (Str::from(format!("_{index}")), Value::str(*part));
    let entries: Map<Value> = parts.iter().enumerate().map(entry).collect();
    Ok(Value::Map(MapRef::of(MapType::Str, entries)))
}

fn join(args: Args<'_>) -> CallResult {
    let (separator, parts) = (args.text(0), texts_of("join", args.any(1))?);
    let size = parts.iter().map(|part| part.len() + separator.len()).fold(0, usize::saturating_add);
    check_size("join", size)?;
    let mut out = Vec::with_capacity(size);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(part.as_bytes());
    }
    text(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(separator: &str, limit: i64, whole: &str) -> Vec<String> {
        let parts = parts("split", separator.as_bytes(), limit, whole.as_bytes()).unwrap();
        parts.into_iter().map(|part| Str::from(part).to_string()).collect()
    }

    #[test]
    fn limits_and_empty_separators_follow_go() {
        assert_eq!(split(",", -1, "a,b,,c"), ["a", "b", "", "c"]);
        assert_eq!(split(",", 2, "a,b,c"), ["a", "b,c"]);
        assert_eq!(split(",", 0, "a"), Vec::<String>::new());
        assert_eq!(split(",", -1, ""), [""]);
        assert_eq!(split("", -1, "añb"), ["a", "ñ", "b"]);
        assert_eq!(split("", 2, "añb"), ["a", "ñb"]);
        assert_eq!(split("", -1, ""), Vec::<String>::new());
    }

    #[test]
    fn joining_leaves_nil_out() {
        let list = Value::list(vec!["a".into(), Value::Nil, Value::int(3)]);
        let joined = join(Args(&["-".into(), list])).unwrap();
        assert_eq!(joined.as_text().unwrap().to_string(), "a-3");
    }
}
