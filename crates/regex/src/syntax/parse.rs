//! The parser: one pass over the pattern with a stack of open groups, so that no nesting can exhaust the call stack.

use regex_syntax::hir::{ClassUnicode, Dot, Hir, Look};

use super::cursor::Cursor;
use super::flags::Flags;
use super::node::{Bounds, MAX_HEIGHT, MAX_SIZE, Node};
use super::{class, escape};
use crate::error::{Error, ErrorKind, Result};

/// Go rejects patterns whose classes have more bounds than this: 128 MB at four bytes each (`maxRunes`).
const MAX_CLASS_BOUNDS: usize = (128 << 20) / 4;

/// A parsed pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// What to match.
    pub(crate) hir: Hir,
    /// Height of the tree, a bound for recursion.
    pub(crate) height: u32,
    /// Estimated number of states.
    pub(crate) states: u64,
    /// How many positions of the pattern a search can be at, repetitions written out.
    pub(crate) positions: u64,
    /// The name of each group; the first stands for the whole match.
    pub(crate) names: Vec<Option<String>>,
}

/// A group that is not closed yet; the outermost is the pattern itself.
#[derive(Debug, Default)]
struct Group {
    capture: Option<u32>,
    /// The flags to go back to at the end of the group.
    outer_flags: Flags,
    alternatives: Vec<Node>,
    sequence: Vec<Node>,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    flags: Flags,
    groups: Vec<Group>,
    current: Group,
    names: Vec<Option<String>>,
    class_bounds: usize,
}

/// Parses a pattern.
pub(crate) fn parse(pattern: &[u8]) -> Result<Pattern> {
    let mut parser = Parser {
        cursor: Cursor::new(pattern),
        flags: Flags::default(),
        groups: Vec::new(),
        current: Group::default(),
        names: vec![None],
        class_bounds: 0,
    };
    // Where the repetition that was just read starts; a second one may not follow.
    let mut last_repeat = None;
    while let Some(byte) = parser.cursor.peek() {
        last_repeat = parser.step(byte, last_repeat)?;
    }
    parser.finish()
}

