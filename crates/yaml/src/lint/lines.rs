//! Rules about lines and comments.

use super::Checker;
use super::tokens::Tokens;

impl Checker<'_> {
    pub(super) fn check_lines(&mut self) {
        let text = self.text;
        let mut start = 0;
        let mut blank = 0;
        let mut number = 0;
        while start < text.len() {
            number += 1;
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at);
            let has_break = end < text.len();
            let line = &text[start..end];
            let content = line.strip_suffix(b"\r").unwrap_or(line);
            self.check_line(number, line, content, has_break);
            blank = if content.is_empty() && has_break { blank + 1 } else { 0 };
            let next = text.get(end + 1..).unwrap_or_default();
            let continues = next.starts_with(b"\n") || next.starts_with(b"\r\n");
            if blank > 0 && !continues {
                self.check_blank_lines(number, blank, next.is_empty());
            }
            start = end + 1;
        }
    }

    fn check_line(&mut self, number: usize, line: &[u8], content: &[u8], has_break: bool) {
        let columns = characters(content);
        if let Some(rule) = self.rule("trailing-spaces") {
            let kept = content.trim_ascii_end();
            if kept.len() < content.len() {
                self.report(&rule, number, characters(kept) + 1, "trailing spaces");
            }
        }
        if let Some(rule) = self.rule("line-length") {
            let max = rule.number("max", 80);
            let inline = rule.switch("allow-non-breakable-inline-mappings", false);
            let breakable = !(inline || rule.switch("allow-non-breakable-words", true)) || has_blank(content);
            if columns as i64 > max && breakable {
                let column = usize::try_from(max).unwrap_or(0) + 1;
                self.report(&rule, number, column, format!("line too long ({columns} > {max} characters)"));
            }
        }
        if !has_break
            && !line.is_empty()
            && let Some(rule) = self.rule("new-line-at-end-of-file")
        {
            self.report(&rule, number, columns + 1, "no new line character at the end of file");
        }
        if number == 1
            && has_break
            && let Some(rule) = self.rule("new-lines")
        {
            let dos = rule.word("type") == Some("dos");
            if dos != (line.len() > content.len()) {
                let expected = if dos { "\\r\\n" } else { "\\n" };
                self.report(&rule, 1, columns + 1, format!("wrong new line character: expected {expected}"));
            }
        }
    }

    /// Checks a group of blank lines, at its last one.
    fn check_blank_lines(&mut self, number: usize, blank: usize, at_end: bool) {
        let Some(rule) = self.rule("empty-lines") else { return };
        // A file that is one line break is fine.
        if at_end && number == 1 {
            return;
        }
        let max = match (at_end, blank == number) {
            (true, _) => rule.number("max-end", 0),
            (false, true) => rule.number("max-start", 0),
            (false, false) => rule.number("max", 2),
        };
        if blank as i64 > max {
            self.report(&rule, number, 1, format!("too many blank lines ({blank} > {max})"));
        }
    }

    pub(super) fn check_comments(&mut self, tokens: &Tokens) {
        let Some(rule) = self.rule("comments") else { return };
        let distance = rule.number("min-spaces-from-content", 2);
        let mut previous = 0;
        let starts = tokens.tokens.iter().map(|token| (token.start, token.end));
        for (start, end) in starts.chain([(self.text.len(), self.text.len())]) {
            let mut from = previous;
            while from < start
                && let Some(at) = memchr::memchr(b'#', &self.text[from..start]).map(|at| from + at)
            {
                let line_end =
                    memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end);
                let (line, column) = tokens.position(self.text, at);
                let line_start = memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |at| at + 1);
                let is_inline = !self.text[line_start..at].trim_ascii().is_empty();
                if is_inline && at.saturating_sub(previous.max(line_start)) < distance.max(0) as usize {
                    let text = format!("too few spaces before comment: expected {distance}");
                    self.report(&rule, line, column + 1, text);
                }
                let signs = self.text[at..line_end].iter().take_while(|&&byte| byte == b'#').count();
                let shebang = rule.switch("ignore-shebangs", true) && line == 1 && column == 0;
                let wrong = match self.text.get(at + signs) {
                    None | Some(b' ' | b'\n' | b'\r') => false,
                    Some(b'!') => !shebang,
                    Some(_) => true,
                };
                if wrong && rule.switch("require-starting-space", true) {
                    self.report(&rule, line, column + 1 + signs, "missing starting space in comment");
                }
                from = line_end;
            }
            previous = previous.max(end);
        }
    }
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Whether a line can be broken: it has a blank after its first word, apart from comment signs and dashes.
fn has_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let content = match line.first() {
        Some(b'#') => {
            line.iter().position(|&byte| byte != b'#').map_or(line, |at| &line[at..]).trim_ascii_start()
        }
        Some(b'-') if line.get(1) == Some(&b' ') => line[2..].trim_ascii_start(),
        _ => line,
    };
    content.contains(&b' ')
}
