//! Line numbers of mapping file entries, for messages. Only block style is recognised; otherwise there is no line, or
//! the line of the whole list.

/// The lines, counted from one, on which the items of the list under `key` start.
pub(super) fn item_lines(text: &[u8], key: &str) -> Vec<usize> {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !has_key(line, key));
    if lines.next().is_none() {
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut level = None;
    for (index, line) in lines {
        let content = line.trim_start();
        let depth = line.len() - content.len();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let is_item = content == "-" || content.starts_with("- ");
        match level {
            None if is_item => level = Some(depth),
            None => break,
            Some(level) if depth < level || (depth == level && !is_item) => break,
            Some(_) => {}
        }
        if is_item && level == Some(depth) {
            items.push(index + 1);
        }
    }
    items
}

/// The first line that has the key.
pub(super) fn key_line(text: &[u8], key: &str) -> Option<usize> {
    String::from_utf8_lossy(text).lines().position(|line| has_key(line, key)).map(|index| index + 1)
}

/// The line of the key in the item that starts on `line`; `line` itself if the item lacks the key.
pub(super) fn key_line_in_item(text: &[u8], key: &str, line: usize) -> usize {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines().enumerate().skip(line - 1);
    let Some((_, first)) = lines.next() else { return line };
    if has_key(first, key) {
        return line;
    }
    let depth = first.len() - first.trim_start().len();
    let inside = |line: &str| line.len() - line.trim_start().len() > depth;
    lines
        .take_while(|(_, line)| line.trim().is_empty() || inside(line))
        .find(|(_, line)| has_key(line, key))
        .map_or(line, |(index, _)| index + 1)
}

fn has_key(line: &str, key: &str) -> bool {
    let content = line.trim_start().trim_start_matches("- ").trim_start();
    let content = content.trim_start_matches(['"', '\'']);
    let rest = content.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']).trim_start());
    !key.is_empty() && rest.is_some_and(|rest| rest.starts_with(':'))
}
