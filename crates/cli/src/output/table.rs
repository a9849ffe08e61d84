//! Tables in Helm's layout (`gosuri/uitable`): columns padded to the widest cell and joined by tabs.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Formats rows of cells. Cells wider than `limit` are cut and end in `...`; 0 means no limit. There is no line break
/// after the last row.
pub(crate) fn table(rows: &[Vec<String>], limit: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let natural = cell.split('\n').map(width_of).max().unwrap_or(0);
            *width = (*width).max(if limit > 0 { natural.min(limit) } else { natural });
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect::<Vec<String>>().join("\n")
}

/// One row, which has as many lines as its tallest cell.
fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| truncate(cell, *width)).collect();
    let height = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(0);
    if height <= 1 {
        return cells.join("\t");
    }
    let part = |cell: &str, width: usize, at: usize| match cell.split('\n').nth(at) {
        Some(text) => truncate(text, width),
        None => " ".repeat(width.max(1)),
    };
    let lines = (0..height).map(|at| {
        let parts = cells.iter().zip(widths).map(|(cell, width)| part(cell, *width, at));
        parts.collect::<Vec<String>>().join("\t")
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// The width of a text on a terminal; color sequences and line breaks have none.
fn width_of(text: &str) -> usize {
    if !text.contains(['\u{1b}', '\n']) {
        return text.width();
    }
    let mut width = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // Our color sequences end with `m`.
            characters.by_ref().find(|c| *c == 'm');
        } else {
            width += character.width().unwrap_or(0);
        }
    }
    width
}

fn truncate(cell: &str, width: usize) -> String {
    let own = width_of(cell);
    if own <= width || width == 0 {
        return format!("{cell}{}", " ".repeat(width.saturating_sub(own)));
    }
    let mut text = String::new();
    let mut used = 0;
    for character in cell.chars() {
        text.push(character);
        let wide = character.width().unwrap_or(0);
        // The character that reaches the limit is still written: Helm's tables overshoot for wide characters.
        if used + wide + 3 >= width {
            break;
        }
        used += wide;
    }
    text.push_str("...");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn columns_are_padded_and_joined_by_tabs() {
        assert_eq!(table(&rows(&[&["NAME", "V"], &["é", "1.2"]]), 80), "NAME\tV  \né   \t1.2");
    }

    #[test]
    fn long_cells_are_cut_to_the_limit() {
        assert_eq!(table(&rows(&[&["abcdefghij", "x"]]), 8), "abcde...\tx");
        assert_eq!(table(&rows(&[&["abcdefghij"]]), 1), "a...");
    }

    #[test]
    fn colors_have_no_width() {
        assert_eq!(
            table(&rows(&[&["\u{1b}[1mN\u{1b}[22m", "x"], &["abc", "y"]]), 0),
            "\u{1b}[1mN\u{1b}[22m  \tx\nabc\ty"
        );
    }

    #[test]
    fn a_cell_of_several_lines_is_as_wide_as_the_widest_and_cut_by_the_sum() {
        assert_eq!(table(&rows(&[&["1", "ab\ncdefgh"], &["2", "x"]]), 0), "1\tab    \n \tc...  \n2\tx     ");
    }
}
