//! The line diff of helm-diff: Hirschberg's algorithm, with the same choice among diffs of equal length.
//!
//! The rows of the matrix of longest common subsequences are computed 64 columns at a time, with the bit-vector
//! algorithm of Crochemore and others: the zero bits of a vector are the steps of a row.

/// On which sides a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On both.
    Common,
    /// Only on the old side.
    Old,
    /// Only on the new side.
    New,
}

/// A line of a diff: its side, and its byte range in the text of that side (the old one, if on both).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// On which sides it is.
    pub side: Side,
    start: u32,
    end: u32,
}

impl Line {
    /// The text of the line, without its line feed.
    pub fn text<'t>(&self, old: &'t [u8], new: &'t [u8]) -> &'t [u8] {
        let text = if self.side == Side::New { new } else { old };
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Compares two texts line by line. With `strip_cr`, a carriage return at the end of a line does not count.
pub fn diff(old: &[u8], new: &[u8], strip_cr: bool) -> Vec<Line> {
    let (old_lines, new_lines) = (split(old, strip_cr), split(new, strip_cr));
    let same = |a: &(u32, u32), b: &(u32, u32)| slice(old, *a) == slice(new, *b);
    let (start, end) = equal_ends(&old_lines, &new_lines, same);
    let mut out = Vec::with_capacity(old_lines.len().max(new_lines.len()));
    let line = |side, (start, end): (u32, u32)| Line { side, start, end };
    out.extend(old_lines[..start].iter().map(|range| line(Side::Common, *range)));
    let (old_end, new_end) = (old_lines.len() - end, new_lines.len() - end);
    let (old_middle, new_middle) = (&old_lines[start..old_end], &new_lines[start..new_end]);
    let (a, b) = number(old, old_middle, new, new_middle);
    let mut differ =
        Differ { rows: Rows::new(&b), a: &a, b: &b, steps: Vec::with_capacity(a.len() + b.len()) };
    differ.run(0, a.len(), 0, b.len());
    let (mut i, mut j) = (0, 0);
    for side in differ.steps {
        match side {
            Side::New => {
                out.push(line(side, new_middle[j]));
                j += 1;
            }
            Side::Old => {
                out.push(line(side, old_middle[i]));
                i += 1;
            }
            Side::Common => {
                out.push(line(side, old_middle[i]));
                i += 1;
                j += 1;
            }
        }
    }
    out.extend(old_lines[old_end..].iter().map(|range| line(Side::Common, *range)));
    out
}

fn slice(text: &[u8], (start, end): (u32, u32)) -> &[u8] {
    &text[start as usize..end as usize]
}

/// The ranges of the lines. A text that ends in a line feed has an empty last line, as in Go's `strings.Split`.
fn split(text: &[u8], strip_cr: bool) -> Vec<(u32, u32)> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let stripped = strip_cr && end > start && text[end - 1] == b'\r';
        lines.push((start as u32, (end - usize::from(stripped)) as u32));
        start = end + 1;
    }
    lines
}

/// The number of equal lines at the start and at the end. One line on each side is left at the end, as in helm-diff.
fn equal_ends<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (mut i, mut j, mut end) = (old.len(), new.len(), 0);
    while i > start + 1 && j > start + 1 && same(&old[i - 1], &new[j - 1]) {
        i -= 1;
        j -= 1;
        end += 1;
    }
    (start, end)
}

/// Replaces lines by numbers that are equal where the lines are.
fn number(old: &[u8], a: &[(u32, u32)], new: &[u8], b: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let all = a.iter().map(|range| slice(old, *range)).chain(b.iter().map(|range| slice(new, *range)));
    let mut sorted: Vec<(&[u8], usize)> = all.enumerate().map(|(index, line)| (line, index)).collect();
    // Equal lines get equal numbers, so that texts are compared only here.
    sorted.sort_unstable();
    let mut numbers = vec![0u32; sorted.len()];
    let mut current = 0;
    for index in 0..sorted.len() {
        if index > 0 && sorted[index].0 != sorted[index - 1].0 {
            current += 1;
        }
        numbers[sorted[index].1] = current;
    }
    let right = numbers.split_off(a.len());
    (numbers, right)
}

