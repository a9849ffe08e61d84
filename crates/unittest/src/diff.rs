//! Unified differences with one line of context, as Python's difflib and its Go port make them.

use std::collections::BTreeMap;

/// The lines around a change.
const CONTEXT: usize = 1;

/// From this many lines on, those that occur too often are not used to find matches.
const POPULAR_FROM: usize = 200;

/// Returns the difference between two texts, or an empty text if they are equal.
pub(crate) fn unified(expected: &str, actual: &str) -> String {
    let (a, b) = (split(expected), split(actual));
    let mut text = String::new();
    for group in grouped(&opcodes(&a, &b)) {
        if text.is_empty() {
            text.push_str("--- Expected\n+++ Actual\n");
        }
        let (first, last) = (&group[0], &group[group.len() - 1]);
        text.push_str(&format!("@@ -{} +{} @@\n", range(first.a.0, last.a.1), range(first.b.0, last.b.1)));
        for code in &group {
            if code.equal {
                a[code.a.0..code.a.1].iter().for_each(|line| push(&mut text, ' ', line));
            } else {
                a[code.a.0..code.a.1].iter().for_each(|line| push(&mut text, '-', line));
                b[code.b.0..code.b.1].iter().for_each(|line| push(&mut text, '+', line));
            }
        }
    }
    text
}

fn push(text: &mut String, mark: char, line: &str) {
    text.push(mark);
    text.push_str(line);
    text.push('\n');
}

/// The lines of a text; a text that ends in a line feed has an empty last line.
fn split(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Ranges of both texts that are equal or replace each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpCode {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

fn opcodes(a: &[&str], b: &[&str]) -> Vec<OpCode> {
    let mut codes = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (at_a, at_b, length) in matching_blocks(a, b) {
        if i < at_a || j < at_b {
            codes.push(OpCode { equal: false, a: (i, at_a), b: (j, at_b) });
        }
        (i, j) = (at_a + length, at_b + length);
        if length > 0 {
            codes.push(OpCode { equal: true, a: (at_a, i), b: (at_b, j) });
        }
    }
    codes
}

/// The matching blocks in order, adjacent ones joined, and an empty one at the end.
fn matching_blocks(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let positions = positions(b);
    let mut found = Vec::new();
    let mut open = vec![(0, a.len(), 0, b.len())];
    while let Some((a_low, a_high, b_low, b_high)) = open.pop() {
        let (i, j, length) = longest(a, b, &positions, (a_low, a_high), (b_low, b_high));
        if length == 0 {
            continue;
        }
        found.push((i, j, length));
        open.push((a_low, i, b_low, j));
        open.push((i + length, a_high, j + length, b_high));
    }
    found.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, length) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += length,
            _ => joined.push((i, j, length)),
        }
    }
    joined.push((a.len(), b.len(), 0));
    joined
}

/// Where each line of `b` stands, without those that occur too often.
fn positions<'t>(b: &[&'t str]) -> BTreeMap<&'t str, Vec<usize>> {
    let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, line) in b.iter().enumerate() {
        positions.entry(line).or_default().push(index);
    }
    if b.len() >= POPULAR_FROM {
        positions.retain(|_, at| at.len() <= b.len() / 100 + 1);
    }
    positions
}

/// The longest match in these ranges; of several the first in `a`, then in `b`.
fn longest(
    a: &[&str],
    b: &[&str],
    positions: &BTreeMap<&str, Vec<usize>>,
    (a_low, a_high): (usize, usize),
    (b_low, b_high): (usize, usize),
) -> (usize, usize, usize) {
    let (mut best_i, mut best_j, mut best) = (a_low, b_low, 0);
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, line) in a.iter().enumerate().take(a_high).skip(a_low) {
        let mut next = BTreeMap::new();
        for &j in positions.get(line).map_or(&[][..], Vec::as_slice) {
            if j < b_low {
                continue;
            }
            if j >= b_high {
                break;
            }
            let length =
                j.checked_sub(1).and_then(|before| lengths.get(&before)).map_or(1, |length| length + 1);
            next.insert(j, length);
            if length > best {
                (best_i, best_j, best) = (i + 1 - length, j + 1 - length, length);
            }
        }
        lengths = next;
    }
    // Lines that occur too often extend a match.
    while best_i > a_low && best_j > b_low && a[best_i - 1] == b[best_j - 1] {
        (best_i, best_j, best) = (best_i - 1, best_j - 1, best + 1);
    }
    while best_i + best < a_high && best_j + best < b_high && a[best_i + best] == b[best_j + best] {
        best += 1;
    }
    (best_i, best_j, best)
}

/// Splits the ranges where the equal part between two changes is longer than their contexts.
fn grouped(codes: &[OpCode]) -> Vec<Vec<OpCode>> {
    let mut codes = codes.to_vec();
    let tail = |range: (usize, usize)| (range.0.max(range.1.saturating_sub(CONTEXT)), range.1);
    let head = |range: (usize, usize)| (range.0, range.1.min(range.0 + CONTEXT));
    if let Some(first) = codes.first_mut().filter(|code| code.equal) {
        (first.a, first.b) = (tail(first.a), tail(first.b));
    }
    if let Some(last) = codes.last_mut().filter(|code| code.equal) {
        (last.a, last.b) = (head(last.a), head(last.b));
    }
    let mut groups = Vec::new();
    let mut group: Vec<OpCode> = Vec::new();
    for mut code in codes {
        if code.equal && code.a.1 - code.a.0 > 2 * CONTEXT {
            group.push(OpCode { equal: true, a: head(code.a), b: head(code.b) });
            groups.push(std::mem::take(&mut group));
            (code.a, code.b) = (tail(code.a), tail(code.b));
        }
        group.push(code);
    }
    // A group without a change is only the trailing context of the last change.
    if group.iter().any(|code| !code.equal) {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn changes_have_one_line_around_them() {
        let expected = "a\nb\nc\nd\ne\nf\ng\n";
        let actual = "a\nb\nx\nd\ne\nf\ng\nh\n";
        assert_eq!(
            unified(expected, actual),
            "--- Expected\n+++ Actual\n@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n@@ -7,2 +7,3 @@\n g\n+h\n \n"
        );
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("a\n", "a\n"), "");
    }
}
