//! The cases in `tests/cases`: kustomizations with what the real program makes of them, recorded by
//! `cargo xtask kustomize record`.
//!
//! A case is one file: a sentence, the files of the repository after lines of `-- PATH --`, and at the end `-- output --`
//! with the output, or `-- fails --`.

use std::path::Path;

use pintle_kustomize::{MemoryFiles, Options, build};

/// A case.
struct Case {
    name: String,
    files: MemoryFiles,
    /// The output; `None` if the real program fails.
    output: Option<String>,
}

fn parse(name: String, text: &str) -> Case {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let path = line.trim_end().strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
        match (path, sections.last_mut()) {
            (Some(path), _) => sections.push((path.to_owned(), String::new())),
            (None, Some((_, content))) => content.push_str(line),
            (None, None) => {}
        }
    }
    let (last, output) = sections.pop().expect("a case has sections");
    assert!(last == "output" || last == "fails", "{name} is not recorded");
    Case { name, files: sections.into_iter().collect(), output: (last == "output").then_some(output) }
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries =
        std::fs::read_dir(folder).expect("the folder of the cases").map(|entry| entry.expect("an entry"));
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).expect("a case is text");
        parse(entry.file_name().to_string_lossy().into_owned(), &text)
    };
    entries.map(read).collect()
}

#[test]
fn every_case_has_the_outcome_of_the_real_program() {
    let cases = cases();
    assert!(cases.len() > 40, "only {} cases were found", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let built = build(&case.files, "", &Options::default()).and_then(|build| build.to_yaml());
        let built = built.map(|text| String::from_utf8_lossy(&text).into_owned());
        match (built, case.output) {
            (Ok(text), Some(output)) if text == output => {}
            (Err(_), None) => {}
            (Ok(text), Some(output)) => {
                wrong.push(format!("{}: {}", case.name, first_difference(&output, &text)))
            }
            (Ok(_), None) => wrong.push(format!("{}: the real program fails", case.name)),
            (Err(error), Some(_)) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn first_difference(wanted: &str, found: &str) -> String {
    let mut lines = wanted.lines().zip(found.lines()).enumerate();
    match lines.find(|(_, (wanted, found))| wanted != found) {
        Some((number, (wanted, found))) => format!("line {}: {found:?} instead of {wanted:?}", number + 1),
        None => format!("{} lines instead of {}", found.lines().count(), wanted.lines().count()),
    }
}
