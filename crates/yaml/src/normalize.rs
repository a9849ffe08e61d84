//! Rewrites a document in the layout of kyaml, which Helm sends through post-renderers: two blanks of indentation,
//! lists as far left as their keys, no blank lines. Styles of scalars and comments are kept.

use crate::error::Error;
use crate::outline::{Kind, NodeRef, Outline, Style};

/// Writes the first document of `text` in the layout of kyaml. Nothing for an empty document.
///
/// # Errors
/// As [`crate::read`].
pub fn normalize(text: &[u8]) -> Result<Vec<u8>, Error> {
    let outline = Outline::read_first(text)?;
    let mut writer = Writer { outline: &outline, out: Vec::new(), cursor: 0 };
    if let Some(root) = outline.roots().next().filter(|root| !is_empty(*root)) {
        writer.document(root);
    }
    Ok(writer.out)
}

fn is_empty(root: NodeRef<'_>) -> bool {
    matches!(root.kind(), Kind::Scalar(Style::Plain)) && root.text().is_empty()
}

struct Writer<'o> {
    outline: &'o Outline<'o>,
    out: Vec<u8>,
    /// Up to where the text has been written, comments included.
    cursor: usize,
}

impl<'o> Writer<'o> {
    fn document(&mut self, root: NodeRef<'o>) {
        self.node(root, 0, false);
        if !self.out.ends_with(b"\n") {
            self.out.push(b'\n');
        }
        let rest = self.comments_before(self.outline.text().len());
        if !rest.is_empty() {
            self.out.push(b'\n');
            self.comment_lines(&rest, 0);
        }
    }

