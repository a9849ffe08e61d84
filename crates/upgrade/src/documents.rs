//! What the texts of the new chart say about its values: README, UPGRADING and CHANGELOG, notes, messages of `fail`, comments in
//! values.yaml, and the annotation `artifacthub.io/changes`.

use std::collections::{BTreeMap, BTreeSet};

use pintle_chart::Chart;
use pintle_tree::ValuePath;

/// The most text that is searched in one file.
const MAX_TEXT: usize = 1 << 20;

/// A line that names values.
#[derive(Clone, Debug)]
struct Line {
    /// The file and the line, as in `README.md:12`.
    at: String,
    text: String,
    /// The names in it with their offsets, as far as they may be values.
    names: Vec<(usize, String)>,
    /// Whether only the new chart has this line.
    fresh: bool,
}

/// What a text says about a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mention {
    /// The file and the line.
    pub(crate) at: String,
    /// The value that it names in the place of another; `None` if it only says that a value is gone.
    pub(crate) new: Option<ValuePath>,
    /// How sure it is, from 0 to 1.
    pub(crate) weight: f64,
}

/// The texts of the new chart.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    lines: Vec<Line>,
    /// The lines that have a name, by the last key of the name.
    by_key: BTreeMap<String, Vec<usize>>,
}

impl Documents {
    /// Reads the texts of the new chart. Lines that the old chart has as well count less.
    pub(crate) fn read(old: &Chart, new: &Chart) -> Self {
        let mut known = BTreeSet::new();
        for (_, text) in texts(old) {
            known.extend(text.lines().map(|line| line.trim().to_owned()));
        }
        let mut documents = Documents::default();
        for (name, text) in texts(new) {
            for (number, line) in text.lines().enumerate() {
                let trimmed = line.trim();
                let names = names(trimmed);
                if names.is_empty() {
                    continue;
                }
                let index = documents.lines.len();
                for (_, name) in &names {
                    documents.by_key.entry(last_key(name).to_owned()).or_default().push(index);
                }
                documents.lines.push(Line {
                    at: format!("{name}:{}", number + 1),
                    text: trimmed.to_owned(),
                    names,
                    fresh: !known.contains(trimmed),
                });
            }
        }
        documents
    }

    /// What the texts say about a value of the old chart. `resolve` finds the values of the new chart that a name means.
    pub(crate) fn mentions(
        &self,
        path: &ValuePath,
        resolve: &dyn Fn(&str) -> Vec<ValuePath>,
    ) -> Vec<Mention> {
        let shown = path.to_string();
        let Some(key) = path.last_key().map(|key| key.to_str_lossy().into_owned()) else { return Vec::new() };
        let mut found = Vec::new();
        for &index in self.by_key.get(last_key(&key)).into_iter().flatten() {
            let line = &self.lines[index];
            for (position, (offset, name)) in line.names.iter().enumerate() {
                let Some(exact) = means(name, &shown, path.segments().len()) else { continue };
                let is_plain = *name != shown && !name.contains('.') && !is_distinctive(name);
                let scope = path.parent().filter(|_| is_plain);
                let base = exact * if line.fresh { 1.0 } else { 0.3 };
                if is_about_removal(&line.text) {
                    found.push(Mention { at: line.at.clone(), new: None, weight: base * 0.5 });
                }
                let resolve = |name: &str| match &scope {
                    // A plain word is a key beside the value.
                    Some(scope) if !name.contains('.') => resolve(&scope.key(name).to_string()),
                    _ => resolve(name),
                };
                add_replacements(line, (position, *offset), base, path, &resolve, &mut found);
            }
        }
        found
    }
}

/// Adds the names on a line that may be new places of a value that it names.
fn add_replacements(
    line: &Line,
    (position, offset): (usize, usize),
    base: f64,
    path: &ValuePath,
    resolve: &dyn Fn(&str) -> Vec<ValuePath>,
    found: &mut Vec<Mention>,
) {
    for (other, (at, name)) in line.names.iter().enumerate() {
        if other == position {
            continue;
        }
        let (from, to) = if *at > offset { (offset, *at) } else { (*at, offset) };
        let between = line.text.get(from..to).unwrap_or_default();
        let after = line.text.get(*at.max(&offset)..).unwrap_or_default();
        let count = line.names.len();
        let weight = match line.text.contains("respectively") && count.is_multiple_of(2) {
            // `a` and `b` are now `c` and `d`, respectively.
            true if other.abs_diff(position) == count / 2 => 1.0,
            true => 0.0,
            false => relation(between, after, *at > offset, other.abs_diff(position)),
        };
        if weight <= 0.0 {
            continue;
        }
        for new in resolve(name) {
            let is_below = ["under", "below", "into", "inside", "within", "section"];
            if let Some(key) = path.last_key().filter(|_| is_below.iter().any(|word| between.contains(word)))
            {
                // `volumePermissions` moved under `defaultInitContainers`.
                let below = new.key(key.clone());
                found.push(Mention { at: line.at.clone(), new: Some(below), weight: 0.9 * base * weight });
            }
            if new != *path {
                found.push(Mention { at: line.at.clone(), new: Some(new), weight: base * weight });
            }
        }
    }
}

