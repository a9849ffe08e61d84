//! The glob patterns of `.Files.Glob`, with `/` as the separator.
//!
//! `*` stays within a path segment, `**` crosses segments, `?` is one character other than `/`, `[a-z]`, `[!a-z]` and
//! `[abc]` are classes, `{a,b}` are alternatives (nestable), and `\` escapes the next character.
//!
//! Helm uses the library `gobwas/glob`, whose quirks are kept: see its lexer for what is an error.

/// A compiled pattern.
#[derive(Debug)]
pub struct Glob(Vec<Token>);

#[derive(Debug)]
enum Token {
    Text(Vec<char>),
    /// `*`: anything but a separator.
    Any,
    /// `**`: anything.
    Super,
    /// `?`: one character but a separator.
    Single,
    Range {
        low: char,
        high: char,
        negated: bool,
    },
    Set {
        characters: Vec<char>,
        negated: bool,
    },
    AnyOf(Vec<Vec<Token>>),
}

/// The maximum nesting of alternatives; deeper patterns count as invalid.
const MAX_NESTING: usize = 64;

impl Glob {
    /// Compiles a pattern; `None` if it is invalid.
    pub fn compile(pattern: &str) -> Option<Glob> {
        let mut characters = pattern.chars().peekable();
        let tokens = parse(&mut characters, 0)?;
        // A stray `}` outside of alternatives was consumed as plain text, so nothing can be left.
        characters.next().is_none().then_some(Glob(tokens))
    }

    /// Whether the whole of `name` matches.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let mut positions = vec![false; name.len() + 1];
        positions[0] = true;
        advance(&self.0, &name, positions)[name.len()]
    }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn parse(source: &mut Characters<'_>, nesting: usize) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    while let Some(&character) = source.peek() {
        match character {
            // Outside of alternatives these are plain text.
            ',' | '}' if nesting > 0 => break,
            '{' => {
                source.next();
                tokens.push(parse_alternatives(source, nesting + 1)?);
            }
            '[' => {
                source.next();
                tokens.push(parse_class(source)?);
            }
            '?' => {
                source.next();
                tokens.push(Token::Single);
            }
            '*' => {
                source.next();
                let double = source.next_if_eq(&'*').is_some();
                tokens.push(if double { Token::Super } else { Token::Any });
            }
            _ => tokens.push(Token::Text(parse_text(source, nesting > 0))),
        }
    }
    Some(tokens)
}

fn parse_text(source: &mut Characters<'_>, in_alternatives: bool) -> Vec<char> {
    let mut text = Vec::new();
    while let Some(&character) = source.peek() {
        match character {
            '\\' => {
                source.next();
                text.extend(source.next());
                continue;
            }
            '*' | '?' | '[' | '{' => break,
            ',' | '}' if in_alternatives => break,
            _ => {}
        }
        text.push(character);
        source.next();
    }
    text
}

fn parse_alternatives(source: &mut Characters<'_>, nesting: usize) -> Option<Token> {
    if nesting > MAX_NESTING {
        return None;
    }
    let mut alternatives = Vec::new();
    loop {
        alternatives.push(parse(source, nesting)?);
        match source.next() {
            Some(',') => {}
            // The end of the pattern closes all open alternatives.
            Some('}') | None => return Some(Token::AnyOf(alternatives)),
            Some(_) => return None,
        }
    }
}

fn parse_class(source: &mut Characters<'_>) -> Option<Token> {
    let negated = source.next_if_eq(&'!').is_some();
    let first = source.next()?;
    if source.next_if_eq(&'-').is_some() {
        let high = source.next()?;
        // A class is one range or one set; `[a-z0-9]` is an error in Helm's glob library too.
        let closed = source.next()? == ']';
        return (closed && first <= high).then_some(Token::Range { low: first, high, negated });
    }
    let mut characters = Vec::new();
    let mut next = first;
    loop {
        match next {
            ']' => break,
            '\\' => characters.push(source.next()?),
            _ => characters.push(next),
        }
        next = source.next()?;
    }
    (!characters.is_empty()).then_some(Token::Set { characters, negated })
}

/// The positions in `name` where a match of `tokens` can end, given the positions where it can begin. Each token is one
/// pass over the positions, so the cost is tokens × length, whatever the pattern.
fn advance(tokens: &[Token], name: &[char], mut positions: Vec<bool>) -> Vec<bool> {
    for token in tokens {
        positions = step(token, name, &positions);
    }
    positions
}

fn step(token: &Token, name: &[char], positions: &[bool]) -> Vec<bool> {
    let mut next = vec![false; positions.len()];
    match token {
        Token::Text(text) => {
            for index in 0..positions.len() {
                if positions[index] && name[index..].starts_with(text) {
                    next[index + text.len()] = true;
                }
            }
        }
        Token::Super => skip_many(positions, &mut next, |_| true),
        Token::Any => skip_many(positions, &mut next, |index| name[index] != '/'),
        Token::Single => skip_one(positions, &mut next, |index| name[index] != '/'),
        Token::Range { low, high, negated } => {
            skip_one(positions, &mut next, |index| (*low..=*high).contains(&name[index]) != *negated);
        }
        Token::Set { characters, negated } => {
            skip_one(positions, &mut next, |index| characters.contains(&name[index]) != *negated);
        }
        Token::AnyOf(alternatives) => {
            for alternative in alternatives {
                let ends = advance(alternative, name, positions.to_vec());
                next.iter_mut().zip(ends).for_each(|(reached, end)| *reached |= end);
            }
        }
    }
    next
}

/// Skips any number of accepted characters.
fn skip_many(positions: &[bool], next: &mut [bool], accepted: impl Fn(usize) -> bool) {
    let mut reached = false;
    for index in 0..positions.len() {
        reached = positions[index] || (reached && accepted(index - 1));
        next[index] = reached;
    }
}

/// Skips one accepted character.
fn skip_one(positions: &[bool], next: &mut [bool], accepted: impl Fn(usize) -> bool) {
    for index in 0..positions.len() - 1 {
        next[index + 1] = positions[index] && accepted(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> Option<bool> {
        Glob::compile(pattern).map(|glob| glob.matches(name))
    }

    #[test]
    fn one_star_stays_in_its_segment_and_two_cross() {
        assert_eq!(matches("*.txt", "a.txt"), Some(true));
        assert_eq!(matches("*.txt", "d/a.txt"), Some(false));
        assert_eq!(matches("**.txt", "d/a.txt"), Some(true));
        assert_eq!(matches("d/*", "d/e/f"), Some(false));
        assert_eq!(matches("**é**", "uni-é.txt"), Some(true));
    }

    #[test]
    fn classes_and_alternatives() {
        assert_eq!(matches("f.{yaml,yml}", "f.yml"), Some(true));
        assert_eq!(matches("[a-c]x", "bx"), Some(true));
        assert_eq!(matches("[!a-c]x", "bx"), Some(false));
        assert_eq!(matches("[abc]?", "cz"), Some(true));
        assert_eq!(matches("\\*", "*"), Some(true));
        assert_eq!(matches("", "a"), Some(false));
    }

    #[test]
    fn an_open_class_is_invalid() {
        assert_eq!(matches("cfg/[", "cfg/["), None);
        assert_eq!(matches("[]", "a"), None);
    }

    #[test]
    fn many_stars_cost_no_explosion() {
        let pattern = "*a".repeat(200);
        assert_eq!(matches(&pattern, &"a".repeat(2000)), Some(true));
        assert_eq!(matches(&pattern, &"b".repeat(2000)), Some(false));
    }
}