struct Differ<'l> {
    a: &'l [u32],
    b: &'l [u32],
    rows: Rows,
    steps: Vec<Side>,
}

impl Differ<'_> {
    /// Compares `a[a0..a1]` with `b[b0..b1]`. The depth of the recursion is the logarithm of the length.
    fn run(&mut self, a0: usize, a1: usize, b0: usize, b1: usize) {
        if a0 == a1 || b0 == b1 {
            self.steps.extend(std::iter::repeat_n(Side::Old, a1 - a0));
            self.steps.extend(std::iter::repeat_n(Side::New, b1 - b0));
            return;
        }
        if a1 - a0 == 1 {
            return self.single(self.a[a0], b0, b1);
        }
        let middle = a0 + (a1 - a0) / 2;
        let forward = self.rows.forward(&self.a[a0..middle], b0, b1);
        let backward = self.rows.backward(&self.a[middle..a1], b0, b1);
        let (mut split, mut best) = (0, None);
        for (at, (before, after)) in forward.iter().zip(backward.iter().rev()).enumerate() {
            let score = before + after;
            // The first of equal splits, as in helm-diff: which of several shortest diffs is shown depends on it.
            if best.is_none_or(|best| score > best) {
                (split, best) = (at, Some(score));
            }
        }
        self.run(a0, middle, b0, b0 + split);
        self.run(middle, a1, b0 + split, b1);
    }

    /// One old line: it matches the last equal new line.
    fn single(&mut self, line: u32, b0: usize, b1: usize) {
        match self.b[b0..b1].iter().rposition(|other| *other == line) {
            Some(found) => {
                self.steps.extend(std::iter::repeat_n(Side::New, found));
                self.steps.push(Side::Common);
                self.steps.extend(std::iter::repeat_n(Side::New, b1 - b0 - found - 1));
            }
            None => {
                self.steps.push(Side::Old);
                self.steps.extend(std::iter::repeat_n(Side::New, b1 - b0));
            }
        }
    }
}

/// Computes rows of the matrix.
struct Rows {
    /// For each number, where its positions in `b` start in `positions`.
    starts: Vec<u32>,
    positions: Vec<u32>,
    mask: Vec<u64>,
    vector: Vec<u64>,
}

