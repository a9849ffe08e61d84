//! Examples of commands: what they do, and the line to type. Every command has at least two.

/// The examples of a command by its path without the program: pairs of a description and a line.
pub(crate) fn examples(path: &str) -> Vec<(&'static str, &'static str)> {
    let mut lines = TEXT.lines().skip_while(|line| line.strip_prefix("## ") != Some(path)).skip(1);
    let mut found = Vec::new();
    while let Some(about) = lines.next().filter(|line| !line.starts_with("## ") && !line.is_empty()) {
        let Some(line) = lines.next() else { break };
        found.push((about, line));
    }
    found
}

/// Sections of commands, with two lines for each example.
const TEXT: &str = include_str!("examples.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::CommandPath;
    use crate::command::find::{find, walk};
    use crate::commands::ROOT;
    use crate::flag::parse::{Unknown, parse, with_help};
    use crate::personality::Personality;

    fn root() -> CommandPath {
        CommandPath { command: &ROOT, path: "pintle".to_owned() }
    }

    #[test]
    fn every_command_has_two_examples_or_more() {
        let mut without = Vec::new();
        walk(&root(), &mut |command_path| {
            let path = command_path.path.strip_prefix("pintle").unwrap_or_default().trim();
            let is_shown = !command_path.command.hidden && command_path.command.run.is_some();
            if is_shown && !path.is_empty() && examples(path).len() < 2 {
                without.push(path.to_owned());
            }
        });
        assert!(without.is_empty(), "{without:?}");
    }

    #[test]
    fn examples_are_commands_with_flags_that_exist() {
        let mut wrong = Vec::new();
        for line in TEXT.lines().filter(|line| line.contains("pintle ") && !line.contains('`')) {
            // Pipes and variables before the command are the shell's.
            let command = line.split("pintle ").nth(1).unwrap_or_default();
            let command =
                command.split(" | ").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
            let words: Vec<String> =
                command.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
            match find(Personality::Pintle, &words) {
                Err(_) => wrong.push(format!("no command: {line}")),
                Ok((path, rest)) => {
                    let flags = with_help(path.command.all_flags());
                    if let (_, Err(error)) = parse(flags, &rest, Unknown::Refuse) {
                        wrong.push(format!("{line}: {error}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn sections_are_those_of_commands() {
        let mut known = Vec::new();
        walk(&root(), &mut |command_path| {
            known.push(command_path.path.trim_start_matches("pintle ").to_owned())
        });
        let unknown: Vec<&str> = TEXT
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .filter(|path| !known.iter().any(|known| known == path))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
