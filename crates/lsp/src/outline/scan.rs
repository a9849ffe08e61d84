//! Reads the nodes of an outline, line by line.

use std::ops::Range;

use pintle_tree::Str;

use super::{Id, Kind, Node};

/// The maximum nesting of collections in flow style.
const MAX_FLOW: usize = 64;
struct Scanner<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    /// Open nodes, innermost last; the first is the document.
    open: Vec<Id>,
    comments: Vec<Range<usize>>,
}

/// The nodes of a text.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let mut scanner = Scanner { text, nodes: Vec::new(), open: Vec::new(), comments: Vec::new() };
    scanner.document(0);
    scanner.lines();
    scanner.nodes
}

impl Scanner<'_> {
    fn document(&mut self, at: usize) {
        self.open.clear();
        self.comments.clear();
        let id = self.push(Kind::Document, String::new(), at..at, 0, None);
        self.open.push(id);
    }

    fn push(
        &mut self,
        kind: Kind,
        key: String,
        range: Range<usize>,
        indent: usize,
        parent: Option<Id>,
    ) -> Id {
        let id = self.nodes.len();
        let end = range.end;
        self.nodes.push(Node {
            kind,
            key,
            value: end..end,
            key_range: range,
            parent,
            children: Vec::new(),
            indent,
            comments: std::mem::take(&mut self.comments),
            end,
            anchor: None,
            alias: None,
            flow: false,
            bracket: false,
        });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(id);
        }
        id
    }

    fn lines(&mut self) {
        let mut at = 0;
        while at < self.text.len() {
            let end = self.text[at..].find('\n').map_or(self.text.len(), |length| at + length);
            at = self.line(at, end).max(end) + 1;
        }
    }

    /// Reads a line; returns the end of what was read, which may be lines later.
    fn line(&mut self, start: usize, end: usize) -> usize {
        let line = self.text[start..end].trim_end();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let content = &line[indent..];
        let at = start + indent;
        if content.trim_start_matches('\t').is_empty() {
            self.comments.clear();
            return end;
        }
        if content.starts_with('#') {
            self.comments.push(at..at + content.len());
            return end;
        }
        if indent == 0 && (content == "---" || content.starts_with("--- ")) {
            self.document(start);
            return end;
        }
        if indent == 0 && (content == "..." || content.starts_with('%')) {
            return end;
        }
        self.content(at, indent, start + line.len(), end)
    }

    /// Reads dashes, a key and a value that start at a column.
    fn content(&mut self, mut at: usize, mut indent: usize, stop: usize, line_end: usize) -> usize {
        loop {
            let rest = &self.text[at..stop];
            if rest != "-" && !rest.starts_with("- ") {
                break;
            }
            self.pop_for_item(indent);
            let parent = self.open.last().copied();
            let item = self.push(Kind::Item, String::new(), at..at + 1, indent, parent);
            self.open.push(item);
            let gap = rest[1..].len() - rest[1..].trim_start().len();
            (at, indent) = (at + 1 + gap, indent + 1 + gap);
            if at >= stop {
                self.extend(stop);
                return line_end;
            }
            if self.text[at..stop].starts_with('#') {
                self.extend(stop);
                return line_end;
            }
        }
        if let Some((key, key_range, value)) = self.key(at, stop) {
            self.pop_for_entry(indent);
            let parent = self.open.last().copied();
            let entry = self.push(Kind::Entry, key, key_range, indent, parent);
            self.open.push(entry);
            return self.value(entry, value, stop, line_end);
        }
        // A scalar as an item, or the continuation of one.
        match self.open.last().copied() {
            Some(item) if self.nodes[item].kind == Kind::Item && self.nodes[item].indent < indent => {
                self.value(item, at, stop, line_end)
            }
            Some(entry) if self.nodes[entry].kind == Kind::Entry && self.nodes[entry].indent < indent => {
                if self.nodes[entry].value.is_empty() && self.nodes[entry].children.is_empty() {
                    return self.value(entry, at, stop, line_end);
                }
                if self.nodes[entry].children.is_empty() {
                    self.nodes[entry].value.end = stop;
                    self.extend(stop);
                }
                line_end
            }
            Some(document)
                if self.nodes[document].kind == Kind::Document
                    && self.nodes[document].children.is_empty() =>
            {
                self.value(document, at, stop, line_end)
            }
            _ => line_end,
        }
    }

    fn pop_for_entry(&mut self, indent: usize) {
        while self.open.len() > 1 && self.open.last().is_some_and(|open| self.nodes[*open].indent >= indent) {
            self.open.pop();
        }
    }

    fn pop_for_item(&mut self, indent: usize) {
        while self.open.len() > 1
            && self.open.last().is_some_and(|open| {
                let node = &self.nodes[*open];
                node.indent > indent || node.indent == indent && node.kind == Kind::Item
            })
        {
            self.open.pop();
        }
    }

    /// Everything that is open contains what ends here.
    fn extend(&mut self, end: usize) {
        for id in &self.open {
            self.nodes[*id].end = self.nodes[*id].end.max(end);
        }
    }

    /// A key at a position: its name, its bytes, and where its value starts.
    fn key(&self, at: usize, stop: usize) -> Option<(String, Range<usize>, usize)> {
        let rest = &self.text[at..stop];
        let rest = rest.strip_prefix("? ").map_or(rest, |_| rest);
        let first = rest.chars().next()?;
        if matches!(first, '"' | '\'') {
            let length = quoted_length(rest)?;
            let after = &rest[length..];
            let colon = length + (after.len() - after.trim_start().len());
            if !is_colon(&rest[colon..]) {
                return None;
            }
            return Some((unquoted(&rest[..length]), at..at + length, at + colon + 1));
        }
        if matches!(first, '{' | '[' | '|' | '>' | '#' | '*' | '&' | '!' | '%' | '@' | '`')
            && !rest.starts_with("&")
        {
            return None;
        }
        let (mut skipped, mut rest) = (0, rest);
        if rest.starts_with('&') {
            let length = rest.find(' ')?;
            skipped = length + 1;
            rest = &rest[skipped..];
        }
        let mut from = 0;
        while let Some(found) = rest[from..].find([':', '#']) {
            let colon = from + found;
            if rest[colon..].starts_with('#') {
                if colon > 0 && rest[..colon].ends_with(' ') {
                    return None;
                }
            } else if is_colon(&rest[colon..]) {
                let name = rest[..colon].trim_end();
                let start = at + skipped;
                return Some((name.to_owned(), start..start + name.len(), start + colon + 1));
            }
            from = colon + 1;
        }
        None
    }

    /// Reads the value of a node that starts somewhere behind `from`.
    fn value(&mut self, id: Id, from: usize, stop: usize, line_end: usize) -> usize {
        let mut at = from;
        loop {
            at += self.text[at..stop].len() - self.text[at..stop].trim_start().len();
            let rest = &self.text[at..stop];
            let word = rest.split(char::is_whitespace).next().unwrap_or_default();
            if let Some(name) = word.strip_prefix('&') {
                self.nodes[id].anchor = Some(name.to_owned());
            } else if !word.starts_with('!') {
                break;
            }
            at += word.len();
        }
        self.extend(stop);
        let rest = &self.text[at..stop];
        match rest.chars().next() {
            None => {
                self.nodes[id].value = at.min(stop)..at.min(stop);
                line_end
            }
            Some('#') => {
                self.nodes[id].comments.push(at..stop);
                line_end
            }
            Some('|' | '>') => self.block_scalar(id, at, stop, line_end),
            Some('{' | '[') => self.flow_value(id, at, line_end),
            Some('"' | '\'') => {
                // Quoted text may go on for lines.
                let all = &self.text[at..];
                let length = quoted_length(all).unwrap_or(rest.len());
                self.nodes[id].value = at..at + length;
                self.extend(at + length);
                let end = self.line_end(at + length);
                self.trailing_comment(id, at + length, end.max(at + length));
                end.max(line_end)
            }
            Some('*') => {
                let name =
                    rest[1..].split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
                self.nodes[id].alias = Some(name.to_owned());
                self.nodes[id].value = at..at + 1 + name.len();
                line_end
            }
            Some(_) => {
                let length = rest.find(" #").unwrap_or(rest.len());
                let value = rest[..length].trim_end();
                self.nodes[id].value = at..at + value.len();
                if length < rest.len() {
                    self.nodes[id].comments.push(at + length + 1..stop);
                }
                line_end
            }
        }
    }

    fn trailing_comment(&mut self, id: Id, from: usize, end: usize) {
        let rest = self.text.get(from..end).unwrap_or_default();
        if let Some(at) = rest.find('#') {
            self.nodes[id].comments.push(from + at..end);
        }
    }

    fn line_end(&self, from: usize) -> usize {
        self.text[from..].find('\n').map_or(self.text.len(), |length| from + length)
    }

    /// Lines that are deeper than the node belong to its text.
    fn block_scalar(&mut self, id: Id, at: usize, stop: usize, line_end: usize) -> usize {
        let indent = match self.nodes[id].kind {
            Kind::Document => 0,
            // An item's text must be deeper than its dash, an entry's deeper than its key.
            _ => self.nodes[id].indent + 1,
        };
        let mut end = line_end;
        let mut last = stop;
        while end < self.text.len() {
            let next = self.line_end(end + 1);
            let line = &self.text[end + 1..next];
            let depth = line.len() - line.trim_start_matches(' ').len();
            if !line.trim().is_empty() {
                if depth < indent {
                    break;
                }
                last = end + 1 + line.trim_end().len();
            }
            end = next;
        }
        self.nodes[id].value = at..last;
        self.extend(last);
        end
    }

    fn flow_value(&mut self, id: Id, at: usize, line_end: usize) -> usize {
        let limit = self.flow_limit(id, line_end);
        let end = self.flow(id, at, limit, 0);
        self.nodes[id].value = at..end;
        self.extend(end);
        let rest_end = self.line_end(end);
        self.trailing_comment(id, end, rest_end);
        rest_end.max(line_end)
    }

    /// A collection in flow style that is not closed ends before the next line that cannot belong to it.
    fn flow_limit(&self, id: Id, line_end: usize) -> usize {
        let indent = self.nodes[id].indent;
        let mut end = line_end;
        while end < self.text.len() {
            let next = self.line_end(end + 1);
            let line = &self.text[end + 1..next];
            let depth = line.len() - line.trim_start_matches(' ').len();
            let closes = line.trim_start().starts_with([']', '}']);
            if !line.trim().is_empty() && depth <= indent && !closes && self.nodes[id].kind != Kind::Document
            {
                break;
            }
            end = next;
        }
        end
    }

    /// Reads `{…}` or `[…]`; returns where it ends.
    fn flow(&mut self, id: Id, start: usize, limit: usize, depth: usize) -> usize {
        self.nodes[id].flow = true;
        let is_map = self.text[start..].starts_with('{');
        self.nodes[id].bracket = !is_map;
        let mut at = start + 1;
        loop {
            at += self.text[at..limit].len()
                - self.text[at..limit].trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
            let rest = &self.text[at..limit];
            let Some(first) = rest.chars().next() else { return limit };
            match first {
                '}' | ']' => return at + 1,
                '#' => at = self.line_end(at).min(limit),
                _ if depth >= MAX_FLOW => return limit,
                _ => at = self.flow_part(id, at, limit, is_map, depth),
            }
        }
    }

    /// Reads an entry or an item of a collection in flow style; returns where it ends.
    fn flow_part(&mut self, id: Id, start: usize, limit: usize, is_map: bool, depth: usize) -> usize {
        let (length, _) = flow_scalar(&self.text[start..limit]);
        let after = start + length;
        let gap = self.text[after..limit].len() - self.text[after..limit].trim_start().len();
        let has_value = length > 0 && self.text[after + gap..limit].starts_with(':');
        let column = start - self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let (node, mut at) = if is_map || has_value {
            let key = unquoted(&self.text[start..after]);
            let node = self.push(Kind::Entry, key, start..after.max(start), column, Some(id));
            (node, if has_value { after + gap + 1 } else { after.max(start + usize::from(length == 0)) })
        } else {
            (self.push(Kind::Item, String::new(), start..start, column, Some(id)), start)
        };
        if is_map && !has_value {
            return self.next_boundary(at, limit);
        }
        at += self.text[at..limit].len() - self.text[at..limit].trim_start().len();
        let end = match self.text[at..limit].chars().next() {
            Some('{' | '[') => {
                let end = self.flow(node, at, limit, depth + 1);
                self.nodes[node].value = at..end;
                end
            }
            _ => {
                let (length, _) = flow_scalar(&self.text[at..limit]);
                let text = &self.text[at..at + length];
                if let Some(name) = text.strip_prefix('*') {
                    self.nodes[node].alias = Some(name.to_owned());
                }
                self.nodes[node].value = at..at + length;
                (at + length).max(start + 1).min(limit)
            }
        };
        self.nodes[node].end = end;
        let mut end = end;
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        end
    }

    fn next_boundary(&self, at: usize, limit: usize) -> usize {
        let mut at = at.min(limit);
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        at
    }
}