/// How surely a text says that one name replaces another. `forward`: the old name comes first.
fn relation(between: &str, after: &str, forward: bool, apart: usize) -> f64 {
    // "removed" is not "moved".
    let between = between.to_ascii_lowercase().replace("removed", "");
    let after = after.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| between.contains(word));
    let near = if apart == 1 { 1.0 } else { 0.6 };
    if forward {
        if has(&[
            "rename",
            "moved",
            "changed to",
            "replaced by",
            "replaced with",
            "->",
            "=>",
            "→",
            "in favo",
            "now ",
        ]) {
            return near;
        }
        if has(&[" to ", "to the", "instead", " use ", "become", "new ", "by "]) {
            return 0.8 * near;
        }
        if has(&["|"]) {
            // The next cell of a table: more than prose if it begins with the name.
            let is_cell =
                between.chars().skip_while(|at| !matches!(at, '`' | '|')).all(|at| " |`".contains(at));
            return if is_cell { 0.9 } else { 0.3 * near };
        }
        let later = ["instead", "replace", "rename"].iter().any(|word| after.contains(word));
        return if later { 0.7 * near } else { 0.3 * near };
    }
    // `new` replaces `old`, use `new` instead of `old`.
    if has(&["replaces", "instead of", "formerly", "previously", "was ", "rather than"]) {
        return near;
    }
    0.15 * near
}

fn is_about_removal(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["remove", "no longer", "deprecat", "dropped", "unsupported", "has been deleted"]
        .iter()
        .any(|word| text.contains(word))
}

/// Whether a name in a text means a value: all of its path (1), or an end of it that is not a common word.
fn means(name: &str, shown: &str, depth: usize) -> Option<f64> {
    let name = name.trim_end_matches(".*").trim_end_matches("[]");
    if name == shown {
        return Some(1.0);
    }
    let ends = shown.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let parts = name.split('.').count();
    let share = parts as f64 / depth as f64;
    match ends {
        true if parts >= 2 || is_distinctive(name) => Some(0.5 + 0.4 * share),
        // Other plain words are names only in code marks.
        true => Some(0.4 + 0.2 * share),
        false => None,
    }
}

/// A word that no prose has.
fn is_distinctive(name: &str) -> bool {
    name.len() > 5
        && name.chars().skip(1).any(|letter| letter.is_uppercase() || matches!(letter, '_' | '-' | '.'))
}

fn last_key(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The words of a line that may name values: in code marks, with dots, or in camel case.
fn names(line: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut start = None;
    let is_part =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '[' | ']' | '*');
    for (at, letter) in line.char_indices().chain([(line.len(), ' ')]) {
        match (start, is_part(letter)) {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                start = None;
                let word = line[begin..at].trim_matches(|edge: char| matches!(edge, '.' | '-' | '*'));
                let word = word.trim_end_matches("[]");
                let word = word.strip_prefix("Values.").unwrap_or(word);
                let marked = line[..begin].ends_with(['`', '"', '\'']);
                if word.len() > 1
                    && word.starts_with(|first: char| first.is_ascii_alphabetic())
                    && (marked || word.contains('.') || is_distinctive(word))
                {
                    found.push((begin, word.to_owned()));
                }
            }
            _ => {}
        }
    }
    found
}

/// The texts of a chart with their names. Of values.yaml and templates, only comments and messages of `fail`.
fn texts(chart: &Chart) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in &chart.files {
        let name = file.name.to_ascii_lowercase();
        let is_text = [".md", ".txt", ".rst", ".adoc"].iter().any(|ending| name.ends_with(ending));
        if is_text && !name.contains("license") {
            found.push((file.name.clone(), limited(&file.data.text().to_str_lossy())));
        }
    }
    if let Some(changes) = chart.metadata.annotations.get("artifacthub.io/changes") {
        found.push(("artifacthub.io/changes".to_owned(), limited(&changes.to_string())));
    }
    for file in &chart.templates {
        let text = file.data.text();
        let text = text.to_str_lossy();
        let about = |line: &str| {
            file.name.ends_with("NOTES.txt")
                || line.contains("fail ")
                || line.to_ascii_lowercase().contains("deprecat")
        };
        found.push((file.name.clone(), only(&limited(&text), &about)));
    }
    if let Some(values) = chart.values_text() {
        let text = String::from_utf8_lossy(values);
        found.push((
            "values.yaml".to_owned(),
            only(&limited(&text), &|line| line.trim_start().starts_with('#')),
        ));
    }
    found
}

/// A text with all other lines emptied, so that lines keep their numbers.
fn only(text: &str, wanted: &dyn Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = text.lines().map(|line| if wanted(line) { line } else { "" }).collect();
    lines.join("\n")
}

fn limited(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_prose_are_those_that_look_like_values() {
        let found = |line: &str| names(line).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(
            found("Rename `name` to clusterName, and use .Values.a.b. The image stays."),
            ["name", "clusterName", "a.b"]
        );
    }

    #[test]
    fn a_relation_needs_words_between_the_names() {
        assert!(relation("`a` was renamed to ", "`b`", true, 1) > 0.9);
        assert!(relation("`new` replaces ", "`old`", false, 1) > 0.9);
        assert!(relation("`a`, ", "`b`", true, 1) < 0.5);
    }
}
