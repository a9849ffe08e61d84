//! Parses paths. Errors name the position and what comes before it, as yaml-jsonpath does.

use pintle_regex::Regex;
use pintle_tree::Str;
use pintle_tree::number::parse_float;
use pintle_tree::quote::quote;

use super::Step;
use super::filter::{Comparison, Filter, Operand, Value};
use super::subscript::Subscript;

/// The characters that end the name of a child.
const NAME_ENDS: &str = ".[) &|=!><~";

/// How deep filters may nest.
const MAX_NESTING: usize = 100;

pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut parser = Parser { text, at: 0, begin: 0, start: 0, last: Last::Nothing, nesting: 0 };
    if parser.consume("$") {
        parser.emit(Last::Other);
    }
    let mut steps = Vec::new();
    parser.steps(&mut steps, false)?;
    Ok(steps)
}

/// What was parsed last, as far as it matters for what may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Descend,
    FilterBegin,
    Text,
    Number,
    Other,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Where the current part begins.
    begin: usize,
    /// Where the part before it began.
    start: usize,
    last: Last,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn starts_with(&self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    fn consume(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Whether these tokens follow, with white space before each.
    fn spaced(&self, tokens: &[&str]) -> Option<usize> {
        let mut rest = self.rest();
        for token in tokens {
            rest = rest.trim_start().strip_prefix(token)?;
        }
        Some(self.text.len() - rest.len())
    }

    fn consume_spaced(&mut self, token: &str) -> bool {
        match self.spaced(&[token]) {
            Some(end) => {
                self.at = end;
                true
            }
            None => false,
        }
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.begin = self.at;
    }

    /// Ends a part of the path.
    fn emit(&mut self, last: Last) {
        (self.start, self.begin) = (self.begin, self.at);
        self.last = last;
    }

    fn error(&self, message: &str) -> String {
        let before = quote(&self.text.as_bytes()[self.start.min(self.at)..self.at]);
        format!("{message} at position {}, following {before}", self.at)
    }

    /// Parses steps up to the end, or inside a filter up to what cannot belong to them.
    fn steps(&mut self, steps: &mut Vec<Step>, nested: bool) -> Result<(), String> {
        loop {
            if self.rest().is_empty() {
                return Ok(());
            }
            if self.starts_with(")") {
                return if nested { Ok(()) } else { Err(self.error("syntax error")) };
            }
            if self.consume("..") {
                self.descent(steps)?;
                continue;
            }
            if self.consume(".") {
                let name = self.name(NAME_ENDS)?;
                if self.child(name, steps)? {
                    continue;
                }
            } else if self.spaced(&["[", "'"]).is_some() || self.spaced(&["[", "\""]).is_some() {
                if self.bracketed(steps)? {
                    continue;
                }
            } else if self.consume("[?(") {
                let recursive = self.last == Last::Descend;
                self.emit(Last::FilterBegin);
                let filter = self.filter()?;
                steps.push(if recursive { Step::FilterEach(filter) } else { Step::Filter(filter) });
                continue;
            } else if !self.starts_with("[") {
                if self.last != Last::Nothing {
                    return Err(self.error("invalid path syntax"));
                }
                let name = self.name(".[]) &|=!><~")?;
                if self.child(name, steps)? {
                    continue;
                }
            }
            if self.subscript(steps)? {
                continue;
            }
            if self.peek().is_some_and(|next| " &|=!><".contains(next)) {
                return if nested {
                    Ok(())
                } else {
                    let next = self.peek().unwrap_or_default();
                    Err(self.error(&format!("invalid character {next:?}")))
                };
            }
        }
    }

    fn descent(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let name = &self.rest()[..self.rest().find(['.', '[']).unwrap_or(self.rest().len())];
        self.at += name.len();
        if name.is_empty() && !self.starts_with("[") {
            return Err(self.error("child name or array access or filter missing after recursive descent"));
        }
        self.emit(Last::Descend);
        steps.push(Step::Descend);
        match name {
            "" => {}
            "*" => steps.push(Step::Children),
            name => steps.push(Step::Child(unescape(name))),
        }
        Ok(())
    }

    fn name(&mut self, ends: &str) -> Result<&'t str, String> {
        let rest = self.rest();
        let name = &rest[..rest.find(|next| ends.contains(next)).unwrap_or(rest.len())];
        self.at += name.len();
        if name.is_empty() { Err(self.error("child name missing")) } else { Ok(name) }
    }

    /// Adds a child, or with `~` its key, which ends the path.
    fn child(&mut self, name: &str, steps: &mut Vec<Step>) -> Result<bool, String> {
        if self.key_operator()? {
            steps.push(Step::Key(unescape(name)));
            return Ok(true);
        }
        self.emit(Last::Other);
        steps.push(if name == "*" { Step::Children } else { Step::Child(unescape(name)) });
        Ok(false)
    }

    fn key_operator(&mut self) -> Result<bool, String> {
        if !self.consume("~") {
            return Ok(false);
        }
        if !self.rest().is_empty() {
            return Err(self.error("property name operator may only be used on last child in path"));
        }
        self.emit(Last::Other);
        Ok(true)
    }

    /// Parses names in brackets and quotes.
    fn bracketed(&mut self, steps: &mut Vec<Step>) -> Result<bool, String> {
        self.consume_spaced("[");
        let mut names = Vec::new();
        loop {
            self.skip_spaces();
            let quote = if self.consume("'") { "'" } else { "\"" };
            if quote == "\"" {
                self.consume("\"");
            }
            names.push(self.quoted(quote)?);
            if !self.consume_spaced(",") {
                break;
            }
            if self.spaced(&["'"]).is_none() && self.spaced(&["\""]).is_none() {
                return Err(self.error(r#"missing "'" or '"'"#));
            }
        }
        if !self.consume_spaced("]") {
            return Err(self.error(r#"missing "]" or ",""#));
        }
        if self.key_operator()? {
            steps.push(Step::Keys(names));
            return Ok(true);
        }
        self.emit(Last::Other);
        steps.push(Step::Names(names));
        Ok(false)
    }

    /// Parses the text up to the closing quote.
    fn quoted(&mut self, quote: &str) -> Result<Str, String> {
        let start = self.at;
        loop {
            if self.starts_with(quote) {
                let name = unescape(&self.text[start..self.at]);
                self.at += quote.len();
                return Ok(name);
            }
            if self.consume(&format!("\\{quote}")) || self.consume("\\\\") {
                continue;
            }
            if self.starts_with("\\") {
                return Err(self.error(&format!("unsupported escape sequence inside {quote}{quote}")));
            }
            match self.peek() {
                Some(next) => self.at += next.len_utf8(),
                None => {
                    let shown = if quote == "'" { r#""'""# } else { r#"'"'"# };
                    return Err(self.error(&format!("unmatched {shown}")));
                }
            }
        }
    }

    /// Parses a subscript, if there is one. Returns whether it ends the path.
    fn subscript(&mut self, steps: &mut Vec<Step>) -> Result<bool, String> {
        let special = ["['", "[\"", "[?("].iter().any(|token| self.starts_with(token));
        if special || !self.consume("[") {
            return Ok(false);
        }
        let Some(length) = self.rest().find(']') else {
            self.at = self.text.len();
            return Err(self.error("unmatched ["));
        };
        let text = &self.rest()[..length];
        self.at += length + 1;
        if text.is_empty() {
            return Err(format!("subscript missing from [] before position {}", self.at));
        }
        let subscript = Subscript::parse(text)
            .map_err(|error| format!("invalid array index [{text}] before position {}: {error}", self.at))?;
        if self.consume("~") {
            if !self.rest().is_empty() {
                return Err(self.error("property name operator can only be used on last item in path"));
            }
            if !subscript.is_all() {
                return Err(self.error("property name operator can only be used on map nodes"));
            }
            self.emit(Last::Other);
            steps.push(Step::AllKeys);
            return Ok(true);
        }
        self.emit(Last::Other);
        steps.push(Step::Subscript(subscript));
        Ok(false)
    }

    /// Parses a filter up to its end.
    fn filter(&mut self) -> Result<Filter, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.error("filters are nested too deeply"));
        }
        let filter = self.either()?;
        self.skip_spaces();
        if self.last == Last::FilterBegin && self.starts_with(")]") {
            return Err(self.error("missing filter"));
        }
        if self.rest().is_empty() {
            return Err(self.error("missing end of filter"));
        }
        if !self.consume(")]") {
            return Err(self.error("invalid filter expression"));
        }
        self.nesting -= 1;
        self.emit(Last::Other);
        Ok(filter)
    }

    fn either(&mut self) -> Result<Filter, String> {
        let mut filter = self.both()?;
        loop {
            self.skip_spaces();
            if !self.consume("||") {
                return Ok(filter);
            }
            self.emit(Last::Other);
            filter = Filter::Or(Box::new(filter), Box::new(self.both()?));
        }
    }

    fn both(&mut self) -> Result<Filter, String> {
        let mut filter = self.basic()?;
        loop {
            self.skip_spaces();
            if !self.consume("&&") {
                return Ok(filter);
            }
            self.emit(Last::Other);
            filter = Filter::And(Box::new(filter), Box::new(self.basic()?));
        }
    }

    fn basic(&mut self) -> Result<Filter, String> {
        self.skip_spaces();
        for operator in ["!=", "&&", "||", "==", ">=", ">", "<=", "<"] {
            if self.starts_with(operator) {
                return Err(self.error(&format!("missing first operand for binary operator {operator}")));
            }
        }
        if self.consume("!") {
            self.emit(Last::Other);
            self.nesting += 1;
            if self.nesting > MAX_NESTING {
                return Err(self.error("filters are nested too deeply"));
            }
            let filter = self.basic();
            self.nesting -= 1;
            return filter.map(|filter| Filter::Not(Box::new(filter)));
        }
        if self.consume("(") {
            self.emit(Last::Other);
            self.nesting += 1;
            if self.nesting > MAX_NESTING {
                return Err(self.error("filters are nested too deeply"));
            }
            let filter = self.either()?;
            self.skip_spaces();
            if !self.consume(")") {
                return Err(self.error("invalid filter expression"));
            }
            self.nesting -= 1;
            self.emit(Last::Other);
            return Ok(filter);
        }
        let left = self.operand()?;
        self.skip_spaces();
        match self.comparison()? {
            Some(Comparison::Matches) => {
                let pattern = self.pattern()?;
                Ok(Filter::Compare(Comparison::Matches, left, Operand::Literal(Value::Regex(pattern))))
            }
            Some(comparison) => {
                self.skip_spaces();
                let right = self.operand()?;
                if matches!(right, Operand::Missing) {
                    return Err(self.error("invalid filter term"));
                }
                Ok(Filter::Compare(comparison, left, right))
            }
            None => Ok(match left {
                Operand::Literal(Value::Bool(value)) => Filter::Fixed(value),
                Operand::Literal(_) | Operand::Missing => Filter::Never,
                path => Filter::Exists(path),
            }),
        }
    }

    fn comparison(&mut self) -> Result<Option<Comparison>, String> {
        const TABLE: [(&str, Comparison); 7] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("=~", Comparison::Matches),
            (">=", Comparison::GreaterOrEqual),
            (">", Comparison::Greater),
            ("<=", Comparison::LessOrEqual),
            ("<", Comparison::Less),
        ];
        for (token, comparison) in TABLE {
            if !self.starts_with(token) {
                continue;
            }
            match comparison {
                Comparison::Matches if matches!(self.last, Last::Text | Last::Number) => {
                    return Err(self.error("literal cannot be matched using =~"));
                }
                Comparison::Equal | Comparison::NotEqual | Comparison::Matches => {}
                _ if self.last == Last::Text => {
                    return Err(self.error(&format!("strings cannot be compared using {token}")));
                }
                _ => {}
            }
            self.consume(token);
            self.emit(Last::Other);
            let ordered =
                !matches!(comparison, Comparison::Equal | Comparison::NotEqual | Comparison::Matches);
            if ordered && self.rest().trim_start().starts_with('\'') {
                return Err(self.error(&format!("strings cannot be compared using {token}")));
            }
            return Ok(Some(comparison));
        }
        Ok(None)
    }

    fn operand(&mut self) -> Result<Operand, String> {
        for (token, at) in [("@", true), ("$", false)] {
            if self.consume(token) {
                self.emit(Last::Other);
                let mut steps = Vec::new();
                let ends = ["=", "!", ">", "<", "|", "&", ")"];
                if !ends.iter().any(|end| self.spaced(&[end]).is_some()) {
                    self.steps(&mut steps, true)?;
                }
                return Ok(if at { Operand::At(steps) } else { Operand::Root(steps) });
            }
        }
        if let Some(number) = self.number()? {
            return Ok(Operand::Literal(number));
        }
        for quote in ["'", "\""] {
            if self.starts_with(quote) {
                let Some(length) = self.rest()[1..].find(quote) else {
                    let (at, before) = (self.at, &self.text.as_bytes()[self.start..self.at]);
                    let before = pintle_tree::quote::quote(before);
                    return Err(format!(
                        "unmatched string delimiter {quote} at position {at}, following {before}"
                    ));
                };
                let text = self.rest()[1..=length].to_owned();
                self.at += length + 2;
                self.emit(Last::Text);
                return Ok(Operand::Literal(Value::Str(text)));
            }
        }
        for (word, value) in
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Nil)]
        {
            if self.consume_spaced(word) {
                self.emit(Last::Other);
                return Ok(Operand::Literal(value));
            }
        }
        Ok(Operand::Missing)
    }

    fn number(&mut self) -> Result<Option<Value>, String> {
        if !self.peek().is_some_and(|first| first == '.' || first == '-' || first.is_ascii_digit()) {
            return Ok(None);
        }
        let rest = self.rest();
        let more = |next: char| !(matches!(next, '.' | 'e' | 'E' | '-') || next.is_ascii_digit());
        let length = rest[1..].find(more).map_or(rest.len(), |length| length + 1);
        let text = &rest[..length];
        self.at += length;
        let Some(number) = parse_float(text) else {
            let kind = if text[1..].contains(['.', 'e', 'E', '-']) || text.starts_with('.') {
                "float"
            } else {
                "integer"
            };
            return Err(format!(
                "invalid {kind} literal {} before position {}",
                quote(text.as_bytes()),
                self.at
            ));
        };
        self.emit(Last::Number);
        Ok(Some(Value::Number(number)))
    }

    /// Parses a regular expression between slashes.
    fn pattern(&mut self) -> Result<Regex, String> {
        self.skip_spaces();
        let (start, before) = (self.at, quote(&self.text.as_bytes()[self.start..self.at]));
        if !self.consume("/") {
            return Err(self.error("regular expression does not start with /"));
        }
        let mut escaped = false;
        let end = self.rest().find(|next| {
            let ends = next == '/' && !escaped;
            escaped = next == '\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            return Err(format!(
                "unmatched regular expression delimiter / at position {start}, following {before}"
            ));
        };
        let source = self.rest()[..end].replace("\\/", "/");
        self.at += end + 1;
        self.emit(Last::Other);
        Regex::compile(&source).map_err(|error| {
            format!("invalid regular expression at position {start}, following {before}: {error}")
        })
    }
}

/// The name without the backslashes that escape characters.
fn unescape(text: &str) -> Str {
    if !text.contains('\\') {
        return text.into();
    }
    let mut name = String::with_capacity(text.len());
    let mut escaped = false;
    for next in text.chars() {
        if next == '\\' && !escaped {
            escaped = true;
            continue;
        }
        escaped = false;
        name.push(next);
    }
    name.into()
}