fn is_colon(rest: &str) -> bool {
    rest.starts_with(':') && rest[1..].chars().next().is_none_or(char::is_whitespace)
}

/// The length of a quoted text with its quotes; `None` if it is not closed.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == '"' => at += 2,
            b'\'' if quote == '\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if char::from(byte) == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// A key or a scalar without its quotes.
pub fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    if let Some(text) = inner('\'') {
        return text.replace("''", "'");
    }
    match inner('"') {
        Some(plain) if !plain.contains('\\') => plain.to_owned(),
        Some(_) => match pintle_yaml::read(text.as_bytes()) {
            Ok(node) => {
                node.as_text().map_or_else(|| text.to_owned(), |text: &Str| text.to_str_lossy().into_owned())
            }
            Err(_) => text.to_owned(),
        },
        None => text.to_owned(),
    }
}

/// A scalar in flow style: its length, and whether it is quoted.
fn flow_scalar(text: &str) -> (usize, bool) {
    if text.starts_with(['"', '\'']) {
        return (quoted_length(text).unwrap_or(text.len()), true);
    }
    let mut end = text.len();
    for (at, character) in text.char_indices() {
        let colon = character == ':'
            && text[at + 1..]
                .chars()
                .next()
                .is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '{' | '['));
        let comment = character == '#' && text[..at].ends_with(' ');
        if matches!(character, ',' | '}' | ']' | '{' | '[' | '\n') || colon || comment {
            end = at;
            break;
        }
    }
    (text[..end].trim_end().len(), false)
}
