//! Templates that do not parse.

use super::excerpt::excerpt;
use super::template::Spot;
use crate::failure::Failure;
use crate::suggest::{NameOf, question};

/// Improves the failure of a template that does not parse; false if it is not one of those that are known.
pub(super) fn improve(failure: &mut Failure, spot: &Spot<'_>) -> bool {
    // Errors of execution have a node.
    if !spot.frame.context.is_empty() {
        return false;
    }
    let message = spot.message;
    let known = unquoted_name(spot)
        .or_else(|| unknown_function(message))
        .or_else(|| unclosed(failure, spot))
        .or_else(|| unknown_variable(spot))
        .or_else(|| spelling(spot));
    let Some((own, hint)) = known else { return false };
    failure.own = Some(own);
    failure.hint = Some(hint);
    true
}

/// A message and a hint.
type Advice = (String, String);

/// `include web.name .` instead of `include "web.name" .`
fn unquoted_name(spot: &Spot<'_>) -> Option<Advice> {
    let name = spot.message.strip_prefix("function ")?.strip_suffix(" not defined")?.trim_matches('"');
    let mut words = spot.action().split_whitespace();
    let function = words.find(|word| matches!(word.trim_start_matches('('), "include" | "template"))?;
    let written = words.next().filter(|word| word.starts_with(name))?;
    Some((
        format!("`{written}` is no text"),
        format!(
            "write the name of a template in quotes: `{} \"{written}\" .`",
            function.trim_start_matches('(')
        ),
    ))
}

fn unknown_function(message: &str) -> Option<Advice> {
    let name = message.strip_prefix("function ")?.strip_suffix(" not defined")?.trim_matches('"');
    let known = pintle::render::function_names();
    let hint = match name {
        "break" | "continue" => "it is allowed inside `range` only".to_owned(),
        "env" | "expandenv" | "getenv" => {
            "charts cannot read the environment; pass the value with `--set`".to_owned()
        }
        "foreach" | "for" | "each" => "write `{{ range .Values.list }}…{{ end }}`".to_owned(),
        "elseif" | "elif" | "elsif" => "write `{{ else if … }}`".to_owned(),
        "endif" | "endfor" | "fi" => "blocks end with `{{ end }}`".to_owned(),
        "import" | "extends" => "named templates are called with `{{ include \"NAME\" . }}`".to_owned(),
        "Values" | "Release" | "Chart" => format!("write `.{name}`, with a dot"),
        _ => question(NameOf::Function, name, &known).unwrap_or_else(|| {
            "the functions are those of Helm; a value is written with a dot, and text in double quotes"
                .to_owned()
        }),
    };
    Some((format!("there is no function `{name}`"), hint))
}

/// Blocks and actions that are not closed, or closed too often.
fn unclosed(failure: &mut Failure, spot: &Spot<'_>) -> Option<Advice> {
    match spot.message {
        "unexpected EOF" => {
            let block = spot.blocks.unclosed()?;
            let source = spot.frame.source.to_str_lossy();
            let line = source.lines().nth(block.line - 1).unwrap_or_default();
            failure.excerpt = Some(excerpt(&spot.frame.file, block.line, block.column, line));
            let subject = format!("{} {}", block.keyword, block.subject);
            Some((
                format!("`{}` has no `{{{{ end }}}}`", subject.trim()),
                format!("close the block that begins on line {} with `{{{{ end }}}}`", block.line),
            ))
        }
        "unexpected {{end}}" => Some((
            "there is an `{{ end }}` too many: no block is open here".to_owned(),
            "remove it, or add the `if`, `with` or `range` that it should close".to_owned(),
        )),
        "unexpected {{else}}" => Some((
            "there is an `{{ else }}` outside of a block".to_owned(),
            "it belongs between `{{ if … }}` and `{{ end }}`; perhaps an `{{ end }}` before it is one too many".to_owned(),
        )),
        message if message.starts_with("unclosed action") || message == "unexpected \"}\" in operand" => Some((
            "an action is not closed by `}}`".to_owned(),
            "write `}}` where the action ends".to_owned(),
        )),
        message if message.starts_with("unterminated quoted string") => Some((
            "a text in the action has no closing quote".to_owned(),
            "close it with `\"` on the same line; a text over several lines is written in backquotes".to_owned(),
        )),
        message if message.starts_with("unclosed comment") => {
            Some(("a comment is not closed".to_owned(), "comments end with `*/}}`".to_owned()))
        }
        "unclosed left paren" => {
            Some(("a parenthesis is not closed".to_owned(), "add `)` before `}}`".to_owned()))
        }
        message if message.starts_with("unexpected right paren") => {
            Some(("there is a `)` too many".to_owned(), "remove it, or open it with `(`".to_owned()))
        }
        _ => None,
    }
}

