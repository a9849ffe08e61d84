//! Spans of tokens: brackets, functions and call arguments.

use super::lex::{Token, TokenKind};

/// How a token affects nesting.
enum Nesting {
    /// Opens something that this token closes.
    Begins(&'static str),
    /// Closes.
    Ends(&'static str),
    Nothing,
}

/// The index of the token that closes what the first token opens: a bracket or a function. `None` if unclear.
pub(super) fn closing(tokens: &[Token]) -> Option<usize> {
    let mut open: Vec<&str> = Vec::new();
    for index in 0..tokens.len() {
        match step(tokens, index)? {
            Nesting::Begins(end) => open.push(end),
            Nesting::Ends(end) => (open.pop() == Some(end)).then_some(())?,
            Nesting::Nothing => {}
        }
        if open.is_empty() {
            return Some(index);
        }
    }
    None
}

fn step(tokens: &[Token], index: usize) -> Option<Nesting> {
    let token = &tokens[index];
    Some(match (token.kind, token.text.as_str()) {
        (TokenKind::Name, "if") if is_expression(tokens, index)? => Nesting::Nothing,
        (TokenKind::Name, "function" | "do" | "repeat" | "if") => Nesting::Begins("end"),
        (TokenKind::Name, "end" | "until") => Nesting::Ends("end"),
        (TokenKind::Sign, "(") => Nesting::Begins(")"),
        (TokenKind::Sign, "{") => Nesting::Begins("}"),
        (TokenKind::Sign, "[") => Nesting::Begins("]"),
        (TokenKind::Sign, ")") => Nesting::Ends(")"),
        (TokenKind::Sign, "}") => Nesting::Ends("}"),
        (TokenKind::Sign, "]") => Nesting::Ends("]"),
        _ => Nesting::Nothing,
    })
}

/// Whether an `if` is an expression, which has no `end`. `None` where only a full parser can decide.
fn is_expression(tokens: &[Token], index: usize) -> Option<bool> {
    let before = &tokens[index.checked_sub(1)?];
    match before.kind {
        // `if a then if b then …` may be a nested statement or a nested expression.
        TokenKind::Name if matches!(before.text.as_str(), "then" | "else") => None,
        TokenKind::Name => Some(matches!(before.text.as_str(), "return" | "and" | "or" | "not" | "in")),
        TokenKind::Sign => Some(!matches!(before.text.as_str(), ")" | "]" | "}" | ";")),
        _ => Some(false),
    }
}

/// The kind of a value, as far as it is visible in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    Boolean,
    Nil,
    Table,
    Function,
    /// Known only at run time.
    Unknown,
}

impl ValueKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ValueKind::Text => "a string",
            ValueKind::Number => "a number",
            ValueKind::Boolean => "a boolean",
            ValueKind::Nil => "nil",
            ValueKind::Table => "a table",
            ValueKind::Function => "a function",
            ValueKind::Unknown => "something",
        }
    }

    fn from_tokens(tokens: &[Token]) -> ValueKind {
        let whole = |tokens: &[Token]| closing(tokens) == Some(tokens.len() - 1);
        match tokens {
            [one] => match one.kind {
                TokenKind::Text | TokenKind::Interpolated => ValueKind::Text,
                TokenKind::Number => ValueKind::Number,
                TokenKind::Name if one.is("true") || one.is("false") => ValueKind::Boolean,
                TokenKind::Name if one.is("nil") => ValueKind::Nil,
                _ => ValueKind::Unknown,
            },
            [sign, number] if sign.is("-") && number.kind == TokenKind::Number => ValueKind::Number,
            [first, ..] if first.is("{") && whole(tokens) => ValueKind::Table,
            [first, ..] if first.is("function") && whole(tokens) => ValueKind::Function,
            _ => ValueKind::Unknown,
        }
    }
}

/// The arguments of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) shapes: Vec<ValueKind>,
    /// Whether the last one may expand to any number of values: a call, or `...`.
    pub(super) open: bool,
}

/// The arguments of a call, with or without parentheses. `None` if unclear.
pub(super) fn arguments(tokens: &[Token]) -> Option<Arguments> {
    let first = tokens.first()?;
    if matches!(first.kind, TokenKind::Text | TokenKind::Interpolated) {
        return Some(Arguments { shapes: vec![ValueKind::Text], open: false });
    }
    if first.is("{") {
        return Some(Arguments { shapes: vec![ValueKind::Table], open: false });
    }
    if !first.is("(") {
        return None;
    }
    let inner = &tokens[1..closing(tokens)?];
    let mut shapes = Vec::new();
    let mut open = false;
    let mut rest = inner;
    while !rest.is_empty() {
        let end = argument_end(rest)?;
        let (argument, after) = rest.split_at(end);
        shapes.push(ValueKind::from_tokens(argument));
        open = argument.last().is_some_and(|last| {
            last.is(")")
                || last.is(".")
                || matches!(last.kind, TokenKind::Text | TokenKind::Interpolated)
                || last.is("}")
        }) && ValueKind::from_tokens(argument) == ValueKind::Unknown;
        rest = after.get(1..).unwrap_or_default();
    }
    Some(Arguments { shapes, open })
}

/// The end of an argument: a top-level comma, or the closing parenthesis.
fn argument_end(tokens: &[Token]) -> Option<usize> {
    let mut index = 0;
    while index < tokens.len() {
        let token = &tokens[index];
        if token.is(",") {
            return Some(index);
        }
        let opens = ["(", "{", "[", "function"].iter().any(|sign| token.is(sign));
        index += if opens { closing(&tokens[index..])? + 1 } else { 1 };
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::super::lex::tokens;
    use super::*;

    fn of(text: &str) -> Option<Arguments> {
        arguments(&tokens(text.as_bytes()))
    }

    #[test]
    fn arguments_are_split_and_classified() {
        let found = of("('a', -1, {1, 2}, function(x) if x then return 1, 2 end end, nil, f(1, 2), `x{y}`)");
        let shapes = [
            ValueKind::Text,
            ValueKind::Number,
            ValueKind::Table,
            ValueKind::Function,
            ValueKind::Nil,
            ValueKind::Unknown,
            ValueKind::Text,
        ];
        assert_eq!(found, Some(Arguments { shapes: shapes.to_vec(), open: false }));
        assert_eq!(of("()"), Some(Arguments { shapes: Vec::new(), open: false }));
        for text in ["(f())", "(...)", "(a.b 'x')", "(g{})"] {
            assert_eq!(of(text), Some(Arguments { shapes: vec![ValueKind::Unknown], open: true }), "{text}");
        }
        assert_eq!(of("(if a then 1 else 2, 3)").map(|found| found.shapes.len()), Some(2));
        assert_eq!(of("'x'").map(|found| found.shapes), Some(vec![ValueKind::Text]));
    }

    #[test]
    fn unclear_spans_are_not_guessed() {
        for text in ["(", "(]", "(function() if a then if b then end end end", "= 1", ""] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
