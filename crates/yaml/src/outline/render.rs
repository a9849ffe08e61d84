//! Text for new nodes: scalars in the style of what they replace, and small trees in block or flow style.

use pintle_tree::{Map, Node, number};

use super::node_ref::{Kind, NodeRef, Style};
use crate::write::{double_quoted, is_block, is_plain, is_single, literal_block, single_quoted};

/// The context of new text.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenderContext {
    /// Whether it is in flow style.
    pub(super) flow: bool,
    /// Whether all strings there are in double quotes, as in JSON.
    pub(super) json: bool,
    /// What ends lines.
    pub(super) line_break: &'static [u8],
}

impl RenderContext {
    /// A string, without quotes if that is safe.
    pub(super) fn string(self, text: &[u8], out: &mut Vec<u8>) {
        if !self.json && is_plain(text) && (!self.flow || is_plain_in_flow(text)) {
            out.extend_from_slice(text);
        } else {
            // Double quotes can express every string, also line breaks and control characters on one line.
            double_quoted(text, out);
        }
    }

    /// A tree on one line.
    pub(super) fn inline(self, node: &Node, out: &mut Vec<u8>) {
        match node {
            Node::Nil => out.extend_from_slice(b"null"),
            Node::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Node::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Node::Float(value) => {
                let text = number::format_json(*value).unwrap_or_else(|| "null".to_owned());
                out.extend_from_slice(text.as_bytes());
            }
            Node::Str(text) => self.string(text.as_bytes(), out),
            Node::List(items) => {
                out.push(b'[');
                self.joined(items.iter().map(|item| (None, item)), out);
                out.push(b']');
            }
            Node::Map(map) => {
                out.push(b'{');
                self.joined(map.iter().map(|(key, value)| (Some(key.as_bytes()), value)), out);
                out.push(b'}');
            }
        }
    }

    /// Items or entries with commas between them.
    pub(super) fn joined<'n>(
        self,
        children: impl Iterator<Item = (Option<&'n [u8]>, &'n Node)>,
        out: &mut Vec<u8>,
    ) {
        let inside = RenderContext { flow: true, ..self };
        for (number, (key, value)) in children.enumerate() {
            if number > 0 {
                out.extend_from_slice(b", ");
            }
            inside.entry_inline(key, value, out);
        }
    }

    fn entry_inline(self, key: Option<&[u8]>, value: &Node, out: &mut Vec<u8>) {
        if let Some(key) = key {
            self.string(key, out);
            out.extend_from_slice(b": ");
        }
        self.inline(value, out);
    }

    /// An entry or an item of a block at column `indent`, where the output already is.
    pub(super) fn child(self, key: Option<&[u8]>, value: &Node, indent: usize, out: &mut Vec<u8>) {
        match key {
            Some(key) => {
                self.string(key, out);
                out.push(b':');
                self.block_value(value, indent, out);
            }
            None => {
                out.extend_from_slice(b"- ");
                match value {
                    Node::Map(map) if !map.is_empty() => self.block_map(map, indent + 2, out),
                    other => self.inline(other, out),
                }
            }
        }
    }

    /// The entries of a block at column `indent`, where the output already is.
    fn block_map(self, map: &Map<Node>, indent: usize, out: &mut Vec<u8>) {
        for (number, (key, value)) in map.iter().enumerate() {
            if number > 0 {
                self.new_line(indent, out);
            }
            self.child(Some(key.as_bytes()), value, indent, out);
        }
    }

    /// What follows the colon of a key at column `indent`.
    fn block_value(self, value: &Node, indent: usize, out: &mut Vec<u8>) {
        match value {
            Node::Map(map) if !map.is_empty() => {
                self.new_line(indent + 2, out);
                self.block_map(map, indent + 2, out);
            }
            // At the column of the key, as go-yaml 2 writes lists.
            Node::List(items) if !items.is_empty() => {
                for item in items {
                    self.new_line(indent, out);
                    self.child(None, item, indent, out);
                }
            }
            other => {
                out.push(b' ');
                self.inline(other, out);
            }
        }
    }

    pub(super) fn new_line(self, indent: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line_break);
        out.resize(out.len() + indent, b' ');
    }
}

