//! Mechanical fixes: each replaces a text of a template and leaves every other byte unchanged.

use std::collections::BTreeMap;

use crate::finding::Report;

/// A text in a line of a template, and what it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replacement {
    /// The text as it is.
    pub from: String,
    /// The text that fixes it.
    pub to: String,
}

/// A fix of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fix {
    /// The line, from 1.
    pub line: usize,
    /// The replacement.
    pub replacement: Replacement,
}

/// The fixes that a report has, by file.
pub fn fixes(report: &Report) -> BTreeMap<String, Vec<Fix>> {
    let mut fixes: BTreeMap<String, Vec<Fix>> = BTreeMap::new();
    for finding in &report.findings {
        if let (Some(location), Some(replacement)) = (&finding.location, &finding.fix)
            && location.line > 0
        {
            let fix = Fix { line: location.line, replacement: replacement.clone() };
            let of_file = fixes.entry(location.file.clone()).or_default();
            if !of_file.contains(&fix) {
                of_file.push(fix);
            }
        }
    }
    fixes
}

/// Applies fixes to the text of a file. Returns the new text and how many applied: a line that a template computes, or that
/// has the text more than once, stays as it is.
pub fn apply(text: &[u8], fixes: &[Fix]) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(text.len());
    let mut applied = 0;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let mut line = line.to_vec();
        for fix in fixes.iter().filter(|fix| fix.line == index + 1) {
            if let Some(fixed) = replaced(&line, &fix.replacement) {
                line = fixed;
                applied += 1;
            }
        }
        out.extend_from_slice(&line);
    }
    (out, applied)
}

fn replaced(line: &[u8], Replacement { from, to }: &Replacement) -> Option<Vec<u8>> {
    let line = std::str::from_utf8(line).ok()?;
    let (before, after) = line.split_once(from.as_str())?;
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '/' | '.' | '-' | '_');
    let is_part = before.ends_with(is_word) || (after.starts_with(is_word) && !from.ends_with(':'));
    if is_part || after.contains(from.as_str()) {
        return None;
    }
    Some(format!("{before}{to}{after}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(line: &str, from: &str, to: &str) -> Option<String> {
        let fix = Fix { line: 2, replacement: Replacement { from: from.into(), to: to.into() } };
        let (text, applied) = apply(format!("first\n{line}\n").as_bytes(), &[fix]);
        (applied == 1).then(|| String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_text_is_replaced_where_it_is_a_word_of_its_own() {
        let (old, new) = ("batch/v1beta1", "batch/v1");
        assert_eq!(fixed("apiVersion: batch/v1beta1", old, new).unwrap(), "first\napiVersion: batch/v1\n");
        assert_eq!(
            fixed("apiVersion: \"batch/v1beta1\" # x", old, new).unwrap(),
            "first\napiVersion: \"batch/v1\" # x\n"
        );
        assert_eq!(fixed("apiVersion: {{ .x }}", old, new), None);
        assert_eq!(fixed("apiVersion: batch/v1beta10", old, new), None);
        assert_eq!(fixed("{{ if a }}batch/v1beta1{{ else }}batch/v1beta1{{ end }}", old, new), None);
        let renamed = fixed("  serviceAccount: x", "serviceAccount:", "serviceAccountName:");
        assert_eq!(renamed.unwrap(), "first\n  serviceAccountName: x\n");
    }
}
