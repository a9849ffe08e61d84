//! How similar the names of two values are.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Segment, ValuePath};

/// The words of all paths of a chart, with how rare each is.
pub(crate) struct Vocabulary {
    counts: BTreeMap<String, usize>,
    paths: usize,
}

impl Vocabulary {
    pub(crate) fn new<'p>(paths: impl IntoIterator<Item = &'p ValuePath>) -> Self {
        let mut vocabulary = Vocabulary { counts: BTreeMap::new(), paths: 0 };
        for path in paths {
            vocabulary.paths += 1;
            for word in words(path) {
                *vocabulary.counts.entry(word).or_default() += 1;
            }
        }
        vocabulary
    }

    fn weight(&self, word: &str) -> f64 {
        let count = self.counts.get(word).copied().unwrap_or(0) as f64;
        ((self.paths as f64 + 1.0) / (count + 1.0)).ln().max(0.2)
    }

    /// How similar two paths are, from 0 to 1: the words that both have, by how rare they are, and how the last keys agree.
    pub(crate) fn similarity(&self, left: &Words, right: &Words) -> f64 {
        let all = self.shared(&left.all, &right.all);
        let last = self.shared(&left.last, &right.last);
        // A key may take words of its parent into its name, or give them to a new parent.
        let cross = self.contained(&left.last, &right.all).min(self.contained(&right.last, &left.all));
        0.5 * all + 0.25 * last + 0.25 * cross.max(last)
    }

    fn shared(&self, left: &BTreeSet<String>, right: &BTreeSet<String>) -> f64 {
        let (mut both, mut any) = (0.0, 0.0);
        for word in left.union(right) {
            let weight = self.weight(word);
            any += weight;
            if left.contains(word) && right.contains(word) {
                both += weight;
            }
        }
        if any > 0.0 { both / any } else { 0.0 }
    }

    fn contained(&self, part: &BTreeSet<String>, whole: &BTreeSet<String>) -> f64 {
        let (mut both, mut any) = (0.0, 0.0);
        for word in part {
            let weight = self.weight(word);
            any += weight;
            if whole.contains(word) {
                both += weight;
            }
        }
        if any > 0.0 { both / any } else { 0.0 }
    }
}

/// The words of a path.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    all: BTreeSet<String>,
    last: BTreeSet<String>,
}

impl Words {
    pub(crate) fn of(path: &ValuePath) -> Self {
        let last = path.last_key().map(|key| split(&key.to_str_lossy()).into_iter().collect());
        Words { all: words(path), last: last.unwrap_or_default() }
    }
}

fn words(path: &ValuePath) -> BTreeSet<String> {
    let keys = path.segments().iter().filter_map(|segment| match segment {
        Segment::Key(key) => Some(key.to_str_lossy()),
        Segment::Index(_) => None,
    });
    keys.flat_map(|key| split(&key)).collect()
}

/// The words of a name in `camelCase`, `snake_case` or `kebab-case`, in lower case and without the plural.
pub(crate) fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        let after_small = index > 0 && !letters[index - 1].is_uppercase();
        let before_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        let starts = letter.is_uppercase() && (after_small || before_small);
        if starts || !letter.is_alphanumeric() {
            push(&mut word, &mut words);
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    push(&mut word, &mut words);
    words
}

fn push(word: &mut String, words: &mut Vec<String>) {
    if word.is_empty() {
        return;
    }
    let mut word = std::mem::take(word);
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    // What charts abbreviate in names.
    let expanded: &[&str] = match word.as_str() {
        "cm" => &["config", "map"],
        "configmap" => &["config", "map"],
        "config" | "configuration" | "conf" | "cfg" => &["config"],
        "svc" => &["service"],
        "env" | "environment" => &["env"],
        "vars" | "var" | "variable" => &["var"],
        "ns" => &["namespace"],
        "repo" => &["repository"],
        "psp" => &["pod", "security", "policy"],
        "serviceaccount" => &["service", "account"],
        "servicemonitor" => &["service", "monitor"],
        "sa" => &["service", "account"],
        other => return words.push(other.to_owned()),
    };
    words.extend(expanded.iter().map(|word| (*word).to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_into_words() {
        assert_eq!(split("extraEnvVarsCM"), ["extra", "env", "var", "config", "map"]);
        assert_eq!(split("kube-state-metrics"), ["kube", "state", "metric"]);
        assert_eq!(split("kubeRBACProxy"), ["kube", "rbac", "proxy"]);
        assert_eq!(split("existingLog4jConfigMap"), ["existing", "log4j", "config", "map"]);
    }

    #[test]
    fn the_nearest_name_is_the_one_that_shares_rare_words() {
        let paths: Vec<ValuePath> =
            ["web.image", "web.replicas", "web.adminPassword", "db.password", "db.image"]
                .iter()
                .map(|text| text.parse().expect("a path"))
                .collect();
        let vocabulary = Vocabulary::new(&paths);
        let wanted = Words::of(&"webAdminPassword".parse().expect("a path"));
        let best = paths.iter().max_by(|left, right| {
            let score = |path: &ValuePath| vocabulary.similarity(&wanted, &Words::of(path));
            score(left).total_cmp(&score(right))
        });
        assert_eq!(best.map(ToString::to_string).as_deref(), Some("web.adminPassword"));
    }
}
