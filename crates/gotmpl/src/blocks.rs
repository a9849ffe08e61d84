//! The blocks of a source: `if`, `with`, `range`, `define` and `block`, with where they begin and end. Found with the lexer
//! alone, so that they are known in a source that does not parse.

use std::collections::BTreeSet;

use pintle_tree::Str;

use crate::lex::{Kind, Lexer, Token};

/// Nobody indents by more, and looking at more would take the time of the line for each of its actions.
const MAX_INDENT: usize = 256;

/// The blocks of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// In the order of their beginnings.
    pub blocks: Vec<Block>,
    /// The variables that the source declares, each once, in the order of the text.
    pub variables: Vec<Str>,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// `if`, `with`, `range`, `define` or `block`.
    pub keyword: &'static str,
    /// What follows the keyword, up to the closing delimiter.
    pub subject: Str,
    /// The line where it begins, from 1.
    pub line: usize,
    /// The column of its keyword in bytes, from 0.
    pub column: usize,
    /// The range of its content in the source. One that is not closed ends with the source.
    pub content: std::ops::Range<usize>,
    /// Whether it has an `end`.
    pub closed: bool,
    /// The columns where the actions of its beginning and its end stand, if each is the first on its line.
    indents: (Option<usize>, Option<usize>),
}

impl Blocks {
    /// Finds the blocks of a source, up to where it cannot be split into tokens.
    pub fn read(source: &[u8]) -> Blocks {
        let mut reader = Reader {
            source,
            found: Blocks::default(),
            open: Vec::new(),
            names: BTreeSet::new(),
            seen: 0,
            line: 1,
            line_start: 0,
        };
        let mut lexer = Lexer::new(source);
        loop {
            let token = lexer.next();
            match token.kind {
                Kind::End | Kind::Error => break,
                Kind::LeftDelimiter => reader.action(&mut lexer, token),
                _ => {}
            }
        }
        reader.found
    }

    /// The blocks around an offset, outermost first.
    pub fn around(&self, offset: usize) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.content.contains(&offset))
    }

    /// The block that lacks its `end`, if one does. An `end` closes the innermost block, so what is left open is not the one
    /// that its author forgot: where an `end` is indented like an outer block, that is the block inside.
    pub fn unclosed(&self) -> Option<&Block> {
        let open = self.blocks.iter().find(|block| !block.closed)?;
        let is_forgotten = |block: &&Block| {
            let (Some(begin), Some(end)) = block.indents else { return false };
            block.closed && end < begin && open.content.start <= block.content.start
        };
        Some(self.blocks.iter().rfind(is_forgotten).unwrap_or(open))
    }
}

struct Reader<'s> {
    source: &'s [u8],
    found: Blocks,
    /// The indices of the open blocks.
    open: Vec<usize>,
    /// The names in [`Blocks::variables`].
    names: BTreeSet<Str>,
    /// Up to where lines are counted; the source is read once, however many blocks it has.
    seen: usize,
    line: usize,
    line_start: usize,
}

