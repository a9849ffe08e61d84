//! Which value a template reads where the other version of the template reads another: lines of templates that are equal but
//! for the values in them.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_render::uses::{Segment, ValueUse};
use pintle_tree::ValuePath;

use crate::side::Side;

/// For each value of the old chart, the values that the new chart reads in its place, with the number of places.
#[derive(Debug, Default)]
pub(crate) struct Replaced(BTreeMap<ValuePath, BTreeMap<ValuePath, usize>>);

/// Templates with more lines are not compared.
const MAX_LINES: usize = 4_000;

/// The most cells of a comparison of two texts.
const MAX_CELLS: usize = 4_000_000;

/// How much of two lines has to be equal for one to be the other, changed.
const SIMILAR: f64 = 0.6;

impl Replaced {
    /// Compares the templates of two charts.
    pub(crate) fn between(old: &Side<'_>, new: &Side<'_>) -> Self {
        let (olds, news) = (templates(&old.all), templates(&new.all));
        let (old_reads, new_reads) = (by_file(old), by_file(new));
        let mut replaced = Replaced::default();
        for (old_path, new_path) in pairs(&olds, &news) {
            let nothing = BTreeMap::new();
            let old_lines = old_reads.get(old_path).unwrap_or(&nothing);
            let new_lines = new_reads.get(new_path).unwrap_or(&nothing);
            for (left, right) in aligned(&olds[old_path], &news[new_path]) {
                let nobody = Vec::new();
                let left = old_lines.get(&(left + 1)).unwrap_or(&nobody);
                let right = new_lines.get(&(right + 1)).unwrap_or(&nobody);
                replaced.add_line(left, right);
            }
        }
        replaced
    }

    /// The values read in place of one, or of what contains it, with the share of places that read it.
    pub(crate) fn of(&self, path: &ValuePath) -> Vec<(ValuePath, f64)> {
        let mut found = Vec::new();
        for depth in (1..=path.segments().len()).rev() {
            let (above, below) = path.segments().split_at(depth);
            let Some(news) = self.0.get(&ValuePath::from(above.to_vec())) else { continue };
            let total: usize = news.values().sum();
            for (new, count) in news {
                let moved = crate::value_tree::joined(new, below);
                if moved != *path && !found.iter().any(|(known, _)| *known == moved) {
                    found.push((moved, *count as f64 / total as f64));
                }
            }
        }
        found
    }

    fn add_line(&mut self, left: &[&ValueUse], right: &[&ValueUse]) {
        let (lefts, rights) = (columns(left), columns(right));
        if lefts.len() != rights.len() {
            return;
        }
        for (olds, news) in lefts.iter().zip(&rights) {
            // A helper that several contexts call reads several values in one place.
            for old in olds {
                let best = match news.contains(old) {
                    true => Some(old),
                    false if olds.len() == 1 && news.len() == 1 => news.iter().next(),
                    false => nearest(old, news),
                };
                if let Some(new) = best {
                    *self.0.entry(old.clone()).or_default().entry(new.clone()).or_default() += 1;
                }
            }
        }
    }
}

/// Of several values, the one whose last keys agree most, if only one does.
fn nearest<'n>(old: &ValuePath, news: &'n BTreeSet<ValuePath>) -> Option<&'n ValuePath> {
    let common = |new: &ValuePath| {
        old.segments().iter().rev().zip(new.segments().iter().rev()).take_while(|(a, b)| a == b).count()
    };
    let best = news.iter().map(common).max().filter(|most| *most > 0)?;
    let mut all = news.iter().filter(|new| common(new) == best);
    all.next().filter(|_| all.next().is_none())
}

/// The values read on a line, by column.
fn columns(reads: &[&ValueUse]) -> Vec<BTreeSet<ValuePath>> {
    let mut found: BTreeMap<usize, BTreeSet<ValuePath>> = BTreeMap::new();
    for read in reads {
        if let Some(path) = concrete(&read.path) {
            found.entry(read.column).or_default().insert(path);
        }
    }
    found.into_values().collect()
}