    /// The comments on lines of their own from the cursor to `end`; a blank line among them is an empty one.
    fn comments_before(&mut self, end: usize) -> Vec<Vec<u8>> {
        let start = self.cursor.min(end);
        self.cursor = end;
        let text = &self.outline.text()[start..end];
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.starts_with(b"#") {
                lines.push(line.to_vec());
            }
        }
        lines
    }

    fn comment_lines(&mut self, lines: &[Vec<u8>], indent: usize) {
        for line in lines {
            self.indent(indent);
            self.out.extend_from_slice(line);
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, indent: usize) {
        self.out.resize(self.out.len() + indent, b' ');
    }

    /// Writes the comment after a node on the same line, with a blank before it. Marks the line as written.
    fn line_comment(&mut self, end: usize) {
        let line_end = self.outline.line_end(end);
        let rest = self.outline.text()[end..line_end].trim_ascii();
        let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
        if rest.starts_with(b"#") {
            self.out.push(b' ');
            self.out.extend_from_slice(rest);
        }
        self.cursor = self.cursor.max(line_end);
    }

    /// Writes a node whose line has been begun, up to `indent`. `inline` is for what follows a dash: its first
    /// entry is on that line.
    fn node(&mut self, node: NodeRef<'o>, indent: usize, inline: bool) {
        match node.kind() {
            Kind::Mapping if !node.is_flow() => self.mapping(node, indent, inline),
            Kind::Sequence if !node.is_flow() => self.sequence(node, indent, inline),
            _ => {
                self.properties(node);
                self.flow_or_scalar(node, indent);
                self.line_comment(node.range().end);
                self.out.push(b'\n');
            }
        }
    }

    /// The tag and the anchor of a node.
    fn properties(&mut self, node: NodeRef<'o>) {
        if let Some(anchor) = node.anchor() {
            self.out.push(b'&');
            self.out.extend_from_slice(anchor);
            self.out.push(b' ');
        }
        if let Some(tag) = node.tag() {
            self.out.extend_from_slice(tag);
            self.out.push(b' ');
        }
    }

    fn mapping(&mut self, node: NodeRef<'o>, indent: usize, inline: bool) {
        for (at, entry) in node.entries().enumerate() {
            let begin = entry.key.range().start;
            let comments = self.comments_before(begin);
            if at > 0 || !inline {
                self.comment_lines(&comments, indent);
                if at == 0 && indent == 0 && self.followed_by_blank(begin) && !comments.is_empty() {
                    self.out.push(b'\n');
                }
                self.indent(indent);
            }
            self.out.extend_from_slice(entry.key.source());
            self.out.push(b':');
            self.cursor = entry.key.range().end;
            self.value(entry.value, indent, entry.key.range().end);
        }
    }

    /// Whether a blank line is right before an offset.
    fn followed_by_blank(&self, begin: usize) -> bool {
        let before = &self.outline.text()[..begin];
        let before = &before[..before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at)];
        let last = before.split(|byte| *byte == b'\n').next_back().unwrap_or_default();
        !before.is_empty() && last.trim_ascii().is_empty()
    }

    /// The value of a key, behind the colon.
    fn value(&mut self, value: NodeRef<'o>, indent: usize, colon: usize) {
        match value.kind() {
            Kind::Mapping | Kind::Sequence if !value.is_flow() => {
                if value.anchor().is_some() || value.tag().is_some() {
                    self.out.push(b' ');
                    self.properties(value);
                    self.out.pop();
                }
                self.line_comment(colon);
                self.out.push(b'\n');
                // Lists are as far left as their keys.
                let deeper = if value.kind() == Kind::Mapping { indent + 2 } else { indent };
                self.node(value, deeper, false);
            }
            Kind::Scalar(Style::Plain) if value.source().is_empty() => {
                if value.anchor().is_some() || value.tag().is_some() {
                    self.out.push(b' ');
                    self.properties(value);
                    self.out.pop();
                }
                self.line_comment(colon);
                self.out.push(b'\n');
            }
            _ => {
                self.out.push(b' ');
                self.node(value, indent, false);
            }
        }
    }

    fn sequence(&mut self, node: NodeRef<'o>, indent: usize, inline: bool) {
        for (at, item) in node.items().enumerate() {
            let begin = item.range().start;
            let comments = self.comments_before(begin);
            if at > 0 || !inline {
                self.comment_lines(&comments, indent);
                self.indent(indent);
            }
            self.out.extend_from_slice(b"- ");
            if item.kind() == Kind::Scalar(Style::Plain) && item.source().is_empty() {
                self.out.pop();
                self.out.push(b'\n');
                continue;
            }
            self.cursor = self.cursor.max(begin);
            let is_scalar = matches!(item.kind(), Kind::Scalar(_));
            self.node(item, if is_scalar { indent } else { indent + 2 }, true);
        }
    }

    /// A scalar, an alias or a flow collection, without what follows it.
    fn flow_or_scalar(&mut self, node: NodeRef<'o>, indent: usize) {
        match node.kind() {
            Kind::Mapping => {
                self.out.push(b'{');
                for (at, entry) in node.entries().enumerate() {
                    if at > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    self.out.extend_from_slice(entry.key.source());
                    if !entry.value.source().is_empty() {
                        self.out.extend_from_slice(b": ");
                        self.properties(entry.value);
                        self.flow_or_scalar(entry.value, indent);
                    }
                }
                self.out.push(b'}');
            }
            Kind::Sequence => {
                self.out.push(b'[');
                for (at, item) in node.items().enumerate() {
                    if at > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    self.properties(item);
                    self.flow_or_scalar(item, indent);
                }
                self.out.push(b']');
            }
            Kind::Alias => self.out.extend_from_slice(node.source()),
            Kind::Scalar(style) => self.scalar(node, style, indent),
        }
    }

    fn scalar(&mut self, node: NodeRef<'o>, style: Style, indent: usize) {
        let text = node.text();
        match style {
            Style::Literal | Style::Folded if fits_block(&text) => {
                let mark = if style == Style::Literal { b'|' } else { b'>' };
                self.block(&text, mark, indent + 2, style == Style::Folded);
            }
            // go-yaml's emitter falls back to double quotes where a block scalar would lose trailing blanks.
            Style::Literal | Style::Folded => self.double(&text),
            _ if node.source().contains(&b'\n') => match style {
                Style::Plain if !text.contains(&b'\n') => self.out.extend_from_slice(&text),
                _ => self.double(&text),
            },
            _ => self.out.extend_from_slice(node.source()),
        }
    }

    fn block(&mut self, text: &[u8], mark: u8, indent: usize, folded: bool) {
        self.out.push(mark);
        // The indentation cannot be detected from a first line that is blank or begins with a blank, so it is
        // stated.
        if matches!(text.first(), Some(b' ' | b'\n')) {
            self.out.push(b'2');
        }
        let body = match text {
            [.., b'\n', b'\n'] | [b'\n'] => {
                self.out.push(b'+');
                &text[..text.len() - 1]
            }
            [body @ .., b'\n'] => body,
            body => {
                self.out.push(b'-');
                body
            }
        };
        for (at, line) in body.split(|byte| *byte == b'\n').enumerate() {
            // A line break of a folded text is written as two.
            if folded && at > 0 && !line.is_empty() && !line.starts_with(b" ") {
                self.out.push(b'\n');
            }
            self.out.push(b'\n');
            if !line.is_empty() {
                self.indent(indent);
                self.out.extend_from_slice(line);
            }
        }
    }

    fn double(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for character in String::from_utf8_lossy(text).chars() {
            match character {
                '"' => self.out.extend_from_slice(b"\\\""),
                '\\' => self.out.extend_from_slice(b"\\\\"),
                '\n' => self.out.extend_from_slice(b"\\n"),
                '\t' => self.out.extend_from_slice(b"\\t"),
                '\r' => self.out.extend_from_slice(b"\\r"),
                character if character.is_control() => {
                    self.out.extend_from_slice(format!("\\x{:02X}", u32::from(character)).as_bytes());
                }
                character => self.out.extend_from_slice(character.to_string().as_bytes()),
            }
        }
        self.out.push(b'"');
    }
}

