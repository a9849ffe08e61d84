//! Include and exclude patterns for value paths.

use crate::value_path::ValuePath;

/// Selects values by patterns of their paths, in which `*` matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFilter {
    /// If not empty, at least one must match.
    pub include: Vec<String>,
    /// None may match.
    pub exclude: Vec<String>,
}

impl PathFilter {
    /// Whether the value at `path` is selected. A pattern matches a value and everything below it.
    pub fn allows(&self, path: &ValuePath) -> bool {
        if self.include.is_empty() && self.exclude.is_empty() {
            return true;
        }
        let text = path.to_string();
        let fits = |pattern: &String| {
            fits(pattern.as_bytes(), text.as_bytes())
                || fits(format!("{pattern}.*").as_bytes(), text.as_bytes())
        };
        (self.include.is_empty() || self.include.iter().any(fits)) && !self.exclude.iter().any(fits)
    }
}

/// Glob match with backtracking to the last `*` only, so the time is bounded by the product of both lengths.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut retry = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some(b'*') => {
                retry = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(byte) if *byte == text[at_text] => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => {
                let Some((star, from)) = retry else { return false };
                retry = Some((star, from + 1));
                at_pattern = star + 1;
                at_text = from + 1;
            }
        }
    }
    pattern[at_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_values() {
        let filter = PathFilter { include: vec!["web*".into()], exclude: vec!["*.sidecar".into()] };
        let path = |keys: &[&str]| keys.iter().fold(ValuePath::root(), |path, key| path.key(*key));
        assert!(filter.allows(&path(&["web", "image"])));
        assert!(!filter.allows(&path(&["web", "sidecar", "image"])));
        assert!(!filter.allows(&path(&["db", "image"])));
        assert!(PathFilter::default().allows(&path(&["db"])));
    }
}