/// The path up to the first key that is not known.
pub(crate) fn concrete(path: &[Segment]) -> Option<ValuePath> {
    let mut known = ValuePath::root();
    for segment in path {
        match segment {
            Segment::Key(key) => known = known.key(key.clone()),
            Segment::Any => break,
        }
    }
    (!known.segments().is_empty()).then_some(known)
}

type Lines<'s> = BTreeMap<usize, Vec<&'s ValueUse>>;

fn by_file<'s>(side: &'s Side<'_>) -> BTreeMap<&'s str, Lines<'s>> {
    let mut found: BTreeMap<&str, Lines<'_>> = BTreeMap::new();
    for read in &side.uses.uses {
        found.entry(below_root(&read.file)).or_default().entry(read.line).or_default().push(read);
    }
    found
}

/// A path without the name of the root chart, which may change.
fn below_root(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, rest)| rest)
}

/// The templates of a chart and its subcharts, as masked lines.
fn templates(chart: &Chart) -> BTreeMap<String, Vec<String>> {
    fn add(chart: &Chart, at: &str, found: &mut BTreeMap<String, Vec<String>>) {
        for file in &chart.templates {
            let text = file.data.text();
            let lines: Vec<String> = text.to_str_lossy().lines().map(masked).collect();
            if lines.len() <= MAX_LINES && !file.name.ends_with("NOTES.txt") {
                found.insert(format!("{at}{}", file.name), lines);
            }
        }
        for subchart in &chart.subcharts {
            add(subchart, &format!("{at}charts/{}/", subchart.name()), found);
        }
    }
    let mut found = BTreeMap::new();
    add(chart, "", &mut found);
    found
}

/// A line with every reference to values replaced by one sign, and without trim markers, which move lines and not values.
fn masked(line: &str) -> String {
    let line = line.trim().replace("{{- ", "{{ ").replace(" -}}", " }}");
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find(".Values.") {
        let before = rest[..at].trim_end_matches('$');
        out.push_str(before);
        out.push('@');
        rest = &rest[at + ".Values.".len()..];
        let end =
            rest.find(|at: char| !(at.is_alphanumeric() || matches!(at, '.' | '_'))).unwrap_or(rest.len());
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// What an equal file name adds to the share of equal lines.
const SAME_NAME: f64 = 0.3;

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Which old file became which new one: of the same path, or else the most similar of the others.
fn pairs<'f>(
    olds: &'f BTreeMap<String, Vec<String>>,
    news: &'f BTreeMap<String, Vec<String>>,
) -> Vec<(&'f str, &'f str)> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let gone: Vec<&String> = olds.keys().filter(|path| !news.contains_key(*path)).collect();
    let fresh: Vec<&String> = news.keys().filter(|path| !olds.contains_key(*path)).collect();
    pairs.extend(
        olds.keys().filter(|path| news.contains_key(*path)).map(|path| (path.as_str(), path.as_str())),
    );
    for old in gone {
        let lines: BTreeSet<&str> =
            olds[old].iter().map(String::as_str).filter(|line| line.len() > 3).collect();
        let share = |new: &String| {
            let others: BTreeSet<&str> =
                news[new].iter().map(String::as_str).filter(|line| line.len() > 3).collect();
            let both = lines.intersection(&others).count();
            let share = both as f64 / lines.len().max(others.len()).max(1) as f64;
            // A template that moved to another folder keeps its name.
            if file_name(old) == file_name(new) && both > 0 { share + SAME_NAME } else { share }
        };
        let scored = fresh.iter().map(|new| (share(new), *new)).filter(|(share, _)| *share > 0.4);
        if let Some((_, new)) = scored.max_by(|left, right| left.0.total_cmp(&right.0)) {
            pairs.push((old, new));
        }
    }
    pairs
}

