//! Tables as Helm prints them: columns padded to their widest cell and joined by tabs.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Lays out rows of cells. Cells wider than `limit` are cut and end in `...`; 0 means no limit. There is no line break
/// after the last row.
pub(crate) fn table(rows: &[Vec<String>], limit: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            let wanted = cell.width();
            *width = (*width).max(if limit > 0 { wanted.min(limit) } else { wanted });
        }
    }
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| fit(cell, *width)).collect();
        cells.join("\t")
    };
    rows.iter().map(line).collect::<Vec<String>>().join("\n")
}

fn fit(cell: &str, width: usize) -> String {
    let own = cell.width();
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
}
