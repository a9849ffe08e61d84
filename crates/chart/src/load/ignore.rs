//! The rules of .helmignore (Helm's `pkg/ignore`).

use super::pattern::matches;
use crate::error::{Error, Result};
use crate::path::base;

/// The longest line that Go's `bufio.Scanner` accepts.
const MAX_LINE: usize = 64 * 1024;

/// What a pattern is matched against.
#[derive(Debug, PartialEq)]
enum Scope {
    /// The whole path inside the chart.
    Path,
    /// The last element of the path.
    Name,
}

#[derive(Debug)]
struct Rule {
    pattern: String,
    scope: Scope,
    /// Everything that does not match is ignored.
    negated: bool,
    folders_only: bool,
}

/// The rules of an ignore file.
#[derive(Debug, Default)]
pub struct IgnoreRules(Vec<Rule>);

impl IgnoreRules {
    /// Parses a .helmignore, and adds Helm's default rule that hidden files in `templates/` are ignored.
    pub(super) fn parse(text: &[u8]) -> Result<IgnoreRules> {
        let mut rules = Self::parse_plain(text)?;
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    /// Parses a file of the same syntax, without Helm's default rule.
    ///
    /// # Errors
    /// When a rule is not supported.
    pub fn parse_plain(text: &[u8]) -> Result<IgnoreRules> {
        let mut rules = IgnoreRules::default();
        let text = super::archive::without_bom(text);
        for line in text.split(|byte| *byte == b'\n') {
            if line.len() >= MAX_LINE {
                return Err(Error::IgnoreRule("bufio.Scanner: token too long"));
            }
            rules.add(&String::from_utf8_lossy(line))?;
        }
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let rule = line.trim();
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return Err(Error::IgnoreRule("double-star (**) syntax is not supported"));
        }
        matches(rule, "abc").map_err(|_| Error::IgnoreRule("syntax error in pattern"))?;
        let (negated, rule) = rule.strip_prefix('!').map_or((false, rule), |rest| (true, rest));
        let (folders_only, rule) = rule.strip_suffix('/').map_or((false, rule), |rest| (true, rest));
        let (scope, pattern) = match rule.strip_prefix('/') {
            Some(rooted) => (Scope::Path, rooted),
            None if rule.contains('/') => (Scope::Path, rule),
            None => (Scope::Name, rule),
        };
        self.0.push(Rule { pattern: pattern.to_owned(), scope, negated, folders_only });
        Ok(())
    }

    /// Whether the file or folder at `path`, relative to the file's folder, is ignored.
    pub fn ignores(&self, path: &str, is_folder: bool) -> bool {
        self.0.iter().any(|rule| {
            let applies = !rule.folders_only || is_folder;
            let name = if rule.scope == Scope::Name { base(path) } else { path };
            let hit = applies && matches(&rule.pattern, name) == Ok(true);
            // Negation works as in Helm, not as in .gitignore: `!keep` ignores everything else. Charts account
            // for that.
            hit != rule.negated
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignores(text: &str, path: &str, is_folder: bool) -> bool {
        IgnoreRules::parse(text.as_bytes()).expect("good rules").ignores(path, is_folder)
    }

    #[test]
    fn names_match_anywhere_and_paths_as_a_whole() {
        assert!(ignores("*.txt", "a/b.txt", false));
        assert!(!ignores("/*.txt", "a/b.txt", false));
        assert!(ignores("a/*.txt", "a/b.txt", false));
        assert!(!ignores("b/*.txt", "a/b/c.txt", false));
        assert!(ignores("docs/", "docs", true));
        assert!(!ignores("docs/", "docs", false));
        assert!(ignores("# comment\n\n", "templates/.hidden", false));
    }

    #[test]
    fn negation_ignores_all_else() {
        assert!(ignores("!keep.txt", "other.txt", false));
        assert!(!ignores("!keep.txt", "keep.txt", false));
        assert!(ignores("!docs/", "docs", false));
    }

    #[test]
    fn double_stars_and_bad_patterns_are_errors() {
        let error = |text: &str| IgnoreRules::parse(text.as_bytes()).expect_err("bad rules").to_string();
        assert_eq!(error("a/**/b"), "double-star (**) syntax is not supported");
        assert_eq!(error("[a"), "syntax error in pattern");
        assert_eq!(error(&"a".repeat(MAX_LINE)), "bufio.Scanner: token too long");
    }
}
