//! Kubernetes label selectors (`a=b,c!=d,e in (f,g),!h`), for stores without an API server.

use std::collections::BTreeMap;

/// The operators, as listed in Kubernetes' error messages.
const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

/// The condition on a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// A label selector: requirements that all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// Parses a selector; an empty one selects everything.
    ///
    /// # Errors
    /// Kubernetes' message for an invalid selector.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), at: 0 };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => return Ok(Selector { requirements }),
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!("found '{other}', expected: !, identifier, or 'end of string'"));
                }
            }
            let requirement = parser.requirement();
            requirements.push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
            match parser.next() {
                Token::End => return Ok(Selector { requirements }),
                Token::Symbol(",") => {
                    if !matches!(parser.peek(), Token::Word(_) | Token::Symbol("!")) {
                        return Err(format!("found '{}', expected: identifier after ','", parser.peek()));
                    }
                }
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    /// Whether the labels match.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(labels.get(&requirement.key)))
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Requirement {
    fn holds(&self, value: Option<&String>) -> bool {
        let number = |text: &String| text.parse::<i64>().ok();
        let bound = self.values.first().and_then(number);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Greater => {
                value.and_then(number).zip(bound).is_some_and(|(value, bound)| value > bound)
            }
            Operator::Less => value.and_then(number).zip(bound).is_some_and(|(value, bound)| value < bound),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Symbol(&'t str),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(text) | Token::Symbol(text) => formatter.write_str(text),
            Token::End => Ok(()),
        }
    }
}

/// Splits the text into identifiers and symbols.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_symbol = |character: char| "=!(),<>".contains(character);
    let is_blank = |character: char| matches!(character, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_blank);
        let Some(first) = rest.chars().next() else { return tokens };
        let length = if is_symbol(first) {
            if rest.starts_with("==") || rest.starts_with("!=") { 2 } else { 1 }
        } else {
            rest.find(|character| is_symbol(character) || is_blank(character)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        tokens.push(if is_symbol(first) { Token::Symbol(token) } else { Token::Word(token) });
        rest = after;
    }
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        self.at += usize::from(negated);
        let key = match self.next() {
            Token::Word(key) => key.to_owned(),
            other => return Err(format!("found '{other}', expected: identifier")),
        };
        if negated || matches!(self.peek(), Token::End | Token::Symbol(",")) {
            let operator = if negated { Operator::DoesNotExist } else { Operator::Exists };
            return Ok(Requirement { key, operator, values: Vec::new() });
        }
        let (operator, values) = match self.next() {
            Token::Symbol("=" | "==") => (Operator::In, self.exact()?),
            Token::Symbol("!=") => (Operator::NotIn, self.exact()?),
            Token::Symbol(">") => (Operator::Greater, self.exact_number()?),
            Token::Symbol("<") => (Operator::Less, self.exact_number()?),
            Token::Word("in") => (Operator::In, self.values()?),
            Token::Word("notin") => (Operator::NotIn, self.values()?),
            other => return Err(format!("found '{other}', expected: {OPERATORS}")),
        };
        Ok(Requirement { key, operator, values })
    }

    /// The value after an operator; empty if there is none.
    fn exact(&mut self) -> Result<Vec<String>, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(vec![String::new()]),
            Token::Word(word) => {
                self.at += 1;
                Ok(vec![word.to_owned()])
            }
            other => Err(format!("found '{other}', expected: identifier")),
        }
    }

    fn exact_number(&mut self) -> Result<Vec<String>, String> {
        let values = self.exact()?;
        match values.first() {
            Some(text) if text.parse::<i64>().is_err() => Err(format!(
                "values[0]: Invalid value: {text:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )),
            _ => Ok(values),
        }
    }

    /// The values in parentheses. An empty position is the empty string.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{other}' expected: '('")),
        }
        let mut values = Vec::new();
        let mut empty = true;
        loop {
            match self.next() {
                Token::Word(word) if empty => {
                    values.push(word.to_owned());
                    empty = false;
                }
                token @ Token::Symbol("," | ")") => {
                    if empty {
                        values.push(String::new());
                    }
                    if token == Token::Symbol(")") {
                        return Ok(values);
                    }
                    empty = true;
                }
                other if empty => return Err(format!("found '{other}', expected: ',', or identifier")),
                other => return Err(format!("found '{other}', expected: ',' or ')'")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str) -> bool {
        let labels = [("team", "a"), ("tier", "web"), ("n", "5"), ("e", "")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        Selector::parse(selector).expect("a selector").matches(&labels)
    }

    #[test]
    fn every_operator_does_its_work() {
        for selector in [
            "",
            "team=a",
            "team==a,tier",
            "tier != db",
            "none!=x",
            "team in (b, a)",
            "tier notin (db)",
            "!none",
            "n>4",
            "n<6",
            "e=",
            "e in ()",
            "x.y/z notin (a,)",
        ] {
            assert!(selects(selector), "{selector}");
        }
        for selector in
            ["team=b", "none", "none=a", "!team", "team in (b)", "n>5", "team>1", "team notin (a)"]
        {
            assert!(!selects(selector), "{selector}");
        }
    }

    #[test]
    fn errors_are_those_of_kubernetes() {
        for (text, message) in [
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a=b,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ] {
            assert_eq!(Selector::parse(text).expect_err("no selector"), message, "{text}");
        }
    }
}