fn unknown_variable(spot: &Spot<'_>) -> Option<Advice> {
    let name = spot.message.strip_prefix("undefined variable ")?.trim_matches('"');
    let known: Vec<String> = spot.blocks.variables.iter().map(ToString::to_string).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = match known.contains(&name) {
        true => format!(
            "`{name}` is declared inside another block, and ends with it; declare it before that block"
        ),
        false => question(NameOf::Other, name, &known)
            .unwrap_or_else(|| format!("declare it first: `{{{{ {name} := … }}}}`")),
    };
    Some((format!("there is no variable `{name}`"), hint))
}

/// What is written as in other languages.
fn spelling(spot: &Spot<'_>) -> Option<Advice> {
    let message = spot.message;
    if message.starts_with("malformed character constant") {
        let text = message.split_once(": ").map_or("", |(_, text)| text.trim_matches('\''));
        return Some((
            "text in single quotes".to_owned(),
            format!("write it in double quotes: `\"{text}\"`"),
        ));
    }
    if message.starts_with("unterminated character constant") {
        return Some(("text in single quotes".to_owned(), "write it in double quotes".to_owned()));
    }
    if message == "bad character U+002D '-'" {
        let chain = chain_at(spot);
        let (parent, key) = chain.rsplit_once('.').unwrap_or(("", &chain));
        let parent = if parent.is_empty() { "." } else { parent };
        return Some((
            format!("`{chain}`: a key with a dash cannot be written after a dot"),
            format!("write `index {parent} \"{key}\"`"),
        ));
    }
    if message.ends_with(" in template clause") {
        return Some((
            "`template` takes a name and a context only".to_owned(),
            "`include` can be used in pipelines: `{{ include \"NAME\" . | nindent 4 }}`".to_owned(),
        ));
    }
    operator(spot)
        .or_else(|| comma(spot))
        .or_else(|| {
            let word = message.strip_prefix("missing value for ")?;
            Some((format!("`{word}` has no argument"), format!("write `{{{{ {word} CONDITION }}}}`")))
        })
        .or_else(|| {
            let name = message.strip_prefix("template: multiple definition of template ")?;
            Some((
                format!("the template {name} is defined twice in one file"),
                "rename one of them, or remove it".to_owned(),
            ))
        })
}

/// Operators, which templates write as functions.
fn operator(spot: &Spot<'_>) -> Option<Advice> {
    const OPERATORS: [(&str, &str); 13] = [
        ("==", "eq A B"),
        ("!=", "ne A B"),
        ("&&", "and A B"),
        ("||", "or A B"),
        ("<=", "le A B"),
        (">=", "ge A B"),
        ("<", "lt A B"),
        (">", "gt A B"),
        ("!", "not A"),
        ("+", "add A B"),
        ("*", "mul A B"),
        ("/", "div A B"),
        ("%", "mod A B"),
    ];
    if !spot.message.starts_with("unexpected ") && !spot.message.starts_with("illegal number syntax") {
        return None;
    }
    let source = spot.frame.source.as_str()?;
    let start = spot.offset.checked_sub(1)?;
    let near = source.get(start..(start + 3).min(source.len()))?;
    let (operator, function) = OPERATORS.iter().find(|(operator, _)| near.contains(operator))?;
    let words: Vec<&str> = spot.action().split(operator).map(str::trim).collect();
    let written = match (words.as_slice(), function.split_once(' ')) {
        ([left, right], Some((name, _))) if !left.is_empty() && !right.is_empty() => {
            let (keyword, left) = match left.split_once(' ') {
                Some((word @ ("if" | "with" | "else"), rest)) => (format!("{word} "), rest),
                _ => (String::new(), *left),
            };
            format!("{keyword}{name} {} {}", operand(left), operand(right))
        }
        _ => (*function).to_owned(),
    };
    Some((
        format!("`{operator}` is no operator of templates"),
        format!("operators are functions before their arguments: `{written}`"),
    ))
}

fn operand(text: &str) -> String {
    if text.contains(' ') && !text.starts_with(['"', '(']) { format!("({text})") } else { text.to_owned() }
}

/// Arguments that are separated by commas.
fn comma(spot: &Spot<'_>) -> Option<Advice> {
    spot.message.starts_with("unexpected \",\"").then(|| {
        (
            "arguments are separated by blanks, not by commas".to_owned(),
            "write `include \"NAME\" .`, without parentheses and commas".to_owned(),
        )
    })
}

/// The chain of names around the position: `.Values.my-key`.
fn chain_at(spot: &Spot<'_>) -> String {
    let source = spot.frame.source.as_str().unwrap_or_default();
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '$');
    let at = source.floor_char_boundary(spot.offset);
    let start = source[..at].rfind(|letter: char| !is_part(letter)).map_or(0, |start| start + 1);
    let end = source[at..].find(|letter: char| !is_part(letter)).map_or(source.len(), |end| at + end);
    source.get(start..end).unwrap_or_default().to_owned()
}
