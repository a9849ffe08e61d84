//! Variables in the objects of a Flux Kustomization, `spec.postBuild`.

use std::collections::BTreeMap;

use crate::Place;

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its value.
    pub value: String,
    /// Where it is set.
    pub place: Option<Place>,
    /// Whether the value must not be shown.
    pub is_secret: bool,
}

/// The variables of a Kustomization, by name.
pub type Variables = BTreeMap<String, Variable>;

/// The text after substitution, and which variables it used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Substituted {
    /// The text.
    pub text: String,
    /// The variables that were used, in order of their names.
    pub used: Vec<String>,
    /// Variables that are not set and have no default.
    pub unset: Vec<String>,
}

/// The most a text may have after substitution.
const MAX_TEXT: usize = 8 << 20;
/// How deep a default may have variables in it.
const MAX_DEPTH: usize = 16;

/// Substitutes `${…}` in a text.
///
/// # Errors
/// Expressions that do not end, functions that are not known, and results that are too long.
pub fn substitute(text: &str, variables: &Variables) -> Result<Substituted, String> {
    let mut result = Substituted::default();
    let mut out = String::with_capacity(text.len());
    expand(text, variables, &mut out, &mut result, 0)?;
    result.text = out;
    result.used.sort();
    result.used.dedup();
    result.unset.sort();
    result.unset.dedup();
    Ok(result)
}

fn expand(
    text: &str,
    variables: &Variables,
    out: &mut String,
    result: &mut Substituted,
    depth: usize,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("variables are nested too deeply".to_owned());
    }
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$") {
            // Only an escaped expression loses a dollar sign: `$$` elsewhere is text, such as in hashes of passwords.
            out.push_str(if after.starts_with('{') { "$" } else { "$$" });
            rest = after;
            if let Some(inner) = rest.strip_prefix('{') {
                out.push('{');
                rest = inner;
            }
        } else if let Some(body) = rest.strip_prefix("${") {
            let end = end_of(body).ok_or("a `${` has no `}`")?;
            one(&body[..end], variables, out, result, depth)?;
            rest = &body[end + 1..];
        } else {
            out.push('$');
            rest = &rest[1..];
        }
        if out.len() > MAX_TEXT {
            return Err(format!("the text has more than {MAX_TEXT} bytes after substitution"));
        }
    }
    out.push_str(rest);
    Ok(())
}

/// The closing brace of an expression that begins after its opening one.
fn end_of(body: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let bytes = body.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if at > 0 && bytes[at - 1] == b'$' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn one(
    body: &str,
    variables: &Variables,
    out: &mut String,
    result: &mut Substituted,
    depth: usize,
) -> Result<(), String> {
    let (body, is_length) = match body.strip_prefix('#') {
        Some(rest) if !rest.is_empty() => (rest, true),
        _ => (body, false),
    };
    let length = body.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (name, operation) = body.split_at(length);
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!("`${{{body}}}` names no variable"));
    }
    let found = variables.get(name).map(|variable| variable.value.clone());
    result.used.push(name.to_owned());
    if is_length {
        out.push_str(&found.unwrap_or_default().chars().count().to_string());
        return Ok(());
    }
    let argument = |text: &str, result: &mut Substituted| {
        let mut argument = String::new();
        expand(text, variables, &mut argument, result, depth + 1).map(|()| argument)
    };
    // The longer operators first, because others begin like them.
    for operator in [":=", ":-", "=", "-"] {
        if let Some(default) = operation.strip_prefix(operator) {
            let value = match found.filter(|value| !value.is_empty()) {
                Some(value) => value,
                None => argument(default, result)?,
            };
            out.push_str(&value);
            return Ok(());
        }
    }
    let Some(value) = found else {
        if operation.is_empty() {
            result.unset.push(name.to_owned());
        }
        return Ok(());
    };
    out.push_str(
        &apply(&value, operation)
            .ok_or_else(|| format!("`${{{name}{operation}}}`: the function is not known"))?,
    );
    Ok(())
}

