//! The functions with regular expressions. Patterns repeat from template to template, so the compiled ones are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pintle_gotmpl::{Args, CallError, CallResult, Function, List, ListType, Type, Value};
use pintle_regex::{Error, Regex, quote_meta};
use pintle_tree::{Str, quote};

use crate::text::check_size;

/// How many compiled patterns a thread keeps. Charts use a few dozen; a chart that makes patterns up in a loop must
/// not fill the memory.
const KEPT: usize = 256;

thread_local! {
    static COMPILED: RefCell<HashMap<Str, Rc<Regex>>> = RefCell::new(HashMap::new());
}

const PATTERN_TEXT: &[Type] = &[Type::Str, Type::Str];
const PATTERN_TEXT_LIMIT: &[Type] = &[Type::Str, Type::Str, Type::Int];
const PATTERN_TEXT_REPLACEMENT: &[Type] = &[Type::Str, Type::Str, Type::Str];

/// The functions of this family. Those without `must` say which pattern is wrong, since in Go they panic.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::pure("regexMatch", PATTERN_TEXT, None, Type::Bool, |args| {
            Ok(Value::Bool(compiled(args).is_ok_and(|regex| regex.is_match(args.text(1)))))
        }),
        Function::pure("mustRegexMatch", PATTERN_TEXT, None, Type::Bool, |args| {
            Ok(Value::Bool(compiled(args).map_err(plain)?.is_match(args.text(1))))
        }),
        Function::pure("regexFind", PATTERN_TEXT, None, Type::Str, |args| find(&*must_compile(args)?, args)),
        Function::pure("mustRegexFind", PATTERN_TEXT, None, Type::Str, |args| {
            find(&*compiled(args).map_err(plain)?, args)
        }),
        Function::pure("regexFindAll", PATTERN_TEXT_LIMIT, None, Type::Strings, |args| {
            find_all(&*must_compile(args)?, args)
        }),
        Function::pure("mustRegexFindAll", PATTERN_TEXT_LIMIT, None, Type::Strings, |args| {
            find_all(&*compiled(args).map_err(plain)?, args)
        }),
        Function::pure("regexReplaceAll", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |args| {
            replace(&*must_compile(args)?, args)
        }),
        Function::pure("mustRegexReplaceAll", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |args| {
            replace(&*compiled(args).map_err(plain)?, args)
        }),
        Function::pure("regexReplaceAllLiteral", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |args| {
            replace_literal(&*must_compile(args)?, args)
        }),
        Function::pure("mustRegexReplaceAllLiteral", PATTERN_TEXT_REPLACEMENT, None, Type::Str, |args| {
            replace_literal(&*compiled(args).map_err(plain)?, args)
        }),
        Function::pure("regexSplit", PATTERN_TEXT_LIMIT, None, Type::Strings, |args| {
            split(&*must_compile(args)?, args)
        }),
        Function::pure("mustRegexSplit", PATTERN_TEXT_LIMIT, None, Type::Strings, |args| {
            split(&*compiled(args).map_err(plain)?, args)
        }),
        Function::pure("regexQuoteMeta", &[Type::Str], None, Type::Str, |args| {
            Ok(Value::str(quote_meta(args.text(0))))
        }),
    ]
}

/// The compiled first argument.
fn compiled(args: Args<'_>) -> Result<Rc<Regex>, Error> {
    let pattern = args.text(0);
    COMPILED.with_borrow_mut(|kept| {
        if let Some(regex) = kept.get(pattern) {
            return Ok(Rc::clone(regex));
        }
        let regex = Rc::new(Regex::compile(pattern)?);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(args.str(0), Rc::clone(&regex));
        Ok(regex)
    })
}

/// The compiled first argument, or the text of Go's panic.
fn must_compile(args: Args<'_>) -> Result<Rc<Regex>, CallError> {
    compiled(args).map_err(|error| {
        let pattern = args.text(0);
        let pattern = match std::str::from_utf8(pattern) {
            Ok(text) if can_backquote(text) => format!("`{text}`"),
            _ => quote::quote(pattern),
        };
        CallError::new(format!("regexp: Compile({pattern}): {error}"))
    })
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
    let matches = regex.find_all(text, limit(args));
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
    Ok(Value::strings(regex.split(args.text(1), limit)))
}

fn limit(args: Args<'_>) -> isize {
    isize::try_from(args.int(2)).unwrap_or(isize::MAX)
}

fn replace(regex: &Regex, args: Args<'_>) -> CallResult {
    check_replacement(args)?;
    Ok(Value::str(regex.replace_all(args.text(1), args.text(2))))
}

fn replace_literal(regex: &Regex, args: Args<'_>) -> CallResult {
    check_replacement(args)?;
    Ok(Value::str(regex.replace_all_literal(args.text(1), args.text(2))))
}

/// Refuses replacements that could fill the memory: there are at most as many matches as characters.
fn check_replacement(args: Args<'_>) -> Result<(), CallError> {
    let (text, replacement) = (args.text(1).len(), args.text(2).len());
    if text.saturating_mul(replacement) > 1 << 40 {
        check_size("the replacement", usize::MAX)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, args: &[Value]) -> CallResult {
        let function =
            functions().into_iter().find(|function| function.name == name).expect("a known function");
        match function.body {
            pintle_gotmpl::Body::Pure(body) => body(Args(args)),
            _ => unreachable!("all are pure"),
        }
    }

    #[test]
    fn a_wrong_pattern_is_no_match_or_an_error_by_function() {
        let args = [Value::str("["), Value::str("x")];
        assert!(!call("regexMatch", &args).unwrap().truth());
        let text = "error parsing regexp: missing closing ]: `[`";
        assert_eq!(call("mustRegexMatch", &args).unwrap_err().message, text);
        assert_eq!(call("regexFind", &args).unwrap_err().message, format!("regexp: Compile(`[`): {text}"));
        let args = [Value::str("`("), Value::str("x")];
        assert!(call("regexFind", &args).unwrap_err().message.starts_with("regexp: Compile(\"`(\"): "));
    }

    #[test]
    fn no_matches_are_a_nil_slice() {
        let args = [Value::str("z"), Value::str("abc"), Value::int(-1)];
        assert!(call("regexFindAll", &args).unwrap().as_list().is_some_and(List::is_nil));
    }

    #[test]
    fn the_store_of_patterns_is_bounded() {
        for number in 0..KEPT + 10 {
            call("regexMatch", &[Value::from(format!("a{number}")), Value::str("a1")]).unwrap();
        }
        COMPILED.with_borrow(|kept| assert!(kept.len() <= KEPT));
    }
}
