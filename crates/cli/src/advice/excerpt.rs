//! Excerpts of files: the position, the line, and a caret.

/// How much of a line an excerpt shows.
const WIDEST: usize = 160;

/// An excerpt of a line, counted from 1. `column` is a byte offset.
pub(super) fn excerpt(file: &str, line: usize, column: usize, text: &str) -> String {
    let column = column.min(text.len());
    // Tabs stay tabs, so that the caret lines up whatever their width.
    let before = String::from_utf8_lossy(&text.as_bytes()[..column]);
    let indent: String = before.chars().map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
    let margin = " ".repeat(line.to_string().len());
    let mut shown: String = text.chars().take(WIDEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    match before.chars().count() < WIDEST {
        true => format!("  --> {file}:{line}:{}\n  {line} | {shown}\n  {margin} | {indent}^", column + 1),
        false => format!("  --> {file}:{line}:{}\n  {line} | {shown}", column + 1),
    }
}

/// As [`excerpt`], with the caret below the first letter.
pub(super) fn excerpt_of_line(file: &str, line: usize, whole: &str) -> String {
    let text = whole.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let column = text.len() - text.trim_start().len();
    excerpt(file, line, column, text)
}
