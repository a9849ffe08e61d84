//! Block scalars.

use super::{Builder, Reader, find};
use find::spaces;

/// The indentation of a block without text, which no line reaches.
const EMPTY: usize = usize::MAX;

/// What happens to the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl<B: Builder> Reader<'_, '_, B> {
    /// Reads a block scalar inside a collection at `indent`, from its `|` or `>`.
    pub(super) fn block_scalar(&mut self, indent: isize) -> Option<()> {
        let sign = self.at;
        let literal = self.byte(sign) == b'|';
        let (chomping, increment, signs_end) = self.block_header()?;
        let start = self.at;
        let content = match increment {
            0 => self.block_indent(indent)?,
            _ => indent.max(0) as usize + increment,
        };
        self.at = start;
        self.scratch.clear();
        let end = if literal || !B::KEEPS_SCALARS {
            self.literal(content, chomping)?
        } else {
            self.folded(content, chomping)?
        };
        self.builder.block_at(sign, end.unwrap_or(signs_end), content);
        self.builder.str(&self.scratch);
        self.load_line(self.at)?;
        self.check_dedent(indent)
    }

    /// Reads the indicators after `|` or `>` and goes to the next line. The last of the three results is where they end.
    fn block_header(&mut self) -> Option<(Chomping, usize, usize)> {
        let mut chomping = Chomping::Clip;
        let mut increment = 0;
        self.at += 1;
        for _ in 0..2 {
            match self.byte(self.at) {
                b'+' if chomping == Chomping::Clip => chomping = Chomping::Keep,
                b'-' if chomping == Chomping::Clip => chomping = Chomping::Strip,
                digit @ b'1'..=b'9' if increment == 0 => increment = usize::from(digit - b'0'),
                _ => break,
            }
            self.at += 1;
        }
        let signs_end = self.at;
        let blanks = spaces(self.text, self.at);
        self.at += blanks;
        match self.byte(self.at) {
            b'\n' => {}
            b'#' if blanks > 0 => self.at = find::any(self.text, self.at, [b'\n']),
            _ => return None,
        }
        self.at += 1;
        Some((chomping, increment, signs_end))
    }

    /// The indentation of the first line that is not blank; the deepest there is if the block has no such line.
    fn block_indent(&self, indent: isize) -> Option<usize> {
        let mut start = self.at;
        let mut deepest_blank = 0;
        loop {
            if start >= self.text.len() {
                return Some(EMPTY);
            }
            let column = spaces(self.text, start);
            match self.byte(start + column) {
                b'\n' => {
                    deepest_blank = deepest_blank.max(column);
                    start += column + 1;
                }
                b'\t' => return None,
                _ if column as isize <= indent || column == 0 => return Some(EMPTY),
                // Blank lines deeper than the text are left to the full reader.
                _ if deepest_blank > column => return None,
                _ => return Some(column),
            }
        }
    }

    /// Whether the line that begins at the current position belongs to the block; blank lines do.
    fn block_line(&self, content: usize) -> Option<BlockLine> {
        if self.at >= self.text.len() {
            return Some(BlockLine::Outside);
        }
        let blanks = spaces(self.text, self.at);
        Some(match self.byte(self.at + blanks) {
            // White space that ends with the text, not with a line break, is not a line.
            b'\n' if blanks <= content && self.at + blanks >= self.text.len() => BlockLine::Outside,
            b'\n' if blanks <= content => BlockLine::Blank { next: self.at + blanks + 1 },
            b'\t' if blanks < content => return None,
            _ if blanks < content => BlockLine::Outside,
            _ => {
                let start = self.at + content;
                BlockLine::Text { start, end: find::any(self.text, start, [b'\n']) }
            }
        })
    }

    /// Takes the lines of a literal block, and returns where the last line that counts ends, if there is one.
    fn literal(&mut self, content: usize, chomping: Chomping) -> Option<Option<usize>> {
        let mut last = None;
        // Line breaks that count only if more text, or a `+`, follows.
        let mut breaks = 0;
        let mut terminated = false;
        loop {
            match self.block_line(content)? {
                BlockLine::Blank { next } => {
                    breaks += 1;
                    self.at = next;
                    if chomping == Chomping::Keep {
                        last = Some(next - 1);
                    }
                }
                BlockLine::Text { start, end } => {
                    last = Some(end);
                    if B::KEEPS_SCALARS {
                        self.scratch.resize(self.scratch.len() + breaks + usize::from(terminated), b'\n');
                        self.scratch.extend_from_slice(&self.text[start..end]);
                    }
                    breaks = 0;
                    terminated = end < self.text.len();
                    self.at = end + 1;
                }
                BlockLine::Outside => break,
            }
        }
        self.chomp(chomping, terminated, breaks);
        Some(last)
    }

    /// As [`Self::literal`], of a folded block.
    fn folded(&mut self, content: usize, chomping: Chomping) -> Option<Option<usize>> {
        let mut last = None;
        let mut breaks = 0;
        let mut terminated = false;
        let mut previous_indented = false;
        loop {
            match self.block_line(content)? {
                BlockLine::Blank { next } => {
                    breaks += 1;
                    self.at = next;
                    if chomping == Chomping::Keep {
                        last = Some(next - 1);
                    }
                }
                BlockLine::Text { start, end } => {
                    last = Some(end);
                    // Lines that are indented further are not folded, and neither are the breaks around them.
                    let indented = matches!(self.text[start], b' ' | b'\t');
                    if terminated && !previous_indented && !indented {
                        if breaks == 0 {
                            self.scratch.push(b' ');
                        }
                    } else if terminated {
                        self.scratch.push(b'\n');
                    }
                    self.scratch.resize(self.scratch.len() + breaks, b'\n');
                    self.scratch.extend_from_slice(&self.text[start..end]);
                    breaks = 0;
                    previous_indented = indented;
                    terminated = end < self.text.len();
                    self.at = end + 1;
                }
                BlockLine::Outside => break,
            }
        }
        self.chomp(chomping, terminated, breaks);
        Some(last)
    }

    fn chomp(&mut self, chomping: Chomping, terminated: bool, breaks: usize) {
        if chomping != Chomping::Strip && terminated {
            self.scratch.push(b'\n');
        }
        if chomping == Chomping::Keep {
            self.scratch.resize(self.scratch.len() + breaks, b'\n');
        }
    }
}

/// A line after the header of a block scalar.
enum BlockLine {
    Blank { next: usize },
    Text { start: usize, end: usize },
    Outside,
}
