//! Typical mistakes of chart authors and operators, and what `pintle` answers. Each answer names what is wrong, the file and
//! the line where that is in a file, and what to do, in at most 40 lines.
//!
//! A case in `mistakes/*.txt` is a title (`===`), texts that the answer must have (`|`), files (`>>>`) and commands (`$`), of
//! which the last one is the mistake, with its output below it. `UPDATE_MISTAKES=1 cargo test mistakes` writes the outputs.

use std::path::{Path, PathBuf};

use crate::support::TestEnv;

/// The longest answer, in lines.
const LONGEST: usize = 40;

struct Case {
    title: String,
    needs: Vec<String>,
    steps: Vec<Step>,
    expected: String,
}

enum Step {
    File(String, String),
    Run(String),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

fn read(name: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join(name)).expect("the cases can be read");
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            let title = title.to_owned();
            cases.push(Case { title, needs: Vec::new(), steps: Vec::new(), expected: String::new() });
            continue;
        }
        let case = cases.last_mut().expect("a title is first");
        if let Some(path) = line.strip_prefix(">>> ") {
            case.steps.push(Step::File(path.to_owned(), String::new()));
        } else if let Some(command) = line.strip_prefix("$ ") {
            case.steps.push(Step::Run(command.to_owned()));
            case.expected.clear();
        } else {
            match case.steps.last_mut() {
                None => case.needs.extend(line.strip_prefix("| ").map(str::to_owned)),
                Some(Step::File(_, content)) => {
                    content.push_str(&format!("{}\n", line.replace("<TAB>", "\t")))
                }
                Some(Step::Run(_)) => case.expected.push_str(&format!("{line}\n")),
            }
        }
    }
    cases
}

fn write(env: &TestEnv, steps: &[Step]) {
    for step in steps {
        if let Step::File(path, content) = step {
            env.write(path, content);
        }
    }
}

/// The output of the last command.
fn answer(base: &[Case], case: &Case) -> String {
    let env = TestEnv::new();
    base.iter().for_each(|case| write(&env, &case.steps));
    let mut shown = String::new();
    for step in &case.steps {
        match step {
            Step::File(..) => write(&env, std::slice::from_ref(step)),
            Step::Run(line) => shown = env.pintle(line),
        }
    }
    // What is rendered in spite of a warning is not the answer.
    match shown.split_once("--- stderr\n") {
        Some((before, answer)) => {
            let exit = before.lines().next().unwrap_or_default();
            format!("{exit}\n--- stderr\n{answer}")
        }
        None => shown,
    }
}

fn check(name: &str) {
    let base = read("base.txt");
    let cases = read(name);
    let mut wrong = Vec::new();
    let mut updated = String::new();
    for case in &cases {
        let shown = answer(&base, case);
        // Empty lines are not kept in the files, and blanks at the end of a line cannot be seen in them.
        let lines: Vec<&str> = shown.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let kept = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        if lines.len() > LONGEST {
            wrong.push(format!("{}: {} lines", case.title, lines.len()));
        }
        for need in &case.needs {
            if !shown.contains(need) {
                wrong.push(format!("{}: no `{need}` in\n{shown}", case.title));
            }
        }
        if kept != case.expected {
            wrong.push(format!("{}: the answer is\n{kept}and not\n{}", case.title, case.expected));
        }
        updated.push_str(&format!("=== {}\n", case.title));
        case.needs.iter().for_each(|need| updated.push_str(&format!("| {need}\n")));
        for step in &case.steps {
            match step {
                Step::File(path, content) => {
                    updated.push_str(&format!(">>> {path}\n{}", content.replace('\t', "<TAB>")));
                }
                Step::Run(line) => updated.push_str(&format!("$ {line}\n")),
            }
        }
        updated.push_str(&kept);
    }
    if std::env::var_os("UPDATE_MISTAKES").is_some() {
        std::fs::write(folder().join(name), updated).expect("the cases can be written");
        wrong.retain(|text| !text.contains(": the answer is\n"));
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn mistakes_in_templates() {
    check("templates.txt");
}

#[test]
fn mistakes_in_values() {
    check("values.txt");
}

#[test]
fn mistakes_in_names() {
    check("names.txt");
}

#[test]
fn mistakes_of_people_who_run_charts() {
    check("more.txt");
}

#[test]
fn mistakes_that_the_cluster_finds() {
    check("clusters.txt");
}

#[test]
fn there_are_at_least_a_hundred() {
    let files = ["templates.txt", "values.txt", "names.txt", "clusters.txt", "more.txt"];
    let count: usize = files.iter().map(|name| read(name).len()).sum();
    assert!(count >= 100, "{count}");
}
