//! XML as Go's `encoding/xml` writes it.

/// An element.
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Content,
}

enum Content {
    Children(Vec<Element>),
    Text(String),
    Raw(String),
}

impl Element {
    pub(super) fn new(name: &'static str) -> Self {
        Element { name, attributes: Vec::new(), content: Content::Children(Vec::new()) }
    }

    /// An element with text, in which line feeds are escaped.
    pub(super) fn text(name: &'static str, text: impl Into<String>) -> Self {
        Element { name, attributes: Vec::new(), content: Content::Text(text.into()) }
    }

    /// An element with a section of text as it is.
    pub(super) fn raw(name: &'static str, text: impl Into<String>) -> Self {
        Element { name, attributes: Vec::new(), content: Content::Raw(text.into()) }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    pub(super) fn child(mut self, child: Element) -> Self {
        if let Content::Children(children) = &mut self.content {
            children.push(child);
        }
        self
    }

    pub(super) fn children(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Element::child)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text.push('\n');
        text
    }

    fn write(&self, depth: usize, out: &mut String) {
        out.extend(std::iter::repeat_n('\t', depth));
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push_str(&format!(" {name}=\""));
            escape(value, out);
            out.push('"');
        }
        out.push('>');
        match &self.content {
            Content::Children(children) if children.is_empty() => {}
            Content::Children(children) => {
                for child in children {
                    out.push('\n');
                    child.write(depth + 1, out);
                }
                out.push('\n');
                out.extend(std::iter::repeat_n('\t', depth));
            }
            Content::Text(text) => escape(text, out),
            Content::Raw(text) if text.is_empty() => {}
            Content::Raw(text) => {
                out.push_str("<![CDATA[");
                out.push_str(&text.replace("]]>", "]]]]><![CDATA[>"));
                out.push_str("]]>");
            }
        }
        out.push_str(&format!("</{}>", self.name));
    }
}

fn escape(text: &str, out: &mut String) {
    for next in text.chars() {
        match next {
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' => out.push_str("&#x9;"),
            '\n' => out.push_str("&#xA;"),
            '\r' => out.push_str("&#xD;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            other => out.push(other),
        }
    }
}
