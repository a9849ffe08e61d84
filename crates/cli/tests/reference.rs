//! The reference: every command and flag at a glance, so that a change shows in review.

use crate::support;

use support::TestEnv;

/// The page in the documentation; `cargo xtask reference --write` updates it.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");

#[test]
fn the_reference_in_the_documentation_has_all_commands_and_flags() {
    let answer = TestEnv::new().pintle("__reference");
    let printed = answer.strip_prefix("exit 0\n--- stdout\n").expect("the reference is printed");
    let kept = std::fs::read_to_string(PAGE).expect("the page is there");
    let differing = kept.lines().zip(printed.lines()).find(|(kept, printed)| kept != printed);
    assert_eq!(differing, None, "run `cargo xtask reference --write` and review what changed");
    assert_eq!(
        kept.trim_end(),
        printed.trim_end(),
        "run `cargo xtask reference --write` and review what changed"
    );
}

/// The text of every test in this directory.
fn tests() -> String {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))];
    let mut texts = String::new();
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).expect("the folder of tests is there") {
            let path = file.expect("files can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(path)
                && !text.contains("fn every_flag_is_used_in_a_test")
            {
                texts.push_str(&text);
            }
        }
    }
    texts
}

#[test]
fn every_flag_is_used_in_a_test() {
    let tests = tests();
    let reference = TestEnv::new().pintle("__reference");
    let missing: Vec<&str> = reference
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| Some(line.split_once("`--")?.1.split_once('`')?.0))
        .filter(|flag| !tests.contains(&format!("--{flag}")))
        .collect();
    assert!(missing.is_empty(), "no test uses {missing:?}");
}