fn apply(value: &str, operation: &str) -> Option<String> {
    Some(match operation {
        "" => value.to_owned(),
        "^^" => value.to_uppercase(),
        ",," => value.to_lowercase(),
        "^" => first(value, |first| first.to_uppercase().collect()),
        "," => first(value, |first| first.to_lowercase().collect()),
        _ => return other(value, operation),
    })
}

fn first(value: &str, change: impl Fn(char) -> String) -> String {
    let mut characters = value.chars();
    let Some(head) = characters.next() else { return String::new() };
    change(head) + characters.as_str()
}

/// Substrings, prefixes, suffixes and replacements.
fn other(value: &str, operation: &str) -> Option<String> {
    if let Some(range) = operation.strip_prefix(':') {
        let (start, length) = range.split_once(':').unwrap_or((range, ""));
        let start: usize = start.trim().parse().ok()?;
        let characters = value.chars().skip(start);
        return match length.trim() {
            "" => Some(characters.collect()),
            length => Some(characters.take(length.parse().ok()?).collect()),
        };
    }
    if let Some(rest) = operation.strip_prefix("//") {
        let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(if old.is_empty() { value.to_owned() } else { value.replace(old, new) });
    }
    if let Some(rest) = operation.strip_prefix("/#") {
        let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(value.strip_prefix(old).map_or_else(|| value.to_owned(), |rest| format!("{new}{rest}")));
    }
    if let Some(rest) = operation.strip_prefix("/%") {
        let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(value.strip_suffix(old).map_or_else(|| value.to_owned(), |rest| format!("{rest}{new}")));
    }
    if let Some(rest) = operation.strip_prefix('/') {
        let (old, new) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(if old.is_empty() { value.to_owned() } else { value.replacen(old, new, 1) });
    }
    // Patterns other than plain texts are refused rather than guessed.
    let plain = |pattern: &str| (!pattern.contains(['*', '?', '['])).then(|| pattern.to_owned());
    if let Some(prefix) = operation.strip_prefix("##").or_else(|| operation.strip_prefix('#')) {
        return Some(value.strip_prefix(&plain(prefix)?).unwrap_or(value).to_owned());
    }
    if let Some(suffix) = operation.strip_prefix("%%").or_else(|| operation.strip_prefix('%')) {
        return Some(value.strip_suffix(&plain(suffix)?).unwrap_or(value).to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let variable = |value: &str| Variable { value: value.to_owned(), place: None, is_secret: false };
        [("A", "one"), ("EMPTY", ""), ("HOST", "web.example.com")]
            .map(|(name, value)| (name.to_owned(), variable(value)))
            .into()
    }

    #[test]
    fn expressions_are_those_of_flux() {
        for (text, expected) in [
            ("${A}", "one"),
            ("x-${A}-y", "x-one-y"),
            ("$${A}", "${A}"),
            ("$A $ $$ $${", "$A $ $$ ${"),
            ("${NONE:=two}", "two"),
            ("${NONE:-two}", "two"),
            ("${A:=two}", "one"),
            ("${EMPTY:=two}", "two"),
            ("${NONE:=${A}-x}", "one-x"),
            ("${NONE}", ""),
            ("${A^^}", "ONE"),
            ("${A^}", "One"),
            ("${#A}", "3"),
            ("${A:1}", "ne"),
            ("${A:0:2}", "on"),
            ("${HOST//./-}", "web-example-com"),
            ("${HOST/./-}", "web-example.com"),
            ("${HOST%.com}", "web.example"),
            ("${HOST#web.}", "example.com"),
        ] {
            assert_eq!(substitute(text, &variables()).unwrap().text, expected, "{text}");
        }
    }

    #[test]
    fn variables_without_a_value_and_a_default_are_reported() {
        let found = substitute("${NONE} ${OTHER:=x} ${A}", &variables()).unwrap();
        assert_eq!(found.unset, ["NONE"]);
        assert_eq!(found.used, ["A", "NONE", "OTHER"]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for text in ["${A", "${A@Q}", "${1}", "${}", "${A#*.}"] {
            assert!(substitute(text, &variables()).is_err(), "{text}");
        }
    }
}
