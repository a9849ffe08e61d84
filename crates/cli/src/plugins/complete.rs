//! Completion of the command lines of plugins: what `completion.yaml` declares, and what the program `plugin.complete`
//! answers.

use std::time::Duration;

use pintle_plugin::{CompletionCommand, Plugin, Prepared, read_completion};

use super::command::split_arguments;
use super::process::{Stderr, Variables, capture, timeout};
use crate::command::find::first_word;
use crate::command::{Command, CommandPath};
use crate::commands::ROOT;
use crate::env::Environment;
use crate::flag::{Flag, Name};
use crate::personality::Personality;
use crate::read;

/// How long a shell waits for the answer of a plugin.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(10);

/// The command of a plugin whose command line is completed.
pub(crate) struct Completed {
    /// The command with the flags that it declares.
    pub(crate) command_path: CommandPath,
    /// Its subcommands.
    pub(crate) subcommands: Vec<String>,
    /// The values of its operands.
    pub(crate) valid_args: Vec<String>,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Whether `plugin.complete` is run for more choices.
    is_dynamic: bool,
}

impl Completed {
    /// Whether `plugin.complete` is run for more choices.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }
}

/// What a plugin declares about the command that `words` lead to.
pub(crate) fn declared(plugin: &Plugin, program: &str, words: &[String]) -> Completed {
    let file = plugin.dir.join("completion.yaml");
    let root = read::file(&file, read::MAX_SETTINGS).ok().and_then(|text| read_completion(&text));
    let mut current = root.unwrap_or_default();
    let mut path = format!("{program} {}", plugin.metadata.command_name());
    let mut arguments = words.to_vec();
    // As cobra, which knows the global flags: the first word that is no flag is a command, or ends the search.
    while let Some(at) = first_word(&arguments, &ROOT.all_flags()) {
        let named =
            |command: &&CompletionCommand| !command.name.is_empty() && first(&command.name) == arguments[at];
        let Some(next) = current.commands.iter().flatten().find(named).cloned() else { break };
        arguments.remove(at);
        path = format!("{path} {}", first(&next.name));
        current = next;
    }
    let commands = current.commands.iter().flatten();
    let subcommands = commands.map(|command| first(&command.name).to_owned()).collect();
    let name: &'static str = leak(path.rsplit(' ').next().unwrap_or_default());
    let flags: &'static [Flag] = Box::leak(flags(&current.flags).into_boxed_slice());
    let groups: &'static [&'static [Flag]] = Box::leak(Box::new([flags]));
    let command = Box::leak(Box::new(Command { name, flags: groups, ..Command::BLANK }));
    Completed {
        command_path: CommandPath { command, path },
        subcommands,
        valid_args: current.valid_args,
        arguments,
        is_dynamic: current.commands.is_none(),
    }
}

fn first(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Command tables are `'static`, so their strings are leaked; a process serves only one completion request.
fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// Switches for the declared flags. The n-th shorthand belongs to the n-th long name; further shorthands are separate flags.
fn flags(declared: &[String]) -> Vec<Flag> {
    let (shorts, longs): (Vec<&String>, Vec<&String>) = declared.iter().partition(|name| name.len() == 1);
    let mut flags: Vec<Flag> = longs.iter().map(|name| Flag::switch(Name::new(leak(name)), "")).collect();
    for (at, short) in shorts.iter().enumerate() {
        let Some(letter) = short.chars().next() else { continue };
        match flags.get_mut(at) {
            Some(flag) if at < longs.len() => *flag = flag.short(letter),
            _ => flags.push(Flag::switch(Name::new(leak(short)), "").short(letter)),
        }
    }
    flags
}

/// What the plugin itself answers, with the directive for the shell; `None` if it is not asked or has no answer.
pub(crate) fn dynamic(
    plugin: &Plugin,
    completed: &Completed,
    unfinished: &str,
    (personality, called_as): (Personality, &str),
    environment: &Environment,
) -> Option<(Vec<String>, i64)> {
    if !completed.is_dynamic || plugin.metadata.subprocess().is_none() {
        return None;
    }
    let program = plugin.dir.join("plugin.complete");
    std::fs::metadata(&program).ok()?;
    let (flags, rest) = split_arguments(personality, &completed.arguments).ok()?;
    let mut args: Vec<String> = completed.command_path.path.split(' ').skip(2).map(str::to_owned).collect();
    if !plugin.metadata.cli.as_ref().is_some_and(|cli| cli.ignore_flags) {
        args.extend(rest);
        args.push(unfinished.to_owned());
    }
    let variables = Variables::of_helm(personality, called_as, &flags, environment).ok()?.for_plugin(plugin);
    let prepared = Prepared { program: program.to_string_lossy().into_owned(), args };
    let mut command = variables.command(&prepared, environment).ok()?;
    let time = timeout(environment).ok()?.min(COMPLETION_TIMEOUT);
    let output = capture(&mut command, None, Stderr::Merged, time).ok();
    let output = output.filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut choices: Vec<String> =
        text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let directive = choices.last().and_then(|line| line.strip_prefix(':')).and_then(|line| line.parse().ok());
    if directive.is_some() {
        choices.pop();
    }
    Some((choices, directive.unwrap_or(0)))
}
