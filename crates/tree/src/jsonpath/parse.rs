//! Parses JSONPath templates.

use super::{Part, Slice, Step};

/// Parses a template.
///
/// # Errors
///
/// kubectl's text about what is wrong.
pub(super) fn parse(template: &str) -> Result<Vec<Part>, String> {
    // The first entry is the template itself, the others are open ranges.
    let mut open = vec![Open::default()];
    let mut rest = template;
    while !rest.is_empty() {
        let text_end = rest.find('{').unwrap_or(rest.len());
        let (text, after) = rest.split_at(text_end);
        let innermost = open.len() - 1;
        if !text.is_empty() {
            open[innermost].parts.push(Part::Text(text.to_owned()));
        }
        let Some(inside) = after.strip_prefix('{') else { break };
        let mut reader = Reader { rest: inside };
        let steps = reader.steps()?;
        rest = reader.rest;
        match steps.first() {
            Some(Step::Word(word)) if word == "range" => {
                open.push(Open { steps: steps[1..].to_vec(), ..Open::default() });
            }
            Some(Step::Word(word)) if word == "end" && open.len() > 1 => close(&mut open),
            _ => open[innermost].parts.push(Part::Expression(steps)),
        }
    }
    while open.len() > 1 {
        abandon(&mut open);
    }
    Ok(open.pop().map(|template| template.parts).unwrap_or_default())
}

/// A range whose `end` has not been found yet.
#[derive(Default)]
struct Open {
    steps: Vec<Step>,
    parts: Vec<Part>,
    /// How many of its parts are before the last `end` in it.
    ended: usize,
}

fn close(open: &mut Vec<Open>) {
    if let Some(Open { steps, parts, .. }) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        outer.parts.push(Part::Range(steps, parts));
        outer.ended = outer.parts.len();
    }
}

/// Ends a range that has no `end`. kubectl resumes after the last `end` that it came across, so what follows that one in
/// the range is evaluated once more, outside of it.
fn abandon(open: &mut Vec<Open>) {
    if let Some(Open { steps, parts, ended }) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        let again = parts[ended..].to_vec();
        outer.parts.push(Part::Range(steps, parts));
        if ended > 0 {
            outer.ended = outer.parts.len();
        }
        outer.parts.extend(again);
    }
}

/// Parses an expression after its opening brace. Returns the text after the closing one, too.
pub(super) fn expression_in_braces(text: &str) -> Result<(Vec<Step>, &str), String> {
    let mut reader = Reader { rest: text };
    Ok((reader.steps()?, reader.rest))
}

