//! Regular expression functions. Patterns repeat across templates, so compiled ones are cached.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pintle_gotmpl::{Args, CallError, CallResult, Fuel, Function, List, ListType, Type, Value};
use pintle_regex::{Error, Regex, quote_meta};
use pintle_tree::{Str, quote};

use crate::text::{MAX_BYTES, check_length, check_size};

/// How many compiled patterns a thread caches. Charts use a few dozen; a chart that generates patterns in a loop must
/// not fill the memory.
const KEPT: usize = 256;

/// The cost of compiling a pattern in engine steps, in proportion to its time.
const COMPILE_STEPS: u64 = 10_000;

thread_local! {
    static COMPILED: RefCell<HashMap<Str, Rc<Regex>>> = RefCell::new(HashMap::new());
}

const PATTERN_TEXT: &[Type] = &[Type::Str, Type::Str];
const PATTERN_TEXT_LIMIT: &[Type] = &[Type::Str, Type::Str, Type::Int];
const PATTERN_TEXT_REPLACEMENT: &[Type] = &[Type::Str, Type::Str, Type::Str];

/// The functions of this family. Those without `must` name the invalid pattern, since they panic in Go.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::metered("regexMatch", PATTERN_TEXT, None, Type::Bool, |fuel, args| {
            Ok(Value::Bool(compiled(fuel, args).is_ok_and(|regex| regex.is_match(args.text(1)))))
        }),
        Function::metered("mustRegexMatch", PATTERN_TEXT, None, Type::Bool, |fuel, args| {
            Ok(Value::Bool(compiled(fuel, args)?.is_match(args.text(1))))
        }),
        Function::metered("regexFind", PATTERN_TEXT, None, Type::Str, |fuel, args| {
            find(&*must_compile(fuel, args)?, args)
        }),
        Function::metered("mustRegexFind", PATTERN_TEXT, None, Type::Str, |fuel, args| {
            find(&*compiled(fuel, args)?, args)
        }),
        Function::metered("regexFindAll", PATTERN_TEXT_LIMIT, None, Type::Strings, |fuel, args| {
            find_all(&*pay_for_all(must_compile(fuel, args)?, fuel, args)?, args)
        }),
        Function::metered("mustRegexFindAll", PATTERN_TEXT_LIMIT, None, Type::Strings, |fuel, args| {
            find_all(&*pay_for_all(compiled(fuel, args)?, fuel, args)?, args)
        }),
        Function::metered("regexReplaceAll", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |fuel, args| {
            replace(&*pay_for_replacing(must_compile(fuel, args)?, fuel, args)?, args)
        }),
        Function::metered("mustRegexReplaceAll", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |fuel, args| {
            replace(&*pay_for_replacing(compiled(fuel, args)?, fuel, args)?, args)
        }),
        Function::metered(
            "regexReplaceAllLiteral",
            PATTERN_TEXT_REPLACEMENT,
            None,
            Type::Str,
            |fuel, args| replace_literal(&*pay_for_all(must_compile(fuel, args)?, fuel, args)?, args),
        ),
        Function::metered(
            "mustRegexReplaceAllLiteral",
            PATTERN_TEXT_REPLACEMENT,
            None,
            Type::Str,
            |fuel, args| replace_literal(&*pay_for_all(compiled(fuel, args)?, fuel, args)?, args),
        ),
        Function::metered("regexSplit", PATTERN_TEXT_LIMIT, None, Type::Strings, |fuel, args| {
            split(&*pay_for_all(must_compile(fuel, args)?, fuel, args)?, args)
        }),
        Function::metered("mustRegexSplit", PATTERN_TEXT_LIMIT, None, Type::Strings, |fuel, args| {
            split(&*pay_for_all(compiled(fuel, args)?, fuel, args)?, args)
        }),
        Function::pure("regexQuoteMeta", &[Type::Str], None, Type::Str, |args| {
            Ok(Value::str(quote_meta(args.text(0))))
        }),
    ]
}

