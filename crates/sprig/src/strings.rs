//! Strings: cutting, trimming, replacing, indenting and quoting. Go's strings are bytes, so a cut may split a
//! character.

use std::collections::HashSet;

use bstr::ByteSlice as _;
use pintle_gotmpl::{Args, CallError, CallResult, Function, Type, Value, print};
use pintle_tree::quote;

use crate::text::{check_size, text, text_of};
use crate::unicode::{first_rune, map_runes, to_lower, to_title, to_upper};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Bool, Int, Str};
    vec![
        Function::pure("hello", &[], None, Str, |_| text("Hello!")),
        Function::pure("trunc", &[Int, Str], None, Str, trunc),
        Function::pure("substr", &[Int, Int, Str], None, Str, substr),
        Function::pure("trim", &[Str], None, Str, |args| text(args.text(0).trim_with(char::is_whitespace))),
        Function::pure("trimAll", &[Str, Str], None, Str, trim_all),
        Function::pure("trimall", &[Str, Str], None, Str, trim_all),
        Function::pure("trimPrefix", &[Str, Str], None, Str, trim_prefix),
        Function::pure("trimSuffix", &[Str, Str], None, Str, trim_suffix),
        Function::pure("upper", &[Str], None, Str, upper),
        Function::pure("lower", &[Str], None, Str, lower),
        Function::pure("title", &[Str], None, Str, title),
        Function::pure("repeat", &[Int, Str], None, Str, repeat),
        Function::pure("contains", &[Str, Str], None, Bool, contains),
        Function::pure("hasPrefix", &[Str, Str], None, Bool, has_prefix),
        Function::pure("hasSuffix", &[Str, Str], None, Bool, has_suffix),
        Function::pure("quote", &[], Some(Any), Str, quote_all),
        Function::pure("squote", &[], Some(Any), Str, single_quote_all),
        Function::pure("cat", &[], Some(Any), Str, cat),
        Function::pure("indent", &[Int, Str], None, Str, |args| indented("indent", "", args)),
        Function::pure("nindent", &[Int, Str], None, Str, |args| indented("nindent", "\n", args)),
        Function::pure("replace", &[Str, Str, Str], None, Str, replace),
        Function::pure("plural", &[Str, Str, Int], None, Str, plural),
        Function::pure("toString", &[Any], None, Str, |args| text(text_of(args.any(0)))),
    ]
}

fn trunc(args: Args<'_>) -> CallResult {
    let (count, whole) = (args.int(0), args.text(1));
    let length = whole.len() as i64;
    // A negative count keeps the end. One that exceeds the length returns the whole text.
    if count < 0 && length + count > 0 {
        return text(&whole[(length + count) as usize..]);
    }
    if (0..length).contains(&count) {
        return text(&whole[..count as usize]);
    }
    Ok(args.any(1).clone())
}

fn substr(args: Args<'_>) -> CallResult {
    let (start, end, whole) = (args.int(0), args.int(1), args.text(2));
    let length = whole.len() as i64;
    let out_of_range =
        |bounds: String| Err(CallError::new(format!("runtime error: slice bounds out of range {bounds}")));
    // sprig's cases in their order; a negative start means from the beginning, with the end as it is.
    if start < 0 {
        return match usize::try_from(end) {
            Err(_) => out_of_range(format!("[:{end}]")),
            Ok(_) if end > length => out_of_range(format!("[:{end}] with length {length}")),
            Ok(end) => text(&whole[..end]),
        };
    }
    let end = if end < 0 || end > length { length } else { end };
    if start > end {
        return out_of_range(format!("[{start}:{end}]"));
    }
    text(&whole[start as usize..end as usize])
}

/// Character sets up to this length, in bytes, are faster to search linearly.
const SHORT_CUT: usize = 32;

fn trim_all(args: Args<'_>) -> CallResult {
    let (cut, whole) = (args.text(0), args.text(1));
    if cut.len() <= SHORT_CUT {
        return text(whole.trim_with(|rune| cut.chars().any(|other| other == rune)));
    }
    let cut: HashSet<char> = cut.chars().collect();
    text(whole.trim_with(|rune| cut.contains(&rune)))
}

fn trim_prefix(args: Args<'_>) -> CallResult {
    match args.text(1).strip_prefix(args.text(0)) {
        Some(rest) => text(rest),
        None => Ok(args.any(1).clone()),
    }
}

fn trim_suffix(args: Args<'_>) -> CallResult {
    match args.text(1).strip_suffix(args.text(0)) {
        Some(rest) => text(rest),
        None => Ok(args.any(1).clone()),
    }
}

fn upper(args: Args<'_>) -> CallResult {
    let whole = args.text(0);
    if whole.is_ascii() { text(whole.to_ascii_uppercase()) } else { text(map_runes(whole, to_upper)) }
}

fn lower(args: Args<'_>) -> CallResult {
    let whole = args.text(0);
    if whole.is_ascii() { text(whole.to_ascii_lowercase()) } else { text(map_runes(whole, to_lower)) }
}

/// Go's `strings.Title`, in which an apostrophe begins a word and an underscore does not.
fn title(args: Args<'_>) -> CallResult {
    let mut begins = true;
    text(map_runes(args.text(0), |rune| {
        let titled = if begins { to_title(rune) } else { rune };
        begins =
            if rune.is_ascii() { !rune.is_ascii_alphanumeric() && rune != '_' } else { rune.is_whitespace() };
        titled
    }))
}