/// Whether plain text is safe in a flow collection, too.
fn is_plain_in_flow(text: &[u8]) -> bool {
    let mut bytes = text.iter().peekable();
    if text.starts_with(b":") {
        return false;
    }
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'[' | b']' | b'{' | b'}' | b'?' => return false,
            // In brackets a colon can separate without a blank after it; only one as in `a:80` or `http://`
            // is safe.
            b':' if !bytes.peek().is_some_and(|next| next.is_ascii_alphanumeric() || **next == b'/') => {
                return false;
            }
            _ => {}
        }
    }
    true
}

/// A string in the style of the scalar that it replaces, as far as the string allows it.
pub(super) fn in_style_of(node: NodeRef<'_>, text: &str, setting: RenderContext) -> Vec<u8> {
    let (bytes, mut out) = (text.as_bytes(), Vec::with_capacity(text.len() + 4));
    match node.kind() {
        Kind::Scalar(Style::Single) if is_single(bytes) => single_quoted(bytes, &mut out),
        Kind::Scalar(Style::Single | Style::Double) => double_quoted(bytes, &mut out),
        Kind::Scalar(Style::Literal | Style::Folded) if is_block(bytes) && node.has_lines() => {
            block(node, text, setting, &mut out)
        }
        _ => {
            write_lead(node, setting, &mut out);
            setting.string(bytes, &mut out);
        }
    }
    out
}

/// Writes what must precede a new value where none is written yet: a blank, and the colon if that is missing, too.
pub(super) fn write_lead(node: NodeRef<'_>, setting: RenderContext, out: &mut Vec<u8>) {
    let (outline, start) = (node.outline, node.range().start);
    if !node.range().is_empty() {
        return;
    }
    if node.is_root() {
        if outline.text[..start].ends_with(b"---") {
            out.push(b' ');
        } else if outline.line_start(start) < start {
            out.extend_from_slice(setting.line_break);
        }
        return;
    }
    if node.lacks_colon() {
        if !setting.flow {
            setting.new_line(node.parent().map_or(0, NodeRef::indentation), out);
        }
        out.push(b':');
    }
    out.push(b' ');
}

/// The offset of the question mark before a key, if there is one. In brackets it needs no blank; on a line before the key
/// it counts only if nothing but dashes precedes it.
pub(super) fn question_mark(text: &[u8], start: usize) -> usize {
    let before = text[..start].trim_ascii_end();
    let Some(line) = before.strip_suffix(b"?") else { return start };
    let same_line = text[before.len()..start].iter().all(|byte| matches!(byte, b' ' | b'\t'));
    let alone = || {
        line.iter().rev().take_while(|byte| !matches!(byte, b'\n' | b'\r')).all(|byte| b" -".contains(byte))
    };
    if same_line || alone() { line.len() } else { start }
}

/// A literal block with the indentation of the one it replaces, without its last line break.
fn block(node: NodeRef<'_>, text: &str, setting: RenderContext, out: &mut Vec<u8>) {
    let indent = node.outline.item(node.index).next as usize;
    if indent == 0 {
        return double_quoted(text.as_bytes(), out);
    }
    let mut lines = Vec::with_capacity(text.len() + 16);
    literal_block(text.as_bytes(), indent, &mut lines);
    // The break that ends the block is in the document already, unless it ends there.
    let ends = node.range().end == node.outline.text.len();
    if !ends && lines.ends_with(b"\n") {
        lines.pop();
    }
    for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        if number > 0 {
            out.extend_from_slice(setting.line_break);
        }
        out.extend_from_slice(line);
    }
}
