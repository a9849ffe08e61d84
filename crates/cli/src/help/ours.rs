//! The help of `pintle`: grouped, wrapped to the terminal, with examples, and with the global flags on a page of their own.

use super::examples::examples;
use super::groups::GROUPS;
use super::{default_note, flag_usage, head, named, sorted_flags, wrap};
use crate::command::find::walk;
use crate::command::{Command, CommandPath};
use crate::commands::ROOT;
use crate::env::Environment;
use crate::flag::Flag;
use crate::personality::{EntryPoint, Personality};
use crate::plugins;

/// How help is printed.
#[derive(Clone, Copy)]
pub(crate) struct Page<'e> {
    pub(crate) environment: &'e Environment,
    /// The width of the terminal; `None` for files and pipes.
    pub(crate) width: Option<usize>,
}

impl Page<'_> {
    /// The help of a command.
    pub(crate) fn command(&self, command_path: &CommandPath) -> String {
        let command = command_path.command;
        let text = if command.long.is_empty() { command.short } else { command.long };
        let text = match EntryPoint::from_name(command_path.program()) {
            Some(entry) => named(&entry.shorten(text), Personality::Pintle),
            None => named(text, Personality::Pintle),
        };
        let is_root = std::ptr::eq(command, &ROOT);
        let text = if is_root { introduction(&text) } else { text.trim_end().to_owned() };
        let mut page = self.wrapped(&text);
        self.push_usage(&mut page, command_path);
        self.push_examples(&mut page, command_path);
        self.push_commands(&mut page, command_path);
        self.push_flags(&mut page, command_path, is_root);
        page
    }

    fn wrapped(&self, text: &str) -> String {
        match self.width {
            Some(width) => wrap::paragraphs(text, width),
            None => format!("{}\n", text.trim_end()),
        }
    }

    fn push_usage(&self, page: &mut String, command_path: &CommandPath) {
        let command = command_path.command;
        page.push_str("\nUsage:\n");
        if command.run.is_some() {
            page.push_str(&format!("  {}\n", command_path.usage_line()));
        }
        if !command.subcommands.is_empty() {
            page.push_str(&format!("  {} [command]\n", command_path.path));
        }
        if !command.aliases.is_empty() {
            page.push_str(&format!("\nAliases:\n  {}, {}\n", command.name, command.aliases.join(", ")));
        }
    }

    fn push_examples(&self, page: &mut String, command_path: &CommandPath) {
        let shown = examples(&path_of(command_path));
        if shown.is_empty() {
            return;
        }
        page.push_str("\nExamples:\n");
        for (about, line) in shown {
            page.push_str(&self.wrapped(&format!("  # {about}")));
            page.push_str(&self.wrapped(&format!("    {line}")));
        }
    }

    fn push_commands(&self, page: &mut String, command_path: &CommandPath) {
        let command = command_path.command;
        if command.subcommands.is_empty() {
            return;
        }
        let row =
            |command: &Command| (format!("  {}", command.name), named(command.short, Personality::Pintle));
        if !std::ptr::eq(command, &ROOT) {
            let rows: Vec<_> = command.shown_subcommands(Personality::Pintle).map(row).collect();
            page.push_str(&format!("\nCommands:\n{}", wrap::rows(&rows, self.width)));
            return;
        }
        // One width for all groups, so that they line up.
        let shown: Vec<&'static Command> = command.shown_subcommands(Personality::Pintle).collect();
        let widest = shown.iter().map(|command| command.name.len()).max().unwrap_or(0);
        let padded = |command: &Command| {
            let (name, short) = row(command);
            (format!("{name:width$}", width = widest + 2), short)
        };
        for (title, names) in GROUPS {
            let of_group = names.iter().filter_map(|name| shown.iter().find(|command| command.name == *name));
            let rows: Vec<_> = of_group.map(|command| padded(command)).collect();
            page.push_str(&format!("\n{title}:\n{}", wrap::rows(&rows, self.width)));
        }
        let taken: Vec<&str> = shown.iter().map(|command| command.name).collect();
        let mut of_plugins = plugins::summaries(Personality::Pintle, self.environment);
        of_plugins.retain(|(name, _)| !taken.contains(&name.as_str()));
        of_plugins.sort();
        if !of_plugins.is_empty() {
            let rows: Vec<_> =
                of_plugins.into_iter().map(|(name, short)| (format!("  {name}"), short)).collect();
            page.push_str(&format!("\nPlugins:\n{}", wrap::rows(&rows, self.width)));
        }
    }

    fn push_flags(&self, page: &mut String, command_path: &CommandPath, is_root: bool) {
        if is_root {
            let rows = [
                ("  pintle COMMAND --help", "what a command does, with examples"),
                ("  pintle help flags", "the flags of all commands"),
                ("  pintle help --search WORD", "find commands and flags"),
                (
                    "  pintle help topics",
                    "guides: values, charts, stores, embedded, permissions, environment",
                ),
            ];
            let rows: Vec<_> = rows.map(|(left, right)| (left.to_owned(), right.to_owned())).to_vec();
            page.push_str(&format!("\nMore:\n{}", wrap::rows(&rows, self.width)));
            return;
        }
        let (own, _) = sorted_flags(command_path);
        page.push_str(&format!("\nFlags:\n{}", self.flags(&own, command_path)));
        page.push_str("\n`pintle help flags` shows the flags of all commands.\n");
    }

    fn flags(&self, flags: &[&'static Flag], command_path: &CommandPath) -> String {
        let row = |flag: &&'static Flag| {
            let text = format!("{}{}", flag_usage(flag, command_path), default_note(flag, self.environment));
            (head(flag), text)
        };
        wrap::rows(&flags.iter().map(row).collect::<Vec<_>>(), self.width)
    }

    /// The page of the global flags.
    pub(crate) fn global_flags(&self) -> String {
        let root = CommandPath { command: &ROOT, path: Personality::Pintle.program().to_owned() };
        let (flags, _) = sorted_flags(&root);
        let text = "These flags can be given to every command, before or after its name. Those with a variable take their \
                    default from it: `pintle help environment`.";
        format!("{}\nFlags:\n{}", self.wrapped(text), self.flags(&flags, &root))
    }

    /// A topic.
    pub(crate) fn topic(&self, text: &str) -> String {
        self.wrapped(text.trim())
    }

    /// The commands and flags whose names or texts have a word.
    pub(crate) fn search(&self, word: &str) -> String {
        let wanted = word.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        let (mut commands, mut flags) = (Vec::new(), Vec::new());
        let root = CommandPath { command: &ROOT, path: Personality::Pintle.program().to_owned() };
        walk(&root, &mut |command_path| {
            let command = command_path.command;
            if command.hidden || std::ptr::eq(command, &ROOT) {
                return;
            }
            let names = std::iter::once(command.name).chain(command.aliases.iter().copied());
            if names.into_iter().any(&has) || has(command.short) || has(command.long) {
                let is_named = has(command.name) || has(command.short);
                commands.push((
                    !is_named,
                    command_path.path.clone(),
                    named(command.short, Personality::Pintle),
                ));
            }
            for flag in command.own_flags().filter(|flag| !flag.hidden && (has(flag.name) || has(flag.usage)))
            {
                flags.push((format!("  {} --{}", command_path.path, flag.name), flag.usage.to_owned()));
            }
        });
        // Names first, then mere mentions.
        commands.sort();
        let commands: Vec<_> =
            commands.into_iter().map(|(_, path, short)| (format!("  {path}"), short)).collect();
        let topics: Vec<_> = super::topics::TOPICS
            .iter()
            .filter(|topic| has(topic.name) || has(topic.text))
            .map(|topic| (format!("  pintle help {}", topic.name), topic.about.to_owned()))
            .collect();
        let mut page = String::new();
        for (title, rows) in [("Commands", commands), ("Topics", topics), ("Flags", flags)] {
            if !rows.is_empty() {
                let gap = if page.is_empty() { "" } else { "\n" };
                page.push_str(&format!("{gap}{title}:\n{}", wrap::rows(&rows, self.width)));
            }
        }
        page
    }
}

/// The path of a command without the program, as `repo add`.
fn path_of(command_path: &CommandPath) -> String {
    let mut words = command_path.path.split(' ');
    let program = words.next().unwrap_or_default();
    let entry = EntryPoint::from_name(program).map_or(&[][..], |entry| entry.path);
    entry.iter().copied().chain(words).collect::<Vec<_>>().join(" ")
}

/// The text of the root up to the environment, which has a topic of its own.
fn introduction(text: &str) -> String {
    let end = text.find("Common commands:").unwrap_or(text.len());
    let embedded = "With `--cluster embedded`, all commands work without a real cluster.";
    format!("{}\n\n{embedded}\n", text[..end].trim_end())
}

/// The table of variables in the help of the root, as rows.
pub(super) fn environment_rows(long: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| $")?.trim_end_matches('|').split('|');
        Some((format!("  ${}", cells.next()?.trim()), cells.next()?.trim().to_owned()))
    };
    long.lines().filter_map(row).collect()
}