impl Reader<'_> {
    fn action(&mut self, lexer: &mut Lexer<'_>, delimiter: Token) {
        let indent = self.indent(delimiter.start as usize);
        let mut words: Vec<Token> = Vec::new();
        let mut declared = 0;
        let end = loop {
            let token = lexer.next();
            match token.kind {
                Kind::RightDelimiter => break token,
                Kind::End | Kind::Error => return,
                Kind::Space => {}
                Kind::Declare => {
                    words.push(token);
                    self.declare(lexer, &words[declared..]);
                    declared = words.len();
                }
                _ => words.push(token),
            }
        };
        let Some(first) = words.first() else { return };
        let keyword = match first.kind {
            Kind::KeywordIf => "if",
            Kind::KeywordWith => "with",
            Kind::KeywordRange => "range",
            Kind::KeywordDefine => "define",
            Kind::KeywordBlock => "block",
            Kind::KeywordEnd => return self.close(delimiter, indent),
            _ => return,
        };
        let subject = words.get(1).map_or(first.end, |word| word.start) as usize;
        let subject = self.source.get(subject..end.start as usize).unwrap_or_default().trim_ascii();
        let (line, column) = self.position(first.start as usize);
        self.open.push(self.found.blocks.len());
        self.found.blocks.push(Block {
            keyword,
            subject: Str::new(subject),
            line,
            column,
            content: end.end as usize..self.source.len(),
            closed: false,
            indents: (indent, None),
        });
    }

    /// The variables before `:=`.
    fn declare(&mut self, lexer: &Lexer<'_>, words: &[Token]) {
        for word in words.iter().filter(|word| word.kind == Kind::Variable) {
            let name = Str::new(lexer.text(*word));
            if self.names.insert(name.clone()) {
                self.found.variables.push(name);
            }
        }
    }

    fn close(&mut self, delimiter: Token, indent: Option<usize>) {
        let Some(block) = self.open.pop().and_then(|index| self.found.blocks.get_mut(index)) else { return };
        block.content.end = delimiter.start as usize;
        block.closed = true;
        block.indents.1 = indent;
    }

    /// The column of an action, if only blanks are before it.
    fn indent(&mut self, at: usize) -> Option<usize> {
        let (_, column) = self.position(at);
        if column > MAX_INDENT {
            return None;
        }
        let before = self.source.get(at - column..at).unwrap_or_default();
        before.iter().all(|byte| matches!(byte, b' ' | b'\t')).then_some(column)
    }

    /// The line and column of an offset that is not before the last one that was asked for.
    fn position(&mut self, at: usize) -> (usize, usize) {
        let passed = self.source.get(self.seen..at).unwrap_or_default();
        for (newline, _) in passed.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.line += 1;
            self.line_start = self.seen + newline + 1;
        }
        self.seen = at;
        (self.line, at - self.line_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unclosed(source: &str) -> Option<(&'static str, usize)> {
        Blocks::read(source.as_bytes()).unclosed().map(|block| (block.keyword, block.line))
    }

    #[test]
    fn a_block_without_end_is_found_by_its_indentation() {
        assert_eq!(unclosed("{{ if .a }}\nx\n"), Some(("if", 1)));
        assert_eq!(unclosed("{{ if .a }}\n  {{ range .b }}\n  x\n{{ end }}\n"), Some(("range", 2)));
        assert_eq!(unclosed("{{ if .a }}\n  {{ range .b }}\n  {{ end }}\n"), Some(("if", 1)));
        assert_eq!(unclosed("{{ if .a }}{{ else if .b }}{{ end }}"), None);
    }

    #[test]
    fn blocks_around_an_offset_are_outermost_first() {
        let source = "{{ define \"a\" }}{{ with .b }}x{{ end }}{{ end }}{{ range $i, $v := .c }}y{{ end }}";
        let blocks = Blocks::read(source.as_bytes());
        let around = |text: &str| {
            let offset = source.find(text).unwrap_or_default();
            blocks.around(offset).map(|block| block.subject.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(around("x"), ["\"a\"", ".b"]);
        assert_eq!(around("y{{"), ["$i, $v := .c"]);
        assert_eq!(blocks.variables, [Str::from("$i"), Str::from("$v")]);
    }

    #[test]
    fn the_time_is_that_of_the_length_for_a_line_of_many_blocks() {
        let count = 100_000;
        let source = "{{ if true }}".repeat(count) + &"{{ end }}".repeat(count);
        let blocks = Blocks::read(source.as_bytes());
        assert_eq!((blocks.blocks.len(), blocks.unclosed()), (count, None));
        assert_eq!(blocks.blocks[1].column, "{{ if true }}{{ ".len());
    }

    #[test]
    fn a_source_that_cannot_be_split_is_read_up_to_there() {
        assert_eq!(unclosed("{{ if .a }}{{ 'x }}"), Some(("if", 1)));
        assert_eq!(unclosed("{{ end }}{{ if"), None);
    }
}