/// Parses the steps of a single expression.
fn expression(text: &str) -> Result<Vec<Step>, String> {
    Reader { rest: &format!("{text}}}") }.steps()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Parses up to and including the closing brace.
    fn steps(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(steps);
            }
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                steps.push(self.filter()?);
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                if steps.last() == Some(&Step::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.rest = rest;
                steps.push(Step::Recursive);
                if rest.starts_with(is_word) {
                    steps.push(self.field());
                }
                continue;
            }
            match self.rest.chars().next() {
                None | Some('\r' | '\n') => return Err("unclosed action".to_owned()),
                // `$` and `@` both mean the current object here and are skipped, as in kubectl.
                Some(' ' | '@' | '$') => self.rest = &self.rest[1..],
                Some('[') => self.array(&mut steps)?,
                Some(quote @ ('"' | '\'')) => steps.push(Step::Text(self.quoted(quote)?)),
                Some('.') => {
                    self.rest = &self.rest[1..];
                    steps.push(self.field());
                }
                Some(first) if first == '+' || first == '-' || first.is_numeric() => {
                    steps.push(self.number()?)
                }
                Some(first) if is_word(first) => {
                    let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
                    steps.push(match self.take(end) {
                        "true" => Step::Bool(true),
                        "false" => Step::Bool(false),
                        word => Step::Word(word.to_owned()),
                    });
                }
                Some(other) => {
                    let code = u32::from(other);
                    return Err(format!("unrecognized character in action: U+{code:04X} '{other}'"));
                }
            }
        }
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Parses a key up to a terminator; a backslash escapes the next character.
    fn field(&mut self) -> Step {
        let mut end = self.rest.len();
        let mut protected = false;
        for (at, character) in self.rest.char_indices() {
            if !protected && is_terminator(character) {
                end = at;
                break;
            }
            protected = !protected && character == '\\';
        }
        match self.take(end) {
            "*" => Step::Wildcard,
            name => Step::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self) -> Result<Step, String> {
        let signed = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[signed..].find(|c: char| c != '.' && !c.is_numeric());
        let text = self.take(digits.map_or(self.rest.len(), |at| at + signed));
        if let Ok(number) = text.parse() {
            return Ok(Step::Int(number));
        }
        text.parse().map(Step::Float).map_err(|_| format!("cannot parse number {text}"))
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let body = &self.rest[1..];
        let mut previous = quote;
        let closing = body.char_indices().find(|(_, character)| {
            let found = (*character == quote && previous != '\\') || *character == '\n';
            previous = *character;
            found
        });
        let Some((end, character)) = closing.filter(|(_, character)| *character == quote) else {
            return Err("unterminated quoted string".to_owned());
        };
        let text = &body[..end];
        self.rest = &body[end + character.len_utf8()..];
        unescape(text, quote)
            .ok_or_else(|| format!("unquote string {quote}{text}{quote} error invalid syntax"))
    }

    /// Parses `[…]`: a quoted key, an index, a slice, or a union of them.
    fn array(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|at| self.rest[*at..].starts_with(']'));
        let end = end.ok_or("unterminated array")?;
        let text = &self.take(end + 1)[1..end];
        if text.contains(',') {
            let each = text.split(',').map(|one| expression(&format!("[{}]", one.trim_matches(' '))));
            steps.push(Step::Union(each.collect::<Result<_, _>>()?));
            return Ok(());
        }
        // kubectl knows quoted keys with single quotes only.
        let key = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            steps.extend(expression(&format!(".{key}"))?);
            return Ok(());
        }
        let slice = slice(if text == "*" { ":" } else { text });
        steps.push(Step::Slice(slice.ok_or_else(|| format!("invalid array index {text}"))?));
        Ok(())
    }

    /// Parses a filter after `[?(`.
    fn filter(&mut self) -> Result<Step, String> {
        let (mut quote, mut closed, mut previous) = (None, false, ' ');
        let mut end = None;
        for (at, character) in self.rest.char_indices() {
            match character {
                '\n' => break,
                '"' | '\'' => match quote {
                    None => quote = Some(character),
                    Some(quote) => closed |= previous != '\\' && character == quote,
                },
                // Quotes are only counted up to the first pair, as in kubectl: after it, a parenthesis in a
                // second string ends the filter.
                ')' if quote.is_some() == closed => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            previous = character;
        }
        let text = self.take(end.ok_or("unterminated filter")?);
        self.rest = self.rest[1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let compared = text.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let length = text[at..].find(|c: char| !is_operator(c))?;
            Some((&text[..at], &text[at..at + length], &text[at + length..]))
        });
        Ok(match compared {
            Some((left, operator, right)) => {
                Step::Filter(expression(left)?, operator.to_owned(), expression(right)?)
            }
            None => Step::Filter(expression(text)?, "exists".to_owned(), Vec::new()),
        })
    }
}

fn slice(text: &str) -> Option<Slice> {
    let number = |text: &str| match text {
        "" => Some(None),
        "-" => None,
        text => text.parse().ok().map(Some),
    };
    let digits =
        |text: &str| text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 || !parts.iter().all(|part| digits(part)) {
        return None;
    }
    let from: Option<i64> = number(parts[0])?;
    let to = match parts.get(1) {
        Some(to) => number(to)?,
        // A single index is a slice of one item.
        None => Some(from.unwrap_or(0_i64).checked_add(1)?),
    };
    let step = parts.get(2).map_or(Some(None), |step| number(step))?;
    Some(Slice { from, to, step, derived: parts.len() == 1 })
}

fn is_terminator(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphabetic() || character.is_numeric()
}

/// Resolves Go's escapes.
fn unescape(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        let mut code = |length: usize| {
            let digits: String = characters.by_ref().take(length).collect();
            (digits.len() == length).then_some(digits)
        };
        out.push(match code(1)?.chars().next()? {
            'a' => '\u{07}',
            'b' => '\u{08}',
            'f' => '\u{0c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{0b}',
            '\\' => '\\',
            escaped if escaped == quote => quote,
            'x' => char::from(u8::from_str_radix(&code(2)?, 16).ok()?),
            'u' => char::from_u32(u32::from_str_radix(&code(4)?, 16).ok()?)?,
            'U' => char::from_u32(u32::from_str_radix(&code(8)?, 16).ok()?)?,
            _ => return None,
        });
    }
    Some(out)
}