impl Rows {
    fn new(b: &[u32]) -> Rows {
        let kinds = b.iter().max().map_or(0, |most| *most as usize + 1);
        let mut starts = vec![0u32; kinds + 1];
        for number in b {
            starts[*number as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut positions = vec![0u32; b.len()];
        for (position, number) in b.iter().enumerate() {
            let slot = &mut next[*number as usize];
            positions[*slot as usize] = position as u32;
            *slot += 1;
        }
        let words = b.len().div_ceil(64);
        Rows { starts, positions, mask: vec![0; words], vector: vec![0; words] }
    }

    /// The lengths of the longest common subsequences of `a` and all beginnings of `b[b0..b1]`, shortest first.
    fn forward(&mut self, a: &[u32], b0: usize, b1: usize) -> Vec<u32> {
        self.row(a.iter(), b0, b1, |position| position - b0)
    }

    /// The same for all ends of `b[b0..b1]`, shortest first.
    fn backward(&mut self, a: &[u32], b0: usize, b1: usize) -> Vec<u32> {
        self.row(a.iter().rev(), b0, b1, |position| b1 - 1 - position)
    }

    fn row<'a>(
        &mut self,
        a: impl Iterator<Item = &'a u32>,
        b0: usize,
        b1: usize,
        bit: impl Fn(usize) -> usize,
    ) -> Vec<u32> {
        let words = (b1 - b0).div_ceil(64);
        // No steps: the empty text has nothing in common with anything.
        self.vector[..words].fill(u64::MAX);
        for number in a {
            self.add_row(*number as usize, b0, b1, words, &bit);
        }
        let mut row = Vec::with_capacity(b1 - b0 + 1);
        let mut length = 0;
        row.push(0);
        for index in 0..b1 - b0 {
            length += u32::from(self.vector[index / 64] >> (index % 64) & 1 == 0);
            row.push(length);
        }
        row
    }

    fn add_row(&mut self, number: usize, b0: usize, b1: usize, words: usize, bit: &impl Fn(usize) -> usize) {
        let Some(&end) = self.starts.get(number + 1) else { return };
        let positions = &self.positions[self.starts[number] as usize..end as usize];
        let from = positions.partition_point(|position| (*position as usize) < b0);
        let to = positions.partition_point(|position| (*position as usize) < b1);
        if from == to {
            return;
        }
        let (mut lowest, mut highest) = (usize::MAX, 0);
        for position in &positions[from..to] {
            let bit = bit(*position as usize);
            self.mask[bit / 64] |= 1 << (bit % 64);
            lowest = lowest.min(bit / 64);
            highest = highest.max(bit / 64);
        }
        let mut carry = false;
        for word in lowest..words {
            // Without matches and carry, the rest of the row stays as it is.
            if word > highest && !carry {
                break;
            }
            let (vector, mask) = (self.vector[word], self.mask[word]);
            // `V = (V + (V & M)) | (V & !M)`: the addition moves each step of the row to the first match before it.
            // Its carry continues in the next word.
            let matched = vector & mask;
            let (sum, first) = vector.overflowing_add(matched);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            self.vector[word] = sum | (vector & !mask);
            self.mask[word] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let lines = diff(old.as_bytes(), new.as_bytes(), false);
        let show = |line: &Line| {
            let sign = match line.side {
                Side::Common => ' ',
                Side::Old => '-',
                Side::New => '+',
            };
            format!("{sign}{}", String::from_utf8_lossy(line.text(old.as_bytes(), new.as_bytes())))
        };
        lines.iter().map(show).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn equal_lines_match_as_late_as_possible() {
        assert_eq!(shown("a", "b\na\nc\na\nd"), "+b|+a|+c| a|+d");
        assert_eq!(shown("a\nb\nc", "a\nx\nc"), " a|-b|+x| c");
        assert_eq!(shown("", "a\nb"), "-|+a|+b");
        assert_eq!(shown("a\nb\n", "a\nb\n"), " a| b| ");
    }

    #[test]
    fn carriage_returns_can_be_ignored() {
        let lines = diff(b"a\r\nb", b"a\nb\r", true);
        assert!(lines.iter().all(|line| line.side == Side::Common), "{lines:?}");
        assert_eq!(lines[0].text(b"a\r\nb", b""), b"a");
    }

    /// The quadratic algorithm, as a reference.
    fn slow(a: &[u32], b: &[u32], steps: &mut Vec<Side>) {
        fn row(a: &[u32], b: &[u32]) -> Vec<u32> {
            let mut previous = vec![0; b.len() + 1];
            for x in a {
                let mut current = vec![0; b.len() + 1];
                for (j, y) in b.iter().enumerate() {
                    current[j + 1] =
                        if x == y { previous[j] + 1 } else { u32::max(previous[j + 1], current[j]) };
                }
                previous = current;
            }
            previous
        }
        if a.len() < 2 || b.is_empty() {
            let mut differ = Differ { rows: Rows::new(b), a, b, steps: Vec::new() };
            differ.run(0, a.len(), 0, b.len());
            steps.append(&mut differ.steps);
            return;
        }
        let (left, right) = a.split_at(a.len() / 2);
        let forward = row(left, b);
        let reversed = |list: &[u32]| list.iter().rev().copied().collect::<Vec<_>>();
        let backward = row(&reversed(right), &reversed(b));
        let scores: Vec<u32> = (0..=b.len()).map(|j| forward[j] + backward[b.len() - j]).collect();
        let best = scores.iter().max().copied().unwrap_or(0);
        let split = scores.iter().position(|score| *score == best).unwrap_or(0);
        slow(left, &b[..split], steps);
        slow(right, &b[split..], steps);
    }

    #[test]
    fn bit_vectors_choose_as_the_matrix_does() {
        let mut state = 7u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for round in 0..300 {
            let kinds = 2 + round % 9;
            let mut list = |most: u64| (0..next(most)).map(|_| next(kinds) as u32).collect::<Vec<_>>();
            let (a, b) = (list(200), list(200));
            let mut differ = Differ { rows: Rows::new(&b), a: &a, b: &b, steps: Vec::new() };
            differ.run(0, a.len(), 0, b.len());
            let mut expected = Vec::new();
            slow(&a, &b, &mut expected);
            assert_eq!(differ.steps, expected, "round {round}");
        }
    }
}
