//! A lexer for just enough of Luau to distinguish names, strings and comments.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Name,
    /// A string in quotes or long brackets, without them.
    Text,
    /// An interpolated string, without its backquotes. The code between its braces is not analysed.
    Interpolated,
    /// A number.
    Number,
    /// Any other character.
    Sign,
}

/// A token of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) text: String,
    pub(super) line: usize,
}

impl Token {
    /// Whether it is this name or symbol.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Name | TokenKind::Sign) && self.text == text
    }
}

/// Tokenizes a script that is known to parse.
pub(super) fn tokens(text: &[u8]) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, line: 1, tokens: Vec::new() };
    while lexer.at < text.len() {
        lexer.next();
    }
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn next(&mut self) {
        let rest = &self.text[self.at..];
        match rest[0] {
            b'\n' => self.skip(1),
            byte if byte.is_ascii_whitespace() => self.skip(1),
            b'-' if rest.starts_with(b"--") => self.comment(),
            b'[' if long_level(rest).is_some() => self.long_text(),
            quote @ (b'"' | b'\'') => self.quoted(quote),
            b'`' => self.quoted(b'`'),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.word(|byte| byte.is_ascii_alphanumeric() || byte == b'_', TokenKind::Name);
            }
            byte if byte.is_ascii_digit() => {
                self.word(
                    |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.',
                    TokenKind::Number,
                );
            }
            _ => self.push(TokenKind::Sign, 1),
        }
    }

    fn skip(&mut self, length: usize) {
        let end = (self.at + length).min(self.text.len());
        self.line += self.text[self.at..end].iter().filter(|byte| **byte == b'\n').count();
        self.at = end;
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let word = &self.text[self.at..(self.at + length).min(self.text.len())];
        self.tokens.push(Token { kind, text: String::from_utf8_lossy(word).into_owned(), line: self.line });
        self.skip(length);
    }

    fn word(&mut self, belongs: impl Fn(u8) -> bool, kind: TokenKind) {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
        self.push(kind, length.max(1));
    }

    fn comment(&mut self) {
        let rest = &self.text[self.at + 2..];
        let length = match long_level(rest) {
            Some(level) => 2 + long_length(rest, level),
            None => 2 + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        };
        self.skip(length);
    }

    fn long_text(&mut self) {
        let rest = &self.text[self.at..];
        let level = long_level(rest).unwrap_or_default();
        let length = long_length(rest, level);
        let inner = rest.get(level + 2..length.saturating_sub(level + 2)).unwrap_or_default();
        let text = String::from_utf8_lossy(inner).into_owned();
        self.tokens.push(Token { kind: TokenKind::Text, text, line: self.line });
        self.skip(length);
    }

    fn quoted(&mut self, quote: u8) {
        let rest = &self.text[self.at + 1..];
        let mut length = 0;
        while length < rest.len() && rest[length] != quote {
            length += if rest[length] == b'\\' { 2 } else { 1 };
        }
        let inner = &rest[..length.min(rest.len())];
        // Escapes are not decoded: such a string never equals a known name.
        let text = String::from_utf8_lossy(inner).into_owned();
        let kind = if quote == b'`' { TokenKind::Interpolated } else { TokenKind::Text };
        self.tokens.push(Token { kind, text, line: self.line });
        self.skip(length + 2);
    }
}

/// The number of equal signs in an opening long bracket.
fn long_level(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"[")?;
    let level = rest.iter().take_while(|byte| **byte == b'=').count();
    (rest.get(level) == Some(&b'[')).then_some(level)
}

/// The length of a long bracket, including its end.
fn long_length(text: &[u8], level: usize) -> usize {
    let close = [b"]".as_slice(), &b"=".repeat(level), b"]"].concat();
    let found = text.windows(close.len()).position(|window| window == close);
    found.map_or(text.len(), |start| start + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_strings_and_comments_are_distinguished() {
        let text = "a.b --[==[ x\n]] ]==] 'c\\'d' [[e\nf]] 0x1F --g\nh";
        let found: Vec<(TokenKind, String, usize)> =
            tokens(text.as_bytes()).into_iter().map(|token| (token.kind, token.text, token.line)).collect();
        let expected = [
            (TokenKind::Name, "a", 1),
            (TokenKind::Sign, ".", 1),
            (TokenKind::Name, "b", 1),
            (TokenKind::Text, "c\\'d", 2),
            (TokenKind::Text, "e\nf", 2),
            (TokenKind::Number, "0x1F", 3),
            (TokenKind::Name, "h", 4),
        ];
        assert_eq!(found, expected.map(|(kind, text, line)| (kind, text.to_owned(), line)));
    }

    #[test]
    fn unfinished_texts_end_with_the_script() {
        for text in ["'abc", "[[abc", "--[[", "\\", "'\\", "`a", "[==", "\""] {
            tokens(text.as_bytes());
        }
    }
}