/// The compiled first argument; the outer error is about fuel, the inner one about the pattern.
fn compile(fuel: &mut Fuel, args: Args<'_>) -> Result<Result<Rc<Regex>, Error>, CallError> {
    let pattern = args.text(0);
    COMPILED.with_borrow_mut(|kept| {
        if let Some(regex) = kept.get(pattern) {
            return Ok(Ok(Rc::clone(regex)));
        }
        // Before compiling: a pattern of megabytes takes seconds and gigabytes.
        fuel.spend(COMPILE_STEPS + pattern.len() as u64 * 16)?;
        let regex = match Regex::compile(pattern) {
            Ok(regex) => Rc::new(regex),
            Err(error) => {
                fuel.spend(error.compile_cost())?;
                return Ok(Err(error));
            }
        };
        fuel.spend(regex.compile_cost())?;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(args.str(0), Rc::clone(&regex));
        Ok(Ok(regex))
    })
}

/// The compiled first argument, charged for its search through the second.
fn compiled(fuel: &mut Fuel, args: Args<'_>) -> Result<Rc<Regex>, CallError> {
    let regex = compile(fuel, args)?.map_err(plain)?;
    charge(fuel, &regex, args)?;
    Ok(regex)
}

/// Charges a search: large patterns have many states per character.
fn charge(fuel: &mut Fuel, regex: &Regex, args: Args<'_>) -> Result<(), CallError> {
    fuel.spend(regex.cost(args.text(1).len() as u64))
}

/// Up to this length, in bytes, the exact number of bytes read does not matter.
const SHORT_TEXT: usize = 256;

/// Charges finding all matches: each search may read to the end and find its match at the start.
fn pay_for_all(regex: Rc<Regex>, fuel: &mut Fuel, args: Args<'_>) -> Result<Rc<Regex>, CallError> {
    let text = args.text(1);
    if text.len() <= SHORT_TEXT {
        // The worst case of short texts is cheap enough to be charged without looking.
        fuel.spend(regex.cost((text.len() * text.len()) as u64 / 4))?;
        return Ok(regex);
    }
    // The first pass over the text is charged; more than the remaining fuel need not be exact.
    let once = text.len() as u64;
    let enough = fuel.steps_left().saturating_mul(2) / regex.cost(2).max(1) + 4;
    let again = regex.work(text, enough.saturating_add(once)).saturating_sub(once);
    fuel.spend(regex.cost(again))?;
    Ok(regex)
}

/// Charges finding all matches, and the variables of the replacement, which are resolved at every match.
fn pay_for_replacing(regex: Rc<Regex>, fuel: &mut Fuel, args: Args<'_>) -> Result<Rc<Regex>, CallError> {
    let variables = args.text(2).iter().filter(|byte| **byte == b'$').count() as u64;
    fuel.spend(variables.saturating_mul(args.text(1).len() as u64 + 1) / 2)?;
    pay_for_all(regex, fuel, args)
}

/// The compiled first argument, charged as well, or the text of Go's panic.
fn must_compile(fuel: &mut Fuel, args: Args<'_>) -> Result<Rc<Regex>, CallError> {
    let regex = compile(fuel, args)?.map_err(|error| {
        let pattern = args.text(0);
        let pattern = match std::str::from_utf8(pattern) {
            Ok(text) if can_backquote(text) => format!("`{text}`"),
            _ => quote::quote(pattern),
        };
        CallError::new(format!("regexp: Compile({pattern}): {error}"))
    })?;
    charge(fuel, &regex, args)?;
    Ok(regex)
}

/// Whether Go writes a text between backquotes as it is.
fn can_backquote(text: &str) -> bool {
    let plain = |character| match character {
        '\t' => true,
        '\0'..=' ' => character == ' ',
        _ => !matches!(character, '`' | '\u{7f}' | '\u{feff}'),
    };
    text.chars().all(plain)
}

fn plain(error: Error) -> CallError {
    CallError::new(error.to_string())
}

fn find(regex: &Regex, args: Args<'_>) -> CallResult {
    let text = args.text(1);
    Ok(Value::str(regex.find(text).map_or(&[][..], |range| &text[range])))
}

fn find_all(regex: &Regex, args: Args<'_>) -> CallResult {
    let text = args.text(1);
    let matches = regex.find_all(text, bounded(limit(args)));
    check_length("the search", matches.len())?;
    if matches.is_empty() {
        return Ok(Value::List(List::nil(ListType::Str)));
    }
    Ok(Value::strings(matches.into_iter().map(|range| &text[range])))
}

fn split(regex: &Regex, args: Args<'_>) -> CallResult {
    let limit = limit(args);
    if limit == 0 {
        return Ok(Value::List(List::nil(ListType::Str)));
    }
    let pieces = regex.split(args.text(1), bounded(limit));
    check_length("the split", pieces.len())?;
    Ok(Value::strings(pieces))
}

