//! Help: as `helm` in cobra's layout, which documentation tools parse, and otherwise in our own ([`ours`]).

mod examples;
mod groups;
pub(crate) mod ours;
pub(crate) mod pages;
pub(crate) mod topics;
mod wrap;

use pintle_tree::quote::quote;

use crate::command::{Command, CommandPath};
use crate::commands::ROOT;
use crate::env::{Environment, Setting};
use crate::flag::groups::GLOBAL;
use crate::flag::{Fallback, Flag, HELP, Kind};
use crate::output::grid::terminal_width;
use crate::personality::{EntryPoint, Personality};
use crate::plugins;

/// The help of a command: description and usage.
pub(crate) fn help(
    command_path: &CommandPath,
    personality: Personality,
    environment: &Environment,
) -> String {
    if personality == Personality::Pintle {
        return page(environment).command(command_path);
    }
    let command = command_path.command;
    let text = if command.long.is_empty() { command.short } else { command.long };
    let text = match EntryPoint::from_name(command_path.program()) {
        Some(entry) => named(&entry.shorten(text), personality),
        None => named(text, personality),
    };
    format!("{}\n\n{}", text.trim_end(), usage(command_path, personality, environment))
}

/// How `pintle` prints help.
pub(crate) fn page(environment: &Environment) -> ours::Page<'_> {
    ours::Page { environment, width: terminal_width(environment) }
}

/// The usage of a command: usage line, aliases, subcommands and flags.
pub(crate) fn usage(
    command_path: &CommandPath,
    personality: Personality,
    environment: &Environment,
) -> String {
    let command = command_path.command;
    let mut text = String::from("Usage:");
    if command.run.is_some() {
        text.push_str(&format!("\n  {}", command_path.usage_line()));
    }
    if !command.subcommands.is_empty() {
        text.push_str(&format!("\n  {} [command]", command_path.path));
    }
    if !command.aliases.is_empty() {
        text.push_str(&format!("\n\nAliases:\n  {}, {}", command.name, command.aliases.join(", ")));
    }
    if !command.subcommands.is_empty() {
        text.push_str("\n\nAvailable Commands:");
        let shown = command.shown_subcommands(personality);
        let mut rows: Vec<(String, String)> =
            shown.map(|sub| (sub.name.to_owned(), named(sub.short, personality))).collect();
        if std::ptr::eq(command, &ROOT) {
            let taken: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
            let plugins = plugins::summaries(personality, environment);
            rows.extend(plugins.into_iter().filter(|(name, _)| !taken.contains(name)));
            rows.sort();
        }
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(11);
        for (name, short) in rows {
            text.push_str(&format!("\n  {name:width$} {short}"));
        }
    }
    let (local, global) = sorted_flags(command_path);
    text.push_str("\n\nFlags:\n");
    text.push_str(flag_lines(local, command_path, environment).trim_end());
    if !global.is_empty() {
        text.push_str("\n\nGlobal Flags:\n");
        text.push_str(flag_lines(global, command_path, environment).trim_end());
    }
    if !command.subcommands.is_empty() {
        text.push_str(&format!(
            "\n\nUse \"{} [command] --help\" for more information about a command.",
            command_path.path
        ));
    }
    text.push('\n');
    text
}

/// Replaces `{program}` by the name of the program.
pub(crate) fn named(text: &str, personality: Personality) -> String {
    text.replace("{program}", personality.program())
}

/// The text of a flag in help.
pub(crate) fn flag_usage(flag: &Flag, command_path: &CommandPath) -> String {
    if flag.name == HELP.name {
        let name = command_path.path.rsplit(' ').next().unwrap_or(&command_path.path);
        return format!("help for {name}");
    }
    flag.usage.to_owned()
}

/// The visible flags of a command: its own, and the global ones.
fn sorted_flags(command_path: &CommandPath) -> (Vec<&'static Flag>, Vec<&'static Flag>) {
    let command = command_path.command;
    let mut own: Vec<&'static Flag> = command.own_flags().collect();
    let mut global: Vec<&'static Flag> =
        GLOBAL.iter().filter(|flag| own.iter().all(|other| other.name != flag.name)).collect();
    own.push(&HELP);
    if std::ptr::eq(command, &ROOT) {
        own.append(&mut global);
    }
    for flags in [&mut own, &mut global] {
        flags.retain(|flag| !flag.hidden);
        flags.sort_by_key(|flag| flag.name);
    }
    (own, global)
}

fn flag_lines(flags: Vec<&Flag>, command_path: &CommandPath, environment: &Environment) -> String {
    let heads: Vec<String> = flags.iter().map(|flag| head(flag)).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (flag, head) in flags.iter().zip(&heads) {
        text.push_str(&format!(
            "{head:width$}   {}{}\n",
            flag_usage(flag, command_path),
            default_note(flag, environment)
        ));
    }
    text
}

/// The names and the type of a flag: `  -f, --values strings`.
fn head(flag: &Flag) -> String {
    let mut head = match flag.short {
        Some(letter) => format!("  -{letter}, --{}", flag.name),
        None => format!("      --{}", flag.name),
    };
    let placeholder = flag.kind.placeholder();
    if !placeholder.is_empty() {
        head.push(' ');
        head.push_str(placeholder);
    }
    match (flag.bare, flag.kind) {
        (Some(bare), Kind::Text) => head.push_str(&format!("[=\"{bare}\"]")),
        (None, _) | (_, Kind::Bool | Kind::Verification) => {}
        (Some(bare), _) => head.push_str(&format!("[={bare}]")),
    }
    head
}

/// The default of a flag, unless it is the zero value. Tokens are secret and never shown.
fn default_note(flag: &Flag, environment: &Environment) -> String {
    let value = default_text(flag, environment);
    match flag.kind {
        kind if kind.is_zero(&value) => String::new(),
        Kind::Text => format!(" (default {})", quote(value.as_bytes())),
        _ => format!(" (default {value})"),
    }
}

fn default_text(flag: &Flag, environment: &Environment) -> String {
    match flag.fallback {
        Fallback::Text(text) => text.to_owned(),
        Fallback::Setting(Setting::KubeToken) => String::new(),
        Fallback::Setting(setting) => environment.setting(setting),
    }
}

/// The text for an unknown help topic.
pub(crate) fn unknown_topic(words: &[String], root: &'static Command, personality: Personality) -> String {
    let quoted = |word: &String| {
        // Go's `%#q` quotes with backquotes where the text allows it.
        if word.chars().any(|c| c == '`' || (c.is_control() && c != '\t')) {
            quote(word.as_bytes())
        } else {
            format!("`{word}`")
        }
    };
    let topics: Vec<String> = words.iter().map(quoted).collect();
    let command_path = CommandPath { command: root, path: personality.program().to_owned() };
    let usage = usage(&command_path, personality, &Environment::from_process());
    format!("Unknown help topic [{}]\n{}", topics.join(" "), usage.trim_end())
}