/// Whether a text can be a block: no blanks at the ends of its lines, and nothing that needs escapes.
fn fits_block(text: &[u8]) -> bool {
    !text.is_empty()
        && text
            .split(|byte| *byte == b'\n')
            .rev()
            .skip(usize::from(text.ends_with(b"\n")))
            .all(|line| !line.ends_with(b" "))
        && text.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\n' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        String::from_utf8(normalize(text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn lists_move_left_and_blank_lines_go() {
        let text = "a:\n    b:\n      - x:   1\n        y: 'q'\n\n      -   z\n    c: [1,2]\n    d: {e: f,g: \"h\"}\ni:\n";
        assert_eq!(
            normal(text),
            "a:\n  b:\n  - x: 1\n    y: 'q'\n  - z\n  c: [1, 2]\n  d: {e: f, g: \"h\"}\ni:\n"
        );
    }

    #[test]
    fn blocks_are_reindented_and_keep_their_ends() {
        let text = "a: |\n     x\n       y\n\n     z\nb: |-\n  q\nc:\n  - |+\n    t\n\n";
        assert_eq!(normal(text), "a: |\n  x\n    y\n\n  z\nb: |-\n  q\nc:\n- |+\n  t\n\n");
    }

    #[test]
    fn comments_stay_with_what_follows_them() {
        let text = "# head\n\na: 1   # one\n# two\nb:  # three\n    # four\n    c: d\n";
        assert_eq!(normal(text), "# head\n\na: 1 # one\n# two\nb: # three\n  # four\n  c: d\n");
    }

    #[test]
    fn what_is_normal_stays_as_it_is() {
        let text = "a: &x {b: c}\nd: *x\ne:\n- - 1\n  - 2\n- f: |\n    g\n  h: i\nj: []\nk: {}\n";
        assert_eq!(normal(text), text);
        assert_eq!(normal("# only\n"), "");
    }
}
