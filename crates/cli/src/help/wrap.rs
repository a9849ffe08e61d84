//! Fits texts to the width of the terminal.

use unicode_width::UnicodeWidthStr as _;

/// Wraps a text with paragraphs. Indented lines, lists and tables keep their line breaks, and are wrapped only if they are too
/// long; commands are never broken where that would change them.
pub(super) fn paragraphs(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut table: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(row) = line.strip_prefix('|') {
            flush(&mut paragraph, width, &mut out);
            table.extend(cells(row));
            continue;
        }
        out.push_str(&rows(&std::mem::take(&mut table), Some(width)));
        let is_text =
            !line.trim().is_empty() && !line.starts_with([' ', '|', '#']) && !line.starts_with("- ");
        if is_text {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line.trim_end());
            continue;
        }
        flush(&mut paragraph, width, &mut out);
        out.push_str(&indented(line, width));
        out.push('\n');
    }
    flush(&mut paragraph, width, &mut out);
    out.push_str(&rows(&table, Some(width)));
    out
}

/// The first cell of a row of a Markdown table, and the others; `None` for the line below the headings.
fn cells(row: &str) -> Option<(String, String)> {
    let mut cells = row.trim_end().trim_end_matches('|').split('|').map(str::trim);
    let first = cells.next()?;
    let rest: Vec<&str> = cells.collect();
    (!first.starts_with("---")).then(|| (format!("  {first}"), rest.join(" ")))
}

fn flush(paragraph: &mut String, width: usize, out: &mut String) {
    if !paragraph.is_empty() {
        out.push_str(&lines(paragraph, width, 0));
        out.push('\n');
        paragraph.clear();
    }
}

/// A line that keeps its indentation.
fn indented(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let (body, is_command) = (line.trim_start(), indent >= 4);
    let hang = indent + if body.starts_with("- ") || is_command { 2 } else { 0 };
    // A long command continues on the next line, as shells read it.
    let (room, end) = if is_command { (width.saturating_sub(2), " \\") } else { (width, "") };
    let wrapped = lines(body, room.saturating_sub(indent), hang - indent);
    let all: Vec<&str> = wrapped.lines().collect();
    let last = all.len().saturating_sub(1);
    let line = |(at, text): (usize, &&str)| {
        format!("{}{text}{}", " ".repeat(indent), if at < last { end } else { "" })
    };
    all.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Wraps words; all lines but the first are indented.
pub(super) fn lines(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.width();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Rows of two columns: a name, and a text that is wrapped beside it, or below it if the name is long.
pub(super) fn rows(rows: &[(String, String)], width: Option<usize>) -> String {
    let widest = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let column = match width {
        Some(width) => widest.min(width * 2 / 5),
        None => widest,
    };
    let mut out = String::new();
    for (name, text) in rows {
        let beside = column + 3;
        let text = match width {
            Some(width) => lines(text, width.saturating_sub(beside).max(20), 0),
            None => text.clone(),
        };
        let mut text = text.lines();
        if name.width() > column {
            out.push_str(&format!("{name}\n"));
        } else {
            let first = text.next().unwrap_or_default();
            out.push_str(format!("{name}{}   {first}", " ".repeat(column - name.width())).trim_end());
            out.push('\n');
        }
        text.for_each(|line| out.push_str(&format!("{}{line}\n", " ".repeat(beside))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_commands_keep_their_lines() {
        let text = "One long sentence that\ngoes on.\n\n    pintle install web ./web --set a=b --wait\n\n- a list item that is long enough\n";
        insta::assert_snapshot!(paragraphs(text, 30), @r"
        One long sentence that goes
        on.

            pintle install web ./web \
              --set a=b --wait

        - a list item that is long
          enough
        ");
    }

    #[test]
    fn a_long_name_has_its_text_below() {
        let all = [
            ("  --a".to_owned(), "first".to_owned()),
            ("  --a-very-long-name string".to_owned(), "second text".to_owned()),
        ];
        insta::assert_snapshot!(rows(&all, Some(40)), @r"
          --a              first
          --a-very-long-name string
                           second text
        ");
    }
}
