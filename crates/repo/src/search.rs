//! Looking for charts in the indexes of repositories.

use std::cmp::Ordering;
use std::collections::HashMap;

use pintle_regex::Regex;
use pintle_semver::{Constraint, Version};

use crate::index::{Cached, Text};

/// What is looked for.
#[derive(Debug)]
pub enum Pattern {
    /// Everything.
    All,
    /// A piece of text, in any case.
    Literal(String),
    /// A regular expression.
    Regex(Box<Regex>),
}

impl Pattern {
    /// The pattern for the words of a user.
    ///
    /// # Errors
    /// A text that is no regular expression.
    pub fn new(words: &[String], regex: bool) -> Result<Pattern, String> {
        let text = words.join(" ");
        match (words.is_empty(), regex) {
            (true, _) => Ok(Pattern::All),
            (false, false) => Ok(Pattern::Literal(lower(&text))),
            (false, true) => match Regex::compile(&text) {
                Ok(regex) => Ok(Pattern::Regex(Box::new(regex))),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// In which field the pattern is found first: 0 for the name, then name with repository, description and keywords.
    fn score(&self, repository: &str, text: &Text) -> Option<usize> {
        let line = format!(
            "{}\u{b}{repository}/{}\u{b}{}\u{b}{}",
            text.name, text.name, text.description, text.keywords
        );
        let (line, at) = match self {
            Pattern::All => return Some(0),
            Pattern::Literal(wanted) => {
                let line = lower(&line);
                let at = memchr::memmem::find(line.as_bytes(), wanted.as_bytes())?;
                (line, at)
            }
            Pattern::Regex(regex) => {
                let at = regex.find(line.as_bytes())?.start;
                (line, at)
            }
        };
        Some(line.bytes().take(at).filter(|byte| *byte == 0xb).count())
    }
}

/// Lower case as in Go: every character maps to exactly one.
fn lower(text: &str) -> String {
    text.chars()
        .map(|letter| {
            let mut small = letter.to_lowercase();
            match (small.next(), small.next()) {
                (Some(small), None) => small,
                (Some(small), Some(_)) if letter == '\u{130}' => small,
                _ => letter,
            }
        })
        .collect()
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// `repository/chart`.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// The version of the application.
    pub app_version: String,
    /// The description.
    pub description: String,
    /// Whether it is a library chart, which cannot be installed.
    pub is_library: bool,
    score: usize,
    parsed: Version,
}

impl Hit {
    /// A hit without a search term; `None` if its version is invalid.
    pub(crate) fn new(
        name: String,
        version: String,
        app_version: String,
        description: String,
        is_library: bool,
    ) -> Option<Hit> {
        let parsed = Version::parse(&version).ok()?;
        Some(Hit { name, version, app_version, description, is_library, score: 0, parsed })
    }
}

/// Looks through indexes; the best match first, then by name, then the newest version. Unless all versions are wanted,
/// there is one result for each chart: the best that satisfies the constraint.
pub fn search(
    indexes: &[(String, Cached)],
    pattern: &Pattern,
    constraint: &Constraint,
    all_versions: bool,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (repository, index) in indexes {
        let mut scores: HashMap<u32, Option<usize>> = HashMap::new();
        for chart in &index.catalog.charts {
            let name = pintle_chart::path::clean(&format!("{repository}/{}", chart.name));
            let name = name.split("$$").next().unwrap_or_default().to_owned();
            let mut found: Vec<Hit> = Vec::new();
            for head in &chart.versions {
                let text = &index.catalog.texts[head.text as usize];
                let score = *scores.entry(head.text).or_insert_with(|| pattern.score(repository, text));
                let Some(score) = score else { continue };
                // Only a better match can replace the current one.
                if !all_versions && found.iter().any(|hit| hit.score <= score) {
                    continue;
                }
                let Ok(parsed) = Version::parse(&head.version) else { continue };
                if !constraint.check(&parsed) {
                    continue;
                }
                if !all_versions {
                    found.clear();
                }
                found.push(Hit {
                    name: name.clone(),
                    version: head.version.clone(),
                    app_version: head.app_version.clone(),
                    description: text.description.clone(),
                    is_library: text.is_library,
                    score,
                    parsed,
                });
            }
            found.dedup_by(|later, kept| later.version == kept.version);
            hits.append(&mut found);
        }
    }
    hits.sort_by(order);
    if !all_versions {
        let mut names = std::collections::HashSet::new();
        hits.retain(|hit| names.insert(hit.name.clone()));
    }
    hits
}

fn order(left: &Hit, right: &Hit) -> Ordering {
    left.score
        .cmp(&right.score)
        .then_with(|| left.name.cmp(&right.name))
        .then_with(|| right.parsed.compare(&left.parsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Cached {
        let entry = |name: &str, version: &str, description: &str| {
            format!(
                "  - {{name: {name}, version: {version}, description: {description}, keywords: [web, Front]}}\n"
            )
        };
        let text = format!(
            "apiVersion: v1\nentries:\n  nginx:\n{}{}{}  apache:\n{}",
            entry("nginx", "1.0.0", "old Server"),
            entry("nginx", "2.0.0", "new server"),
            entry("nginx", "3.0.0-rc1", "next"),
            entry("apache", "1.0.0", "not nginx")
        );
        Cached::parse(text.as_bytes()).expect("an index")
    }

    fn found(words: &[&str], regex: bool, constraint: &str, all: bool) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let pattern = Pattern::new(&words, regex).expect("a pattern");
        let constraint = Constraint::parse(constraint).expect("a constraint");
        let hits = search(&[("r".to_owned(), index())], &pattern, &constraint, all);
        hits.iter().map(|hit| format!("{} {}", hit.name, hit.version)).collect()
    }

    #[test]
    fn names_come_before_descriptions_and_new_versions_before_old_ones() {
        assert_eq!(found(&["NGINX"], false, ">0.0.0", false), ["r/nginx 2.0.0", "r/apache 1.0.0"]);
        assert_eq!(
            found(&["nginx"], false, ">0.0.0-0", true),
            ["r/nginx 3.0.0-rc1", "r/nginx 2.0.0", "r/nginx 1.0.0", "r/apache 1.0.0"]
        );
    }

    #[test]
    fn a_word_of_an_old_version_finds_that_version() {
        assert_eq!(found(&["old"], false, ">0.0.0", false), ["r/nginx 1.0.0"]);
        assert_eq!(found(&["old", "server"], false, ">0.0.0", false), ["r/nginx 1.0.0"]);
    }

    #[test]
    fn expressions_see_the_case_and_literals_do_not() {
        assert_eq!(found(&["Ser.er"], true, ">0.0.0", false), ["r/nginx 1.0.0"]);
        assert_eq!(found(&["front"], false, ">0.0.0", false).len(), 2);
        assert!(found(&["front"], true, ">0.0.0", false).is_empty());
        assert!(Pattern::new(&["(".to_owned()], true).is_err());
    }
}
