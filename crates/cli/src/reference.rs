//! Reference pages, generated from what the program works by: commands and flags from the tables of the parser.

mod environment;
mod exit_codes;

use std::fmt::Write as _;

use crate::command::CommandPath;
use crate::command::find::walk;
use crate::commands::ROOT;
use crate::flag::groups::GLOBAL;
use crate::flag::{Fallback, Flag};
use crate::help::named;
use crate::personality::Personality;

/// A page in Markdown by its name; `None` if there is no such page.
pub(crate) fn page(name: &str, personality: Personality) -> Option<String> {
    Some(match name {
        "commands" => commands(personality),
        "environment" => environment::page(),
        "exit-codes" => exit_codes::page(),
        _ => return None,
    })
}

/// All commands. Defaults that depend on the environment are left out, so that the page is reproducible.
fn commands(personality: Personality) -> String {
    let mut page = format!("# Commands of {}\n", personality.program());
    let root = CommandPath { command: &ROOT, path: personality.program().to_owned() };
    walk(&root, &mut |command_path| {
        if !command_path.command.hidden {
            section(&mut page, command_path, personality);
        }
    });
    page
}

fn section(page: &mut String, command_path: &CommandPath, personality: Personality) {
    let command = command_path.command;
    let is_root = std::ptr::eq(command, &ROOT);
    line(page, format_args!("\n## {}\n", command_path.path));
    line(page, format_args!("{}", named(if is_root { command.long } else { command.short }, personality)));
    if command.run.is_some() {
        line(page, format_args!("\n    {}", command_path.usage_line()));
    }
    if !command.aliases.is_empty() {
        line(page, format_args!("\nAlso: {}", command.aliases.join(", ")));
    }
    let mut flags: Vec<&Flag> = command.own_flags().collect();
    if is_root {
        flags.extend(GLOBAL);
    }
    if flags.is_empty() {
        return;
    }
    flags.sort_by_key(|flag| flag.name);
    line(page, format_args!("\n| flag | value | default | meaning |\n|---|---|---|---|"));
    for flag in flags.iter().filter(|flag| !flag.hidden || flag.deprecated.is_some()) {
        row(page, flag);
    }
}

fn row(page: &mut String, flag: &Flag) {
    let default = match flag.fallback {
        Fallback::Text(text) if !flag.kind.is_zero(text) => format!("`{text}`"),
        Fallback::Text(_) => String::new(),
        Fallback::Setting(_) => "environment".to_owned(),
    };
    let meaning = match flag.deprecated {
        Some(advice) => format!("{} (deprecated: {advice})", flag.usage),
        None => flag.usage.to_owned(),
    };
    let short = flag.short.map(|letter| format!("`-{letter}`, ")).unwrap_or_default();
    let value = match flag.bare {
        Some(bare) if bare != "true" => format!("{}, bare: {bare}", flag.kind.placeholder()),
        _ => flag.kind.placeholder().to_owned(),
    };
    let meaning = meaning.replace('|', "\\|");
    line(page, format_args!("| {short}`--{}` | {value} | {default} | {meaning} |", flag.name));
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(page, "{text}").expect("writing to a String cannot fail");
}
