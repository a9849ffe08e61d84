//! Test support: the corpus of real charts and recorded Helm behaviour, text mutation, counted
//! instructions, pages for users as tests, the real Helm, Go's characters, and skipping of tests.
//!
//! The corpus is in `../shared` next to the repository, or where `PINTLE_CORPUS` points. Tests pass without it: those
//! that need it report that they are skipped.
#![allow(clippy::disallowed_methods, reason = "tests take their settings from the environment")]

mod cluster;
pub mod guide;
mod instructions;
mod mutation;
mod reference;
pub mod unicode;

pub use instructions::{counted_part, instructions};
pub use mutation::{Random, mutate};
pub use reference::{real_helm, real_helm3, reference_program};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use cluster::{is_embedded, skip};

/// A file or folder of the corpus; if it is absent, reports a skip and returns `None`.
#[allow(clippy::print_stdout)]
pub fn corpus(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let whole = std::env::var_os("PINTLE_CORPUS").map_or_else(beside, PathBuf::from).join(path);
    if whole.exists() {
        return Some(whole);
    }
    println!("skipped: the corpus has no {}", whole.display());
    None
}

/// The archive of the corpus whose name starts with `beginning`; if absent, reports a skip and returns `None`.
pub fn archive(beginning: &str) -> Option<PathBuf> {
    let begins = |path: &PathBuf| {
        path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning))
    };
    let entries = corpus("charts").and_then(|folder| folder.read_dir().ok());
    let mut paths = entries.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let found = paths.find(begins);
    if found.is_none() {
        skip(&format!("the corpus of charts (PINTLE_CORPUS) has no {beginning}…"));
    }
    found
}

/// The recorded cases of a family, one JSON text each; empty if the corpus is absent.
///
/// # Panics
/// When the file is there but cannot be read.
pub fn recorded(family: &str) -> Vec<String> {
    let Some(path) = corpus(&format!("goldens/behaviour/{family}.jsonl")) else { return Vec::new() };
    let text = std::fs::read_to_string(path).expect("recorded cases are text that can be read");
    up_to_date(family, &text)
}

/// The lines of a recorded family, with the results of newer versions of Helm where these differ from those of the version that
/// the corpus was recorded with (`conformance/rerecorded`).
///
/// # Panics
/// When a file of newer results cannot be read.
pub fn up_to_date(family: &str, text: &str) -> Vec<String> {
    let path = format!("../../conformance/rerecorded/{family}.jsonl");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let newer = match path.exists() {
        true => std::fs::read_to_string(path).expect("newer results are text that can be read"),
        false => String::new(),
    };
    // Cut as text: a line is `{"id":"…","in":…,"out":…}`, and a newer result the same without its input.
    let newer: BTreeMap<&str, &str> = newer.lines().filter_map(|line| id_and_rest(line)).collect();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let result = id_and_rest(line).and_then(|(id, _)| newer.get(id));
            match (result, line.rfind(OUT)) {
                (Some(result), Some(end)) => [&line[..end], result].concat(),
                _ => line.to_owned(),
            }
        })
        .collect()
}

/// The begin of the result of a case.
const OUT: &str = ",\"out\":";

/// The id of a case, and what follows it.
fn id_and_rest(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("{\"id\":\"")?.split_once('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_corpus_does_not_have_is_none() {
        assert_eq!(corpus("no-such-thing"), None);
        assert!(recorded("no-such-family").is_empty());
    }

    #[test]
    fn newer_results_replace_recorded_ones() {
        let old = r#"{"id":"template-5565f8175004","in":{"tpl":"x"},"out":{"ok":"36"}}"#;
        let other = r#"{"id":"template-0","in":{},"out":{"ok":"36"}}"#;
        let new = old.replace("36", "37");
        assert_eq!(up_to_date("template", &format!("{old}\n\n{other}\n")), [new.as_str(), other]);
    }
}