/// The lines of one text that are lines of another: the longest common subsequence, and between its parts the lines that are
/// similar enough.
fn aligned(olds: &[String], news: &[String]) -> Vec<(usize, usize)> {
    let head = olds.iter().zip(news).take_while(|(left, right)| left == right).count();
    let rest = (&olds[head..], &news[head..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(left, right)| left == right).count();
    let (old_end, new_end) = (olds.len() - tail, news.len() - tail);
    let mut found: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    let middle = subsequence(&olds[head..old_end], &news[head..new_end]);
    found.extend(middle.into_iter().map(|(left, right)| (left + head, right + head)));
    found.extend((0..tail).map(|at| (old_end + at, new_end + at)));
    let mut similar = Vec::new();
    let mut from = (0, 0);
    for &(left, right) in found.iter().chain(&[(olds.len(), news.len())]) {
        add_similar(olds, news, from, (left, right), &mut similar);
        from = (left + 1, right + 1);
    }
    found.extend(similar);
    found
}

fn subsequence(olds: &[String], news: &[String]) -> Vec<(usize, usize)> {
    if olds.is_empty() || news.is_empty() || olds.len() * news.len() > MAX_CELLS {
        return Vec::new();
    }
    // Numbers are compared faster than lines.
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let (olds, news) = (number(olds, &mut known), number(news, &mut known));
    let width = news.len() + 1;
    let mut lengths = vec![0u16; (olds.len() + 1) * width];
    for left in (0..olds.len()).rev() {
        for right in (0..news.len()).rev() {
            lengths[left * width + right] = match olds[left] == news[right] {
                true => lengths[(left + 1) * width + right + 1] + 1,
                false => lengths[(left + 1) * width + right].max(lengths[left * width + right + 1]),
            };
        }
    }
    let (mut left, mut right) = (0, 0);
    let mut found = Vec::new();
    while left < olds.len() && right < news.len() {
        if olds[left] == news[right] {
            found.push((left, right));
            (left, right) = (left + 1, right + 1);
        } else if lengths[(left + 1) * width + right] >= lengths[left * width + right + 1] {
            left += 1;
        } else {
            right += 1;
        }
    }
    found
}

/// The lines as numbers; equal lines have equal ones.
fn number<'l>(lines: &'l [String], known: &mut BTreeMap<&'l str, usize>) -> Vec<usize> {
    let of = |line: &'l String| {
        let next = known.len();
        *known.entry(line.as_str()).or_insert(next)
    };
    lines.iter().map(of).collect()
}

/// The largest gap in which lines are compared with each other.
const MAX_GAP: usize = 60;

fn add_similar(
    olds: &[String],
    news: &[String],
    from: (usize, usize),
    to: (usize, usize),
    found: &mut Vec<(usize, usize)>,
) {
    if to.0 <= from.0 || to.1 <= from.1 || to.0 - from.0 > MAX_GAP || to.1 - from.1 > MAX_GAP {
        return;
    }
    let mut next = from.1;
    for (left, line) in olds.iter().enumerate().take(to.0).skip(from.0) {
        let scored = (next..to.1).map(|right| (likeness(line, &news[right]), right));
        let best = scored
            .filter(|(score, _)| *score >= SIMILAR)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        if let Some((_, right)) = best {
            found.push((left, right));
            next = right + 1;
        }
    }
}

/// How much of the words of two lines is equal, from 0 to 1. Lines without a value in them do not count.
fn likeness(left: &str, right: &str) -> f64 {
    if !left.contains('@') && !left.contains("{{") || !right.contains("{{") {
        return 0.0;
    }
    let words = |line: &str| -> BTreeSet<String> {
        line.split(|at: char| at.is_whitespace() || matches!(at, '(' | ')' | '|' | '"'))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (left, right) = (words(left), words(right));
    let both = left.intersection(&right).count();
    both as f64 / left.union(&right).count().max(1) as f64
}
