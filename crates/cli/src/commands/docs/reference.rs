//! `docs --type`: writes reference pages of all commands as Markdown or manual pages, or the completion script of bash.

use std::path::Path;

use pintle_time::{GoTime, Zone};
use pintle_tree::quote::quote;

use crate::clock;
use crate::command::CommandPath;
use crate::command::find::walk;
use crate::commands::ROOT;
use crate::complete::script::{Shell, script};
use crate::failure::{Failure, reason};
use crate::flag::names;
use crate::help::pages;
use crate::invocation::Invocation;
use crate::path::join;

pub(super) fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folder = invocation.flags.text(names::DIR).to_owned();
    let headers = invocation.flags.on(names::GENERATE_HEADERS);
    let page: fn(&PageContext<'_>, &CommandPath) -> (String, String) =
        match invocation.flags.text(names::TYPE) {
            "markdown" | "mdown" | "md" if headers => |context, command_path| {
                let (name, text) = markdown(context, command_path);
                (name, format!("---\ntitle: \"{}\"\n---\n\n{text}", title(&command_path.path)))
            },
            "markdown" | "mdown" | "md" => markdown,
            "man" => manual,
            "bash" => {
                let text = script(Shell::Bash, invocation.personality.program(), true);
                return write(&folder, "completions.bash", &text);
            }
            other => {
                let text = format!("unknown doc type {}. Try 'markdown' or 'man'", quote(other.as_bytes()));
                return Err(Failure::usage(text));
            }
        };
    let seconds = invocation.environment.source_date_epoch().unwrap_or_default().unwrap_or_else(clock::now);
    let context = PageContext {
        invocation,
        day: GoTime::from_unix(seconds, 0, Zone::local()).format("2-Jan-2006"),
        month: GoTime::from_unix(seconds, 0, Zone::local()).format("Jan 2006"),
    };
    let root = CommandPath { command: &ROOT, path: invocation.personality.program().to_owned() };
    let mut outcome = Ok(());
    walk(&root, &mut |command_path| {
        let command = command_path.command.under(context.invocation.personality);
        let left_out = command.hidden || command.name == "help";
        if outcome.is_ok() && !left_out {
            let (name, text) = page(&context, command_path);
            outcome = write(&folder, &name, &text);
        }
    });
    outcome
}

/// The data that all pages share.
struct PageContext<'a> {
    invocation: &'a Invocation<'a>,
    day: String,
    month: String,
}

fn markdown(context: &PageContext<'_>, command_path: &CommandPath) -> (String, String) {
    let Invocation { personality, environment, .. } = *context.invocation;
    let text = pages::markdown(command_path, personality, environment, &context.day);
    (format!("{}.md", command_path.path.replace(' ', "_")), text)
}

fn manual(context: &PageContext<'_>, command_path: &CommandPath) -> (String, String) {
    let Invocation { personality, environment, .. } = *context.invocation;
    let text = pages::manual(command_path, personality, environment, (&context.day, &context.month));
    (format!("{}.1", command_path.path.replace(' ', "-")), text)
}

/// `helm get all` as a title: `Helm Get All`.
fn title(path: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    path.split(' ').filter_map(capital).collect::<Vec<_>>().join(" ")
}

fn write(folder: &str, name: &str, text: &str) -> Result<(), Failure> {
    let path = join(&[folder, name]);
    std::fs::write(Path::new(&path), text)
        .map_err(|error| Failure::run_time(format!("open {path}: {}", reason(&error))))
}
