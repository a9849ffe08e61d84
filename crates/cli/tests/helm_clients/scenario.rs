//! Scenario files, and the comparison of their commands.

use std::path::PathBuf;

use super::side::{Outcome, Side};

/// What is compared of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Everything,
    AllButStandardError,
    /// It only has to succeed.
    Nothing,
}

/// A command.
pub(super) struct Step {
    compare: Compare,
    command: String,
}

/// Files and commands.
pub(super) struct Scenario {
    pub(super) files: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
}

impl Scenario {
    pub(super) fn read(name: &str, repository: &str) -> Scenario {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/helm_clients/scenarios");
        let text = std::fs::read_to_string(folder.join(format!("{name}.scenario"))).unwrap();
        let mut scenario = Scenario { files: Vec::new(), steps: Vec::new() };
        let mut open: Option<(String, String)> = None;
        for line in text.replace("{repository}", repository).lines() {
            if let Some(file) = line.strip_prefix("=== ") {
                scenario.files.extend(open.replace((file.to_owned(), String::new())));
            } else if line == "===" {
                scenario.files.extend(open.take());
            } else if let Some((_, text)) = &mut open {
                text.push_str(line);
                text.push('\n');
            } else if let Some((mark @ ("$" | "?" | "%"), command)) = line.split_once(' ') {
                let compare = match mark {
                    "$" => Compare::Everything,
                    "?" => Compare::AllButStandardError,
                    _ => Compare::Nothing,
                };
                scenario.steps.push(Step { compare, command: command.to_owned() });
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "{name}: what is `{line}`?");
            }
        }
        assert!(open.is_none(), "{name}: a file has no end");
        scenario
    }
}

impl Step {
    /// Runs the command on both sides, and describes what differs.
    pub(super) fn compare(&self, theirs: &Side, ours: &Side) -> Option<String> {
        let outcomes = [theirs, ours].map(|side| {
            let outcome = side.run(&self.command);
            if self.compare == Compare::Nothing {
                assert_eq!(outcome.code, 0, "{}: {}: {outcome:?}", side.name, self.command);
            }
            outcome
        });
        let [theirs, ours] = outcomes;
        let mut parts = Vec::new();
        if self.compare != Compare::Nothing {
            if theirs.code != ours.code {
                parts.push(format!("exit {} with Helm, {} with ours", theirs.code, ours.code));
            }
            parts.extend(difference("stdout", &theirs.stdout, &ours.stdout));
        }
        if self.compare == Compare::Everything {
            parts.extend(difference("stderr", &theirs.stderr, &ours.stderr));
        }
        if parts.is_empty() {
            return None;
        }
        let Outcome { stderr, .. } = ours;
        Some(format!("$ {}\n{}\n(standard error of ours: {stderr})", self.command, parts.join("\n")))
    }
}

/// The lines that differ, from the first to the last.
fn difference(stream: &str, theirs: &str, ours: &str) -> Option<String> {
    if theirs == ours {
        return None;
    }
    let [theirs, ours]: [Vec<&str>; 2] = [theirs, ours].map(|text| text.lines().collect());
    let least = theirs.len().min(ours.len());
    let start = (0..least).find(|at| theirs[*at] != ours[*at]).unwrap_or(least);
    let same = |at: &usize| theirs[theirs.len() - 1 - at] == ours[ours.len() - 1 - at];
    let end = (0..least - start).find(|at| !same(at)).unwrap_or(least - start);
    let lines = |sign: &str, lines: &[&str]| -> String {
        lines[start..lines.len() - end].iter().map(|line| format!("{sign} {line}\n")).collect()
    };
    Some(format!("{stream}:\n{}{}", lines("-", &theirs), lines("+", &ours)))
}
