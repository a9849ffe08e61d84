//! Writes nodes with their comments and styles, as go-yaml 3 writes a `yaml.Node`.

use super::emitter::{Emitter, Flavor};
use super::scalar::Style as ScalarStyle;
use super::style::analyze;
use crate::commented::{Document, Kind, Node, Style};

/// The maximum nesting; only an alias of an enclosing node exceeds it.
const DEPTH: usize = 1_000;

impl Document {
    /// Writes a node with what is below it, with a line feed at the end. Aliases are replaced by what they stand for.
    pub fn write(&self, node: &Node) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer { document: self, emitter: Emitter::new(&mut out, Flavor::Wide) };
        writer.node(node, 0);
        writer.emitter.finish();
        out
    }
}

struct Writer<'d, 'o> {
    document: &'d Document,
    emitter: Emitter<'o>,
}

impl<'d> Writer<'d, '_> {
    fn get(&self, number: usize) -> &'d Node {
        match self.document.node(number) {
            Node { kind: Kind::Alias(target), .. } => self.document.node(*target),
            node => node,
        }
    }

    fn node(&mut self, node: &Node, depth: usize) {
        match node.kind {
            _ if depth > DEPTH => {}
            Kind::Mapping | Kind::Sequence if node.style == Style::Flow || node.children.is_empty() => {
                let mut text = Vec::new();
                self.flow(node, depth, &mut text);
                self.emitter.begin_node();
                self.emitter.plain_text(&text);
                self.beside(node);
            }
            Kind::Mapping => {
                self.emitter.begin_map(node.children.len());
                for pair in node.children.chunks_exact(2) {
                    let key = self.get(pair[0]);
                    self.above(key);
                    self.emitter.begin_key();
                    self.scalar(key);
                    self.emitter.colon();
                    self.node(self.get(pair[1]), depth + 1);
                    self.beside(key);
                }
                self.emitter.end();
            }
            Kind::Sequence => {
                self.emitter.begin_list(node.children.len());
                for &item in &node.children {
                    let item = self.get(item);
                    self.above(item);
                    self.node(item, depth + 1);
                }
                self.emitter.end();
            }
            Kind::Scalar | Kind::Alias(_) => {
                self.emitter.begin_node();
                self.scalar(node);
                self.beside(node);
            }
        }
    }

    fn scalar(&mut self, node: &Node) {
        let text = node.value.as_bytes();
        let indent = self.emitter.content_indent();
        match style(node) {
            // An empty plain scalar is null, which is written as nothing.
            ScalarStyle::Plain if text.is_empty() => {}
            style => self.emitter.scalar(text, style, indent, false),
        }
    }

    /// The comment above a key or an item.
    fn above(&mut self, node: &Node) {
        for line in node.head_comment.lines() {
            self.emitter.comment_line(line.as_bytes());
        }
    }

    /// The comment beside a value.
    fn beside(&mut self, node: &Node) {
        if !node.line_comment.is_empty() {
            self.emitter.plain_text(node.line_comment.as_bytes());
        }
    }

    fn flow(&self, node: &Node, depth: usize, out: &mut Vec<u8>) {
        let (open, close) = if node.kind == Kind::Mapping { (b'{', b'}') } else { (b'[', b']') };
        match node.kind {
            _ if depth > DEPTH => {}
            Kind::Mapping | Kind::Sequence => {
                out.push(open);
                let step = if node.kind == Kind::Mapping { 2 } else { 1 };
                for (index, entry) in node.children.chunks_exact(step).enumerate() {
                    if index > 0 {
                        out.extend_from_slice(b", ");
                    }
                    for (index, &part) in entry.iter().enumerate() {
                        if index > 0 {
                            out.extend_from_slice(b": ");
                        }
                        self.flow(self.get(part), depth + 1, out);
                    }
                }
                out.push(close);
            }
            Kind::Scalar | Kind::Alias(_) => {
                Emitter::new(out, Flavor::Wide).scalar(node.value.as_bytes(), style(node), 0, false);
            }
        }
    }
}

fn style(node: &Node) -> ScalarStyle {
    let text = node.value.as_bytes();
    match node.style {
        Style::SingleQuoted if analyze(text, true).single => ScalarStyle::Single,
        Style::SingleQuoted | Style::DoubleQuoted => ScalarStyle::Double,
        Style::Literal | Style::Folded if analyze(text, true).block => ScalarStyle::Literal,
        Style::Literal | Style::Folded => ScalarStyle::Double,
        Style::Plain | Style::Flow => ScalarStyle::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let document = Document::read(text.as_bytes()).expect("YAML").expect("a document");
        String::from_utf8(document.write(document.node(document.root()))).expect("UTF-8")
    }

    #[test]
    fn comments_order_and_styles_are_kept() {
        let text = "b: 'x' # beside\na:\n    # above\n    - 1\n    - c: \"y\"\n      d: [1, {e: f}]\nn:\nt: |\n    two\n    lines\n";
        assert_eq!(written(text), text);
        assert_eq!(written("a:\n  b: {}\n"), "a:\n    b: {}\n");
        assert_eq!(written("\"x\" # c"), "\"x\" # c\n");
    }
}