fn limit(args: Args<'_>) -> isize {
    isize::try_from(args.int(2)).unwrap_or(isize::MAX)
}

/// A limit that ends a search just after it has found more than a list may hold.
fn bounded(limit: isize) -> isize {
    let most = (MAX_BYTES / size_of::<Value>() + 2) as isize;
    if limit < 0 { most } else { limit.min(most) }
}

fn replace(regex: &Regex, args: Args<'_>) -> CallResult {
    replaced(regex.replace_all(args.text(1), args.text(2)))
}

fn replace_literal(regex: &Regex, args: Args<'_>) -> CallResult {
    replaced(regex.replace_all_literal(args.text(1), args.text(2)))
}

/// Rejects a result that was truncated because it would fill the memory.
fn replaced(text: Vec<u8>) -> CallResult {
    check_size("the replacement", text.len())?;
    Ok(Value::str(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, args: &[Value]) -> CallResult {
        let function =
            functions().into_iter().find(|function| function.name == name).expect("a known function");
        match function.body {
            pintle_gotmpl::Body::Pure(body) => body(Args(args)),
            pintle_gotmpl::Body::Metered(body) => {
                body(&mut Fuel::new(pintle_gotmpl::Limits::default()), Args(args))
            }
            pintle_gotmpl::Body::Host(_) => unreachable!("none needs the engine"),
        }
    }

    #[test]
    fn a_wrong_pattern_is_no_match_or_an_error_by_function() {
        let args = [Value::str("["), Value::str("x")];
        assert!(!call("regexMatch", &args).unwrap().is_true());
        let text = "error parsing regexp: missing closing ]: `[`";
        assert_eq!(call("mustRegexMatch", &args).unwrap_err().message, text);
        assert_eq!(call("regexFind", &args).unwrap_err().message, format!("regexp: Compile(`[`): {text}"));
        let args = [Value::str("`("), Value::str("x")];
        assert!(call("regexFind", &args).unwrap_err().message.starts_with("regexp: Compile(\"`(\"): "));
    }

    #[test]
    fn a_pattern_that_cannot_be_paid_for_is_not_compiled() {
        let pattern = "[a-z]".repeat(100);
        let mut fuel = Fuel::new(pintle_gotmpl::Limits { steps: 1_000, ..pintle_gotmpl::Limits::default() });
        assert!(compile(&mut fuel, Args(&[Value::str(pattern.as_str())])).is_err());
        assert!(COMPILED.with_borrow(|kept| !kept.contains_key(pattern.as_bytes())));
    }

    #[test]
    fn no_matches_are_a_nil_slice() {
        let args = [Value::str("z"), Value::str("abc"), Value::int(-1)];
        assert!(call("regexFindAll", &args).unwrap().as_list().is_some_and(List::is_nil));
    }

    #[test]
    fn searches_that_read_everything_again_and_again_are_refused() {
        let text = Value::str(&b"a".repeat(100_000)[..]);
        for name in ["regexFindAll", "regexReplaceAll", "regexSplit"] {
            let last = if name == "regexReplaceAll" { Value::str("b") } else { Value::int(-1) };
            assert!(call(name, &[Value::str("a.*b|a"), text.clone(), last.clone()]).is_err(), "{name}");
            assert!(call(name, &[Value::str("a+|b"), text.clone(), last]).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_store_of_patterns_is_bounded() {
        for number in 0..KEPT + 10 {
            call("regexMatch", &[Value::from(format!("a{number}")), Value::str("a1")]).unwrap();
        }
        COMPILED.with_borrow(|kept| assert!(kept.len() <= KEPT));
    }

    #[test]
    fn searches_that_would_take_minutes_end_at_the_limit_before_they_begin() {
        let text = Value::str("ab".repeat(500_000));
        let pattern = Value::str("(a|b)*a(a|b){500}c");
        for (name, further) in [("mustRegexMatch", None), ("mustRegexFindAll", Some(Value::int(-1)))] {
            let args: Vec<Value> = [pattern.clone(), text.clone()].into_iter().chain(further).collect();
            let error = call(name, &args).expect_err("it takes too long");
            assert!(error.message.contains("render limit reached"), "{}", error.message);
        }
        assert!(call("mustRegexMatch", &[Value::str("^(ab)+$"), text]).is_ok());
    }
}
