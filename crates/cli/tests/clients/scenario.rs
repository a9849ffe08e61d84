//! Scenarios: files, commands, and their recorded output.

use std::path::PathBuf;

use super::mask::masked;
use super::side::{Side, Tools};

/// The directory of scenarios.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/scenarios")
}

/// A command of a scenario.
pub(crate) struct Step {
    /// Whether its output is compared.
    pub(crate) counts: bool,
    pub(crate) command: String,
}

/// Files and commands.
pub(crate) struct Scenario {
    pub(crate) namespace: String,
    pub(crate) files: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
}

impl Scenario {
    pub(crate) fn read(name: &str) -> Scenario {
        let path = folder().join(format!("{name}.scenario"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let namespace = format!("story-{}", name.replace('_', "-"));
        let text = text.replace("{ns}", &namespace);
        let mut scenario = Scenario { namespace, files: Vec::new(), steps: Vec::new() };
        let mut open: Option<(String, String)> = None;
        for line in text.lines() {
            match (&mut open, line) {
                (Some(_), "===") => scenario.files.extend(open.take()),
                (Some((_, text)), line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, line) => {
                    if let Some(file) = line.strip_prefix("=== ") {
                        open = Some((file.to_owned(), String::new()));
                    } else if let Some((sign @ ("$" | "%"), command)) = line.split_once(' ') {
                        scenario.steps.push(Step { counts: sign == "$", command: command.to_owned() });
                    } else {
                        assert!(line.is_empty() || line.starts_with('#'), "{name}: what is `{line}`?");
                    }
                }
            }
        }
        assert!(open.is_none(), "{name}: a file has no end");
        scenario
    }

    /// Runs all commands.
    pub(crate) fn run(&self, side: &Side, tools: &Tools) -> Recording {
        let stage = side.stage(self, tools);
        let mut said = Recording { kubectl: tools.kubectl_version.clone(), answers: Vec::new() };
        for step in &self.steps {
            let (code, text) = stage.run(&step.command);
            if step.counts {
                let mut text = masked(&text);
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                said.answers.push((step.command.clone(), format!("{text}exit {code}\n")));
            } else {
                assert_eq!(code, 0, "{}: {text}", step.command);
            }
        }
        said
    }
}

/// The recorded output of a scenario.
pub(crate) struct Recording {
    /// The kubectl version of the recording.
    pub(crate) kubectl: String,
    answers: Vec<(String, String)>,
}

impl Recording {
    pub(crate) fn read(name: &str) -> Recording {
        let path = folder().join(format!("{name}.output"));
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        let kubectl = first.strip_prefix("kubectl ").unwrap_or_default().to_owned();
        let blocks = rest.split("\n$ ").skip(1);
        let answers = blocks.map(|block| {
            let (command, text) = block.split_once('\n').unwrap_or((block, ""));
            (command.to_owned(), text.to_owned())
        });
        Recording { kubectl, answers: answers.collect() }
    }

    pub(crate) fn write(&self, name: &str) {
        let mut text = format!("kubectl {}\n", self.kubectl);
        for (command, answer) in &self.answers {
            text.push_str(&format!("\n$ {command}\n{answer}"));
        }
        std::fs::write(folder().join(format!("{name}.output")), text).expect("it can be written");
    }

    /// Fails with the differences, if any.
    pub(crate) fn compare(&self, other: &Recording, whose: &str) {
        let commands =
            |said: &Recording| said.answers.iter().map(|(command, _)| command.clone()).collect::<Vec<_>>();
        assert_eq!(commands(self), commands(other), "the scenario is not the one that was recorded");
        let mut problems = String::new();
        for ((command, wanted), (_, said)) in self.answers.iter().zip(&other.answers) {
            if wanted != said {
                problems.push_str(&format!("\n$ {command}\n{}", difference(wanted, said)));
            }
        }
        assert!(problems.is_empty(), "{whose} lets them print something else:\n{problems}");
    }
}

/// The lines that differ, without the common prefix and suffix.
fn difference(wanted: &str, said: &str) -> String {
    let (wanted, said): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), said.lines().collect());
    let least = wanted.len().min(said.len());
    let start = (0..least).find(|at| wanted[*at] != said[*at]).unwrap_or(least);
    let end = (0..least - start)
        .find(|at| wanted[wanted.len() - 1 - at] != said[said.len() - 1 - at])
        .unwrap_or(least - start);
    let lines = |sign: &str, lines: &[&str]| -> String {
        lines[start..lines.len() - end].iter().map(|line| format!("{sign} {line}\n")).collect()
    };
    format!("{}{}", lines("-", &wanted), lines("+", &said))
}

#[test]
fn differences_leave_out_what_is_alike() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\nc\n"), "- b\n+ x\n");
    assert_eq!(difference("a\n", "a\na\n"), "+ a\n");
}
