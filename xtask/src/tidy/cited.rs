//! Checks that the tests cited in documents exist.

use std::fs;

use anyhow::{Context as _, Result};

use crate::shell::root;

/// The documents that cite tests.
const DOCUMENTS: [&str; 3] = ["COMPATIBILITY.md", "docs/contributing/lua-rules.md", SENTENCES];

/// The document whose every row cites a test, or says what is open.
const SENTENCES: &str = "docs/contributing/design-sentences.md";

/// Lists citations of missing files or tests. A citation is code such as `cli/tests/lint.rs: the_test_name`, with the path
/// from the root or from `crates/`; `…` at the end of a name matches any rest.
pub(super) fn problems() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for document in DOCUMENTS {
        let text =
            fs::read_to_string(root().join(document)).with_context(|| format!("cannot read {document}"))?;
        for (index, line) in text.lines().enumerate() {
            let missing = citations(line).filter_map(|(path, test)| missing(path, test));
            problems.extend(missing.map(|what| format!("{document}:{}: {what}", index + 1)));
            if document == SENTENCES && is_unproven(line) {
                problems.push(format!("{document}:{}: the row cites no test", index + 1));
            }
        }
    }
    Ok(problems)
}

/// Whether a line is a row with a number, such as `P01`, that neither cites a test nor says what is open.
fn is_unproven(line: &str) -> bool {
    let mut cells = line.split('|').map(str::trim);
    let (Some(""), Some(id), Some(_), Some(proof)) = (cells.next(), cells.next(), cells.next(), cells.next())
    else {
        return false;
    };
    let is_id = id.len() > 1 && id[1..].bytes().all(|byte| byte.is_ascii_digit());
    let has_test = citations(proof).any(|(_, test)| test.is_some());
    is_id && !has_test && !proof.starts_with("open: ")
}

/// The source files that a line cites, with the test name if there is one.
fn citations(line: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let codes = line.split('`').skip(1).step_by(2);
    codes.filter_map(|code| match code.split_once(": ") {
        Some((path, test)) if path.ends_with(".rs") => Some((path, Some(test))),
        None if code.ends_with(".rs") && code.contains('/') => Some((code, None)),
        _ => None,
    })
}

fn missing(path: &str, test: Option<&str>) -> Option<String> {
    let text = [root().join(path), root().join("crates").join(path)]
        .into_iter()
        .find_map(|file| fs::read_to_string(file).ok());
    match (text, test) {
        (None, _) => Some(format!("there is no `{path}`")),
        (Some(text), Some(test)) if !has_function(&text, test) => Some(format!("`{path}` has no `{test}`")),
        _ => None,
    }
}

fn has_function(text: &str, name: &str) -> bool {
    match name.strip_suffix('…') {
        Some(beginning) => text.contains(&format!("fn {beginning}")),
        None => text.contains(&format!("fn {name}(")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_paths_with_or_without_a_test() {
        let line = "| `--x` | `cli/tests/lint.rs: it_tells_…`, `lib.rs` | `e2e/tests/hooks.rs` | `a: b` |";
        let found: Vec<_> = citations(line).collect();
        assert_eq!(found, [("cli/tests/lint.rs", Some("it_tells_…")), ("e2e/tests/hooks.rs", None)]);
    }

    #[test]
    fn rows_without_a_test_are_found() {
        assert!(is_unproven("| P01 | something holds | |"));
        assert!(is_unproven("| K10 | something holds | `hooks/tests/filter.rs` |"));
        for line in [
            "| P01 | something holds | `hooks/tests/filter.rs: hh_01_nothing_stays_nothing` |",
            "| P93 | something holds | open: nobody has written it |",
            "| | what holds | test |",
            "|---|---|---|",
            "Some text.",
        ] {
            assert!(!is_unproven(line), "{line}");
        }
    }

    #[test]
    fn what_is_cited_must_be_there() {
        assert_eq!(missing("xtask/src/tidy/cited.rs", Some("what_is_cited_must…")), None);
        assert_eq!(missing("tree/src/lib.rs", None), None);
        assert!(missing("xtask/src/tidy/cited.rs", Some("what_is_cited")).is_some());
        assert!(missing("nowhere/x.rs", None).is_some());
    }
}