/// The repeat count, rejected as Go rejects it.
fn repetitions(function: &str, count: i64, unit: usize) -> Result<usize, CallError> {
    let Ok(count) = usize::try_from(count) else {
        return Err(CallError::new("strings: negative Repeat count"));
    };
    check_size(function, count.saturating_mul(unit))?;
    Ok(count)
}

fn repeat(args: Args<'_>) -> CallResult {
    let unit = args.text(1);
    text(unit.repeat(repetitions("repeat", args.int(0), unit.len())?))
}

fn contains(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(1).contains_str(args.text(0))))
}

fn has_prefix(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(1).starts_with(args.text(0))))
}

fn has_suffix(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(1).ends_with(args.text(0))))
}

fn quote_all(args: Args<'_>) -> CallResult {
    // By far the most common call, without an intermediate copy.
    if let [Value::Str(only)] = args.0 {
        return text(quote::quote(only.as_bytes()));
    }
    let mut out = String::new();
    for (index, value) in present(args).enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(&quote::quote(text_of(value).as_bytes()));
        check_size("quote", out.len())?;
    }
    text(out)
}

fn single_quote_all(args: Args<'_>) -> CallResult {
    let mut out = Vec::new();
    for (index, value) in present(args).enumerate() {
        out.extend_from_slice(if index == 0 { b"'" } else { b" '" });
        print::push_value(value, &mut out);
        out.push(b'\'');
        check_size("squote", out.len())?;
    }
    text(out)
}

fn cat(args: Args<'_>) -> CallResult {
    let mut out = Vec::new();
    for (index, value) in present(args).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        print::push_value(value, &mut out);
        check_size("cat", out.len())?;
    }
    text(out)
}

/// The arguments that are not nil.
fn present(args: Args<'_>) -> impl Iterator<Item = &Value> {
    args.0.iter().filter(|value| !value.is_nil())
}

/// `prefix`, and the text with `spaces` before each line, also before an empty one.
fn indented(function: &str, prefix: &str, args: Args<'_>) -> CallResult {
    let whole = args.text(1);
    let spaces = repetitions(function, args.int(0), 1)?;
    let lines = whole.find_iter(b"\n").count() + 1;
    let size = spaces.saturating_mul(lines).saturating_add(whole.len() + prefix.len());
    check_size(function, size)?;
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(prefix.as_bytes());
    for (index, line) in whole.split_str("\n").enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    text(out)
}

fn replace(args: Args<'_>) -> CallResult {
    let (old, new, whole) = (args.text(0), args.text(1), args.text(2));
    let occurrences = if old.is_empty() { whole.len() + 1 } else { whole.find_iter(old).count() };
    if occurrences == 0 {
        return Ok(args.any(2).clone());
    }
    check_size("replace", occurrences.saturating_mul(new.len()).saturating_add(whole.len()))?;
    if !old.is_empty() {
        return text(whole.replace(old, new));
    }
    // The empty string is found before each character and at the end.
    let (mut out, mut rest) = (new.to_vec(), whole);
    while !rest.is_empty() {
        let (character, after) = rest.split_at(first_rune(rest).1);
        out.extend_from_slice(character);
        out.extend_from_slice(new);
        rest = after;
    }
    text(out)
}

fn plural(args: Args<'_>) -> CallResult {
    Ok(args.any(usize::from(args.int(2) != 1)).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(body: fn(Args<'_>) -> CallResult, args: &[Value]) -> String {
        match body(Args(args)) {
            Ok(value) => text_of(&value).to_string(),
            Err(error) => format!("error: {}", error.message),
        }
    }

    #[test]
    fn cuts_count_bytes_and_complain_as_go_panics() {
        assert_eq!(call(trunc, &[Value::int(-2), "abc".into()]), "bc");
        assert_eq!(call(substr, &[Value::int(1), Value::int(-1), "abc".into()]), "bc");
        let outside = call(substr, &[Value::int(3), Value::int(2), "abcdef".into()]);
        assert_eq!(outside, "error: runtime error: slice bounds out of range [3:2]");
        let negative = call(repeat, &[Value::int(-1), "x".into()]);
        assert_eq!(negative, "error: strings: negative Repeat count");
        assert!(
            call(repeat, &[Value::int(i64::MAX), "xy".into()]).starts_with("error: the result of repeat")
        );
    }

    #[test]
    fn replacing_nothing_puts_the_new_text_between_all_characters() {
        assert_eq!(call(replace, &["".into(), "-".into(), "añ".into()]), "-a-ñ-");
    }

    #[test]
    fn long_sets_of_characters_cut_what_short_ones_do() {
        let long: String = ('a'..='z').chain('а'..='я').chain(['\u{fffd}']).collect();
        assert_eq!(call(trim_all, &[long.as_str().into(), "abcяX-éxyz".into()]), "X-é");
        assert_eq!(call(trim_all, &["a-".into(), "a-b-a".into()]), "b");
    }

    #[test]
    fn indenting_also_indents_empty_lines() {
        assert_eq!(
            call(|args| indented("nindent", "\n", args), &[Value::int(2), "a\n\nb".into()]),
            "\n  a\n  \n  b"
        );
    }

    #[test]
    fn quotes_leave_nil_out() {
        assert_eq!(call(quote_all, &["a\"".into(), Value::Nil, Value::int(1)]), r#""a\"" "1""#);
        assert_eq!(call(single_quote_all, &[Value::Nil, true.into()]), "'true'");
        assert_eq!(call(title, &["it's snake_case é".into()]), "It'S Snake_case É");
    }
}