impl Parser<'_> {
    /// Reads one piece of the pattern; gives its start if it is a repetition.
    fn step(&mut self, byte: u8, last_repeat: Option<usize>) -> Result<Option<usize>> {
        let start = self.cursor.at;
        match byte {
            b'(' => self.open()?,
            b')' => self.close()?,
            b'|' => self.bar()?,
            b'[' => {
                let class = class::bracket(&mut self.cursor, self.flags)?;
                self.push_class(class)?;
            }
            b'^' | b'$' | b'.' => self.symbol(byte)?,
            b'*' | b'+' | b'?' => {
                self.cursor.at += 1;
                let (min, max) = match byte {
                    b'*' => (0, None),
                    b'+' => (1, None),
                    _ => (0, Some(1)),
                };
                self.repeat(start, min, max, false, last_repeat)?;
                return Ok(Some(start));
            }
            b'{' => match self.braces()? {
                Some((min, max)) => {
                    self.repeat(start, min, max, true, last_repeat)?;
                    return Ok(Some(start));
                }
                None => self.literal()?,
            },
            b'\\' => self.escape()?,
            _ => self.literal()?,
        }
        Ok(None)
    }

    fn error<T>(&self, kind: ErrorKind, start: usize) -> Result<T> {
        Err(Error::new(kind, self.cursor.since(start)))
    }

    fn whole_error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.cursor.pattern)
    }

    fn check(&self, node: Node) -> Result<Node> {
        if node.size > MAX_SIZE || self.class_bounds > MAX_CLASS_BOUNDS {
            return Err(self.whole_error(ErrorKind::Large));
        }
        if node.height > MAX_HEIGHT {
            return Err(self.whole_error(ErrorKind::NestingDepth));
        }
        Ok(node)
    }

    fn push(&mut self, node: Node) -> Result<()> {
        let node = self.check(node)?;
        self.current.sequence.push(node);
        Ok(())
    }

    fn push_class(&mut self, class: ClassUnicode) -> Result<()> {
        self.class_bounds += 2 * class.ranges().len();
        self.push(Node::class(class))
    }

    fn push_character(&mut self, code: u32) -> Result<()> {
        match char::from_u32(code) {
            Some(character) if !self.flags.fold_case => self.push(Node::character(character)),
            Some(character) => self.push(Node::folded_character(class::folded(character))),
            // A surrogate: valid text never has one.
            None => self.push(Node::class(ClassUnicode::empty())),
        }
    }

    fn literal(&mut self) -> Result<()> {
        match self.cursor.next()? {
            Some(character) => self.push_character(u32::from(character)),
            None => Ok(()),
        }
    }

    fn symbol(&mut self, byte: u8) -> Result<()> {
        self.cursor.at += 1;
        let flags = self.flags;
        self.push(match byte {
            b'^' if flags.multi_line => Node::look(Look::StartLF),
            b'^' => Node::look(Look::Start),
            b'$' if flags.multi_line => Node::look(Look::EndLF),
            b'$' => Node::look(Look::End),
            _ if flags.dot_matches_line_feed => Node::dot(Dot::AnyChar),
            _ => Node::dot(Dot::AnyCharExceptLF),
        })
    }

    fn escape(&mut self) -> Result<()> {
        let start = self.cursor.at;
        let look = match self.cursor.peek_second() {
            Some(b'A') => Some(Look::Start),
            Some(b'z') => Some(Look::End),
            Some(b'b') => Some(Look::WordAscii),
            Some(b'B') => Some(Look::WordAsciiNegate),
            // `\C`, a single byte, is RE2's but not Go's.
            Some(b'C') => {
                self.cursor.at += 2;
                return self.error(ErrorKind::InvalidEscape, start);
            }
            Some(b'Q') => return self.quoted(),
            _ => None,
        };
        if let Some(look) = look {
            self.cursor.at += 2;
            return self.push(Node::look(look));
        }
        match class::escaped(&mut self.cursor, self.flags)? {
            Some(class) => self.push_class(class),
            None => {
                let code = escape::character(&mut self.cursor)?;
                self.push_character(code)
            }
        }
    }

    /// Reads `\Q…\E`; the end may be missing.
    fn quoted(&mut self) -> Result<()> {
        self.cursor.at += 2;
        let length = self.cursor.find(b"\\E");
        let end = self.cursor.at + length.unwrap_or(self.cursor.rest().len());
        while let Some(character) = self.cursor.next_before(end)? {
            self.push_character(u32::from(character))?;
        }
        self.cursor.take(b"\\E");
        Ok(())
    }

    fn repeat(
        &mut self,
        start: usize,
        min: u32,
        max: Option<u32>,
        counted: bool,
        last_repeat: Option<usize>,
    ) -> Result<()> {
        // The flag `U` swaps the meanings of `*` and `*?`.
        let greedy = !self.cursor.take(b"?") ^ self.flags.lazy;
        if let Some(last) = last_repeat {
            return self.error(ErrorKind::InvalidRepeatOp, last);
        }
        let Some(sub) = self.current.sequence.pop() else {
            return self.error(ErrorKind::MissingRepeatArgument, start);
        };
        let (node, valid) = sub.repeat(Bounds { min, max, counted, greedy });
        self.push(node)?;
        if valid { Ok(()) } else { self.error(ErrorKind::InvalidRepeatSize, start) }
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`; anything else leaves the cursor where it is.
    fn braces(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let start = self.cursor.at;
        let mut cursor = self.cursor;
        cursor.at += 1;
        let Some(min) = count(&mut cursor) else {
            return Ok(None);
        };
        let max = if !cursor.take(b",") {
            Some(min)
        } else if cursor.peek() == Some(b'}') {
            None
        } else if let Some(max) = count(&mut cursor) {
            Some(max)
        } else {
            return Ok(None);
        };
        if !cursor.take(b"}") {
            return Ok(None);
        }
        self.cursor = cursor;
        if min > 1000 || max.is_some_and(|max| max > 1000 || min > max) {
            return self.error(ErrorKind::InvalidRepeatSize, start);
        }
        Ok(Some((min, max)))
    }

    fn open(&mut self) -> Result<()> {
        if self.cursor.peek_second() == Some(b'?') {
            return self.open_special();
        }
        self.cursor.at += 1;
        self.open_capture(None);
        Ok(())
    }

    fn open_capture(&mut self, name: Option<String>) {
        // The count is bounded by the length of the pattern; an absurd one is rejected before compiling.
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name);
        self.open_group(Some(index));
    }

    fn open_group(&mut self, capture: Option<u32>) {
        let group = Group { capture, outer_flags: self.flags, ..Group::default() };
        self.groups.push(std::mem::replace(&mut self.current, group));
    }

    /// Reads what starts with `(?`: a named group, flags, or a group without capture.
    fn open_special(&mut self) -> Result<()> {
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        // The lengths are Go's; a bare `(?P<` gets another message.
        if rest.len() > 4 && rest.starts_with(b"(?P<") {
            return self.open_named(start, 4);
        }
        if rest.len() > 3 && rest.starts_with(b"(?<") {
            return self.open_named(start, 3);
        }
        self.cursor.at += 2;
        let mut flags = self.flags;
        let (mut on, mut switched) = (true, false);
        while let Some(letter) = self.cursor.next()? {
            match letter {
                '-' if on => (on, switched) = (false, false),
                ':' | ')' if on || switched => {
                    if letter == ':' {
                        self.open_group(None);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ if flags.switch(letter, on) => switched = true,
                _ => break,
            }
        }
        self.error(ErrorKind::InvalidPerlOp, start)
    }

    fn open_named(&mut self, start: usize, prefix: usize) -> Result<()> {
        let Some(length) = self.cursor.find(b">") else {
            self.cursor.check_utf8(self.cursor.pattern.len())?;
            return Err(Error::new(ErrorKind::InvalidNamedCapture, self.cursor.rest()));
        };
        let end = start + length;
        self.cursor.at = start + prefix;
        self.cursor.check_utf8(end)?;
        let name = std::str::from_utf8(&self.cursor.pattern[self.cursor.at..end]).unwrap_or_default();
        self.cursor.at = end + 1;
        if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return self.error(ErrorKind::InvalidNamedCapture, start);
        }
        self.open_capture(Some(name.to_owned()));
        Ok(())
    }

    fn bar(&mut self) -> Result<()> {
        self.cursor.at += 1;
        let sequence = std::mem::take(&mut self.current.sequence);
        let node = self.check(Node::concat(sequence))?;
        self.current.alternatives.push(node);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(outer) = self.groups.pop() else {
            return Err(self.whole_error(ErrorKind::UnexpectedParen));
        };
        self.cursor.at += 1;
        let group = std::mem::replace(&mut self.current, outer);
        self.flags = group.outer_flags;
        let capture = group.capture;
        let node = self.check(group.into_node())?;
        self.push(match capture {
            Some(index) => Node::capture(index, node),
            None => node,
        })
    }

    fn finish(mut self) -> Result<Pattern> {
        let group = std::mem::take(&mut self.current);
        let node = self.check(group.into_node())?;
        if !self.groups.is_empty() {
            return Err(self.whole_error(ErrorKind::MissingParen));
        }
        Ok(Pattern {
            hir: node.hir,
            height: node.height,
            states: node.states,
            positions: node.size,
            names: self.names,
        })
    }
}

impl Group {
    fn into_node(self) -> Node {
        let last = Node::concat(self.sequence);
        let mut alternatives = self.alternatives;
        alternatives.push(last);
        Node::alternation(alternatives)
    }
}

/// Parses a number without leading zeros; one that is too large saturates.
fn count(cursor: &mut Cursor<'_>) -> Option<u32> {
    let rest = cursor.rest();
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || (length > 1 && rest[0] == b'0') {
        return None;
    }
    cursor.at += length;
    let add = |number: u32, digit: &u8| number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
    Some(rest[..length].iter().fold(0, add))
}
